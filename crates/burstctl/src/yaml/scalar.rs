//! Resolves scalars as Kubernetes does: YAML 1.1 without base-60 numbers, as in
//! <https://github.com/yaml/go-yaml/blob/v2.4.3/resolve.go>.

use burst_hpa::node::NodeValue;

/// A resolved scalar, before its conversion to JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(&'a str),
}

/// Resolves a scalar without quotes.
pub(super) fn resolve(text: &str) -> Scalar<'_> {
    keyword(text).or_else(|| number(text)).unwrap_or(Scalar::Text(text))
}

/// Resolves a scalar with one of YAML's own tags, quoted or not. Returns `None` if the text does not fit the tag.
pub(super) fn tagged<'a>(text: &'a str, tag: &str) -> Option<Scalar<'a>> {
    let resolved = resolve(text);
    match (tag, resolved) {
        ("int", Scalar::Int(_))
        | ("float", Scalar::Int(_) | Scalar::Float(_))
        | ("bool", Scalar::Bool(_))
        | ("null", Scalar::Null) => Some(resolved),
        ("int" | "float" | "bool" | "null", _) => None,
        _ => Some(Scalar::Text(text)),
    }
}

impl Scalar<'_> {
    /// Converts the scalar to a value. It fails for infinities and NaN, which JSON does not have.
    pub(super) fn value(self) -> Result<NodeValue, &'static str> {
        Ok(match self {
            Self::Null => NodeValue::Null,
            Self::Bool(value) => NodeValue::Bool(value),
            Self::Int(value) => NodeValue::Number(value.to_string()),
            Self::Float(value) if value.is_finite() => NodeValue::Number(as_go_prints(value)),
            Self::Float(_) => return Err("JSON has no such number, and Kubernetes reads YAML through JSON"),
            Self::Text(text) => NodeValue::String(text.to_owned()),
        })
    }

    /// Converts the scalar to a key. Keys in JSON are strings.
    pub(super) fn key(self) -> Result<String, &'static str> {
        Ok(match self {
            Self::Null => return Err("a key that is nothing"),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => i64::try_from(value)
                .map_err(|_| "a number too large for a key")?
                .to_string(),
            Self::Float(value) => float_key(value),
            Self::Text(text) => text.to_owned(),
        })
    }
}

fn keyword(text: &str) -> Option<Scalar<'_>> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn number(text: &str) -> Option<Scalar<'_>> {
    match text.as_bytes().first()? {
        b'.' => float(text),
        b'0'..=b'9' | b'+' | b'-' => {
            let plain = text.replace('_', "");
            integer(&plain).map(Scalar::Int).or_else(|| float(&plain))
        }
        _ => None,
    }
}

fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = radix(digits);
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    let value = if negative { -magnitude } else { magnitude };
    // With a sign, Go parses a signed number.
    let most = if text.starts_with(['+', '-']) {
        i128::from(i64::MAX)
    } else {
        i128::from(u64::MAX)
    };
    (i128::from(i64::MIN)..=most).contains(&value).then_some(value)
}

/// Returns the radix and the digits. A leading zero means octal.
fn radix(digits: &str) -> (u32, &str) {
    let Some(rest) = digits.strip_prefix('0').filter(|rest| !rest.is_empty()) else {
        return (10, digits);
    };
    for (letter, radix) in [('x', 16), ('o', 8), ('b', 2)] {
        if let Some(digits) = rest.strip_prefix([letter, letter.to_ascii_uppercase()]) {
            return (radix, digits);
        }
    }
    (8, rest)
}

fn float<'a>(text: &str) -> Option<Scalar<'a>> {
    let decimal = text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E'));
    let value: f64 = text.parse().ok().filter(|value: &f64| decimal && value.is_finite())?;
    Some(Scalar::Float(value))
}

/// Formats a float key as Go's shortest `%g` in single precision.
#[expect(
    clippy::cast_possible_truncation,
    reason = "Kubernetes uses single precision for keys"
)]
fn float_key(value: f64) -> String {
    let single = value as f32;
    if single.is_nan() {
        return ".nan".to_owned();
    }
    if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = format!("{single:e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => single.to_string(),
    }
}

/// Formats a number as Go's `encoding/json` does. The apiserver receives that text.
fn as_go_prints(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        return if size < 1.0 { text } else { text.replace('e', "e+") };
    }
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_are_resolved_as_in_yaml_1_1() {
        for (text, expected) in [
            ("010", "8"),
            ("0x1F", "31"),
            ("0b101", "5"),
            ("0o17", "15"),
            ("1_0", "10"),
            ("+5", "5"),
            ("-0x10", "-16"),
            ("08", "8"),
            ("1e3", "1000"),
            (".5", "0.5"),
            ("5.", "5"),
            ("0.50", "0.5"),
            ("1e21", "1e+21"),
            ("1e-7", "1e-7"),
            ("18446744073709551615", "18446744073709551615"),
            ("0", "0"),
            ("-0", "0"),
            ("1E", "string"),
            ("1k", "string"),
            ("--5", "string"),
            ("1:30", "string"),
            ("2001-01-01", "string"),
            ("+-5", "string"),
            ("0x", "string"),
            ("1e999", "string"),
            ("-", "string"),
            (".", "string"),
        ] {
            let read = match resolve(text).value().unwrap() {
                NodeValue::Number(number) => number,
                NodeValue::String(same) if same == text => "string".to_owned(),
                other => panic!("{text}: {other:?}"),
            };
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn yes_no_on_and_off_are_booleans() {
        for text in ["y", "Yes", "on", "TRUE"] {
            assert_eq!(resolve(text), Scalar::Bool(true), "{text}");
        }
        assert_eq!(resolve("off"), Scalar::Bool(false));
        assert_eq!(resolve("oN"), Scalar::Text("oN"));
        assert!(resolve("-.inf").value().is_err());
    }
}
