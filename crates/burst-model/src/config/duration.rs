//! Durations as Kubernetes and Go write them: `15s`, `500ms`, `2m`, `1h30m`.

use std::fmt;
use std::time::Duration;

/// Writes a duration in seconds, or in milliseconds if it is not a whole number of seconds. `Debug` of the standard library
/// would make the module 2 KB larger.
pub(crate) struct DurationText(pub(crate) Duration);

impl fmt::Display for DurationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.subsec_millis() {
            0 => write!(f, "{}s", self.0.as_secs()),
            _ => write!(f, "{}ms", self.0.as_millis()),
        }
    }
}

/// The text is not a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a duration such as 500ms, 15s, 2m or 1h30m")]
pub(crate) struct NotADuration;

/// Reads a duration: whole numbers with the units `h`, `m`, `s` and `ms`.
///
/// # Errors
/// The text is not such a duration.
pub(crate) fn parse(text: &str) -> Result<Duration, NotADuration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at_checked(digits).ok_or(NotADuration)?;
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at_checked(letters).ok_or(NotADuration)?;
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(NotADuration),
        };
        let number: u64 = number.parse().map_err(|_| NotADuration)?;
        let part = Duration::from_millis(number.checked_mul(millis).ok_or(NotADuration)?);
        sum = sum.checked_add(part).ok_or(NotADuration)?;
        rest = tail;
    }
    if text.is_empty() { Err(NotADuration) } else { Ok(sum) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_duration_in_a_message_can_be_read_again() {
        for (millis, written) in [(0, "0s"), (500, "500ms"), (1_500, "1500ms"), (90_000, "90s")] {
            let duration = Duration::from_millis(millis);
            assert_eq!(DurationText(duration).to_string(), written);
            assert_eq!(parse(written), Ok(duration));
        }
    }

    #[test]
    fn durations_are_written_as_in_kubernetes() {
        for (text, millis) in [
            ("500ms", 500),
            ("15s", 15_000),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for bad in [
            "",
            "15",
            "s",
            "15 s",
            "-1s",
            "1.5s",
            "15S",
            "1d",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert_eq!(parse(bad), Err(NotADuration), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_duration_or_an_error(text in ".{0,30}") {
            let _ = parse(&text);
        }
    }
}
