//! Reads the body of a LIST or of a WATCH as it arrives, in chunks of any size, and gives the objects one by one.
//!
//! The result does not depend on how the body is cut into chunks.

use crate::event_reader::{Change, Event, EventReader};
use crate::failure::Failure;
use crate::item::{ListedItem, ParseGuard};
use crate::list_reader::ListReader;
use crate::resource::{Source, Verb};
use crate::value_scanner::Progress;

/// The reader of one body.
///
/// It keeps the bytes that are not read yet, which are at most [`MAX_ITEM_BYTES`](crate::size::MAX_ITEM_BYTES) once
/// [`next`](Self::next) has returned `None`.
#[derive(Debug)]
pub struct BodyReader {
    buffer: Vec<u8>,
    /// The number of bytes at the beginning of the buffer that are done with.
    consumed: usize,
    state: BodyState,
}

#[derive(Debug)]
enum BodyState {
    List(ListReader),
    Watch(EventReader),
    Failed(Failure),
}

/// A part of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyItem {
    /// An item of a list.
    Item(ListedItem),
    /// A change of an object, from an event of a watch.
    Change {
        /// The change.
        change: Change,
        /// The resource version from which the next watch continues.
        resource_version: String,
    },
    /// Only the resource version is new.
    Bookmark {
        /// The resource version from which the next watch continues.
        resource_version: String,
        /// Whether all objects were sent that a [`WatchList`](crate::resource::StreamStart::WatchList) begins with.
        ends_initial_events: bool,
    },
}

/// The end of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// The end of a page of a list.
    List {
        /// The list's `resourceVersion`.
        resource_version: String,
        /// The `continue` token of the next page; `None` on the last one.
        continue_token: Option<String>,
    },
    /// The end of a watch.
    Watch,
}

/// A buffer that becomes empty is freed if it is larger than this.
const RETAINED_CAPACITY: usize = 64 << 10;

impl BodyReader {
    /// Creates a reader for the body of a successful response to a request with this verb.
    #[must_use]
    pub fn new(verb: Verb) -> Self {
        Self {
            buffer: Vec::new(),
            consumed: 0,
            state: match verb {
                Verb::List => BodyState::List(ListReader::default()),
                Verb::Watch => BodyState::Watch(EventReader::default()),
            },
        }
    }

    /// Adds the next bytes of the body. They are copied, and parsed in [`next`](Self::next).
    pub fn push(&mut self, chunk: &[u8]) {
        if matches!(self.state, BodyState::Failed(_)) {
            return;
        }
        // Moving the rest to the front only then makes it cheap if many chunks are added before the first is read.
        if self.consumed > self.pending() {
            self.buffer.drain(..self.consumed);
            self.consumed = 0;
        }
        self.buffer.extend_from_slice(chunk);
    }

    /// Returns the number of bytes that are not read yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.consumed
    }

    /// Returns the next item, or `None` if more bytes are needed.
    ///
    /// The items of a list may come before its kind and its resource version. Do not take the list as read before
    /// [`finish`](Self::finish) has returned them.
    ///
    /// # Errors
    /// Returns a failure if the body is not JSON, or not of the kind that was requested, or if an event has the type
    /// ERROR. The failure is final. The items before it are valid.
    pub fn next(&mut self, source: &Source, guard: &mut dyn ParseGuard) -> Result<Option<BodyItem>, Failure> {
        let bytes = self.buffer.get(self.consumed..).unwrap_or_default();
        let progress = match &mut self.state {
            BodyState::List(list) => list.next(bytes, source, guard).map(|progress| Progress {
                consumed: progress.consumed,
                item: progress.item.map(BodyItem::Item),
            }),
            BodyState::Watch(watch) => next_event(watch, bytes, source, guard),
            BodyState::Failed(failure) => return Err(failure.clone()),
        };
        match progress {
            Ok(Progress { consumed, item }) => {
                self.consumed += consumed;
                self.free_empty_buffer();
                Ok(item)
            }
            Err(failure) => {
                *self = Self {
                    buffer: Vec::new(),
                    consumed: 0,
                    state: BodyState::Failed(failure.clone()),
                };
                Err(failure)
            }
        }
    }

    /// Ends the body. Call it when [`next`](Self::next) has returned `None`. Half an event at the end of a watch is
    /// dropped, so the next watch returns it again.
    ///
    /// # Errors
    /// Returns a failure if a list is incomplete or of another kind, or if a watch was cut off in its first event.
    pub fn finish(self, source: &Source) -> Result<BodyEnd, Failure> {
        let rest = self.buffer.get(self.consumed..).unwrap_or_default();
        match self.state {
            BodyState::List(list) => {
                let metadata = list.finish(source)?;
                Ok(BodyEnd::List {
                    resource_version: metadata.resource_version,
                    continue_token: Some(metadata.r#continue).filter(|token| !token.is_empty()),
                })
            }
            BodyState::Watch(watch) => watch.finish(rest).map(|()| BodyEnd::Watch),
            BodyState::Failed(failure) => Err(failure),
        }
    }

    fn free_empty_buffer(&mut self) {
        if self.pending() == 0 {
            self.consumed = 0;
            self.buffer.clear();
            if self.buffer.capacity() > RETAINED_CAPACITY {
                self.buffer = Vec::new();
            }
        }
    }
}

fn next_event(
    watch: &mut EventReader,
    bytes: &[u8],
    source: &Source,
    guard: &mut dyn ParseGuard,
) -> Result<Progress<BodyItem>, Failure> {
    let Progress { consumed, item } = watch.next(bytes)?;
    let item = item.map(|event| body_item(event, source, guard)).transpose()?;
    Ok(Progress { consumed, item })
}

fn body_item(event: Event<'_>, source: &Source, guard: &mut dyn ParseGuard) -> Result<BodyItem, Failure> {
    let resource_version = event.resource_version.clone().into_owned();
    let ends_initial_events = event.ends_initial_events();
    Ok(match event.change(source, guard)? {
        Some(change) => BodyItem::Change {
            change,
            resource_version,
        },
        None => BodyItem::Bookmark {
            resource_version,
            ends_initial_events,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::InvalidItem;
    use crate::resource::{ObjectKind, Resource};
    use crate::size::MAX_ITEM_BYTES;

    fn services() -> Source {
        Source::all_namespaces(ObjectKind::Services, Resource::services())
    }

    fn service(name: &str, padding: usize) -> String {
        let padding = "x".repeat(padding);
        format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"shop","resourceVersion":"7"}},"spec":{{"x":"{padding}"}}}}"#
        )
    }

    fn event(r#type: &str, object: &str) -> String {
        format!("{{\"type\":\"{type}\",\"object\":{object}}}\n")
    }

    /// Reads a body in chunks. Returns the items, the end, and the most bytes that were kept between two chunks.
    fn read(verb: Verb, body: &str, chunk: usize) -> (Vec<String>, Result<BodyEnd, Failure>, usize) {
        let (mut items, mut most) = (Vec::new(), 0);
        let mut reader = BodyReader::new(verb);
        for chunk in body.as_bytes().chunks(chunk) {
            reader.push(chunk);
            loop {
                match reader.next(&services(), &mut ()) {
                    Ok(Some(item)) => items.push(describe(item)),
                    Ok(None) => break,
                    Err(failure) => return (items, Err(failure), most),
                }
            }
            most = most.max(reader.pending());
        }
        (items, reader.finish(&services()), most)
    }

    fn describe(item: BodyItem) -> String {
        let invalid = |InvalidItem { name, reason }| format!("invalid {name}: {reason}");
        match item {
            BodyItem::Item(ListedItem::Object(object)) => format!("object {}", object.name()),
            BodyItem::Item(ListedItem::Invalid(item)) => invalid(item),
            BodyItem::Item(ListedItem::Retained(name)) => format!("retained {name}"),
            BodyItem::Change {
                change,
                resource_version,
            } => {
                let change = match change {
                    Change::Apply(object) => format!("apply {}", object.name()),
                    Change::Invalid(item) => invalid(item),
                    Change::Retained(name) => format!("retained {name}"),
                    Change::Delete(name) => format!("delete {name}"),
                };
                format!("{change} at {resource_version}")
            }
            BodyItem::Bookmark {
                resource_version,
                ends_initial_events,
            } => format!("bookmark {resource_version} {ends_initial_events}"),
        }
    }

    #[test]
    fn a_list_gives_its_items_before_its_end_has_arrived() {
        let (a, b) = (service("a", 0), service("b", 0));
        let head = format!(r#"{{"kind":"ServiceList","metadata":{{"resourceVersion":"7"}},"items":[{a},{b}"#);
        let mut reader = BodyReader::new(Verb::List);
        reader.push(head.as_bytes());
        for name in ["a", "b"] {
            let item = reader.next(&services(), &mut ()).unwrap().unwrap();
            assert_eq!(describe(item), format!("object shop/{name}"));
        }
        assert_eq!(reader.next(&services(), &mut ()), Ok(None));
        reader.push(b"]}\n");
        assert_eq!(reader.next(&services(), &mut ()), Ok(None));
        assert_eq!(
            reader.finish(&services()),
            Ok(BodyEnd::List {
                resource_version: "7".into(),
                continue_token: None
            })
        );
    }

    #[test]
    fn a_watch_gives_each_event_with_its_version() {
        let initial = r#"{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
        let bookmark = r#"{"metadata":{"resourceVersion":"10","annotations":null}}"#;
        let body = event("ADDED", &service("a", 0))
            + &event("BOOKMARK", initial)
            + &event("DELETED", &service("a", 0))
            + &event("DELETED", &service("A!", 0))
            + &event("BOOKMARK", bookmark)
            + r#"{"type":"ADD"#;
        let expected = [
            "apply shop/a at 7",
            "bookmark 9 true",
            "delete shop/a at 7",
            "bookmark 7 false",
            "bookmark 10 false",
        ];
        for chunk in [1, 7, 1000] {
            let (items, end, _) = read(Verb::Watch, &body, chunk);
            assert_eq!(items, expected, "{chunk}");
            assert_eq!(end, Ok(BodyEnd::Watch));
        }
    }

    #[test]
    fn a_failure_is_final_and_comes_after_the_items_before_it() {
        let list = format!(r#"{{"items":[{},}}"#, service("a", 0));
        let error = event("ERROR", r#"{"code":410,"message":"too old"}"#);
        let watch = event("ADDED", &service("a", 0)) + &error + &event("ADDED", &service("b", 0));
        for (verb, body, item) in [
            (Verb::List, list, "object shop/a"),
            (Verb::Watch, watch, "apply shop/a at 7"),
        ] {
            let mut reader = BodyReader::new(verb);
            reader.push(body.as_bytes());
            let first = reader.next(&services(), &mut ()).unwrap().unwrap();
            assert_eq!(describe(first), item);
            let failure = reader.next(&services(), &mut ()).unwrap_err();
            reader.push(b"]");
            assert_eq!(reader.next(&services(), &mut ()), Err(failure.clone()));
            assert_eq!(reader.pending(), 0);
            assert_eq!(reader.finish(&services()), Err(failure));
        }
    }

    #[test]
    fn an_object_that_is_too_large_costs_one_object_and_is_not_kept() {
        let (small, large) = (service("a", 0), service("b", 3 * MAX_ITEM_BYTES));
        let list = format!(r#"{{"kind":"ServiceList","items":[{small},{large},{small}]}}"#);
        let watch = [&small, &large, &small].map(|object| event("ADDED", object)).concat();
        let reason = "invalid shop/b: it has more than 4194304 bytes";
        for (verb, body, [first, second]) in [
            (Verb::List, list, ["object shop/a".to_owned(), reason.to_owned()]),
            (
                Verb::Watch,
                watch,
                ["apply shop/a at 7".to_owned(), format!("{reason} at 7")],
            ),
        ] {
            for chunk in [10_007, usize::MAX] {
                let (items, end, most) = read(verb, &body, chunk);
                assert!(end.is_ok(), "{end:?}");
                assert_eq!(items, [&first, &second, &first].map(String::as_str));
                assert!(most <= MAX_ITEM_BYTES, "{most}");
            }
        }
        let deleted = event("DELETED", &large);
        assert_eq!(read(Verb::Watch, &deleted, 10_007).0, ["delete shop/b at 7"]);
    }
}
