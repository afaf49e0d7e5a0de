//! Durations in whole seconds, as users write and read them: `30`, `5m`, `1h30m`.

use std::time::Duration;

/// Parses seconds as a number, or text such as `5m`; `None` if it is neither, or has a fraction of a second.
#[must_use]
pub(crate) fn parse_seconds(text: &str) -> Option<u32> {
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let duration = humantime::parse_duration(text).ok()?;
    let seconds = u32::try_from(duration.as_secs()).ok()?;
    (duration.subsec_nanos() == 0).then_some(seconds)
}

/// Formats seconds: `1m15s`.
#[must_use]
pub(crate) fn format_seconds(seconds: u32) -> String {
    let duration = Duration::from_secs(seconds.into());
    humantime::format_duration(duration).to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_of_seconds_or_has_units() {
        for (text, seconds) in [
            ("0", Some(0)),
            ("90", Some(90)),
            ("1m30s", Some(90)),
            ("1h 30m", Some(5400)),
            ("-5", None),
            ("1500ms", None),
            ("soon", None),
            ("", None),
            ("200years", None),
        ] {
            assert_eq!(parse_seconds(text), seconds, "{text}");
        }
        assert_eq!(format_seconds(4515), "1h15m15s");
        assert_eq!(format_seconds(0), "0s");
    }
}
