//! One page of a LIST. The list is split into its items first, so that one malformed object costs one object.

use crate::json;
use crate::object::Object;
use crate::resource::Source;
use crate::response::Failure;
use burst_printable::{LONGEST_QUOTE, printable};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What one page brought.
#[derive(Debug, Default)]
pub struct ListPage {
    /// The objects that could be read.
    pub objects: Vec<Object>,
    /// The ones that could not, with the reason.
    pub bad: Vec<InvalidItem>,
    /// The ones that were not read this time, and are as they were.
    pub retained: Vec<String>,
    /// The `continue` token of the next page; `None` on the last one.
    pub continue_token: Option<String>,
    /// The list's `resourceVersion`.
    pub version: String,
}

/// An object that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidItem {
    /// `namespace/name` where it can be told.
    pub name: String,
    /// Why it was left out.
    pub reason: String,
}

/// Longer than two names with a slash between them. By its name an object that cannot be read any more is found.
pub const LONGEST_NAME: usize = 600;

/// As many as the largest page may have that is asked for. Of something else that is no list of objects, two bytes are an
/// object, and what would be kept of it is a hundred times as much.
const MOST_BAD: usize = 10_000;

/// What may be done with an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseDecision {
    /// It is parsed.
    Parse,
    /// It is not parsed this time, and stays as it was.
    Retain,
    /// It is not parsed, and left out.
    Exclude,
}

/// Told of each item before it is parsed. A trap cannot be caught from inside a VM: whoever notes outside which item
/// is under way can keep a successor from dying of the same bytes.
pub trait ParseGuard {
    /// The item, as JSON, is next.
    fn begin(&mut self, item: &str) -> ParseDecision;
}

/// Parses whatever comes.
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
    // Absent in an object that is no list at all, and null in what Go writes for a nil slice.
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

/// Reads the body of a successful LIST.
///
/// # Errors
/// The body is not JSON, or not a list of that kind.
pub fn parse(source: &Source, body: &[u8], progress: &mut dyn ParseGuard) -> Result<ListPage, Failure> {
    let list: RawList<'_> = json::read(body).map_err(Failure::malformed)?;
    let wanted = format!("{}List", source.resource.kind);
    if list.kind != wanted {
        return Err(Failure::WrongKind {
            found: list.kind.chars().take(64).collect(),
            wanted,
        });
    }
    let mut page = ListPage {
        version: list.metadata.resource_version.into_owned(),
        continue_token: Some(list.metadata.r#continue.into_owned()).filter(|cursor| !cursor.is_empty()),
        ..ListPage::default()
    };
    for item in list.items.unwrap_or_default() {
        let json = item.get();
        match parse_item(source, json, progress) {
            Ok(object) => page.objects.push(object),
            Err(SkippedItem::Held) => page.retained.push(name_of(json)),
            Err(SkippedItem::Bad(reason)) => page.bad.push(InvalidItem {
                name: name_of(json),
                reason,
            }),
        }
        if page.bad.len() > MOST_BAD {
            return Err(Failure::Malformed(format!("{MOST_BAD} of its objects are none")));
        }
    }
    Ok(page)
}

/// Why there is no object.
pub(super) enum SkippedItem {
    /// It was not read this time.
    Held,
    /// It is left out.
    Bad(String),
}

/// Reads one object, or says why there is none.
pub(super) fn parse_item(source: &Source, json: &str, progress: &mut dyn ParseGuard) -> Result<Object, SkippedItem> {
    match progress.begin(json) {
        ParseDecision::Parse => {}
        ParseDecision::Retain => return Err(SkippedItem::Held),
        ParseDecision::Exclude => return Err(SkippedItem::Bad(QUARANTINED.to_owned())),
    }
    let object = Object::read(source.kind, json, source.labels);
    let object = object.map_err(|error| SkippedItem::Bad(printable(error, LONGEST_QUOTE)))?;
    let (size, most) = (object.size(), object.size_limit());
    match size > most {
        true => Err(SkippedItem::Bad(format!(
            "{size} bytes would be kept of it; {most} are allowed"
        ))),
        false => Ok(object),
    }
}

/// Why an item is left out that must not be parsed.
pub const QUARANTINED: &str = "a proxy thread died while it parsed these bytes";

/// The name of an object that could not be read, as well as it can be told.
pub(super) fn name_of(json: &str) -> String {
    #[derive(Deserialize)]
    struct Named {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(default)]
        name: String,
        #[serde(default)]
        namespace: String,
    }
    match json::read::<Named>(json.as_bytes()) {
        Ok(Named {
            metadata: Meta { name, namespace },
        }) => printable(format_args!("{namespace}/{name}"), LONGEST_NAME),
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
    fn one_bad_object_costs_one_object() {
        let body = list(&[
            &item("a"),
            r#"{"metadata":{"name":"b","namespace":"shop"},"spec":3}"#,
            "17",
            &item("c"),
        ]);
        let page = parse(&services(), body.as_bytes(), &mut ()).unwrap();
        let names: Vec<_> = page.objects.iter().map(|object| object.name().to_string()).collect();
        assert_eq!(names, ["shop/a", "shop/c"]);
        let bad: Vec<_> = page.bad.iter().map(|bad| bad.name.as_str()).collect();
        assert_eq!(bad, ["shop/b", "an object without a name"]);
        assert_eq!(
            (page.version.as_str(), page.continue_token.as_deref()),
            ("7", Some("next"))
        );
    }

    #[test]
    fn an_item_that_must_not_be_parsed_is_left_out_or_stays_as_it_was() {
        struct Refuse(String, ParseDecision);
        impl ParseGuard for Refuse {
            fn begin(&mut self, item: &str) -> ParseDecision {
                if item == self.0 { self.1 } else { ParseDecision::Parse }
            }
        }
        let body = list(&[&item("a"), &item("b")]);
        let read = |admission| parse(&services(), body.as_bytes(), &mut Refuse(item("a"), admission)).unwrap();
        let page = read(ParseDecision::Exclude);
        assert_eq!((page.objects.len(), page.retained.len()), (1, 0));
        assert_eq!(page.bad.first().map(|bad| bad.name.as_str()), Some("shop/a"));
        let page = read(ParseDecision::Retain);
        assert_eq!((page.objects.len(), page.bad.len()), (1, 0));
        assert_eq!(page.retained, ["shop/a"]);
    }

    #[test]
    fn a_page_of_which_nothing_is_an_object_is_no_page() {
        let page = |count: usize| parse(&services(), list(&vec!["1"; count]).as_bytes(), &mut ());
        assert_eq!(page(MOST_BAD).unwrap().bad.len(), MOST_BAD);
        let failure = page(10 * MOST_BAD).unwrap_err();
        assert_eq!(failure, Failure::Malformed("10000 of its objects are none".into()));
    }

    #[test]
    fn the_last_page_has_no_cursor_and_an_empty_list_may_be_null() {
        for body in [
            r#"{"kind":"ServiceList","metadata":{"resourceVersion":"7"},"items":[]}"#,
            r#"{"kind":"ServiceList","metadata":{"continue":""},"items":null}"#,
        ] {
            let page = parse(&services(), body.as_bytes(), &mut ()).unwrap();
            assert!(page.continue_token.is_none() && page.objects.is_empty(), "{body}");
        }
    }

    #[test]
    fn json_of_another_kind_is_refused() {
        for (body, found) in [(r#"{"kind":"PodList","items":[]}"#, "PodList"), ("{}", "")] {
            match parse(&services(), body.as_bytes(), &mut ()) {
                Err(Failure::WrongKind { found: kind, wanted }) => {
                    assert_eq!((&*kind, &*wanted), (found, "ServiceList"));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn every_truncation_is_malformed_and_nothing_worse(cut in 0usize..1000) {
            let body = list(&[&item("a"), &item("b")]);
            let cut = cut % body.len();
            prop_assert!(matches!(parse(&services(), &body.as_bytes()[..cut], &mut ()), Err(Failure::Malformed(_))));
        }

        #[test]
        fn arbitrary_bytes_are_survived(body in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = parse(&services(), &body, &mut ());
        }

        #[test]
        fn arbitrary_items_are_survived(item in ".{0,200}", reads in 0..4) {
            let reads = [ObjectKind::Hpas, ObjectKind::Services, ObjectKind::Workloads, ObjectKind::Policies][usize::try_from(reads).unwrap()];
            let _ = [true, false].map(|labels| Object::read(reads, &item, labels));
        }
    }
}
