//! The user that the API server's front proxy names in headers.
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/#original-request-username-and-group>

use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;

const NAME: &str = "x-remote-user";
/// One header for each group, because the name of a group may contain a comma.
const GROUP: &str = "x-remote-group";
const EXTRA: &str = "x-remote-extra-";

const ANONYMOUS: &str = "system:anonymous";
const MASTERS: &str = "system:masters";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// A user, like `authentication.k8s.io` `UserInfo`.
///
/// Has no UID: an API server removes that header from a client's request only if it is configured to set it itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestUser {
    /// `None` if no header names a user.
    name: Option<String>,
    /// As the front proxy names them; without empty ones.
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
    /// Whether a header is not UTF-8, so that the fields above do not have its exact value.
    is_lossy: bool,
}

impl RequestUser {
    /// Adds a header of the request, if it is about the user. Header names are in lower case. Of several user names the
    /// first one counts.
    pub(crate) fn add_header(&mut self, header: &str, value: &[u8]) {
        let extra_key = header.strip_prefix(EXTRA);
        if header != NAME && header != GROUP && extra_key.is_none() {
            return;
        }
        let text = String::from_utf8_lossy(value).into_owned();
        self.is_lossy |= text.as_bytes() != value;
        if let Some(key) = extra_key {
            match unescape(key) {
                Some(key) => self.extra.entry(key).or_default().push(text),
                None => self.is_lossy = true,
            }
        } else if header == NAME {
            self.name.get_or_insert(text);
        } else if !text.is_empty() {
            self.groups.push(text);
        }
    }

    /// The name of the user; empty if no header names one.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Returns whether a user is named.
    pub(crate) fn is_named(&self) -> bool {
        !self.name().trim_ascii().is_empty()
    }

    /// Returns whether a SubjectAccessReview can name this user exactly. Two users that differ only in bytes that are not
    /// UTF-8 would share a review.
    pub(crate) fn is_reviewable(&self) -> bool {
        !self.is_lossy && !self.name().trim().is_empty()
    }

    /// The groups, with the one that every authenticated user belongs to.
    pub(crate) fn effective_groups(&self) -> Vec<&str> {
        let mut groups: Vec<_> = self.groups.iter().map(String::as_str).collect();
        let has_authentication_group = groups
            .iter()
            .any(|group| [AUTHENTICATED, UNAUTHENTICATED].contains(group));
        if self.name() != ANONYMOUS && !has_authentication_group {
            groups.push(AUTHENTICATED);
        }
        groups
    }

    /// Returns whether the user may do everything without a review.
    pub(crate) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

/// Undoes the percent-encoding of an extra key. A key with a `%` that starts no escape was never encoded.
fn unescape(key: &str) -> Option<String> {
    if key.split('%').skip(1).all(starts_with_hex) {
        percent_decode_str(key).decode_utf8().ok().map(Into::into)
    } else {
        Some(key.to_owned())
    }
}

fn starts_with_hex(text: &str) -> bool {
    matches!(text.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user<'a>(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> RequestUser {
        let mut user = RequestUser::default();
        for (name, value) in headers {
            user.add_header(name, value);
        }
        user
    }

    fn text_user(headers: &[(&'static str, &'static str)]) -> RequestUser {
        user(headers.iter().map(|(name, value)| (*name, value.as_bytes())))
    }

    #[test]
    fn each_group_header_is_one_group() {
        let alice = text_user(&[
            ("accept", "*/*"),
            ("x-remote-user", "alice"),
            ("x-remote-group", "dev,ops"),
            ("x-remote-group", ""),
            ("x-remote-group", "system:authenticated"),
            ("x-remote-user", "root"),
        ]);
        assert!(alice.is_named() && alice.is_reviewable() && !alice.is_master());
        assert_eq!(alice.name(), "alice");
        assert_eq!(alice.groups, ["dev,ops", "system:authenticated"]);
        assert_eq!(alice.effective_groups(), ["dev,ops", "system:authenticated"]);
    }

    #[test]
    fn a_named_user_is_authenticated() {
        for (headers, groups) in [
            (&[("x-remote-user", "bob")][..], &["system:authenticated"][..]),
            (
                &[("x-remote-user", "bob"), ("x-remote-group", "system:unauthenticated")],
                &["system:unauthenticated"],
            ),
            (&[("x-remote-user", "system:anonymous")], &[]),
        ] {
            assert_eq!(text_user(headers).effective_groups(), groups, "{headers:?}");
        }
    }

    #[test]
    fn keys_of_extras_are_unescaped() {
        let carol = text_user(&[
            ("x-remote-user", "carol"),
            ("x-remote-extra-scopes%2fall", "a"),
            ("x-remote-extra-scopes%2fall", ""),
            ("x-remote-extra-100%", "b"),
            ("x-remote-extra-%zz%41", "c"),
        ]);
        let keys: Vec<_> = carol
            .extra
            .iter()
            .map(|(key, values)| (key.as_str(), values.len()))
            .collect();
        assert_eq!(keys, [("%zz%41", 1), ("100%", 1), ("scopes/all", 2)]);
    }

    #[test]
    fn a_request_without_an_exact_user_is_not_reviewed() {
        for headers in [
            &[("x-remote-group", "system:masters")][..],
            &[("x-remote-user", " ")],
            &[("x-remote-user", ""), ("x-remote-user", "eve")],
            &[("x-remote-user", "eve"), ("x-remote-extra-%ff", "a")],
        ] {
            assert!(!text_user(headers).is_reviewable(), "{headers:?}");
        }
        let bytes = user([("x-remote-user", &b"eve"[..]), ("x-remote-group", b"\xff")]);
        assert!(bytes.is_named());
        assert!(!bytes.is_reviewable(), "two such groups would look the same");
    }
}
