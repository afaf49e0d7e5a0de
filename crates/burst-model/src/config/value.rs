//! Checks single values. Each error names the key.

use super::ConfigError;
use super::duration::{self, DurationText};
use crate::load::Percent;
use std::fmt::Display;
use std::time::Duration;

/// The error of a value at that key.
pub(super) fn invalid(key: impl Into<String>, reason: impl Display) -> ConfigError {
    ConfigError::InvalidValue {
        key: key.into(),
        reason: crate::json::shorten(&reason.to_string()),
    }
}

/// Reads a duration that is at least `least`. Without a text it is the default, raised to `least`.
pub(super) fn time(key: &str, text: Option<&str>, default: Duration, least: Duration) -> Result<Duration, ConfigError> {
    let Some(text) = text else {
        return Ok(default.max(least));
    };
    match duration::parse(text) {
        Ok(time) if time < least => Err(invalid(
            key,
            format_args!("{text} is below the least allowed, {}", DurationText(least)),
        )),
        Ok(time) => Ok(time),
        Err(error) => Err(invalid(key, format_args!("{text:?} {error}"))),
    }
}

/// Checks that a number is in a range.
pub(super) fn within(key: &str, number: u32, least: u32, most: u32) -> Result<u32, ConfigError> {
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(invalid(key, format_args!("{number} is not between {least} and {most}")))
    }
}

/// Checks a value that must not be empty, and must fit into a header of a request.
pub(super) fn text(key: &str, text: &str) -> Result<String, ConfigError> {
    if text.is_empty() || text.bytes().any(|b| b.is_ascii_control()) {
        return Err(invalid(
            key,
            format_args!("{text:?} must be a text of at least one character, on one line"),
        ));
    }
    Ok(text.into())
}

/// Checks a field name of RFC 9110, and returns it in lower case, as Envoy stores it.
pub(super) fn header_name(key: &str, name: &str) -> Result<String, ConfigError> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(invalid(key, format_args!("{name:?} is not a valid header name")));
    }
    Ok(name.to_ascii_lowercase())
}

/// Checks a path prefix, and returns it without a trailing slash.
pub(super) fn path(key: &str, prefix: &str) -> Result<String, ConfigError> {
    let is_path = |b: u8| b.is_ascii_graphic() && !b"?#%".contains(&b);
    let whole = prefix.trim_end_matches('/');
    if !whole.starts_with('/') || whole.contains("//") || !whole.bytes().all(is_path) {
        let allowed = "a path such as /burstmetrics, which begins with a slash and has at least one segment";
        return Err(invalid(key, format_args!("{prefix:?} is not {allowed}")));
    }
    Ok(whole.into())
}

/// Reads a percentage from 1% to 100%, such as `90%`.
pub(super) fn percent(key: &str, text: &str) -> Result<Percent, ConfigError> {
    let number = text
        .strip_suffix('%')
        .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    number
        .and_then(|digits| digits.parse().ok())
        .and_then(Percent::new)
        .ok_or_else(|| invalid(key, format_args!("{text:?} is not a percentage from 1% to 100%")))
}
