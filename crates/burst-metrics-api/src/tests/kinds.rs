//! Tests of the kinds in discovery, by which kubectl finds the resource that the user names.

use super::discovery::{AGGREGATED, adapter_resources};
use super::*;

const LIST: &str = "ExternalMetricValueList";

/// The names and kinds of the external metrics in unaggregated discovery.
fn unaggregated(server: &TestServer) -> Vec<(String, String)> {
    let list = server.json("/apis/external.metrics.k8s.io/v1beta1");
    let pair = |entry: &Value| (text(&entry["name"]), text(&entry["kind"]));
    list["resources"].as_array().unwrap().iter().map(pair).collect()
}

/// The same in aggregated discovery.
fn aggregated(server: &TestServer) -> Vec<(String, String)> {
    let accept = AGGREGATED;
    let answer = server.response(TestRequest { accept, ..get("/apis") }).answer;
    let groups: Value = serde_json::from_slice(&answer.body).unwrap();
    let pair = |entry: &Value| (text(&entry["resource"]), text(&entry["responseKind"]["kind"]));
    let resources = groups["items"][1]["versions"][0]["resources"].as_array().unwrap();
    resources.iter().map(pair).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The resource that kubectl requests for the name of a resource. It looks up the kind, and then the last resource that has
/// this kind. It also knows each kind in lower case, and the kind of its list.
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
fn kubectl_requests_the_metric_that_the_user_names() {
    let mut server = TestServer::unsynced();
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
        server.adapter_resources = adapter_resources(ApiVersion::ExternalV1Beta1, &more);
        for resources in [unaggregated(&server), aggregated(&server)] {
            assert!(resources.len() >= 8 + more.len(), "{resources:?}");
            for (name, _) in &resources {
                assert_eq!(&requested(&resources, name), name, "{resources:?}");
            }
        }
    }
}

#[test]
fn kinds_are_in_camel_case() {
    let resources = unaggregated(&TestServer::unsynced());
    for (name, kind) in [
        ("burst_headroom", "BurstHeadroom"),
        ("burst_requests_in_flight", "BurstRequestsInFlight"),
    ] {
        assert!(resources.contains(&(name.to_owned(), kind.to_owned())), "{resources:?}");
    }
}

/// To print a list as JSON, kubectl looks up the kind of the list without `List`.
#[test]
fn discovery_lists_the_kind_of_the_items_of_an_answer() {
    let server = TestServer::synced();
    assert_eq!(server.json(&format!("{EXTERNAL}/burst_headroom"))["kind"], LIST);
    let item = ("externalmetricvalues".to_owned(), "ExternalMetricValue".to_owned());
    for resources in [unaggregated(&server), aggregated(&server)] {
        let found: Vec<_> = resources.iter().filter(|(_, kind)| *kind == item.1).collect();
        assert_eq!(found, [&item]);
    }
    let (_, body) = server.status_and_body(get("/apis/external.metrics.k8s.io/v1beta1"));
    let entry =
        r#""name":"externalmetricvalues","singularName":"","namespaced":true,"kind":"ExternalMetricValue","verbs":[]"#;
    assert!(body.contains(entry), "it is not a metric and has no verbs: {body}");
    assert_eq!(server.status_and_body(get(&format!("{EXTERNAL}/{}", item.0))).0, 404);
}
