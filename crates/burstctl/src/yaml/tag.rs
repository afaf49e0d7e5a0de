//! Scalars with their tags.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::scalar::{self, Scalar};

/// The prefix that `!!` abbreviates.
const YAML: &str = "tag:yaml.org,2002:";

/// The YAML tags that decide how a scalar is resolved. With any other tag it is text.
const RESOLVED: [&str; 6] = ["str", "int", "float", "bool", "null", "timestamp"];

/// The text of a scalar, without quotes and with escapes resolved.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) tag: Option<String>,
    /// The scalar has no quotes. Kubernetes treats the tag `!` in the same way.
    pub(super) is_plain: bool,
}

impl Text {
    /// Returns whether this is the merge key, if it is used as a key.
    pub(super) fn is_merge(&self) -> bool {
        self.text == "<<" && (self.is_plain || self.yaml_tag() == Some("merge"))
    }

    /// Returns the text, decoded if its tag is `!!binary`.
    pub(super) fn decoded(&self) -> Result<Cow<'_, str>, &'static str> {
        if self.yaml_tag() != Some("binary") {
            return Ok(Cow::Borrowed(&self.text));
        }
        let packed = self.text.replace(['\r', '\n'], "");
        let bytes = STANDARD.decode(packed).map_err(|_| "this is not base64")?;
        let text = String::from_utf8(bytes).map_err(|_| "the decoded bytes are not text")?;
        Ok(Cow::Owned(text))
    }

    /// Returns the value that Kubernetes reads.
    pub(super) fn resolve<'a>(&self, decoded: &'a str) -> Result<Scalar<'a>, String> {
        match (&self.tag, self.yaml_tag()) {
            (None, _) if self.is_plain => Ok(scalar::resolve(decoded)),
            (_, Some(tag)) if RESOLVED.contains(&tag) => {
                scalar::tagged(decoded, tag).ok_or_else(|| format!("{decoded:?} is not a value of type {tag}"))
            }
            _ => Ok(Scalar::Text(decoded)),
        }
    }

    fn yaml_tag(&self) -> Option<&str> {
        self.tag.as_deref()?.strip_prefix(YAML)
    }
}
