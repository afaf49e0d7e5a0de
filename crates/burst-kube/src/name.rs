//! Names of Kubernetes objects. They end up in header values and log lines, so only what a name may hold gets in:
//! `scaleTargetRef.name` is free text to the API server, line breaks included.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// A DNS-1123 subdomain, as Kubernetes wants it of almost every object: at most 253 of `a-z 0-9 - .`, starting and
/// ending with a letter or digit.
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names>
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name(Box<str>);

/// Why a text is not a [`Name`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a DNS-1123 subdomain (at most 253 of a-z, 0-9, - and ., with a letter or digit at both ends)")]
pub struct InvalidName(String);

impl Name {
    /// Takes a text that is a name.
    ///
    /// # Errors
    /// The text is not a DNS-1123 subdomain.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        if Self::is_valid(text) {
            Ok(Self(text.into()))
        } else {
            // A name that is refused may be of any length; a log line may not.
            Err(InvalidName(text.chars().take(64).collect()))
        }
    }

    /// Whether a text is a name.
    #[must_use]
    pub fn is_valid(text: &str) -> bool {
        let bytes = text.as_bytes();
        let edge = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        bytes.len() <= 253 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A namespaced object: `namespace/name`, as kubectl and seed 000 write it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectName {
    /// The namespace.
    pub namespace: Name,
    /// The name within it.
    pub name: Name,
}

impl ObjectName {
    /// Takes both parts.
    ///
    /// # Errors
    /// One of them is not a name.
    pub fn new(namespace: &str, name: &str) -> Result<Self, InvalidName> {
        Ok(Self {
            namespace: Name::parse(namespace)?,
            name: Name::parse(name)?,
        })
    }

    /// Takes `namespace/name`.
    ///
    /// # Errors
    /// There is no slash, or a part is not a name.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let (namespace, name) = text
            .split_once('/')
            .ok_or_else(|| InvalidName(text.chars().take(64).collect()))?;
        Self::new(namespace, name)
    }

    /// The order of `namespace/name` as texts: the slash comes after `-` and `.`, which a longer namespace may go on
    /// with.
    #[must_use]
    pub fn cmp_as_text(&self, other: &Self) -> Ordering {
        fn text(name: &Name) -> impl Iterator<Item = u8> {
            name.as_str().bytes().chain([b'/'])
        }
        if self.namespace == other.namespace {
            self.name.cmp(&other.name)
        } else {
            text(&self.namespace).cmp(text(&other.namespace))
        }
    }

    /// Whether a text is `namespace/name`.
    #[must_use]
    pub fn is_valid(text: &str) -> bool {
        let parts = text.split_once('/');
        parts.is_some_and(|(namespace, name)| Name::is_valid(namespace) && Name::is_valid(name))
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dns_subdomains_are_names() {
        for good in ["a", "web", "web-1.shop", "0", &"a".repeat(253)] {
            assert!(Name::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-a",
            "a-",
            ".a",
            "Web",
            "a_b",
            "a b",
            "a\r\nx-evil: 1",
            "ä",
            &"a".repeat(254),
        ] {
            assert!(Name::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_refused_name_is_quoted_short_and_without_control_characters() {
        let error = Name::parse(&format!("a\n{}", "x".repeat(500))).unwrap_err().to_string();
        assert!(error.starts_with("\"a\\n"), "{error}");
        assert!(error.len() < 250, "{error}");
    }

    #[test]
    fn an_object_name_is_two_names_with_a_slash() {
        assert_eq!(ObjectName::parse("shop/web").unwrap().to_string(), "shop/web");
        for bad in ["web", "shop/", "/web", "shop/web/x"] {
            assert!(ObjectName::parse(bad).is_err(), "{bad}");
        }
    }
}
