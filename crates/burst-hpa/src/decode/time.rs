//! Timestamps as Go's `time.RFC3339` reads them.

use k8s_openapi::jiff::civil::DateTime;

/// `2006-01-02T15:04:05`, perhaps a fraction, then `Z` or an offset. Leap seconds do not exist here.
pub(super) fn is_rfc3339(text: &str) -> bool {
    let Some((date_time, rest)) = text.split_at_checked(19) else {
        return false;
    };
    let well_formed = shape(date_time, "dddd-dd-ddTdd:dd:dd") && !date_time.ends_with(":60");
    well_formed && date_time.parse::<DateTime>().is_ok() && offset(fraction(rest))
}

fn fraction(text: &str) -> &str {
    match text.strip_prefix(['.', ',']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            rest.trim_start_matches(|c: char| c.is_ascii_digit())
        }
        _ => text,
    }
}

fn offset(text: &str) -> bool {
    let in_range = |range: std::ops::Range<usize>, most: u8| {
        text.get(range)
            .and_then(|digits| digits.parse::<u8>().ok())
            .is_some_and(|value| value <= most)
    };
    text == "Z" || (shape(text.replacen('-', "+", 1).as_str(), "+dd:dd") && in_range(1..3, 24) && in_range(4..6, 60))
}

fn shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, wanted)| match wanted {
            b'd' => byte.is_ascii_digit(),
            _ => byte == wanted,
        })
}

#[cfg(test)]
mod tests {
    use super::is_rfc3339;

    #[test]
    fn times_are_accepted_as_go_accepts_them() {
        for text in [
            "2026-11-21T05:59:00Z",
            "2026-11-21T05:59:00.123+01:00",
            "2024-02-29T00:00:00-11:30",
        ] {
            assert!(is_rfc3339(text), "{text}");
        }
        for text in [
            "",
            "now",
            "2026-11-21",
            "2026-02-29T00:00:00Z",
            "2026-11-21 05:59:00Z",
            "2026-11-21T24:00:00Z",
        ] {
            assert!(!is_rfc3339(text), "{text}");
        }
    }
}
