//! The kinds of discovery, by which kubectl finds what it is asked for.

use super::discovery::{AGGREGATED, offers};
use super::*;

const LIST: &str = "ExternalMetricValueList";

/// The names and kinds that a form of discovery lists of the external metrics.
fn legacy(world: &World) -> Vec<(String, String)> {
    let list = world.json("/apis/external.metrics.k8s.io/v1beta1");
    let pair = |entry: &Value| (text(&entry["name"]), text(&entry["kind"]));
    list["resources"].as_array().unwrap().iter().map(pair).collect()
}

fn aggregated(world: &World) -> Vec<(String, String)> {
    let accept = AGGREGATED;
    let answer = world.reply(MetricsRequest { accept, ..get("/apis") }).answer;
    let groups: Value = serde_json::from_slice(&answer.body).unwrap();
    let pair = |entry: &Value| (text(&entry["resource"]), text(&entry["responseKind"]["kind"]));
    let resources = groups["items"][1]["versions"][0]["resources"].as_array().unwrap();
    resources.iter().map(pair).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The path that kubectl takes from the name of a resource: to its kind, and from there to the last resource that has
/// it. A kind is known in lower case too, and with it the kind of its list.
/// <https://github.com/kubernetes/client-go/blob/v0.36.3/restmapper/discovery.go#L40>
fn requested(resources: &[(String, String)], wanted: &str) -> String {
    let mut names = BTreeMap::new();
    for (name, kind) in resources {
        names.insert(kind.to_lowercase(), name.clone());
        names.insert(kind.clone(), name.clone());
        names.insert(format!("{kind}List"), format!("{}lists", kind.to_lowercase()));
    }
    let (_, kind) = resources.iter().find(|(name, _)| name == wanted).unwrap();
    names[kind].clone()
}

#[test]
fn kubectl_requests_the_metric_that_it_is_asked_for() {
    let mut world = World::empty();
    let theirs = [
        "s0-rabbitmq",
        "a.queue",
        "burst_headroom",
        "burstheadroom",
        "externalmetrics",
    ];
    let own = [("x", "Queue"), ("y", "QueueList"), ("z", "Topic")];
    let of_one_kind = theirs.map(|name| (name, true, LIST));
    for more in [
        vec![],
        of_one_kind.to_vec(),
        own.map(|(name, kind)| (name, true, kind)).to_vec(),
    ] {
        world.offers = offers(ApiVersion::ExternalV1Beta1, &more);
        for resources in [legacy(&world), aggregated(&world)] {
            assert!(resources.len() >= 8 + more.len(), "{resources:?}");
            for (name, _) in &resources {
                assert_eq!(&requested(&resources, name), name, "{resources:?}");
            }
        }
    }
}

#[test]
fn kinds_are_words_as_kubernetes_writes_them() {
    let resources = legacy(&World::empty());
    for (name, kind) in [
        ("burst_headroom", "BurstHeadroom"),
        ("burst_requests_in_flight", "BurstRequestsInFlight"),
    ] {
        assert!(resources.contains(&(name.to_owned(), kind.to_owned())), "{resources:?}");
    }
}

/// Their kind is the one of the list without its end, which kubectl looks up before it prints them as JSON.
#[test]
fn the_items_of_an_answer_have_a_kind_that_discovery_lists() {
    let world = World::known();
    assert_eq!(world.json(&format!("{EXTERNAL}/burst_headroom"))["kind"], LIST);
    let item = ("externalmetricvalues".to_owned(), "ExternalMetricValue".to_owned());
    for resources in [legacy(&world), aggregated(&world)] {
        let found: Vec<_> = resources.iter().filter(|(_, kind)| *kind == item.1).collect();
        assert_eq!(found, [&item]);
    }
    let (_, body) = world.ask(get("/apis/external.metrics.k8s.io/v1beta1"));
    let entry =
        r#""name":"externalmetricvalues","singularName":"","namespaced":true,"kind":"ExternalMetricValue","verbs":[]"#;
    assert!(body.contains(entry), "it has no verbs, as it is no metric: {body}");
    assert_eq!(world.ask(get(&format!("{EXTERNAL}/{}", item.0))).0, 404);
}
