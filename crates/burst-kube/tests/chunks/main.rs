//! A body that arrives in chunks gives the same as in one piece, wherever it is cut, and the same as a model that reads it
//! with `serde_json` alone.

mod model;

use burst_kube::{
    BodyEnd, BodyItem, BodyReader, Failure, KeptFields, Object, ObjectKind, Resource, Source, Verb, item::ListedItem,
    page, watch,
};
use proptest::{prelude::*, strategy::ValueTree};
use std::{fs, path::Path};

/// What a body gave: its items, its end, and the most bytes that were kept between two chunks.
#[derive(Debug)]
struct Outcome {
    items: Vec<BodyItem>,
    end: Result<BodyEnd, Failure>,
    most_pending: usize,
}

impl Outcome {
    fn is_same(&self, other: &Self) -> bool {
        (&self.items, &self.end) == (&other.items, &other.end)
    }
}

fn read<'a>(source: &Source, verb: Verb, chunks: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut reader = BodyReader::new(verb);
    let (mut items, mut most_pending) = (Vec::new(), 0);
    for chunk in chunks {
        reader.push(chunk);
        loop {
            match reader.next(source, &mut ()) {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(failure) => {
                    return Outcome {
                        items,
                        end: Err(failure),
                        most_pending,
                    };
                }
            }
        }
        most_pending = most_pending.max(reader.pending());
    }
    Outcome {
        items,
        end: reader.finish(source),
        most_pending,
    }
}

fn whole(source: &Source, verb: Verb, body: &[u8]) -> Outcome {
    read(source, verb, [body])
}

fn cut_once(source: &Source, verb: Verb, body: &[u8], cut: usize) -> Outcome {
    let (first, second) = body.split_at(cut);
    read(source, verb, [first, second])
}

/// A body that a real API server sent, and its list.
fn recorded() -> Vec<(Source, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/kubernetes");
    let hpas = || Source::all_namespaces(ObjectKind::Hpas, Resource::hpas());
    let workloads = |resource| Source::all_namespaces(ObjectKind::Workloads, resource);
    [
        ("statefulsets.json", workloads(Resource::statefulsets())),
        ("services-page-2.json", services()),
        ("services-page-1.json", services()),
        ("services.json", services()),
        ("hpas-fresh.json", hpas()),
        ("deployments.json", workloads(Resource::deployments())),
        ("hpas.json", hpas()),
    ]
    .map(|(file, source)| (source, fs::read(folder.join(file)).expect("a recorded body")))
    .into()
}

fn services() -> Source {
    Source::all_namespaces(ObjectKind::Services, Resource::services())
}

/// A watch whose events have the objects of a list: each appears, a few change or go, and a bookmark ends it.
fn watch_of(list: &[u8]) -> Vec<u8> {
    let items = model::raw_items(list);
    let events = items.iter().enumerate().map(|(index, item)| {
        let r#type = ["ADDED", "MODIFIED", "DELETED"][index % 3];
        format!("{{\"type\":\"{type}\",\"object\":{item}}}\n")
    });
    let bookmark = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"900","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
    let changed = format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", items[0]);
    (events.collect::<String>() + bookmark + "\n" + &changed).into_bytes()
}

/// Checks a list against the model, and `page::parse` against both. Returns the objects that were given.
fn check_list(source: &Source, body: &[u8]) -> Outcome {
    let outcome = whole(source, Verb::List, body);
    let page = page::parse(source, body, &mut ());
    match model::list(source, body) {
        Some(model) => {
            let items: Vec<_> = outcome.items.iter().map(listed).collect();
            assert_eq!(items, model.items.iter().collect::<Vec<_>>());
            let end = BodyEnd::List {
                resource_version: model.resource_version.clone(),
                continue_token: model.continue_token.clone(),
            };
            assert_eq!(outcome.end, Ok(end));
            let page = page.expect("what the reader accepts");
            let objects = items.iter().filter_map(|item| match item {
                ListedItem::Object(object) => Some(object),
                _ => None,
            });
            assert_eq!(page.objects.iter().collect::<Vec<_>>(), objects.collect::<Vec<_>>());
            assert_eq!(page.objects.len() + page.invalid.len(), model.items.len());
            assert_eq!(
                (page.resource_version, page.continue_token),
                (model.resource_version, model.continue_token)
            );
        }
        None => {
            let failure = outcome.end.as_ref().expect_err("the model refuses it");
            assert_eq!(page.err().as_ref(), Some(failure));
        }
    }
    outcome
}

fn listed(item: &BodyItem) -> &ListedItem {
    match item {
        BodyItem::Item(item) => item,
        other => panic!("{other:?} in a list"),
    }
}

/// Checks a watch against the model, and `watch::parse` against both.
fn check_watch(source: &Source, body: &[u8]) -> Outcome {
    let outcome = whole(source, Verb::Watch, body);
    let batch = watch::parse(source, body, &mut ());
    match model::watch(source, body) {
        Some(items) => {
            assert_eq!(outcome.items, items);
            assert_eq!(outcome.end, Ok(BodyEnd::Watch));
            let batch = batch.expect("what the reader accepts");
            assert_eq!(batch, model::batch(items));
        }
        None => {
            let failure = outcome.end.as_ref().expect_err("the model refuses it");
            assert_eq!(batch.as_ref(), Err(failure));
        }
    }
    outcome
}

fn check(source: &Source, verb: Verb, body: &[u8]) -> Outcome {
    match verb {
        Verb::List => check_list(source, body),
        Verb::Watch => check_watch(source, body),
    }
}

/// The size of the largest item of a list or line of a watch, or of what surrounds it.
fn largest_part(verb: Verb, body: &[u8]) -> usize {
    match verb {
        Verb::List => model::raw_items(body)
            .iter()
            .map(String::len)
            .max()
            .unwrap_or(0)
            .max(200),
        Verb::Watch => body.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or(0),
    }
}

fn bodies() -> Vec<(Source, Verb, Vec<u8>)> {
    let recorded = recorded().into_iter();
    let both = recorded.flat_map(|(source, list)| {
        let watch = watch_of(&list);
        [(source.clone(), Verb::List, list), (source, Verb::Watch, watch)]
    });
    both.collect()
}

/// The bodies of a few objects, for tests that read them once for each byte.
fn small_bodies() -> Vec<(Source, Verb, Vec<u8>)> {
    let small = bodies().into_iter().filter(|(_, _, body)| body.len() < 5_000);
    let small: Vec<_> = small.collect();
    assert!(small.len() >= 4, "{}", small.len());
    small
}

#[test]
fn every_recorded_body_is_read_byte_by_byte_with_one_object_in_memory() {
    for (source, verb, body) in bodies() {
        let expected = check(&source, verb, &body);
        assert!(!expected.items.is_empty() && expected.end.is_ok(), "{expected:?}");
        let bytes = read(&source, verb, body.chunks(1));
        assert!(bytes.is_same(&expected), "{source} {verb}");
        let largest = largest_part(verb, &body);
        assert!(bytes.most_pending <= largest, "{} > {largest}", bytes.most_pending);
    }
}

#[test]
fn a_body_gives_the_same_at_every_cut() {
    for (source, verb, body) in small_bodies() {
        let expected = check(&source, verb, &body);
        for cut in 0..=body.len() {
            assert!(cut_once(&source, verb, &body, cut).is_same(&expected), "cut at {cut}");
        }
    }
}

#[test]
fn a_body_that_ends_early_gives_the_items_before_its_end() {
    for (source, verb, body) in small_bodies() {
        let expected = whole(&source, verb, &body);
        for end in 0..body.len() {
            let outcome = check(&source, verb, &body[..end]);
            assert!(expected.items.starts_with(&outcome.items), "{end}");
            let is_complete = body[end..].trim_ascii().is_empty();
            if verb == Verb::List {
                assert_eq!(outcome.end.is_ok(), is_complete, "{end}");
            }
        }
    }
}

/// Returns how many items of a body end at or before a byte.
fn items_before(source: &Source, verb: Verb, body: &[u8], end: usize) -> usize {
    whole(source, verb, &body[..end]).items.len()
}

#[test]
fn a_damaged_byte_costs_at_most_what_comes_after_the_item_before_it() {
    for (source, verb, body) in small_bodies().into_iter().take(2) {
        let expected = whole(&source, verb, &body);
        for at in 0..body.len() {
            let before = items_before(&source, verb, &body, at);
            for byte in *b"\0\"{}[]\\,:x\n\xff" {
                let mut damaged = body.clone();
                damaged[at] = byte;
                // Fields that are skipped are not checked for UTF-8, and the model reads them.
                let outcome = match byte.is_ascii() {
                    true => check(&source, verb, &damaged),
                    false => whole(&source, verb, &damaged),
                };
                assert_eq!(outcome.items[..before], expected.items[..before], "byte {at}");
                assert!(cut_once(&source, verb, &damaged, at).is_same(&outcome), "byte {at}");
            }
        }
    }
}

/// A list that no API server sends: members in any order, blanks, escapes, items that are no objects.
fn strange_list() -> impl Strategy<Value = String> {
    let invalid = prop_oneof![
        4 => prop_oneof![Just("1"), Just("-1.5e9"), Just("null"), Just("\"\\\"\""), Just("[[]]")],
        1 => prop_oneof![Just(""), Just("tru"), Just("01"), Just("{\"a\":[}]}"), Just("\"\u{1}\""), Just("1 2")],
    ];
    let item = prop_oneof![
        3 => Just(r#"{"metadata":{"name":"a","namespace":"shop"},"spec":{"selector":{"a}":"]"}}}"#),
        3 => Just(r#"{ "spec" : {}, "metadata" : { "namespace" : "shop", "name" : "\u0062" } }"#),
        3 => Just(r#"{"metadata":{"name":"c","namespace":"shop"},"spec":3}"#),
        2 => invalid,
    ];
    let items = proptest::collection::vec(item, 0..4).prop_map(|items| format!("\"items\":[{}]", items.join(" ,\n")));
    let other = prop_oneof![
        4 => Just(r#""other":[1,{"items":[2]}]"#),
        4 => Just(r#""other":"\\","other":1"#),
        1 => prop_oneof![Just(r#""kind":null"#), Just(r#""kind":"PodList""#), Just(r#""metadata":{"continue":7}"#)],
        1 => prop_oneof![Just(r#""items":null"#), Just(r#""items":{}"#), Just(r#""other":[1"#), Just("other:1")],
    ];
    let members = (items, other).prop_flat_map(|(items, other)| {
        let kind = r#""k\u0069nd": "ServiceL\u0069st""#.to_owned();
        let metadata = r#""metadata" :{"resourceVersion":"7","continue":"\u0041","remainingItemCount":3}"#.to_owned();
        prop::sample::subsequence(vec![items, kind, metadata, other.to_owned()], 2..=4).prop_shuffle()
    });
    let around =
        prop_oneof![8 => Just((" {", "}\n")), 1 => prop_oneof![Just(("{", "}}")), Just(("[", "]")), Just(("", ""))]];
    (around, members).prop_map(|((before, after), members)| format!("{before}{}{after}", members.join(", ")))
}

proptest! {
    #[test]
    fn a_recorded_body_gives_the_same_in_random_chunks(
        body: prop::sample::Index, cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let bodies = bodies();
        let (source, verb, body) = &bodies[body.index(bodies.len())];
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(body.len())).collect();
        cuts.sort_unstable();
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([body.len()]);
        let chunks: Vec<_> = starts.zip(ends).map(|(start, end)| &body[start..end]).collect();
        let outcome = read(source, *verb, chunks.iter().copied());
        prop_assert!(outcome.is_same(&whole(source, *verb, body)));
        prop_assert!(outcome.most_pending <= largest_part(*verb, body));
    }

    #[test]
    fn a_strange_list_is_read_as_serde_json_reads_it(body in strange_list(), chunk in 1usize..20) {
        let expected = check_list(&services(), body.as_bytes());
        prop_assert!(read(&services(), Verb::List, body.as_bytes().chunks(chunk)).is_same(&expected));
    }

    #[test]
    fn any_bytes_give_the_same_in_chunks(bytes in proptest::collection::vec(any::<u8>(), 0..200), chunk in 1usize..20) {
        for verb in [Verb::List, Verb::Watch] {
            let expected = whole(&services(), verb, &bytes);
            prop_assert!(read(&services(), verb, bytes.chunks(chunk)).is_same(&expected));
        }
    }
}

#[test]
fn the_strange_lists_are_of_both_kinds() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut is_accepted = || {
        let list = strange_list().new_tree(&mut runner).expect("a list").current();
        model::list(&services(), list.as_bytes()).is_some_and(|model| !model.items.is_empty())
    };
    let accepted = (0..1_000).filter(|_| is_accepted()).count();
    assert!(
        (100..900).contains(&accepted),
        "{accepted} of 1000 are accepted with items"
    );
}

#[test]
fn an_object_is_given_as_it_is_parsed_alone() {
    let item = r#"{"metadata":{"name":"web","namespace":"shop"},"spec":{"selector":{"app":"web"}}}"#;
    let outcome = check_list(
        &services(),
        format!(r#"{{"items":[{item}],"kind":"ServiceList"}}"#).as_bytes(),
    );
    let object = Object::parse(ObjectKind::Services, item, KeptFields::default()).expect("an object");
    assert_eq!(outcome.items, [BodyItem::Item(ListedItem::Object(object))]);
}
