//! One bounded watch: a line of JSON for each change. A callout delivers only when its answer ends, so the watch is
//! asked to end by itself after some seconds, and its body is what changed in them.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes>

use crate::json;
use crate::name::ObjectName;
use crate::object::Object;
use crate::page::{InvalidItem, ParseGuard, SkippedItem, name_of, parse_item};
use crate::resource::Source;
use crate::response::{self, Failure};
use burst_printable::printable;
use foldhash::fast::RandomState;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;

/// What one watch brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WatchBatch {
    /// The last change of each object, in their order.
    pub changes: Vec<Change>,
    /// The `resourceVersion` that they lead to, which the next watch starts from; `None` where nothing was said.
    pub version: Option<String>,
}

/// One change.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// An object is new, or is now as given.
    Apply(Object),
    /// An object is now one that cannot be read.
    Invalid(InvalidItem),
    /// An object changed, and is not read this time.
    Retained(String),
    /// An object is gone, or no longer selected.
    Delete(ObjectName),
}

/// A line without what it is about.
#[derive(Deserialize)]
struct RawEvent<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    object: VersionedObject<'a>,
}

#[derive(Deserialize)]
struct VersionedObject<'a> {
    #[serde(borrow, default)]
    metadata: VersionMeta<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionMeta<'a> {
    /// Of anything but an ERROR.
    #[serde(borrow, default)]
    resource_version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
}

/// What an event says of its object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventType {
    Apply,
    Delete,
    /// It says how far the watch has come.
    Bookmark,
}

/// What it is about.
#[derive(Deserialize)]
struct EventObject<'a> {
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Reads the body of a successful watch. A last line without its end was cut off on the way: it is left out, and the
/// version is that of the line before, so that the next watch brings it again.
///
/// # Errors
/// A line that is no event, or an event of type ERROR. Then nothing of the body counts: what comes next brings all of
/// it again. And a body that is only the beginning of a line: whatever answers so each time says nothing of the cluster.
pub fn parse(source: &Source, body: &[u8], progress: &mut dyn ParseGuard) -> Result<WatchBatch, Failure> {
    let mut window = WatchBatch::default();
    let whole = match body.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => body.get(..end).unwrap_or_default(),
        None if body.trim_ascii().is_empty() => body,
        None => return Err(Failure::Disconnected),
    };
    let lines = whole.split(|byte| *byte == b'\n');
    let mut events = Vec::new();
    for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
        let RawEvent { r#type, object } = json::read(line).map_err(Failure::malformed)?;
        if r#type == "ERROR" {
            return Err(error(content(line)?));
        }
        let metadata = object.metadata;
        if metadata.resource_version.is_none() {
            return Err(Failure::Malformed("an event without `resourceVersion`".into()));
        }
        let word = match &*r#type {
            "ADDED" | "MODIFIED" => EventType::Apply,
            "DELETED" => EventType::Delete,
            "BOOKMARK" => EventType::Bookmark,
            other => {
                let unknown = format!("an event of type {}", printable(other, 30));
                return Err(Failure::Malformed(unknown));
            }
        };
        events.push((word, metadata, line));
    }
    let version = events
        .last()
        .and_then(|(_, metadata, _)| metadata.resource_version.as_deref());
    window.version = version.map(ToOwned::to_owned);
    // A rollout changes an object several times in one window, and only how it ends counts.
    let mut later = HashSet::with_hasher(RandomState::default());
    for (word, metadata, line) in events.iter().rev() {
        let is_last = *word != EventType::Bookmark && later.insert((&metadata.namespace, &metadata.name));
        match word {
            EventType::Apply if is_last => window.changes.push(apply(source, content(line)?, progress)),
            // A name that cannot be an object's was never kept.
            EventType::Delete if is_last => {
                let name = ObjectName::new(&metadata.namespace, &metadata.name);
                window.changes.extend(name.ok().map(Change::Delete));
            }
            _ => {}
        }
    }
    window.changes.reverse();
    Ok(window)
}

fn content(line: &[u8]) -> Result<&str, Failure> {
    let content: EventObject<'_> = json::read(line).map_err(Failure::malformed)?;
    Ok(content.object.get())
}

fn apply(source: &Source, json: &str, progress: &mut dyn ParseGuard) -> Change {
    match parse_item(source, json, progress) {
        Ok(object) => Change::Apply(object),
        Err(SkippedItem::Held) => Change::Retained(name_of(json)),
        Err(SkippedItem::Bad(reason)) => Change::Invalid(InvalidItem {
            name: name_of(json),
            reason,
        }),
    }
}

/// An event of type ERROR carries the `metav1.Status` that an ordinary answer would have had.
fn error(json: &str) -> Failure {
    #[derive(Deserialize)]
    struct Status {
        code: u16,
    }
    match json::read(json.as_bytes()) {
        Ok(Status { code }) => response::failure_of(code, json.as_bytes()),
        Err(error) => Failure::malformed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{ObjectKind, Resource};
    use proptest::prelude::*;

    fn services() -> Source {
        Source::all_namespaces(ObjectKind::Services, Resource::services())
    }

    fn event(r#type: &str, name: &str, version: u32) -> String {
        format!(
            r#"{{"type":"{type}","object":{{"kind":"Service","apiVersion":"v1","metadata":{{"name":"{name}",
            "namespace":"shop","resourceVersion":"{version}"}},"spec":{{"selector":{{"app":"{name}"}}}}}}}}"#
        )
        .replace('\n', " ")
            + "\n"
    }

    fn window(body: &str) -> Result<WatchBatch, Failure> {
        parse(&services(), body.as_bytes(), &mut ())
    }

    fn said(window: &WatchBatch) -> Vec<String> {
        let word = |change: &Change| match change {
            Change::Apply(object) => format!("put {}", object.name()),
            Change::Invalid(InvalidItem { name, .. }) => format!("spoiled {name}"),
            Change::Retained(name) => format!("held {name}"),
            Change::Delete(name) => format!("gone {name}"),
        };
        window.changes.iter().map(word).collect()
    }

    #[test]
    fn changes_come_in_their_order_and_lead_to_the_last_version() {
        let bookmark = r#"{"type":"BOOKMARK","object":{"kind":"Service","metadata":{"resourceVersion":"40"}}}"#;
        let body = event("ADDED", "a", 11) + &event("MODIFIED", "a", 12) + &event("DELETED", "b", 13) + bookmark + "\n";
        let window = window(&body).unwrap();
        assert_eq!(said(&window), ["put shop/a", "gone shop/b"]);
        assert_eq!(window.version.as_deref(), Some("40"));
    }

    #[test]
    fn of_an_object_that_changed_several_times_the_last_counts() {
        let body = event("ADDED", "a", 11)
            + &event("DELETED", "b", 12)
            + &event("MODIFIED", "a", 13).replace(r#"{"app":"a"}"#, "7")
            + &event("ADDED", "b", 14)
            + &event("ADDED", "c", 15)
            + &event("DELETED", "c", 16);
        assert_eq!(
            said(&window(&body).unwrap()),
            ["spoiled shop/a", "put shop/b", "gone shop/c"]
        );
    }

    #[test]
    fn a_quiet_window_says_nothing() {
        assert_eq!(window("").unwrap(), WatchBatch::default());
    }

    #[test]
    fn a_last_line_without_its_end_comes_again() {
        let whole = event("ADDED", "a", 11);
        for cut in 0..event("ADDED", "b", 12).len() {
            let body = whole.clone() + &event("ADDED", "b", 12)[..cut];
            let window = window(&body).unwrap();
            assert_eq!(said(&window), ["put shop/a"], "{cut} bytes of the second line");
            assert_eq!(window.version.as_deref(), Some("11"));
        }
    }

    #[test]
    fn a_body_that_is_the_beginning_of_a_line_says_nothing() {
        for body in [
            "<html>",
            "{",
            r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#,
        ] {
            assert_eq!(window(body), Err(Failure::Disconnected), "{body}");
        }
        for body in ["", "\n", " \r\n"] {
            assert_eq!(window(body), Ok(WatchBatch::default()), "{body:?}");
        }
    }

    #[test]
    fn an_object_that_became_unreadable_is_named() {
        let spoiled = event("MODIFIED", "a", 11).replace(r#"{"app":"a"}"#, "7");
        assert_eq!(said(&window(&spoiled).unwrap()), ["spoiled shop/a"]);
    }

    #[test]
    fn however_long_its_name_an_object_that_became_unreadable_is_known_by_it() {
        let (namespace, name) = ("b".repeat(63), "a".repeat(253));
        let spoiled = event("MODIFIED", &name, 11)
            .replace("shop", &namespace)
            .replace(&format!(r#"{{"app":"{name}"}}"#), "7");
        assert_eq!(
            said(&window(&spoiled).unwrap()),
            [format!("spoiled {namespace}/{name}")]
        );
    }

    #[test]
    fn an_expired_version_is_told_from_other_errors() {
        let error = |code: u16| {
            format!(
                r#"{{"type":"ERROR","object":{{"kind":"Status","metadata":{{}},"message":"said so","code":{code}}}}}"#
            ) + "\n"
        };
        let read = |code| window(&(event("ADDED", "a", 11) + &error(code))).unwrap_err();
        assert_eq!(read(410), Failure::Expired("said so".into()));
        assert!(matches!(read(500), Failure::Server { status: 500, .. }));
    }

    #[test]
    fn a_line_that_is_no_event_spoils_the_window() {
        let unversioned = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
        for line in ["<html>", "{}", r#"{"type":"LOST","object":{}}"#, unversioned] {
            let body = event("ADDED", "a", 11) + line + "\n";
            assert!(matches!(window(&body), Err(Failure::Malformed(_))), "{line}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_survived(body in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = parse(&services(), &body, &mut ());
        }

        #[test]
        fn arbitrary_lines_are_survived(kind in "ADDED|MODIFIED|DELETED|ERROR|BOOKMARK|.{0,8}", object in ".{0,99}") {
            let line = format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
            let _ = parse(&services(), line.as_bytes(), &mut ());
        }
    }
}
