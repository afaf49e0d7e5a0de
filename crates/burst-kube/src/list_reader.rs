//! Splits the body of a LIST into its items as it arrives, and parses each item.
//!
//! The order of the members is free. kube-apiserver sends `kind` and `metadata` before `items`, but a JSON object has no
//! order.

use crate::failure::Failure;
use crate::item::{self, ListedItem, ParseGuard};
use crate::json;
use crate::large_value::object_summary;
use crate::resource::Source;
use crate::size::MAX_ITEM_BYTES;
use crate::value_scanner::{Progress, ValueScanner};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::fmt::Display;
use std::mem;

/// The largest number of invalid items in a page; no larger page is requested. If the response is not a list of
/// objects, every two bytes may be an item, and an item takes a hundred times as much memory.
pub(crate) const MAX_INVALID_ITEMS: usize = 10_000;

/// Reads a list.
#[derive(Debug, Default)]
pub(crate) struct ListReader {
    position: ListPosition,
    /// How far the value at hand is scanned.
    value: ValueScanner,
    /// The bytes that are consumed.
    consumed: usize,
    kind: Option<String>,
    metadata: Option<ListMetadata>,
    has_items: bool,
    invalid_items: usize,
}

/// The `metadata` of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListMetadata {
    /// The list's `resourceVersion`.
    pub(crate) resource_version: String,
    /// The token of the next page; empty on the last one.
    pub(crate) r#continue: String,
}

/// What comes next in the list. A value is part of it from its first byte to its last.
#[derive(Debug, Default)]
enum ListPosition {
    #[default]
    Start,
    /// A name, or the end of the list if there was none before.
    Name {
        is_first: bool,
    },
    Colon(Member),
    Value(Member),
    /// The end of a member.
    MemberEnd,
    /// An item, or the end of the items if there was none before.
    Item {
        is_first: bool,
    },
    /// The rest of an item that is too large. It is reported when its end is reached.
    LargeItem(item::InvalidItem),
    /// The end of an item.
    ItemEnd,
    /// White space.
    End,
}

/// A member of a list.
#[derive(Clone, Copy, Debug)]
enum Member {
    Kind,
    Metadata,
    Items,
    Other,
}

/// A value at the beginning of some bytes.
enum ScannedList<'a> {
    Complete(&'a [u8]),
    Incomplete,
    /// The first bytes of a value that is larger than the limit.
    TooLarge(&'a [u8]),
}

/// What a step found.
enum Step {
    /// So many bytes are done with.
    Consumed(usize),
    Item(usize, ListedItem),
    MoreBytesNeeded,
}

impl ListReader {
    /// Finds the next item. `bytes` begins after those that were consumed.
    ///
    /// # Errors
    /// Returns a failure if the bytes are not JSON, or not a list of that kind.
    pub(crate) fn next(
        &mut self,
        bytes: &[u8],
        source: &Source,
        guard: &mut dyn ParseGuard,
    ) -> Result<Progress<ListedItem>, Failure> {
        let mut rest = bytes;
        loop {
            let (length, item) = match self.step(rest, source, guard)? {
                Step::Consumed(length) => (length, None),
                Step::Item(length, item) => (length, Some(item)),
                Step::MoreBytesNeeded => {
                    let consumed = bytes.len() - rest.len();
                    return Ok(Progress { consumed, item: None });
                }
            };
            rest = rest.get(length..).unwrap_or_default();
            self.consumed += length;
            if item.is_some() {
                let consumed = bytes.len() - rest.len();
                return Ok(Progress { consumed, item });
            }
        }
    }

    /// Ends the list.
    ///
    /// # Errors
    /// Returns a failure if the list is incomplete, or of another kind.
    pub(crate) fn finish(self, source: &Source) -> Result<ListMetadata, Failure> {
        if !matches!(self.position, ListPosition::End) {
            let cut_off = format!("the list was cut off after byte {}", self.consumed);
            return Err(Failure::Malformed(cut_off));
        }
        check_kind(source, self.kind.as_deref().unwrap_or_default())?;
        Ok(self.metadata.unwrap_or_default())
    }

    fn step(&mut self, bytes: &[u8], source: &Source, guard: &mut dyn ParseGuard) -> Result<Step, Failure> {
        if let ListPosition::LargeItem(_) = self.position {
            return self.skip_large_item(bytes);
        }
        let Some(first) = bytes.first() else {
            return Ok(Step::MoreBytesNeeded);
        };
        if is_json_whitespace(*first) {
            let blanks = bytes.iter().take_while(|byte| is_json_whitespace(**byte));
            return Ok(Step::Consumed(blanks.count()));
        }
        let next = match (&self.position, first) {
            (ListPosition::Start, b'{') => ListPosition::Name { is_first: true },
            (ListPosition::Start, _) => return Err(self.unexpected("`{`")),
            (ListPosition::Name { is_first: true }, b'}') => ListPosition::End,
            (ListPosition::Name { .. }, b'"') => return self.name(bytes),
            (ListPosition::Name { .. }, _) => return Err(self.unexpected("a name in quotes")),
            (ListPosition::Colon(member), b':') => ListPosition::Value(*member),
            (ListPosition::Colon(_), _) => return Err(self.unexpected("`:`")),
            (ListPosition::Value(Member::Items), b'[') => ListPosition::Item { is_first: true },
            (ListPosition::Value(member), _) => return self.member(*member, bytes, source),
            (ListPosition::MemberEnd, b',') => ListPosition::Name { is_first: false },
            (ListPosition::MemberEnd, b'}') => ListPosition::End,
            (ListPosition::MemberEnd, _) => return Err(self.unexpected("`,` or `}`")),
            (ListPosition::Item { is_first: true }, b']') => ListPosition::MemberEnd,
            (ListPosition::Item { .. }, _) => return self.item(bytes, source, guard),
            (ListPosition::ItemEnd, b',') => ListPosition::Item { is_first: false },
            (ListPosition::ItemEnd, b']') => ListPosition::MemberEnd,
            (ListPosition::ItemEnd, _) => return Err(self.unexpected("`,` or `]`")),
            (ListPosition::LargeItem(_) | ListPosition::End, _) => return Err(self.unexpected("the end")),
        };
        self.position = next;
        Ok(Step::Consumed(1))
    }

    fn name(&mut self, bytes: &[u8]) -> Result<Step, Failure> {
        let Some(json) = self.bounded_value(bytes)? else {
            return Ok(Step::MoreBytesNeeded);
        };
        let name: Cow<'_, str> = self.read(json)?;
        let (member, is_repeated) = match &*name {
            "kind" => (Member::Kind, self.kind.is_some()),
            "metadata" => (Member::Metadata, self.metadata.is_some()),
            "items" => (Member::Items, self.has_items),
            _ => (Member::Other, false),
        };
        if is_repeated {
            return Err(Failure::malformed(format_args!("duplicate field `{name}`")));
        }
        self.has_items |= matches!(member, Member::Items);
        self.position = ListPosition::Colon(member);
        Ok(Step::Consumed(json.len()))
    }

    /// Reads the value of a member, except for an array of items.
    fn member(&mut self, member: Member, bytes: &[u8], source: &Source) -> Result<Step, Failure> {
        let Some(json) = self.bounded_value(bytes)? else {
            return Ok(Step::MoreBytesNeeded);
        };
        match member {
            Member::Kind => {
                let kind: Cow<'_, str> = self.read(json)?;
                check_kind(source, &kind)?;
                self.kind = Some(kind.into_owned());
            }
            Member::Metadata => self.metadata = Some(self.read(json)?),
            // A nil slice in Go.
            Member::Items if json == b"null" => {}
            Member::Items => return Err(self.unexpected("an array of items")),
            Member::Other => {
                self.read::<IgnoredAny>(json)?;
            }
        }
        self.position = ListPosition::MemberEnd;
        Ok(Step::Consumed(json.len()))
    }

    fn item(&mut self, bytes: &[u8], source: &Source, guard: &mut dyn ParseGuard) -> Result<Step, Failure> {
        match self.scan(bytes) {
            ScannedList::Complete(json) => {
                let text = std::str::from_utf8(json).map_err(|error| self.malformed(error))?;
                let item = item::parse_item(source, text, guard);
                // An object was parsed to its end.
                if !matches!(item, ListedItem::Object(_)) {
                    self.read::<IgnoredAny>(json)?;
                }
                self.count(&item)?;
                self.position = ListPosition::ItemEnd;
                Ok(Step::Item(json.len(), item))
            }
            ScannedList::Incomplete => Ok(Step::MoreBytesNeeded),
            ScannedList::TooLarge(head) => {
                self.position = ListPosition::LargeItem(item::too_large(&object_summary(head)));
                Ok(Step::Consumed(head.len()))
            }
        }
    }

    /// Skips the rest of an item that is too large.
    fn skip_large_item(&mut self, bytes: &[u8]) -> Result<Step, Failure> {
        let Some(length) = self.value.scan(bytes) else {
            self.value.discard_scanned();
            return Ok(match bytes.len() {
                0 => Step::MoreBytesNeeded,
                length => Step::Consumed(length),
            });
        };
        self.value = ValueScanner::default();
        let ListPosition::LargeItem(item) = mem::replace(&mut self.position, ListPosition::ItemEnd) else {
            return Ok(Step::Consumed(length));
        };
        let item = ListedItem::Invalid(item);
        self.count(&item)?;
        Ok(Step::Item(length, item))
    }

    fn count(&mut self, item: &ListedItem) -> Result<(), Failure> {
        self.invalid_items += usize::from(matches!(item, ListedItem::Invalid(_)));
        match self.invalid_items > MAX_INVALID_ITEMS {
            true => Err(Failure::Malformed(format!(
                "more than {MAX_INVALID_ITEMS} of its items are invalid"
            ))),
            false => Ok(()),
        }
    }

    /// Returns the value at the beginning of the bytes, or `None` if it is incomplete.
    ///
    /// # Errors
    /// Returns a failure if the value is too large.
    fn bounded_value<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<&'a [u8]>, Failure> {
        match self.scan(bytes) {
            ScannedList::Complete(json) => Ok(Some(json)),
            ScannedList::Incomplete => Ok(None),
            ScannedList::TooLarge(head) => Err(Failure::Malformed(format!(
                "the value at byte {} has more than {} bytes",
                self.consumed,
                head.len()
            ))),
        }
    }

    /// Scans the value at the beginning of the bytes.
    fn scan<'a>(&mut self, bytes: &'a [u8]) -> ScannedList<'a> {
        let head = bytes.get(..MAX_ITEM_BYTES);
        if let Some(length) = self.value.scan(head.unwrap_or(bytes)) {
            self.value = ValueScanner::default();
            return ScannedList::Complete(bytes.get(..length).unwrap_or_default());
        }
        match head {
            Some(head) => {
                self.value.discard_scanned();
                ScannedList::TooLarge(head)
            }
            None => ScannedList::Incomplete,
        }
    }

    /// Parses a value.
    fn read<'a, T: Deserialize<'a>>(&self, json: &'a [u8]) -> Result<T, Failure> {
        json::read(json).map_err(|error| self.malformed(error))
    }

    /// Returns the failure for a value that begins after the bytes that were consumed.
    fn malformed(&self, error: impl Display) -> Failure {
        Failure::malformed(format_args!("{error}, counted from byte {}", self.consumed))
    }

    fn unexpected(&self, expected: &str) -> Failure {
        Failure::Malformed(format!("expected {expected} at byte {}", self.consumed))
    }
}

fn check_kind(source: &Source, kind: &str) -> Result<(), Failure> {
    let expected = source.list_kind();
    match kind == expected {
        true => Ok(()),
        false => Err(Failure::WrongKind {
            found: kind.chars().take(64).collect(),
            expected,
        }),
    }
}

fn is_json_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}
