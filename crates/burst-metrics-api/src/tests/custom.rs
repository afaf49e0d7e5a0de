//! Tests of custom metrics: values of objects and of namespaces.

use super::*;

#[test]
fn the_value_of_an_object_equals_the_references_in_both_versions_byte_for_byte() {
    let server = TestServer::synced();
    let path = |version: &str, what: &str| format!("/apis/custom.metrics.k8s.io/{version}/namespaces/shop/{what}");
    assert_eq!(
        server.status_and_body(get(&path("v1beta2", "deployments.apps/web/burst_headroom"))),
        (200, "{\"kind\":\"MetricValueList\",\"apiVersion\":\"custom.metrics.k8s.io/v1beta2\",\
            \"metadata\":{\"resourceVersion\":\"1700000000000\"},\"items\":[{\"describedObject\":{\"kind\":\"Deployment\",\
            \"namespace\":\"shop\",\"name\":\"web\",\"apiVersion\":\"apps/v1\"},\"metric\":{\"name\":\"burst_headroom\",\
            \"selector\":null},\"timestamp\":\"2023-11-14T22:13:20Z\",\"value\":\"4\"}]}\n".to_owned())
    );
    assert_eq!(
        server.status_and_body(get(&path("v1beta1", "services/web/burst_requests_per_second?metricLabelSelector=cluster%3Deast"))),
        (200, "{\"kind\":\"MetricValueList\",\"apiVersion\":\"custom.metrics.k8s.io/v1beta1\",\
            \"metadata\":{\"resourceVersion\":\"1700000002000\"},\"items\":[{\"describedObject\":{\"kind\":\"Service\",\
            \"namespace\":\"shop\",\"name\":\"web\",\"apiVersion\":\"v1\"},\"metricName\":\"burst_requests_per_second\",\
            \"timestamp\":\"2023-11-14T22:13:22Z\",\"window\":30,\"value\":\"12500m\",\
            \"selector\":{\"matchLabels\":{\"cluster\":\"east\"}}}]}\n".to_owned())
    );
}

#[test]
fn a_namespace_has_the_sum_of_its_hpas_and_of_its_requests() {
    let server = TestServer::synced();
    let of = |metric: &str| server.json(&format!("{CUSTOM}/metrics/{metric}"))["items"][0].clone();
    let load = of("burst_headroom");
    assert_eq!(load["value"], "6");
    assert_eq!(
        load["describedObject"],
        serde_json::json!({"kind": "Namespace", "name": "shop", "apiVersion": "v1"})
    );
    assert_eq!(of("burst_utilization")["value"], "400m");
    assert_eq!(of("burst_requests_per_second")["value"], "13500m");
    assert_eq!(of("burst_requests_per_second")["windowSeconds"], 30);
    let elsewhere = get("/apis/custom.metrics.k8s.io/v1beta2/namespaces/empty/metrics/burst_headroom");
    let message = "the server could not find the metric burst_headroom for namespaces empty".to_owned();
    assert_eq!(server.error(elsewhere), (404, "NotFound".into(), message));
}

#[test]
fn a_list_of_namespaces_has_those_with_values() {
    let server = TestServer::synced();
    let all = |what: &str| format!("/apis/custom.metrics.k8s.io/v1beta2/namespaces/{what}");
    for (path, items) in [
        ("*/metrics/burst_headroom", &["data 1k", "odd 4", "shop 6"][..]),
        ("%2A/metrics/burst_headroom", &["data 1k", "odd 4", "shop 6"]),
        ("*/metrics/burst_requests_per_second", &["data 0", "shop 13500m"]),
        (
            "*/metrics/burst_headroom?metricLabelSelector=cluster%3Deast",
            &["data 1k", "odd 4", "shop 6"],
        ),
        ("*/metrics/burst_headroom?metricLabelSelector=cluster%3Dwest", &[]),
        (
            "*/metrics/burst_headroom?labelSelector=kubernetes.io/metadata.name%3Dshop",
            &["shop 6"],
        ),
        (
            "*/metrics/burst_headroom?labelSelector=kubernetes.io/metadata.name+notin+%28shop%2Cdata%29",
            &["odd 4"],
        ),
        (
            "*/metrics/burst_headroom?labelSelector=kubernetes.io/metadata.name%3Dnone",
            &[],
        ),
    ] {
        assert_eq!(server.items(&all(path)), items, "{path}");
    }
    let list = server.json(&all("*/metrics/burst_headroom"));
    assert_eq!(
        list["items"][2]["describedObject"],
        serde_json::json!({"kind": "Namespace", "name": "shop", "apiVersion": "v1"})
    );
    // `a-b/x` sorts before `a/x`, but the namespace `a` before `a-b`.
    let mut server = TestServer::synced();
    server.rates = requests(&["a/x", "a-b/x", "a/y"]);
    let items = server.items(&all("*/metrics/burst_requests_per_second"));
    assert_eq!(items, ["a 2", "a-b 1", "data 0", "shop 0"]);
}

#[test]
fn a_selector_with_an_unknown_label_of_namespaces_is_refused() {
    let server = TestServer::synced();
    for selector in ["tier%3Dfront", "%21tier", "kubernetes.io/metadata.name%3Dshop%2Ctier"] {
        let path =
            format!("/apis/custom.metrics.k8s.io/v1beta2/namespaces/*/metrics/burst_headroom?labelSelector={selector}");
        let message = "the only known label of namespaces is kubernetes.io/metadata.name".to_owned();
        assert_eq!(
            server.error(get(&path)),
            (400, "BadRequest".to_owned(), message),
            "{selector}"
        );
    }
    let one = format!("{CUSTOM}/metrics/burst_headroom?labelSelector=tier%3Dfront");
    assert_eq!(
        server.items(&one),
        ["shop 6"],
        "the selector does not apply to a single namespace"
    );
}

/// In other paths, `*` is a name that no namespace has.
#[test]
fn no_other_path_means_all_namespaces() {
    let server = TestServer::synced();
    let custom = "/apis/custom.metrics.k8s.io/v1beta2";
    for (path, status) in [
        ("namespaces/*/services/web/burst_headroom", 404),
        ("namespaces/shop/namespaces/*/burst_headroom", 404),
        ("namespaces/*/namespaces/shop/burst_headroom", 404),
        ("namespaces/*/burst_headroom", 404),
        ("namespaces/*/metrics/no_such_metric", 404),
        ("namespaces/*/metrics/*", 404),
        ("services/*/burst_headroom", 404),
        ("*/*/burst_headroom", 404),
    ] {
        assert_eq!(
            server.status_and_body(get(&format!("{custom}/{path}"))).0,
            status,
            "{path}"
        );
    }
    let objects = format!("{custom}/namespaces/*/services/*/burst_headroom");
    assert_eq!(server.items(&objects), [""; 0]);
    let series = "/apis/external.metrics.k8s.io/v1beta1/namespaces/*/burst_headroom";
    assert_eq!(server.items(series), [""; 0]);
}

#[test]
fn a_list_of_objects_has_those_that_labels_select() {
    let server = TestServer::synced();
    for (path, items) in [
        ("services/*/burst_headroom", &["api 2", "web 4"][..]),
        ("services/%2A/burst_headroom?labelSelector=tier%3Dfront", &["web 4"]),
        (
            "service/*/burst_headroom?labelSelector=tier+in+%28front%2Cback%29",
            &["api 2", "web 4"],
        ),
        ("services/*/burst_headroom?labelSelector=tier%3Dnone", &[]),
        ("services/*/burst_headroom?metricLabelSelector=cluster%3Dwest", &[]),
        (
            "deployments.apps/*/burst_utilization?labelSelector=level%3E2",
            &["web 200m"],
        ),
        ("deployment.apps/*/burst_max_load", &["web 5"]),
        ("deployments/*/burst_max_load", &["web 5"]),
        ("statefulsets.apps/*/burst_max_load", &[]),
        (
            "horizontalpodautoscalers.autoscaling/*/burst_target_load?limit=1",
            &["web 4"],
        ),
        ("services/*/burst_requests_in_flight", &["api 0", "web 3", "stranger 0"]),
        (
            "services/*/burst_requests_per_second?labelSelector=tier",
            &["api 0", "web 12500m"],
        ),
    ] {
        assert_eq!(server.items(&format!("{CUSTOM}/{path}")), items, "{path}");
    }
    let data = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/data/services/queue/burst_current_load";
    assert_eq!(server.items(data), ["queue 2k"]);
}

#[test]
fn a_service_without_requests_has_a_rate_of_zero() {
    let server = TestServer::synced();
    for (service, value) in [("api", "api 0"), ("web", "web 12500m"), ("stranger", "stranger 1")] {
        let path = format!("{CUSTOM}/services/{service}/burst_requests_per_second");
        assert_eq!(server.items(&path), [value]);
    }
}

#[test]
fn a_missing_value_is_not_found_with_the_reason() {
    let server = TestServer::synced();
    for (path, message) in [
        (
            "services/none/burst_headroom",
            "the server could not find the metric burst_headroom for services none",
        ),
        (
            "services/none/burst_requests_per_second",
            "the server could not find the metric burst_requests_per_second for services none",
        ),
        (
            "services/web/burst_headroom?metricLabelSelector=cluster%3Dwest",
            "the server could not find the metric burst_headroom for services web with selector cluster=west",
        ),
        (
            "services/web/Burst_headroom",
            "the server could not find the metric Burst_headroom for services web",
        ),
        (
            "services/*/nothing",
            "the server could not find the metric nothing for services",
        ),
        (
            "deployments.apps/web/burst_requests_per_second",
            "the server could not find the metric burst_requests_per_second for deployments.apps web",
        ),
        (
            "pods/*/burst_headroom",
            "the server could not find the metric burst_headroom for pods: there are metrics of single \
             pods only with requests.pods; request those of the Service or the workload",
        ),
        (
            "foos.bar/x/burst_headroom",
            "the server could not find the metric burst_headroom for foos.bar x: there are metrics of \
             deployments.apps, horizontalpodautoscalers.autoscaling, namespaces, services, statefulsets.apps",
        ),
    ] {
        let refusal = server.error(get(&format!("{CUSTOM}/{path}")));
        assert_eq!(refusal, (404, "NotFound".to_owned(), message.to_owned()), "{path}");
    }
    let (_, body) = server.status_and_body(get(&format!("{CUSTOM}/deployments.apps/none/burst_headroom")));
    let details = r#""details":{"name":"none","group":"custom.metrics.k8s.io","kind":"deployments.apps"}"#;
    assert!(body.contains(details), "{body}");
}

#[test]
fn no_metric_is_at_the_cluster_scope() {
    let server = TestServer::synced();
    for (path, message) in [
        (
            "services/web/burst_headroom",
            "the server could not find the metric burst_headroom for services web: the path has to name the \
             namespace",
        ),
        (
            "nodes/*/burst_headroom",
            "the server could not find the metric burst_headroom for nodes: there are metrics of deployments.apps, \
             horizontalpodautoscalers.autoscaling, namespaces, services, statefulsets.apps",
        ),
    ] {
        let path = format!("/apis/custom.metrics.k8s.io/v1beta2/{path}");
        assert_eq!(
            server.error(get(&path)),
            (404, "NotFound".to_owned(), message.to_owned())
        );
    }
}
