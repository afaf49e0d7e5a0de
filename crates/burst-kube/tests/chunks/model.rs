//! What a body holds, read in one piece with `serde_json`.

use burst_kube::item::MAX_NAME_BYTES;
use burst_kube::{BodyItem, Change, InvalidItem, ListedItem, Object, Source, WatchBatch, name::ObjectName};
use burst_printable::{LONGEST_QUOTE, printable};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct List<'a> {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    resource_version: String,
    r#continue: String,
}

/// What a list holds.
pub(crate) struct Model {
    pub(crate) items: Vec<ListedItem>,
    pub(crate) resource_version: String,
    pub(crate) continue_token: Option<String>,
}

/// The JSON of each item of a list, or nothing if it is not a list.
pub(crate) fn raw_items(body: &[u8]) -> Vec<String> {
    let list: Option<List<'_>> = serde_json::from_slice(body).ok();
    let items = list.and_then(|list| list.items).unwrap_or_default();
    items.iter().map(|item| item.get().to_owned()).collect()
}

/// Reads a list. `None`: it is none of that kind.
pub(crate) fn list(source: &Source, body: &[u8]) -> Option<Model> {
    // `serde` also reads a struct from an array of its fields.
    if body.trim_ascii_start().starts_with(b"[") {
        return None;
    }
    let list: List<'_> = serde_json::from_slice(body).ok()?;
    if list.kind != format!("{}List", source.resource.kind) {
        return None;
    }
    let items = list.items.unwrap_or_default();
    Some(Model {
        items: items.iter().map(|item| listed(source, item.get())).collect(),
        resource_version: list.metadata.resource_version,
        continue_token: Some(list.metadata.r#continue).filter(|token| !token.is_empty()),
    })
}

fn listed(source: &Source, json: &str) -> ListedItem {
    match Object::parse(source.kind, json, source.kept) {
        Ok(object) => ListedItem::Object(object),
        Err(error) => {
            let named: Option<Named> = serde_json::from_str(json).ok();
            let name = named.map(|Named { metadata }| {
                printable(format_args!("{}/{}", metadata.namespace, metadata.name), MAX_NAME_BYTES)
            });
            ListedItem::Invalid(InvalidItem {
                name: name.unwrap_or_else(|| "an object without a name".into()),
                reason: printable(error, LONGEST_QUOTE),
            })
        }
    }
}

#[derive(Deserialize)]
struct Named {
    metadata: Names,
}

#[derive(Deserialize)]
struct Names {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
}

#[derive(Deserialize)]
struct Event<'a> {
    r#type: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Reads a watch. `None`: a line is not an event, or it is an error.
pub(crate) fn watch(source: &Source, body: &[u8]) -> Option<Vec<BodyItem>> {
    let end = body.iter().rposition(|byte| *byte == b'\n');
    if end.is_none() && !body.trim_ascii().is_empty() {
        return None;
    }
    let lines = body[..end.unwrap_or(0)].split(|byte| *byte == b'\n');
    let events = lines.filter(|line| !line.trim_ascii().is_empty());
    events.map(|line| event(source, line)).collect()
}

fn event(source: &Source, line: &[u8]) -> Option<BodyItem> {
    let event: Event<'_> = serde_json::from_slice(line).ok()?;
    let object: Value = serde_json::from_str(event.object.get()).ok()?;
    let metadata = &object["metadata"];
    let resource_version = metadata["resourceVersion"].as_str()?.to_owned();
    let change = match &*event.r#type {
        "ADDED" | "MODIFIED" => Some(match listed(source, event.object.get()) {
            ListedItem::Object(object) => Change::Apply(object),
            ListedItem::Invalid(invalid) => Change::Invalid(invalid),
            ListedItem::Retained(name) => Change::Retained(name),
        }),
        "DELETED" => {
            let text = |name: &str| metadata[name].as_str().unwrap_or_default();
            ObjectName::new(text("namespace"), text("name"))
                .ok()
                .map(Change::Delete)
        }
        "BOOKMARK" => None,
        _ => return None,
    };
    Some(match change {
        Some(change) => BodyItem::Change {
            change,
            resource_version,
        },
        None => BodyItem::Bookmark {
            resource_version,
            ends_initial_events: event.r#type == "BOOKMARK"
                && metadata["annotations"]["k8s.io/initial-events-end"] == "true",
        },
    })
}

/// The last change of each object, in the order of the events.
pub(crate) fn batch(items: Vec<BodyItem>) -> WatchBatch {
    let mut batch = WatchBatch::default();
    let mut last = BTreeMap::new();
    for (index, item) in items.into_iter().enumerate() {
        let (BodyItem::Change { resource_version, .. } | BodyItem::Bookmark { resource_version, .. }) = &item else {
            panic!("{item:?} in a watch");
        };
        batch.resource_version = Some(resource_version.clone());
        if let BodyItem::Change { change, .. } = item {
            last.insert(name(&change), (index, change));
        }
    }
    let mut changes: Vec<_> = last.into_values().collect();
    changes.sort_by_key(|(index, _)| *index);
    batch.changes = changes.into_iter().map(|(_, change)| change).collect();
    batch
}

fn name(change: &Change) -> String {
    match change {
        Change::Apply(object) => object.name().to_string(),
        Change::Invalid(invalid) => invalid.name.clone(),
        Change::Retained(name) => name.clone(),
        Change::Delete(name) => name.to_string(),
    }
}
