//! Tests of the documents that need no snapshot: discovery, health and OpenAPI.

use super::*;
use burst_model::metric::ServedMetric;
use std::collections::BTreeSet;

pub(super) const AGGREGATED: &[u8] = b"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

fn fetch(request: TestRequest<'_>) -> (u16, String) {
    TestServer::unsynced().status_and_body(request)
}

fn header(answer: &LocalReply, name: &str) -> Option<String> {
    let (_, value) = answer.headers.iter().find(|(own, _)| *own == name)?;
    Some(value.clone())
}

#[test]
fn discovery_and_health_need_no_snapshot() {
    for (path, body) in [
        ("/healthz", "ok"),
        ("/readyz", "ok"),
        ("/livez", "ok"),
        (
            "/openapi/v2",
            "{\"swagger\":\"2.0\",\"info\":{\"title\":\"burst\",\"version\":\"v1\"},\"paths\":{}}\n",
        ),
        ("/openapi/v3", "{\"paths\":{}}\n"),
        (
            "/apis/external.metrics.k8s.io",
            "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"external.metrics.k8s.io\",\
             \"versions\":[{\"groupVersion\":\"external.metrics.k8s.io/v1beta1\",\"version\":\"v1beta1\"}],\
             \"preferredVersion\":{\"groupVersion\":\"external.metrics.k8s.io/v1beta1\",\"version\":\"v1beta1\"}}\n",
        ),
    ] {
        assert_eq!(fetch(get(path)), (200, body.to_owned()), "{path}");
    }
}

#[test]
fn a_path_that_is_not_served_has_the_body_of_its_kind() {
    let paths = |path| fetch(get(path));
    assert_eq!(paths("/apis/apps/v1").0, 404);
    assert!(paths("/apis/apps/v1").1.starts_with("{\"paths\":[\"/apis\","));
    assert!(
        paths("/apis/external.metrics.k8s.io/v1beta1/x")
            .1
            .contains("\"reason\":\"NotFound\"")
    );
    assert_eq!(
        fetch(TestRequest {
            method: b"POST",
            ..get("/apis")
        })
        .0,
        405
    );
}

#[test]
fn the_resources_of_a_version_have_the_scope_of_their_objects() {
    let (status, body) = fetch(get("/apis/custom.metrics.k8s.io/v1beta2"));
    assert_eq!(status, 200);
    let list: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(list["groupVersion"], "custom.metrics.k8s.io/v1beta2");
    let resources = list["resources"].as_array().unwrap();
    // Five metrics of replicas for each of five kinds, and three of requests for Services and for namespaces.
    assert_eq!(resources.len(), 31);
    assert!(body.contains(
        "{\"name\":\"deployments.apps/burst_current_load\",\"singularName\":\"\",\"namespaced\":true,\
         \"kind\":\"MetricValueList\",\"verbs\":[\"get\"]}"
    ));
    for resource in resources {
        let name = resource["name"].as_str().unwrap();
        assert_eq!(resource["namespaced"], !name.starts_with("namespaces/"), "{name}");
    }
}

/// The group and version with `resource/subresource`, as the unaggregated documents list them.
fn flat(item: &Value) -> Vec<(String, String)> {
    let of = |version: &Value| {
        let group = item["metadata"]["name"].as_str().unwrap();
        let group_version = format!("{group}/{}", version["version"].as_str().unwrap());
        let names = |resource: &Value| {
            let name = resource["resource"].as_str().unwrap().to_owned();
            match resource.get("subresources") {
                None => vec![name],
                Some(subresources) => {
                    let of = |sub: &Value| format!("{name}/{}", sub["subresource"].as_str().unwrap());
                    subresources.as_array().unwrap().iter().map(of).collect()
                }
            }
        };
        let all: Vec<_> = version["resources"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(names)
            .collect();
        all.into_iter()
            .map(move |name| (group_version.clone(), name))
            .collect::<Vec<_>>()
    };
    item["versions"].as_array().unwrap().iter().flat_map(of).collect()
}

#[test]
fn both_formats_of_discovery_list_the_same_resources() {
    let answer = TestServer::unsynced()
        .response(TestRequest {
            accept: AGGREGATED,
            ..get("/apis")
        })
        .answer;
    assert_eq!(
        header(&answer, "content-type").as_deref(),
        Some("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
    );
    let groups: Value = serde_json::from_slice(&answer.body).unwrap();
    let aggregated: Vec<_> = groups["items"].as_array().unwrap().iter().flat_map(flat).collect();
    let mut legacy = Vec::new();
    for version in [
        "custom.metrics.k8s.io/v1beta2",
        "custom.metrics.k8s.io/v1beta1",
        "external.metrics.k8s.io/v1beta1",
    ] {
        let list: Value = serde_json::from_str(&fetch(get(&format!("/apis/{version}"))).1).unwrap();
        let names = list["resources"].as_array().unwrap().iter();
        legacy.extend(names.map(|entry| (version.to_owned(), entry["name"].as_str().unwrap().to_owned())));
    }
    assert_eq!(aggregated, legacy);
    // Old clients panic if `responseKind` is absent.
    assert_eq!(
        String::from_utf8_lossy(&answer.body).matches("\"resource\":").count(),
        5 + 5 + 9
    );
    let resources = groups["items"][0]["versions"][0]["resources"].as_array().unwrap();
    assert!(resources.iter().all(|resource| resource.get("responseKind").is_some()));
}

#[test]
fn the_older_aggregated_version_is_sent_if_only_it_is_accepted() {
    let accept = b"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    let (status, body) = fetch(TestRequest { accept, ..get("/apis") });
    assert_eq!(status, 200);
    assert!(body.starts_with("{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2beta1\""));
    assert!(fetch(get("/apis")).1.starts_with("{\"kind\":\"APIGroupList\""));
}

#[test]
fn a_document_that_the_client_has_is_not_sent_again() {
    let request = |accept, if_none_match: &str| {
        let request = TestRequest {
            accept,
            if_none_match: if_none_match.as_bytes(),
            ..get("/apis")
        };
        TestServer::unsynced().response(request).answer
    };
    let etag = header(&request(AGGREGATED, ""), "etag").unwrap();
    let again = request(AGGREGATED, &etag);
    assert_eq!(
        (again.status, again.body.len(), header(&again, "etag")),
        (304, 0, Some(etag.clone()))
    );
    assert_eq!(request(b"application/json", &etag).status, 200, "another format");
}

#[test]
fn the_docs_name_every_metric_and_no_other() {
    let docs = include_str!("../../../../docs/metrics-apis.md");
    let (_, section) = docs.split_once("\n## Metrics\n").unwrap();
    let (table, _) = section.split_once("\n## ").unwrap();
    let cells = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let documented: BTreeSet<_> = cells.flat_map(|cell| cell.split('`').step_by(2)).collect();
    let all = |scope| {
        let mut server = TestServer::unsynced();
        server.set_counting(Some(CountingSettings {
            scope,
            in_flight: true,
            pods: false,
        }));
        ServedMetric::all(server.apis().counting)
            .map(ServedMetric::name)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        documented,
        [RateScope::Proxy, RateScope::Cluster]
            .into_iter()
            .flat_map(all)
            .collect()
    );
}

/// The resources that an adapter lists, each with its name, whether it is namespaced, and its kind.
pub(super) fn adapter_resources(api: ApiVersion, names: &[(&str, bool, &str)]) -> AdapterResources {
    let resource = |(name, namespaced, kind): &(&str, bool, &str)| serde_json::json!({"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get"]});
    let resources: Vec<_> = names.iter().map(resource).collect();
    let list = serde_json::json!({"kind": "APIResourceList", "groupVersion": "g/v", "resources": resources});
    let mut all = AdapterResources::default();
    all.update(
        api,
        adapters::read_resource_list(Some(200), list.to_string().as_bytes()),
    );
    all
}

#[test]
fn the_metrics_of_another_adapter_are_listed_after_ours() {
    let mut server = TestServer::unsynced();
    let list = "MetricValueList";
    server.adapter_resources = adapter_resources(
        ApiVersion::CustomV1Beta2,
        &[
            ("services/requests", true, list),
            ("pods/requests", true, list),
            ("services/burst_headroom", true, "Other"),
        ],
    );
    let names = |server: &TestServer, api: &str| {
        let list = server.json(&format!("/apis/{api}"));
        let names = list["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let all = names(&server, "custom.metrics.k8s.io/v1beta2");
    assert_eq!(
        (all.len(), &all[31..]),
        (33, &["services/requests".to_owned(), "pods/requests".to_owned()][..])
    );
    assert_eq!(
        names(&server, "custom.metrics.k8s.io/v1beta1").len(),
        31,
        "the adapter does not serve this version"
    );
    server.adapter_resources = adapter_resources(
        ApiVersion::ExternalV1Beta1,
        &[("s0-rabbitmq", true, "ExternalMetricValueList")],
    );
    assert!(names(&server, "external.metrics.k8s.io/v1beta1").contains(&"s0-rabbitmq".to_owned()));
    assert_eq!(names(&server, "custom.metrics.k8s.io/v1beta2").len(), 31);
}

#[test]
fn aggregated_discovery_groups_the_metrics_of_both_by_resource() {
    let mut server = TestServer::unsynced();
    let aggregated = |server: &TestServer| {
        let request = TestRequest {
            accept: AGGREGATED,
            ..get("/apis")
        };
        let answer = server.response(request).answer;
        let json: Value = serde_json::from_slice(&answer.body).unwrap();
        (header(&answer, "etag"), json["items"].clone())
    };
    let (before, _) = aggregated(&server);
    let list = "MetricValueList";
    server.adapter_resources = adapter_resources(
        ApiVersion::CustomV1Beta2,
        &[
            ("pods/b", true, list),
            ("services/b", true, list),
            ("nodes", false, "Node"),
            ("nodes/b", false, list),
        ],
    );
    let (after, items) = aggregated(&server);
    assert_ne!(before, after, "clients must see that the list changed");
    let of = |name: &str| {
        let resources = items[0]["versions"][0]["resources"].as_array().unwrap();
        resources
            .iter()
            .find(|resource| resource["resource"] == name)
            .unwrap()
            .clone()
    };
    let subresources = |name: &str| {
        let resource = of(name);
        let names = resource["subresources"].as_array().unwrap().iter();
        names
            .map(|one| one["subresource"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(subresources("pods"), ["b"]);
    let services = subresources("services");
    assert!(
        services.contains(&"b".to_owned()) && services.contains(&"burst_headroom".to_owned()),
        "{services:?}"
    );
    let nodes = of("nodes");
    assert_eq!(
        (&nodes["scope"], &nodes["responseKind"]["kind"]),
        (&"Cluster".into(), &"Node".into())
    );
    assert_eq!(
        (&nodes["verbs"][0], subresources("nodes")),
        (&"get".into(), vec!["b".to_owned()])
    );
    assert_eq!(of("pods")["responseKind"]["kind"], "");
    server.adapter_resources = adapter_resources(
        ApiVersion::ExternalV1Beta1,
        &[("s0-rabbitmq", true, "ExternalMetricValueList")],
    );
    let (_, items) = aggregated(&server);
    let external = items[1]["versions"][0]["resources"].as_array().unwrap();
    assert!(external.iter().any(|resource| resource["resource"] == "s0-rabbitmq"));
}
