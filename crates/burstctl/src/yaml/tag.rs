//! Scalars and their tags.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::scalar::{self, Scalar};

/// The prefix that `!!` stands for.
const YAML: &str = "tag:yaml.org,2002:";

/// Those of YAML's own tags that decide how a scalar is read. Any other tag makes it text.
const RESOLVED: [&str; 6] = ["str", "int", "float", "bool", "null", "timestamp"];

/// A scalar as it is written, without quotes and escapes.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) tag: Option<String>,
    /// Without quotes, or with the tag `!`, which to Kubernetes means the same.
    pub(super) is_plain: bool,
}

impl Text {
    /// Returns whether this, as a key, is the merge key.
    pub(super) fn is_merge(&self) -> bool {
        self.text == "<<" && (self.is_plain || self.yaml_tag() == Some("merge"))
    }

    /// The text, decoded if its tag is `!!binary`.
    pub(super) fn decoded(&self) -> Result<Cow<'_, str>, &'static str> {
        if self.yaml_tag() != Some("binary") {
            return Ok(Cow::Borrowed(&self.text));
        }
        let packed = self.text.replace(['\r', '\n'], "");
        let bytes = STANDARD.decode(packed).map_err(|_| "this is not base64")?;
        let text = String::from_utf8(bytes).map_err(|_| "the decoded bytes are not text")?;
        Ok(Cow::Owned(text))
    }

    /// The value that Kubernetes reads.
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
