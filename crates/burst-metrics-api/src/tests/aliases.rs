use super::*;
use crate::adapters::{AdapterDiscoveryError, read_resource_list};
use burst_model::config::AdapterConfig;
use burst_model::metric::ServedMetric;

/// A proxy whose requests and loads have the names that HPAs already use.
fn server() -> TestServer {
    let mut server = TestServer::synced();
    let apis = server.config.metrics_apis.as_mut().unwrap();
    for (alias, metric) in [
        ("http_requests_per_second", "burst_requests_per_second"),
        ("free_replicas", "burst_headroom"),
    ] {
        let metric = ServedMetric::find(apis.counting, metric).unwrap();
        apis.aliases.push((alias.to_owned(), metric));
    }
    server
}

/// The same in front of another adapter.
fn with_adapter() -> TestServer {
    let mut server = server();
    let apis = server.config.metrics_apis.as_mut().unwrap();
    apis.fallback.custom = Some(AdapterConfig {
        cluster: "prometheus-adapter".to_owned(),
        authority: "metrics-adapter".to_owned(),
    });
    server
}

impl TestServer {
    /// The other adapter lists these resources in a version.
    fn listed(&mut self, api: ApiVersion, names: &[&str]) {
        let items: Vec<_> = names
            .iter()
            .map(|name| format!(r#"{{"name":"{name}","namespaced":true,"kind":"MetricValueList","verbs":["get"]}}"#))
            .collect();
        let list = format!(r#"{{"kind":"APIResourceList","resources":[{}]}}"#, items.join(","));
        let listed = read_resource_list(Some(200), list.as_bytes());
        self.adapter_resources.update(api, listed);
    }

    /// The names in both forms of discovery that an alias has.
    fn discovered(&self, alias: &str) -> Vec<String> {
        let legacy = self.json("/apis/custom.metrics.k8s.io/v1beta2");
        let names = legacy["resources"].as_array().unwrap().iter();
        let names = names.map(|resource| resource["name"].as_str().unwrap().to_owned());
        let names: Vec<_> = names.filter(|name| name.ends_with(&format!("/{alias}"))).collect();
        let mut aggregated = get("/apis");
        aggregated.accept = b"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let (_, body) = self.status_and_body(aggregated);
        let body: Value = serde_json::from_str(&body).unwrap();
        let version = &body["items"][0]["versions"][0];
        let in_aggregated = version["resources"].as_array().unwrap().iter().flat_map(|resource| {
            let subresources = resource["subresources"].as_array().into_iter().flatten();
            let resource = resource["resource"].as_str().unwrap();
            subresources
                .filter(|subresource| subresource["subresource"] == alias)
                .map(move |_| format!("{resource}/{alias}"))
        });
        assert_eq!(in_aggregated.collect::<Vec<_>>(), names, "both forms list the same");
        names
    }

    fn is_delegated(&self, path: &str) -> bool {
        matches!(self.route(get(path)), RoutedRequest::Delegated)
    }
}

#[test]
fn an_alias_has_the_values_of_its_metric_and_its_own_name() {
    let server = server();
    let path = format!("{CUSTOM}/services/web/http_requests_per_second");
    let answer = server.json(&path);
    let item = &answer["items"][0];
    assert_eq!(
        (&item["metric"]["name"], &item["value"], &item["windowSeconds"]),
        (&"http_requests_per_second".into(), &"12500m".into(), &30.into())
    );
    let older = server.json(&path.replace("v1beta2", "v1beta1"));
    assert_eq!(older["items"][0]["metricName"], "http_requests_per_second");
    for (object, expected) in [
        ("services/*/http_requests_per_second", &["api 0", "web 12500m"][..]),
        ("deployments.apps/web/free_replicas", &["web 4"]),
        ("metrics/http_requests_per_second", &["shop 13500m"]),
    ] {
        let path = format!("{CUSTOM}/{object}");
        let items = server.items(&path);
        assert!(
            expected.iter().all(|item| items.iter().any(|found| found == item)),
            "{object}: {items:?}"
        );
    }
}

#[test]
fn an_alias_is_of_the_objects_that_have_its_metric_and_not_external() {
    let server = server();
    for path in [
        format!("{CUSTOM}/deployments.apps/web/http_requests_per_second"),
        format!("{CUSTOM}/services/web/HTTP_requests_per_second"),
        format!("{EXTERNAL}/http_requests_per_second"),
    ] {
        assert_eq!(server.error(get(&path)).0, 404, "{path}");
    }
}

#[test]
fn discovery_lists_an_alias_for_each_kind_that_has_its_metric() {
    let server = server();
    assert_eq!(
        server.discovered("http_requests_per_second"),
        [
            "namespaces/http_requests_per_second",
            "services/http_requests_per_second"
        ]
    );
    assert_eq!(
        server.discovered("free_replicas"),
        [
            "deployments.apps/free_replicas",
            "horizontalpodautoscalers.autoscaling/free_replicas",
            "namespaces/free_replicas",
            "services/free_replicas",
            "statefulsets.apps/free_replicas",
        ]
    );
}

#[test]
fn a_metric_of_another_adapter_takes_precedence_over_an_alias() {
    let mut server = with_adapter();
    server.listed(ApiVersion::CustomV1Beta1, &["pods/http_requests_per_second"]);
    server.listed(ApiVersion::CustomV1Beta2, &["services/queue_depth"]);
    for version in ["v1beta1", "v1beta2"] {
        let path = |metric| format!("{CUSTOM}/services/web/{metric}").replace("v1beta2", version);
        assert!(server.is_delegated(&path("http_requests_per_second")), "{version}");
        assert!(!server.is_delegated(&path("free_replicas")), "{version}");
        assert!(!server.is_delegated(&path("burst_requests_per_second")), "{version}");
    }
    assert!(server.discovered("http_requests_per_second").is_empty());
    assert_eq!(server.discovered("free_replicas").len(), 5);

    server.listed(ApiVersion::CustomV1Beta1, &[]);
    assert!(!server.is_delegated(&format!("{CUSTOM}/services/web/http_requests_per_second")));
    assert_eq!(server.discovered("http_requests_per_second").len(), 2);
}

#[test]
fn while_the_metrics_of_another_adapter_are_not_known_it_gets_the_requests_for_aliases() {
    let path = format!("{CUSTOM}/services/web/http_requests_per_second");
    let mut server = with_adapter();
    assert!(server.is_delegated(&path), "nothing was listed yet");
    server.listed(ApiVersion::CustomV1Beta1, &[]);
    assert!(server.is_delegated(&path), "one version was not listed yet");
    server.listed(ApiVersion::CustomV1Beta2, &[]);
    assert!(!server.is_delegated(&path));
    server
        .adapter_resources
        .update(ApiVersion::CustomV1Beta1, Err(AdapterDiscoveryError::Status(503)));
    assert!(server.is_delegated(&path), "the adapter is down");
    assert!(server.discovered("http_requests_per_second").is_empty());
    assert!(!server.is_delegated(&format!("{CUSTOM}/services/web/burst_requests_per_second")));
}
