//! Identifies objects and events that are too large to keep, from the bytes with which they begin.
//!
//! kube-apiserver writes `metadata` before `spec` and `status`, so the name is there unless the metadata itself is too
//! large.

use crate::json;
use crate::value_scanner::split_value;
use std::borrow::Cow;

/// Returns an object with nothing but the name, the namespace and the resource version, as far as they are in `head`,
/// the first bytes of an object.
pub(crate) fn object_summary(head: &[u8]) -> Vec<u8> {
    let metadata = member(head, "metadata").unwrap_or_default();
    let members = ["name", "namespace", "resourceVersion"].map(|name| (name, complete_member(metadata, name)));
    summary(&[("metadata", summary(&members))])
}

/// Returns an event with nothing but its type and the summary of its object.
pub(crate) fn event_summary(head: &[u8]) -> Vec<u8> {
    let object = member(head, "object").unwrap_or_default();
    summary(&[
        ("type", complete_member(head, "type")),
        ("object", object_summary(object)),
    ])
}

/// Writes an object of the members that have a value.
fn summary(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut json = vec![b'{'];
    for (name, value) in members.iter().filter(|(_, value)| !value.is_empty()) {
        if json.len() > 1 {
            json.push(b',');
        }
        json.extend_from_slice(format!("\"{name}\":").as_bytes());
        json.extend_from_slice(value);
    }
    json.push(b'}');
    json
}

/// Returns the value of a member, or nothing if not all of it is known.
fn complete_member(object: &[u8], name: &str) -> Vec<u8> {
    let value = member(object, name).and_then(split_value);
    value.map(|(value, _)| value.to_vec()).unwrap_or_default()
}

/// Returns the bytes of an object from the value of a member on. The object may be incomplete.
fn member<'a>(object: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    let mut rest = object.trim_ascii_start().strip_prefix(b"{")?;
    loop {
        let (name, after_name) = split_value(rest.trim_ascii_start())?;
        let value = after_name.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        if json::read::<Cow<'_, str>>(name).is_ok_and(|name| name == wanted) {
            return Some(value);
        }
        let (_, after_value) = split_value(value)?;
        rest = after_value.trim_ascii_start().strip_prefix(b",")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_what_is_complete_in_the_first_bytes() {
        let event = r#"{"type":"ADDED","object":{"kind":"Service","metadata":{"labels":{"name":"no"},"name":"web","namespace":"shop","resourceVersion":"7","annotations":{"a":"xxx"}}}}"#;
        for (end, expected) in [
            (
                "xxx",
                r#"{"type":"ADDED","object":{"metadata":{"name":"web","namespace":"shop","resourceVersion":"7"}}}"#,
            ),
            (
                r#","namespace"#,
                r#"{"type":"ADDED","object":{"metadata":{"name":"web"}}}"#,
            ),
            (r#""object":"#, r#"{"type":"ADDED","object":{"metadata":{}}}"#),
            ("{", r#"{"object":{"metadata":{}}}"#),
        ] {
            let head = &event[..event.find(end).unwrap() + end.len()];
            let summary = String::from_utf8(event_summary(head.as_bytes())).unwrap();
            assert_eq!(summary, expected, "{head}");
        }
    }

    #[test]
    fn no_bytes_are_no_problem() {
        for head in ["", "{", "[1,2", r#"{"metadata""#, r#"{"metadata":"#, "{:,}", "\u{0}"] {
            assert_eq!(object_summary(head.as_bytes()), br#"{"metadata":{}}"#, "{head:?}");
        }
    }
}
