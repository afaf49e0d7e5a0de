//! Scalars with a tag.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use saphyr_parser::{ScalarStyle, Tag};

use super::scalar::{self, Scalar};

/// Those of YAML that a scalar can have.
pub(super) const OF_SCALARS: [&str; 7] = ["str", "int", "float", "bool", "null", "binary", "timestamp"];

/// What a scalar is, by its tag or by its looks.
pub(super) fn scalar<'a>(text: &'a str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Scalar<'a>, String> {
    match tag {
        Some(tag) if tag.is_yaml_core_schema() && !OF_SCALARS.contains(&tag.suffix.as_str()) => {
            Err(format!("{tag}: YAML has no such tag"))
        }
        Some(tag) if tag.is_yaml_core_schema() => {
            scalar::tagged(text, &tag.suffix).ok_or_else(|| format!("{text:?} is no {}", tag.suffix))
        }
        None if style == ScalarStyle::Plain => Ok(scalar::resolve(text)),
        _ => Ok(Scalar::Text(text)),
    }
}

/// What `!!binary` stands for, if that is text.
pub(super) fn binary(text: &str, tag: Option<&Tag>) -> Result<Option<String>, &'static str> {
    if !tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "binary") {
        return Ok(None);
    }
    let packed = text.replace(['\r', '\n'], "");
    let bytes = STANDARD.decode(packed).map_err(|_| "this is not base64")?;
    let decoded = String::from_utf8(bytes).map_err(|_| "bytes that are no text")?;
    Ok(Some(decoded))
}
