use super::*;
use crate::kube::item::InvalidItem;
use crate::kube::{KeptFields, ListPage, ObjectKind};
use crate::sync::limits::MAX_LIST_BYTES;

fn service(name: &str, app: &str) -> Object {
    let json =
        format!(r#"{{"metadata":{{"namespace":"shop","name":"{name}"}},"spec":{{"selector":{{"app":"{app}"}}}}}}"#);
    Object::parse(ObjectKind::Services, &json, KeptFields::default()).unwrap()
}

fn invalid(name: &str) -> InvalidItem {
    InvalidItem {
        name: format!("shop/{name}"),
        reason: "spec: no such thing".into(),
    }
}

fn deletion(name: &str) -> Change {
    Change::Delete(ObjectName::parse(&format!("shop/{name}")).unwrap())
}

fn replace(store: &mut Store, page: ListPage) -> (Vec<Delta>, Vec<String>) {
    let mut listed = ListedObjects::default();
    listed.add_page(&Resource::services(), page);
    store.replace(&Resource::services(), listed, MAX_LIST_BYTES, Time::default())
}

/// Applies changes. Returns whether they changed anything, and the number of messages.
fn apply(store: &mut Store, changes: Vec<Change>) -> (bool, usize) {
    let (deltas, messages) = store.apply(&Resource::services(), changes, MAX_LIST_BYTES, Time::default());
    (!deltas.is_empty(), messages.len())
}

/// A store of the Services `a` and `c`, with the invalid `x`.
fn listed() -> Store {
    let mut store = Store::default();
    let page = ListPage {
        objects: vec![service("c", "1"), service("a", "1")],
        invalid: vec![invalid("x")],
        ..ListPage::default()
    };
    let (_, messages) = replace(&mut store, page);
    assert_eq!(messages.len(), 1);
    store
}

fn name(object: &Option<Rc<Object>>) -> Option<String> {
    object.as_ref().map(|object| object.name().to_string())
}

#[test]
fn changes_lead_to_the_objects_that_a_list_would_have() {
    let mut store = listed();
    let changes = vec![
        Change::Apply(service("b", "1")),
        Change::Apply(service("c", "2")),
        deletion("a"),
    ];
    assert_eq!(apply(&mut store, changes), (true, 0));
    assert_eq!(store.objects, [service("b", "1"), service("c", "2")].map(Rc::new));
}

#[test]
fn a_relist_reports_only_the_objects_that_changed() {
    let mut store = listed();
    let before = store.objects.clone();
    let page = ListPage {
        objects: vec![service("d", "1"), service("c", "1"), service("b", "1")],
        ..ListPage::default()
    };
    let (deltas, _) = replace(&mut store, page);
    let names: Vec<_> = deltas
        .iter()
        .map(|delta| (name(&delta.before), name(&delta.after)))
        .collect();
    let [a, b, d] = ["shop/a", "shop/b", "shop/d"].map(|name| Some(name.to_owned()));
    assert_eq!(names, [(a, None), (None, b), (None, d)]);
    assert!(
        Rc::ptr_eq(&before[1], &store.objects[1]),
        "the object that the join holds is kept"
    );
}

#[test]
fn an_equal_object_and_the_deletion_of_an_unknown_one_change_nothing() {
    let mut store = listed();
    let changes = vec![Change::Apply(service("a", "1")), deletion("q")];
    assert_eq!(apply(&mut store, changes), (false, 0));
}

#[test]
fn an_object_that_becomes_invalid_is_excluded_with_one_message_until_it_is_valid_again() {
    let mut store = listed();
    assert_eq!(apply(&mut store, vec![Change::Invalid(invalid("a"))]), (true, 1));
    assert_eq!(
        apply(&mut store, vec![Change::Invalid(invalid("a"))]),
        (false, 0),
        "it is reported once"
    );
    assert_eq!((store.objects.len(), store.excluded.len()), (1, 2));
    assert_eq!(apply(&mut store, vec![Change::Apply(service("a", "1"))]), (true, 0));
    assert_eq!((store.objects.len(), store.excluded.len()), (2, 1));
}

#[test]
fn the_byte_account_is_the_sum_of_the_objects_after_any_change() {
    let mut store = listed();
    let changes = vec![
        Change::Apply(service("b", "1")),
        Change::Apply(service("c", &"long".repeat(9))),
        deletion("a"),
    ];
    apply(&mut store, changes);
    let expected: usize = store.objects.iter().map(|object| object.size()).sum();
    assert_eq!(store.bytes(), expected);
    store.clear();
    assert_eq!((store.bytes(), store.objects.len()), (0, 0));
}

#[test]
fn a_retained_object_stays_unchanged_by_a_watch_and_by_a_list_with_one_message() {
    let mut store = listed();
    let before = store.objects.clone();
    let retained = vec![Change::Retained("shop/a".into())];
    assert_eq!(apply(&mut store, retained), (false, 1));
    assert!(store.retains_any());
    let page = ListPage {
        objects: vec![service("c", "1")],
        retained: vec!["shop/a".into(), "shop/new".into()],
        ..ListPage::default()
    };
    let (deltas, messages) = replace(&mut store, page);
    assert_eq!((deltas.len(), store.objects.clone()), (0, before));
    assert_eq!(
        messages,
        ["keeping the last version of Service shop/new: a proxy thread stopped while it parsed the new one"]
    );
    store.requeue_skipped();
    assert!(store.is_relist_due);
    let changes = vec![Change::Apply(service("a", "2")), Change::Invalid(invalid("new"))];
    assert_eq!(apply(&mut store, changes), (true, 1));
    assert!(!store.retains_any());
}

/// An EndpointSlice with one endpoint of that address and pod.
fn slice(address: &str, pod: &str) -> Object {
    let json = format!(
        r#"{{"metadata":{{"namespace":"shop","name":"web"}},"endpoints":[{{"addresses":["{address}"],
        "targetRef":{{"kind":"Pod","name":"{pod}"}}}}]}}"#
    );
    Object::parse(ObjectKind::EndpointSlices, &json, KeptFields::default()).unwrap()
}

/// Since when the one slice of a store has its endpoint.
fn since(store: &Store) -> u64 {
    let [slice] = &store.objects[..] else {
        panic!("one slice: {:?}", store.objects)
    };
    let Object::EndpointSlice(slice) = &**slice else {
        panic!("{slice:?}")
    };
    slice.endpoints[0].since
}

#[test]
fn an_address_is_known_since_the_slice_first_had_it_for_its_pod() {
    let mut store = Store::default();
    let resource = Resource::endpoint_slices();
    let mut change = |change: Change, at: u64| {
        store.apply(&resource, vec![change], MAX_LIST_BYTES, Time::from_unix_millis(at));
        (!store.objects.is_empty()).then(|| since(&store))
    };
    assert_eq!(change(Change::Apply(slice("10.0.0.1", "a")), 5), Some(5));
    assert_eq!(change(Change::Apply(slice("10.0.0.1", "a")), 6), Some(5));
    assert_eq!(change(Change::Apply(slice("10.0.0.1", "b")), 7), Some(7));
    assert_eq!(change(deletion("web"), 8), None);
    assert_eq!(change(Change::Apply(slice("10.0.0.1", "b")), 9), Some(9));
    let mut relist = |pod: &str, at: u64| {
        let mut listed = ListedObjects::default();
        let page = ListPage {
            objects: vec![slice("10.0.0.1", pod)],
            ..ListPage::default()
        };
        listed.add_page(&resource, page);
        let (deltas, _) = store.replace(&resource, listed, MAX_LIST_BYTES, Time::from_unix_millis(at));
        (since(&store), deltas.len())
    };
    assert_eq!(relist("b", 10), (9, 0));
    assert_eq!(relist("c", 11), (11, 1));
    assert_eq!(store.set_endpoints_back(Time::from_unix_millis(11)).len(), 0);
    assert_eq!(store.set_endpoints_back(Time::from_unix_millis(4)).len(), 1);
    assert_eq!(since(&store), 4);
}
