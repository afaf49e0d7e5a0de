//! Splits the body of a WATCH into its events as it arrives. Each event is a line of JSON.

use crate::failure::{self, Failure};
use crate::item::{self, InvalidItem, ListedItem, ParseGuard};
use crate::json;
use crate::large_value::event_summary;
use crate::name::ObjectName;
use crate::object::Object;
use crate::resource::Source;
use crate::size::MAX_ITEM_BYTES;
use crate::value_scanner::Progress;
use burst_printable::printable;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::mem;

/// A change of an object.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// An object was added or changed.
    Apply(Object),
    /// An object was added or changed, and is invalid.
    Invalid(InvalidItem),
    /// An object was added or changed, and was not parsed. Keep its last version.
    Retained(String),
    /// An object was deleted, or the selector no longer matches it.
    Delete(ObjectName),
}

/// Reads the events of a watch.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    position: EventPosition,
    /// Whether there was a line break.
    has_line: bool,
}

#[derive(Debug)]
enum EventPosition {
    /// In a line of which so many bytes have no line break.
    Line { scanned: usize },
    /// In the rest of a line that is too large. The summary of its event is reported when its end is reached.
    LargeLine { summary: Vec<u8> },
}

impl Default for EventPosition {
    fn default() -> Self {
        Self::Line { scanned: 0 }
    }
}

/// What the bytes begin with.
enum ScannedEvent<'a> {
    /// A line, without its line break.
    Line(&'a [u8]),
    /// So many bytes that belong to no event, or to one that is too large.
    Skipped(usize),
    MoreBytesNeeded,
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    pub(crate) r#type: EventType,
    pub(crate) resource_version: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    line: Line<'a>,
}

#[derive(Debug)]
enum Line<'a> {
    Complete(&'a [u8]),
    /// It is too large. The item has the name of its object.
    TooLarge(InvalidItem),
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    Apply,
    Delete,
    /// Only the resource version is new.
    Bookmark,
}

/// An event, with only the metadata of its object.
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
    /// Absent only in an ERROR event.
    #[serde(borrow, default)]
    resource_version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
}

/// The object of an event.
#[derive(Deserialize)]
struct EventObject<'a> {
    #[serde(borrow)]
    object: &'a RawValue,
}

/// A bookmark, with only its annotations.
#[derive(Deserialize)]
struct AnnotatedEvent<'a> {
    #[serde(borrow)]
    object: AnnotatedObject<'a>,
}

#[derive(Deserialize)]
struct AnnotatedObject<'a> {
    #[serde(borrow)]
    metadata: AnnotatedMeta<'a>,
}

#[derive(Deserialize)]
struct AnnotatedMeta<'a> {
    #[serde(borrow)]
    annotations: BookmarkAnnotations<'a>,
}

#[derive(Deserialize)]
struct BookmarkAnnotations<'a> {
    #[serde(borrow, rename = "k8s.io/initial-events-end")]
    initial_events_end: Cow<'a, str>,
}

impl EventReader {
    /// Finds the next event. `bytes` begins after those that were consumed.
    ///
    /// # Errors
    /// Returns a failure if a line is not an event, or if an event has the type ERROR.
    pub(crate) fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<Progress<Event<'a>>, Failure> {
        let mut consumed = 0;
        loop {
            let rest = bytes.get(consumed..).unwrap_or_default();
            match self.scan(rest) {
                ScannedEvent::Line(line) => {
                    consumed += line.len() + 1;
                    let item = self.event(line)?;
                    if item.is_some() {
                        return Ok(Progress { consumed, item });
                    }
                }
                ScannedEvent::Skipped(length) => consumed += length,
                ScannedEvent::MoreBytesNeeded => return Ok(Progress { consumed, item: None }),
            }
        }
    }

    /// Ends the watch. `rest` is the bytes that were not consumed, which are a line without a line break.
    ///
    /// # Errors
    /// Returns a failure if there was no complete line. A watch of a server that always sends such a body makes no
    /// progress.
    pub(crate) fn finish(&self, rest: &[u8]) -> Result<(), Failure> {
        let is_blank = matches!(self.position, EventPosition::Line { .. }) && rest.trim_ascii().is_empty();
        match self.has_line || is_blank {
            true => Ok(()),
            false => Err(Failure::Disconnected),
        }
    }

    fn scan<'a>(&mut self, bytes: &'a [u8]) -> ScannedEvent<'a> {
        let (scanned, limit) = match &self.position {
            EventPosition::Line { scanned } => (*scanned, MAX_ITEM_BYTES),
            EventPosition::LargeLine { .. } => (0, usize::MAX),
        };
        let head = bytes.get(..limit);
        let new = head.unwrap_or(bytes).get(scanned..).unwrap_or_default();
        if let Some(length) = new.iter().position(|byte| *byte == b'\n') {
            return ScannedEvent::Line(bytes.get(..scanned + length).unwrap_or_default());
        }
        match (&mut self.position, head) {
            (EventPosition::LargeLine { .. }, _) if bytes.is_empty() => ScannedEvent::MoreBytesNeeded,
            (EventPosition::LargeLine { .. }, _) => ScannedEvent::Skipped(bytes.len()),
            (EventPosition::Line { scanned }, None) => {
                *scanned = bytes.len();
                ScannedEvent::MoreBytesNeeded
            }
            (EventPosition::Line { .. }, Some(head)) => {
                self.position = match head.trim_ascii().is_empty() {
                    true => EventPosition::default(),
                    false => EventPosition::LargeLine {
                        summary: event_summary(head),
                    },
                };
                ScannedEvent::Skipped(head.len())
            }
        }
    }

    /// Parses the event of a line, or of the end of a line that is too large.
    fn event<'a>(&mut self, line: &'a [u8]) -> Result<Option<Event<'a>>, Failure> {
        self.has_line = true;
        match mem::take(&mut self.position) {
            EventPosition::LargeLine { summary } => Event::from_summary(&summary).map(Some),
            EventPosition::Line { .. } if line.trim_ascii().is_empty() => Ok(None),
            EventPosition::Line { .. } => Event::parse(line).map(Some),
        }
    }
}

impl<'a> Event<'a> {
    fn parse(line: &'a [u8]) -> Result<Self, Failure> {
        let (r#type, metadata, resource_version) = parse_header(line)?;
        Ok(Self {
            r#type,
            resource_version,
            namespace: metadata.namespace,
            name: metadata.name,
            line: Line::Complete(line),
        })
    }

    /// Creates an event without its object, which is too large.
    fn from_summary(summary: &[u8]) -> Result<Self, Failure> {
        let (r#type, metadata, resource_version) = parse_header(summary)?;
        Ok(Self {
            r#type,
            resource_version: Cow::Owned(resource_version.into_owned()),
            line: Line::TooLarge(item::too_large(event_object(summary)?.as_bytes())),
            namespace: Cow::Owned(metadata.namespace.into_owned()),
            name: Cow::Owned(metadata.name.into_owned()),
        })
    }

    /// Parses the change of the object. A bookmark has none.
    ///
    /// # Errors
    /// Returns a failure if the object is not UTF-8.
    pub(crate) fn change(self, source: &Source, guard: &mut dyn ParseGuard) -> Result<Option<Change>, Failure> {
        Ok(match (self.r#type, self.line) {
            (EventType::Apply, Line::Complete(line)) => {
                Some(match item::parse_item(source, event_object(line)?, guard) {
                    ListedItem::Object(object) => Change::Apply(object),
                    ListedItem::Invalid(invalid) => Change::Invalid(invalid),
                    ListedItem::Retained(name) => Change::Retained(name),
                })
            }
            (EventType::Apply, Line::TooLarge(invalid)) => Some(Change::Invalid(invalid)),
            // An object with an invalid name was never stored.
            (EventType::Delete, _) => ObjectName::new(&self.namespace, &self.name).ok().map(Change::Delete),
            (EventType::Bookmark, _) => None,
        })
    }

    /// Returns whether this is the bookmark after the initial events of a watch that asked for them.
    /// <https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists>
    pub(crate) fn ends_initial_events(&self) -> bool {
        match (self.r#type, &self.line) {
            (EventType::Bookmark, Line::Complete(line)) => json::read::<AnnotatedEvent<'_>>(line)
                .is_ok_and(|event| event.object.metadata.annotations.initial_events_end == "true"),
            _ => false,
        }
    }
}

/// Parses the type, the metadata and the resource version of an event.
fn parse_header(line: &[u8]) -> Result<(EventType, VersionMeta<'_>, Cow<'_, str>), Failure> {
    let RawEvent { r#type, object } = json::read(line).map_err(Failure::malformed)?;
    if r#type == "ERROR" {
        return Err(error_event(event_object(line)?));
    }
    let mut metadata = object.metadata;
    let Some(resource_version) = metadata.resource_version.take() else {
        return Err(Failure::Malformed("an event without `resourceVersion`".into()));
    };
    let event_type = match &*r#type {
        "ADDED" | "MODIFIED" => EventType::Apply,
        "DELETED" => EventType::Delete,
        "BOOKMARK" => EventType::Bookmark,
        other => {
            let unknown = format!("an event of type {}", printable(other, 30));
            return Err(Failure::Malformed(unknown));
        }
    };
    Ok((event_type, metadata, resource_version))
}

fn event_object(line: &[u8]) -> Result<&str, Failure> {
    let content: EventObject<'_> = json::read(line).map_err(Failure::malformed)?;
    Ok(content.object.get())
}

/// Returns the failure in an event of type ERROR. Its object is the `metav1.Status` of an ordinary response.
fn error_event(json: &str) -> Failure {
    #[derive(Deserialize)]
    struct StatusCode {
        code: u16,
    }
    match json::read(json.as_bytes()) {
        Ok(StatusCode { code }) => failure::failure_from_event(code, json.as_bytes()),
        Err(error) => Failure::malformed(error),
    }
}
