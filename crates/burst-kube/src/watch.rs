//! Parses the response to a watch that ended: a callout delivers only a complete response, so the request limits the watch
//! to some seconds.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes>

pub use crate::event_reader::Change;
use crate::event_reader::{EventReader, EventType};
use crate::failure::Failure;
use crate::item::ParseGuard;
use crate::resource::Source;
use crate::value_scanner::Progress;
use foldhash::fast::RandomState;
use std::collections::HashSet;

/// The changes from a watch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WatchBatch {
    /// The last change of each object, in the order of the events.
    pub changes: Vec<Change>,
    /// The `resourceVersion` from which the next watch continues; `None` if there was no event.
    pub resource_version: Option<String>,
}

/// Parses the body of a successful watch. A last line without a line break was cut off and is ignored. The resource
/// version is that of the line before it, so the next watch returns the event again.
///
/// # Errors
/// Returns a failure if a line is not an event, or if an event has the type ERROR. Discard the whole body: the next
/// request returns the events again. A body without a complete line is a failure too, because a watch of a server that
/// always sends such a body makes no progress.
pub fn parse(source: &Source, body: &[u8], guard: &mut dyn ParseGuard) -> Result<WatchBatch, Failure> {
    let mut reader = EventReader::default();
    let mut events = Vec::new();
    let mut rest = body;
    loop {
        let Progress { consumed, item } = reader.next(rest)?;
        rest = rest.get(consumed..).unwrap_or_default();
        let Some(event) = item else { break };
        events.push(event);
    }
    reader.finish(rest)?;
    let resource_version = events.last().map(|event| event.resource_version.clone().into_owned());
    // A rollout changes an object several times during a watch. Only the last change counts.
    let mut later = HashSet::with_hasher(RandomState::default());
    let mut changes = Vec::new();
    for event in events.into_iter().rev() {
        let is_last =
            event.r#type != EventType::Bookmark && later.insert((event.namespace.clone(), event.name.clone()));
        if is_last {
            changes.extend(event.change(source, guard)?);
        }
    }
    changes.reverse();
    Ok(WatchBatch {
        changes,
        resource_version,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::InvalidItem;
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

    fn batch(body: &str) -> Result<WatchBatch, Failure> {
        parse(&services(), body.as_bytes(), &mut ())
    }

    fn changes(batch: &WatchBatch) -> Vec<String> {
        let describe = |change: &Change| match change {
            Change::Apply(object) => format!("apply {}", object.name()),
            Change::Invalid(InvalidItem { name, .. }) => format!("invalid {name}"),
            Change::Retained(name) => format!("retained {name}"),
            Change::Delete(name) => format!("delete {name}"),
        };
        batch.changes.iter().map(describe).collect()
    }

    #[test]
    fn changes_are_in_order_and_the_version_is_that_of_the_last_event() {
        let bookmark = r#"{"type":"BOOKMARK","object":{"kind":"Service","metadata":{"resourceVersion":"40"}}}"#;
        let body = event("ADDED", "a", 11) + &event("MODIFIED", "a", 12) + &event("DELETED", "b", 13) + bookmark + "\n";
        let batch = batch(&body).unwrap();
        assert_eq!(changes(&batch), ["apply shop/a", "delete shop/b"]);
        assert_eq!(batch.resource_version.as_deref(), Some("40"));
    }

    #[test]
    fn only_the_last_change_of_an_object_counts() {
        let body = event("ADDED", "a", 11)
            + &event("DELETED", "b", 12)
            + &event("MODIFIED", "a", 13).replace(r#"{"app":"a"}"#, "7")
            + &event("ADDED", "b", 14)
            + &event("ADDED", "c", 15)
            + &event("DELETED", "c", 16);
        assert_eq!(
            changes(&batch(&body).unwrap()),
            ["invalid shop/a", "apply shop/b", "delete shop/c"]
        );
    }

    #[test]
    fn a_watch_without_events_has_no_changes() {
        assert_eq!(batch("").unwrap(), WatchBatch::default());
    }

    #[test]
    fn a_last_line_that_was_cut_off_is_ignored() {
        let whole = event("ADDED", "a", 11);
        for cut in 0..event("ADDED", "b", 12).len() {
            let body = whole.clone() + &event("ADDED", "b", 12)[..cut];
            let batch = batch(&body).unwrap();
            assert_eq!(changes(&batch), ["apply shop/a"], "{cut} bytes of the second line");
            assert_eq!(batch.resource_version.as_deref(), Some("11"));
        }
    }

    #[test]
    fn a_body_without_a_complete_line_is_a_failure() {
        for body in [
            "<html>",
            "{",
            r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#,
        ] {
            assert_eq!(batch(body), Err(Failure::Disconnected), "{body}");
        }
        for body in ["", "\n", " \r\n"] {
            assert_eq!(batch(body), Ok(WatchBatch::default()), "{body:?}");
        }
    }

    #[test]
    fn an_object_that_became_invalid_is_named() {
        let invalid = event("MODIFIED", "a", 11).replace(r#"{"app":"a"}"#, "7");
        assert_eq!(changes(&batch(&invalid).unwrap()), ["invalid shop/a"]);
    }

    #[test]
    fn an_invalid_object_with_the_longest_name_is_named_in_full() {
        let (namespace, name) = ("b".repeat(63), "a".repeat(253));
        let invalid = event("MODIFIED", &name, 11)
            .replace("shop", &namespace)
            .replace(&format!(r#"{{"app":"{name}"}}"#), "7");
        assert_eq!(
            changes(&batch(&invalid).unwrap()),
            [format!("invalid {namespace}/{name}")]
        );
    }

    #[test]
    fn an_error_event_for_an_expired_version_is_expired() {
        let error = |code: u16| {
            format!(
                r#"{{"type":"ERROR","object":{{"kind":"Status","metadata":{{}},"message":"too old","code":{code}}}}}"#
            ) + "\n"
        };
        let read = |code| batch(&(event("ADDED", "a", 11) + &error(code))).unwrap_err();
        assert_eq!(read(410), Failure::Expired("too old".into()));
        assert!(matches!(read(500), Failure::Server { status: 500, .. }));
    }

    #[test]
    fn a_line_that_is_not_an_event_makes_the_batch_malformed() {
        let unversioned = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
        for line in ["<html>", "{}", r#"{"type":"LOST","object":{}}"#, unversioned] {
            let body = event("ADDED", "a", 11) + line + "\n";
            assert!(matches!(batch(&body), Err(Failure::Malformed(_))), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_a_panic(body in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = parse(&services(), &body, &mut ());
        }

        #[test]
        fn any_line_is_parsed_without_a_panic(kind in "ADDED|MODIFIED|DELETED|ERROR|BOOKMARK|.{0,8}", object in ".{0,99}") {
            let line = format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
            let _ = parse(&services(), line.as_bytes(), &mut ());
        }
    }
}
