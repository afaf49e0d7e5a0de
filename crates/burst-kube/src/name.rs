//! Names of Kubernetes objects. They are written to header values and log messages, so only valid names are accepted:
//! the API server allows any text in `scaleTargetRef.name`, line breaks included.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// A DNS-1123 subdomain, the form of the name of almost every Kubernetes object: at most 253 of `a-z 0-9 - .`, starting
/// and ending with a letter or digit.
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names>
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name(Box<str>);

/// A string is not a [`Name`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a DNS-1123 subdomain (at most 253 of a-z, 0-9, - and ., with a letter or digit at both ends)")]
pub struct InvalidName(String);

impl Name {
    /// Parses a name.
    ///
    /// # Errors
    /// Returns an error if the string is not a DNS-1123 subdomain.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        if Self::is_valid(text) {
            Ok(Self(text.into()))
        } else {
            // An invalid name may have any length, but a log message must be short.
            Err(InvalidName(text.chars().take(64).collect()))
        }
    }

    /// Returns whether a string is a valid name.
    #[must_use]
    pub fn is_valid(text: &str) -> bool {
        let bytes = text.as_bytes();
        let edge = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        bytes.len() <= 253 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
    }

    /// The name as a string.
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

/// The name of a namespaced object: `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectName {
    /// The namespace.
    pub namespace: Name,
    /// The name within it.
    pub name: Name,
}

impl ObjectName {
    /// Parses both parts.
    ///
    /// # Errors
    /// Returns an error if a part is not a valid name.
    pub fn new(namespace: &str, name: &str) -> Result<Self, InvalidName> {
        Ok(Self {
            namespace: Name::parse(namespace)?,
            name: Name::parse(name)?,
        })
    }

    /// Parses `namespace/name`.
    ///
    /// # Errors
    /// Returns an error if there is no slash, or a part is not a valid name.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let (namespace, name) = text
            .split_once('/')
            .ok_or_else(|| InvalidName(text.chars().take(64).collect()))?;
        Self::new(namespace, name)
    }

    /// Compares the strings `namespace/name`. The order differs from that of the pairs, because the slash sorts after
    /// `-` and `.`, which a namespace may contain.
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

    /// Returns whether a string is a valid `namespace/name`.
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
    fn only_dns_subdomains_are_valid_names() {
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
    fn an_error_quotes_the_name_shortened_and_without_control_characters() {
        let error = Name::parse(&format!("a\n{}", "x".repeat(500))).unwrap_err().to_string();
        assert!(error.starts_with("\"a\\n"), "{error}");
        assert!(error.len() < 250, "{error}");
    }

    #[test]
    fn an_object_name_consists_of_two_names_with_a_slash() {
        assert_eq!(ObjectName::parse("shop/web").unwrap().to_string(), "shop/web");
        for bad in ["web", "shop/", "/web", "shop/web/x"] {
            assert!(ObjectName::parse(bad).is_err(), "{bad}");
        }
    }
}
