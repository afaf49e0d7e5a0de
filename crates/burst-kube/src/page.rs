//! Parses a page of a LIST. The page is split into its items first, so a malformed object costs only that object.

use crate::failure::Failure;
use crate::json;
use crate::object::Object;
use crate::resource::Source;
use burst_printable::{LONGEST_QUOTE, printable};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// One page of a list.
#[derive(Debug, Default)]
pub struct ListPage {
    /// The valid objects.
    pub objects: Vec<Object>,
    /// The invalid items, with the reason.
    pub invalid: Vec<InvalidItem>,
    /// The names of objects that were not parsed this time. Keep their last version.
    pub retained: Vec<String>,
    /// The `continue` token of the next page; `None` on the last one.
    pub continue_token: Option<String>,
    /// The list's `resourceVersion`.
    pub resource_version: String,
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

/// The largest number of invalid items in a page; no larger page is requested. If the response is not a list of
/// objects, every two bytes may be an item, and an item takes a hundred times as much memory.
const MAX_INVALID_ITEMS: usize = 10_000;

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
}

/// Parses every item.
impl ParseGuard for () {
    fn begin(&mut self, _: &str) -> ParseDecision {
        ParseDecision::Parse
    }
}

#[derive(Deserialize)]
struct RawList<'a> {
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    metadata: RawListMeta<'a>,
    // Absent if the object is not a list. Null if it is a nil slice in Go.
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawListMeta<'a> {
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
    #[serde(borrow)]
    r#continue: Cow<'a, str>,
}

/// Parses the body of a successful LIST.
///
/// # Errors
/// Returns a failure if the body is not JSON, or not a list of that kind.
pub fn parse(source: &Source, body: &[u8], guard: &mut dyn ParseGuard) -> Result<ListPage, Failure> {
    let list: RawList<'_> = json::read(body).map_err(Failure::malformed)?;
    let expected = format!("{}List", source.resource.kind);
    if list.kind != expected {
        return Err(Failure::WrongKind {
            found: list.kind.chars().take(64).collect(),
            expected,
        });
    }
    let mut page = ListPage {
        resource_version: list.metadata.resource_version.into_owned(),
        continue_token: Some(list.metadata.r#continue.into_owned()).filter(|cursor| !cursor.is_empty()),
        ..ListPage::default()
    };
    for item in list.items.unwrap_or_default() {
        let json = item.get();
        match parse_item(source, json, guard) {
            Ok(object) => page.objects.push(object),
            Err(SkippedItem::Retained) => page.retained.push(item_name(json)),
            Err(SkippedItem::Invalid(reason)) => page.invalid.push(InvalidItem {
                name: item_name(json),
                reason,
            }),
        }
        if page.invalid.len() > MAX_INVALID_ITEMS {
            return Err(Failure::Malformed(format!(
                "more than {MAX_INVALID_ITEMS} of its items are invalid"
            )));
        }
    }
    Ok(page)
}

/// Why an item is not an object.
pub(super) enum SkippedItem {
    /// It was not parsed this time.
    Retained,
    /// It is excluded for this reason.
    Invalid(String),
}

/// Parses one object.
pub(super) fn parse_item(source: &Source, json: &str, guard: &mut dyn ParseGuard) -> Result<Object, SkippedItem> {
    match guard.begin(json) {
        ParseDecision::Parse => {}
        ParseDecision::Retain => return Err(SkippedItem::Retained),
        ParseDecision::Exclude => return Err(SkippedItem::Invalid(QUARANTINED_REASON.to_owned())),
    }
    let object = Object::parse(source.kind, json, source.keep_labels);
    let object = object.map_err(|error| SkippedItem::Invalid(printable(error, LONGEST_QUOTE)))?;
    let (size, max_bytes) = (object.size(), object.size_limit());
    match size > max_bytes {
        true => Err(SkippedItem::Invalid(format!(
            "it would take {size} bytes of memory, more than the limit of {max_bytes}"
        ))),
        false => Ok(object),
    }
}

/// The reason why an item that must not be parsed is excluded.
pub const QUARANTINED_REASON: &str = "a proxy thread died while it parsed these bytes";

/// Returns the name of an invalid item, or a placeholder if it has none.
pub(super) fn item_name(json: &str) -> String {
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
    match json::read::<PartialObject>(json.as_bytes()) {
        Ok(PartialObject {
            metadata: PartialMetadata { name, namespace },
        }) => printable(format_args!("{namespace}/{name}"), MAX_NAME_BYTES),
        Err(_) => "an object without a name".to_owned(),
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

    fn item(name: &str) -> String {
        format!(r#"{{"metadata":{{"name":"{name}","namespace":"shop"}},"spec":{{"selector":{{"app":"{name}"}}}}}}"#)
    }

    fn list(items: &[&str]) -> String {
        let items = items.join(",");
        format!(r#"{{"kind":"ServiceList","metadata":{{"resourceVersion":"7","continue":"next"}},"items":[{items}]}}"#)
    }

    #[test]
    fn one_invalid_object_costs_one_object() {
        let body = list(&[
            &item("a"),
            r#"{"metadata":{"name":"b","namespace":"shop"},"spec":3}"#,
            "17",
            &item("c"),
        ]);
        let page = parse(&services(), body.as_bytes(), &mut ()).unwrap();
        let names: Vec<_> = page.objects.iter().map(|object| object.name().to_string()).collect();
        assert_eq!(names, ["shop/a", "shop/c"]);
        let bad: Vec<_> = page.invalid.iter().map(|bad| bad.name.as_str()).collect();
        assert_eq!(bad, ["shop/b", "an object without a name"]);
        assert_eq!(
            (page.resource_version.as_str(), page.continue_token.as_deref()),
            ("7", Some("next"))
        );
    }

    #[test]
    fn an_item_that_must_not_be_parsed_is_excluded_or_retained() {
        struct Refuse(String, ParseDecision);
        impl ParseGuard for Refuse {
            fn begin(&mut self, item: &str) -> ParseDecision {
                if item == self.0 { self.1 } else { ParseDecision::Parse }
            }
        }
        let body = list(&[&item("a"), &item("b")]);
        let read = |decision| parse(&services(), body.as_bytes(), &mut Refuse(item("a"), decision)).unwrap();
        let page = read(ParseDecision::Exclude);
        assert_eq!((page.objects.len(), page.retained.len()), (1, 0));
        assert_eq!(page.invalid.first().map(|bad| bad.name.as_str()), Some("shop/a"));
        let page = read(ParseDecision::Retain);
        assert_eq!((page.objects.len(), page.invalid.len()), (1, 0));
        assert_eq!(page.retained, ["shop/a"]);
    }

    #[test]
    fn a_page_of_invalid_items_is_malformed() {
        let page = |count: usize| parse(&services(), list(&vec!["1"; count]).as_bytes(), &mut ());
        assert_eq!(page(MAX_INVALID_ITEMS).unwrap().invalid.len(), MAX_INVALID_ITEMS);
        let failure = page(10 * MAX_INVALID_ITEMS).unwrap_err();
        assert_eq!(
            failure,
            Failure::Malformed("more than 10000 of its items are invalid".into())
        );
    }

    #[test]
    fn the_last_page_has_no_continue_token_and_an_empty_list_may_be_null() {
        for body in [
            r#"{"kind":"ServiceList","metadata":{"resourceVersion":"7"},"items":[]}"#,
            r#"{"kind":"ServiceList","metadata":{"continue":""},"items":null}"#,
        ] {
            let page = parse(&services(), body.as_bytes(), &mut ()).unwrap();
            assert!(page.continue_token.is_none() && page.objects.is_empty(), "{body}");
        }
    }

    #[test]
    fn a_list_of_another_kind_is_refused() {
        for (body, found) in [(r#"{"kind":"PodList","items":[]}"#, "PodList"), ("{}", "")] {
            match parse(&services(), body.as_bytes(), &mut ()) {
                Err(Failure::WrongKind {
                    found: kind,
                    expected: wanted,
                }) => {
                    assert_eq!((&*kind, &*wanted), (found, "ServiceList"));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn every_truncation_is_malformed(cut in 0usize..1000) {
            let body = list(&[&item("a"), &item("b")]);
            let cut = cut % body.len();
            prop_assert!(matches!(parse(&services(), &body.as_bytes()[..cut], &mut ()), Err(Failure::Malformed(_))));
        }

        #[test]
        fn any_bytes_are_parsed_without_a_panic(body in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = parse(&services(), &body, &mut ());
        }

        #[test]
        fn any_item_is_parsed_without_a_panic(item in ".{0,200}", reads in 0..4) {
            let reads = [ObjectKind::Hpas, ObjectKind::Services, ObjectKind::Workloads, ObjectKind::Policies][usize::try_from(reads).unwrap()];
            let _ = [true, false].map(|labels| Object::parse(reads, &item, labels));
        }
    }
}
