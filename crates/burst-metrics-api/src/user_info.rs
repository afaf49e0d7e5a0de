//! Whom the API server's front proxy names.
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/#original-request-username-and-group>

use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;

const NAME: &str = "x-remote-user";
/// One header a group: a group may have a comma in its name.
const GROUP: &str = "x-remote-group";
const EXTRA: &str = "x-remote-extra-";

const ANONYMOUS: &str = "system:anonymous";
const MASTERS: &str = "system:masters";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// A user, as a SubjectAccessReview names one. Without the UID: only an API server that was told to set that header
/// removes one that a client sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserInfo {
    pub(super) name: String,
    pub(super) groups: Vec<String>,
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

impl UserInfo {
    /// Of the headers of a request, in which names are in lower case. `None` where no user is named, or somebody whose
    /// name cannot be written down again.
    pub(super) fn of<'a>(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Option<Self> {
        let (mut name, mut groups, mut extra) = ("", Vec::new(), BTreeMap::<_, Vec<_>>::new());
        for (header, value) in headers {
            let is_extra = header.strip_prefix(EXTRA);
            if header != NAME && header != GROUP && is_extra.is_none() {
                continue;
            }
            let value = std::str::from_utf8(value).ok()?;
            match is_extra {
                Some(key) => extra.entry(unescaped(key)?).or_default().push(value.to_owned()),
                None if value.is_empty() => {}
                None if header == GROUP => groups.push(value.to_owned()),
                None if name.is_empty() => name = value,
                None => {}
            }
        }
        if name.trim().is_empty() {
            return None;
        }
        let has = |group: &str| groups.iter().any(|other| other == group);
        if name != ANONYMOUS && !has(AUTHENTICATED) && !has(UNAUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Some(Self {
            name: name.to_owned(),
            groups,
            extra,
        })
    }

    pub(super) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

/// A key of the extras as it was before it became part of a header's name; one with a stray `%` was never anything else.
fn unescaped(key: &str) -> Option<String> {
    let mut escapes = key.split('%').skip(1);
    let is_hex = |rest: &str| matches!(rest.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    if escapes.all(is_hex) {
        percent_decode_str(key).decode_utf8().ok().map(Into::into)
    } else {
        Some(key.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(headers: &[(&'static str, &'static str)]) -> Option<UserInfo> {
        UserInfo::of(headers.iter().map(|(name, value)| (*name, value.as_bytes())))
    }

    #[test]
    fn every_group_is_one_whatever_is_in_its_name() {
        let alice = user(&[
            ("accept", "*/*"),
            ("x-remote-user", "alice"),
            ("x-remote-group", "dev,ops"),
            ("x-remote-group", ""),
            ("x-remote-group", "system:authenticated"),
            ("x-remote-user", "root"),
        ]);
        let alice = alice.unwrap();
        assert_eq!(alice.name, "alice");
        assert_eq!(alice.groups, ["dev,ops", "system:authenticated"]);
        assert!(!alice.is_master());
    }

    #[test]
    fn who_has_a_name_is_authenticated() {
        for (headers, groups) in [
            (&[("x-remote-user", "bob")][..], &["system:authenticated"][..]),
            (
                &[("x-remote-user", "bob"), ("x-remote-group", "system:unauthenticated")],
                &["system:unauthenticated"],
            ),
            (&[("x-remote-user", "system:anonymous")], &[]),
        ] {
            assert_eq!(user(headers).unwrap().groups, groups, "{headers:?}");
        }
    }

    #[test]
    fn keys_of_extras_are_unescaped() {
        let carol = user(&[
            ("x-remote-user", "carol"),
            ("x-remote-extra-scopes%2fall", "a"),
            ("x-remote-extra-scopes%2fall", ""),
            ("x-remote-extra-100%", "b"),
            ("x-remote-extra-%zz%41", "c"),
        ]);
        let extra = carol.unwrap().extra;
        let keys: Vec<_> = extra.iter().map(|(key, values)| (key.as_str(), values.len())).collect();
        assert_eq!(keys, [("%zz%41", 1), ("100%", 1), ("scopes/all", 2)]);
    }

    #[test]
    fn nobody_is_no_user() {
        assert_eq!(user(&[("x-remote-group", "system:masters")]), None);
        assert_eq!(user(&[("x-remote-user", " ")]), None);
        assert_eq!(user(&[("x-remote-user", "eve"), ("x-remote-extra-%ff", "a")]), None);
        let bytes = [("x-remote-user", &b"eve"[..]), ("x-remote-group", b"\xff")];
        assert_eq!(UserInfo::of(bytes), None, "two such groups could not be told apart");
    }
}
