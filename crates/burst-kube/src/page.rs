//! Parses a page of a LIST.

use crate::failure::Failure;
use crate::item::{InvalidItem, ListedItem, ParseGuard};
use crate::list_reader::{ListMetadata, ListReader};
use crate::object::Object;
use crate::resource::Source;
use crate::value_scanner::Progress;

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

/// Parses the body of a successful LIST.
///
/// # Errors
/// Returns a failure if the body is not JSON, or not a list of that kind.
pub fn parse(source: &Source, body: &[u8], guard: &mut dyn ParseGuard) -> Result<ListPage, Failure> {
    let mut page = ListPage::default();
    let mut reader = ListReader::default();
    let mut rest = body;
    loop {
        let Progress { consumed, item } = reader.next(rest, source, guard)?;
        rest = rest.get(consumed..).unwrap_or_default();
        match item {
            Some(ListedItem::Object(object)) => page.objects.push(object),
            Some(ListedItem::Invalid(invalid)) => page.invalid.push(invalid),
            Some(ListedItem::Retained(name)) => page.retained.push(name),
            None => break,
        }
    }
    let ListMetadata {
        resource_version,
        r#continue,
    } = reader.finish(source)?;
    page.resource_version = resource_version;
    page.continue_token = Some(r#continue).filter(|token| !token.is_empty());
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::ParseDecision;
    use crate::list_reader::MAX_INVALID_ITEMS;
    use crate::resource::{KeptFields, ObjectKind, Resource};
    use crate::signal::SignalSet;
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
        fn any_item_is_parsed_without_a_panic(item in ".{0,200}", reads in 0..6) {
            let reads = [ObjectKind::Hpas, ObjectKind::Services, ObjectKind::Workloads, ObjectKind::Policies, ObjectKind::EndpointSlices, ObjectKind::Pods][usize::try_from(reads).unwrap()];
            for (labels, signals) in [(true, SignalSet::ALL), (false, SignalSet::default())] {
                let _ = Object::parse(reads, &item, KeptFields { labels, signals });
            }
        }
    }
}
