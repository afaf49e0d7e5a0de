//! Parses one object, from a page of a list or an event of a watch. A malformed object costs only that object.

use crate::json;
use crate::object::Object;
use crate::resource::Source;
use crate::size::MAX_ITEM_BYTES;
use burst_printable::{LONGEST_QUOTE, printable};
use serde::Deserialize;

/// An object that the API server sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListedItem {
    /// A valid object.
    Object(Object),
    /// The item is not a valid object.
    Invalid(InvalidItem),
    /// The name of an object that was not parsed this time. Keep its last version.
    Retained(String),
}

/// An item that is not a valid object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidItem {
    /// `namespace/name`, if it is known.
    pub name: String,
    /// Why it is invalid.
    pub reason: String,
}

/// The longest name of an invalid item, in bytes. It must hold any valid `namespace/name`, because the store finds an
/// object that became invalid by its name.
pub const MAX_NAME_BYTES: usize = 600;

/// What to do with an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseDecision {
    /// Parse it.
    Parse,
    /// Do not parse it, and keep the last version of the object.
    Retain,
    /// Do not parse it, and exclude the object.
    Exclude,
}

/// Decides whether to parse each item. A VM cannot catch a trap. A guard that records, outside of the VM, which item
/// the VM parses can prevent other VMs from trapping on the same bytes.
pub trait ParseGuard {
    /// Called with the JSON of each item before it is parsed.
    fn begin(&mut self, item: &str) -> ParseDecision;

    /// Called after the last item of a call was parsed: no item is the cause of what happens from then on.
    fn end(&mut self) {}
}

/// Parses every item.
impl ParseGuard for () {
    fn begin(&mut self, _: &str) -> ParseDecision {
        ParseDecision::Parse
    }
}

/// Parses one object.
pub(crate) fn parse_item(source: &Source, json: &str, guard: &mut dyn ParseGuard) -> ListedItem {
    let reason = match guard.begin(json) {
        ParseDecision::Parse => match parse_object(source, json) {
            Ok(object) => return ListedItem::Object(object),
            Err(reason) => reason,
        },
        ParseDecision::Retain => return ListedItem::Retained(item_name(json.as_bytes())),
        ParseDecision::Exclude => QUARANTINED_REASON.to_owned(),
    };
    ListedItem::Invalid(InvalidItem {
        name: item_name(json.as_bytes()),
        reason,
    })
}

fn parse_object(source: &Source, json: &str) -> Result<Object, String> {
    let object = Object::parse(source.kind, json, source.kept);
    let object = object.map_err(|error| printable(error, LONGEST_QUOTE))?;
    let (size, max_bytes) = (object.size(), object.size_limit());
    match size > max_bytes {
        true => Err(format!(
            "it would take {size} bytes of memory, more than the limit of {max_bytes}"
        )),
        false => Ok(object),
    }
}

/// Returns the item for an object that is too large to be parsed. `summary` is an object with its name.
pub(crate) fn too_large(summary: &[u8]) -> InvalidItem {
    InvalidItem {
        name: item_name(summary),
        reason: format!("it has more than {MAX_ITEM_BYTES} bytes"),
    }
}

/// The reason why an item that must not be parsed is excluded.
pub const QUARANTINED_REASON: &str = "a proxy thread died while it parsed these bytes";

/// Returns the name of an invalid item, or a placeholder if it has none.
fn item_name(json: &[u8]) -> String {
    #[derive(Deserialize)]
    struct PartialObject {
        metadata: PartialMetadata,
    }
    #[derive(Deserialize)]
    struct PartialMetadata {
        #[serde(default)]
        name: String,
        #[serde(default)]
        namespace: String,
    }
    match json::read::<PartialObject>(json) {
        Ok(PartialObject {
            metadata: PartialMetadata { name, namespace },
        }) => printable(format_args!("{namespace}/{name}"), MAX_NAME_BYTES),
        Err(_) => "an object without a name".to_owned(),
    }
}
