//! What a plain scalar is to Kubernetes: YAML 1.1, without its base-60 numbers, as in
//! <https://github.com/yaml/go-yaml/blob/v2.4.3/resolve.go>.

use super::tree::Value;

/// The value of a scalar without quotes, or why it has none in JSON.
pub(super) fn plain(text: &str) -> Result<Value, &'static str> {
    if let Some(word) = word(text) {
        return Ok(word);
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") || is_infinity(text) {
        return Err("JSON has no such number, and Kubernetes reads YAML through JSON");
    }
    Ok(number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number))
}

fn word(text: &str) -> Option<Value> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ => return None,
    })
}

fn is_infinity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF")
}

/// In JSON's grammar.
pub(super) fn number(text: &str) -> Option<String> {
    match text.as_bytes().first()? {
        b'.' => float(text),
        b'0'..=b'9' | b'+' | b'-' => {
            let plain = text.replace('_', "");
            integer(&plain).or_else(|| float(&plain))
        }
        _ => None,
    }
}

fn integer(text: &str) -> Option<String> {
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
    let range = i128::from(i64::MIN)..=if negative {
        i128::from(i64::MAX)
    } else {
        i128::from(u64::MAX)
    };
    range.contains(&value).then(|| value.to_string())
}

/// A leading zero alone makes it octal.
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

fn float(text: &str) -> Option<String> {
    let decimal = text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E'));
    let value: f64 = text.parse().ok().filter(|value: &f64| decimal && value.is_finite())?;
    Some(as_go_prints(value))
}

/// As `encoding/json` of Go does: that text is what the apiserver gets.
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
    fn plain_scalars_are_what_yaml_1_1_makes_of_them() {
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
            let read = match plain(text).unwrap() {
                Value::Number(number) => number,
                Value::String(same) if same == text => "string".to_owned(),
                other => panic!("{text}: {other:?}"),
            };
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn words_for_yes_and_no_are_booleans() {
        for text in ["y", "Yes", "on", "TRUE"] {
            assert_eq!(plain(text), Ok(Value::Bool(true)), "{text}");
        }
        assert_eq!(plain("off"), Ok(Value::Bool(false)));
        assert_eq!(plain("oN"), Ok(Value::String("oN".to_owned())));
        assert!(plain("-.inf").is_err());
    }
}
