use super::super::incremental_join::{Delta, IncrementalJoin};
use super::super::{PODS, join};
use super::*;
use crate::kube::{ObjectKind, PodEndpoint, Resource, Source};
use crate::load::Percent;
use proptest::prelude::*;
use std::rc::Rc;

fn pod(name: &str) -> Object {
    Object::Pod(PodObject {
        name: ObjectName::parse(name).unwrap(),
        own_labels: "app=web".into(),
    })
}

/// A slice of `ADDRESS POD SINCE` or `ADDRESS POD SINCE unready` words.
fn slice(name: &str, endpoints: &[&str]) -> Object {
    let endpoint = |text: &&str| {
        let words: Vec<_> = text.split(' ').collect();
        PodEndpoint {
            address: words[0].parse().unwrap(),
            pod: Name::parse(words[1]).unwrap(),
            is_ready: words.len() < 4,
            since: words[2].parse().unwrap(),
        }
    };
    Object::EndpointSlice(EndpointSlice {
        name: ObjectName::parse(name).unwrap(),
        endpoints: endpoints.iter().map(endpoint).collect(),
        foreign_endpoints: 1,
    })
}

fn sources() -> [Source; 2] {
    [
        Source::all_namespaces(ObjectKind::EndpointSlices, Resource::endpoint_slices()),
        Source::all_namespaces(ObjectKind::Pods, Resource::pods()),
    ]
}

fn percent() -> Percent {
    Percent::new(80).unwrap()
}

/// Each pod with its addresses and since when it has them, and how many pods are disputed.
fn pods(slices: Vec<Object>, pods: Vec<Object>) -> (Vec<String>, u64) {
    let lists = [slices, pods].map(|objects| objects.into_iter().map(Rc::new).collect::<Vec<_>>());
    let sources = sources();
    let lists = sources.iter().zip(lists.iter().map(Vec::as_slice));
    let (table, findings) = join(lists, percent());
    let row = |row: &Row| {
        let label = PodAddresses::parse(&row.label.to_string()).unwrap();
        let addresses: Vec<_> = label.addresses.iter().map(IpAddr::to_string).collect();
        let since = label.since.unix_millis();
        format!("{} [{}] {} {since}", row.name, row.labels, addresses.join(","))
    };
    (table[PODS].iter().map(row).collect(), findings.disputed_pods)
}

#[test]
fn a_pod_has_all_its_addresses_since_it_has_the_last_of_them() {
    let slices = vec![
        slice("shop/web-v4", &["10.0.0.1 a 5", "10.0.0.2 b 6"]),
        slice("shop/web-v6", &["fd00::1 a 7"]),
        slice("shop/all-v4", &["10.0.0.1 a 9"]),
    ];
    let (rows, disputed) = pods(slices, vec![pod("shop/a"), pod("shop/b"), pod("shop/c"), pod("data/a")]);
    let expected = ["shop/a [app=web] 10.0.0.1,fd00::1 7", "shop/b [app=web] 10.0.0.2 6"];
    assert_eq!((rows, disputed), (expected.map(str::to_owned).to_vec(), 0));
}

#[test]
fn a_pod_needs_an_endpoint_that_is_ready() {
    let slices = vec![
        slice("shop/a", &["10.0.0.1 a 5 unready", "10.0.0.2 b 5 unready"]),
        slice("shop/b", &["10.0.0.2 b 5"]),
    ];
    let (rows, _) = pods(slices, vec![pod("shop/a"), pod("shop/b")]);
    assert_eq!(rows, ["shop/b [app=web] 10.0.0.2 5"]);
}

#[test]
fn no_pod_has_an_address_that_another_one_has_too() {
    let slices = vec![
        slice("shop/web", &["10.0.0.1 a 5", "10.0.0.2 b 5", "fd00::1 a 5"]),
        // Of the same name in another namespace, not ready and not even there.
        slice("data/web", &["fd00::1 a 5 unready"]),
    ];
    let (rows, disputed) = pods(slices, vec![pod("shop/a"), pod("shop/b")]);
    assert_eq!((rows, disputed), (vec!["shop/b [app=web] 10.0.0.2 5".to_owned()], 1));
}

#[test]
fn a_pod_with_more_addresses_than_a_label_holds_has_no_row() {
    let many: Vec<_> = (0..9).map(|n| format!("fd00::{n} a 5")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let (rows, _) = pods(
        vec![slice("shop/web", &many), slice("shop/b", &["10.0.0.2 b 5"])],
        vec![pod("shop/a"), pod("shop/b")],
    );
    assert_eq!(rows, ["shop/b [app=web] 10.0.0.2 5"]);
}

#[test]
fn the_label_of_another_row_has_no_addresses() {
    for label in [
        "",
        "shop/web",
        "shop/5",
        "shop/5.",
        "shop/5.0a0000",
        "shop/5.0a00000x",
        "shop/x.0a000001",
    ] {
        assert_eq!(PodAddresses::parse(label), None, "{label}");
    }
}

/// A slice or a pod, of few namespaces, names and addresses.
fn object() -> impl Strategy<Value = (usize, Object)> {
    let namespace = || prop::sample::select(vec!["a", "b"]);
    let endpoint = (0..4u8, 0..3u8, 0..3u64, any::<bool>()).prop_map(|(address, pod, since, is_ready)| {
        let unready = if is_ready { "" } else { " unready" };
        format!("10.0.0.{address} p{pod} {since}{unready}")
    });
    let endpoints = proptest::collection::vec(endpoint, 0..4);
    let slices = (namespace(), 0..3u8, endpoints).prop_map(|(namespace, name, endpoints)| {
        let endpoints: Vec<_> = endpoints.iter().map(String::as_str).collect();
        (0, slice(&format!("{namespace}/s{name}"), &endpoints))
    });
    let pods = (namespace(), 0..3u8).prop_map(|(namespace, name)| (1, pod(&format!("{namespace}/p{name}"))));
    prop_oneof![slices, pods]
}

proptest! {
    #[test]
    fn the_incremental_join_of_pods_equals_a_fresh_one(changes in proptest::collection::vec((object(), any::<bool>()), 1..60)) {
        let mut lists = sources().map(|source| (source, Vec::<Rc<Object>>::new()));
        let mut joined = IncrementalJoin::new(sources().to_vec().into(), percent());
        for ((list, object), stays) in changes {
            let objects = &mut lists[list].1;
            let found = objects.iter().position(|kept| kept.name() == object.name());
            let before = found.map(|index| objects.remove(index));
            let after = stays.then(|| Rc::new(object));
            objects.extend(after.clone());
            joined.enqueue(list, [Delta { before, after }]);
            joined.advance(&mut usize::MAX.clone());
            let (table, findings) = join(lists.iter().map(|(source, objects)| (source, &objects[..])), percent());
            prop_assert_eq!((joined.table(), joined.findings()), (&table, findings));
        }
    }
}
