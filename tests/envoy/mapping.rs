//! From Envoy's clusters to Services: which responses carry the header, and why the others do not.

use burst_testkit::{
    Version,
    filter::{Backend, DIRECT, ITS_OWN, NGSA_1, NGSA_1_CLUSTER, Proxy, WITH_BURST},
    http::Request,
};
use serde_json::json;

on_each_envoy!(
    the_service_is_found_by_rule_by_istio_metadata_and_by_istio_cluster_names,
    a_response_without_the_header_is_counted_by_reason,
    the_header_follows_the_cluster,
);

/// A Service that no HPA scales.
const IDLE: &str = "
apiVersion: v1
kind: Service
metadata: {name: idle, namespace: default}
spec: {selector: {app: idle}}
";

fn the_service_is_found_by_rule_by_istio_metadata_and_by_istio_cluster_names(version: Version) {
    let backend = Backend::sample();
    let (_proxy, mut main) = Proxy::start(version, &backend, json!({}));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    for (cluster, value) in [
        ("ngsa-svc-1.default", NGSA_1),
        (
            "ngsa-svc-2.ngsa",
            "service=ngsa/ngsa-2, current-load=2, target-load=4, max-load=6",
        ),
        (
            "queue.data",
            "service=data/queue, current-load=6, target-load=7, max-load=9",
        ),
        (
            "checkout.shop",
            "service=shop/checkout, current-load=6, target-load=10, max-load=13",
        ),
        ("described", NGSA_1),
        ("outbound|80||ngsa-svc-1.default.svc.cluster.local", NGSA_1),
        ("outbound|80|v1|ngsa-svc-1.default.svc.cluster.local", NGSA_1),
        ("outbound_.80_._.ngsa-svc-1.default.svc.cluster.local", NGSA_1),
    ] {
        let answer = main.ask(&Request::to(cluster));
        assert_eq!(
            (answer.status, answer.header("x-burst")),
            (200, Some(value)),
            "{cluster}"
        );
    }
    // The text depends on whether the connection was refused at once or later.
    for answer in main.ask_each(&Request::to("down")) {
        assert_eq!(
            (answer.status, answer.header("x-burst")),
            (503, Some(NGSA_1)),
            "Envoy's own 503"
        );
    }
}

fn a_response_without_the_header_is_counted_by_reason(version: Version) {
    let backend = Backend::sample();
    backend.cluster.apply_yaml(IDLE).expect("a Service");
    let (proxy, mut main) = Proxy::start(version, &backend, json!({}));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    for (status, request) in [
        (200, Request::to("elsewhere")),
        (200, Request::to("PassthroughCluster")),
        (200, Request::to("inbound|8080||")),
        (200, Request::to("outbound|443||api.example.org")),
        (200, Request::to("idle.default")),
        (200, Request::get(DIRECT)),
        (503, Request::get("/")),
        (503, Request::to("no such cluster")),
    ] {
        let answer = main.ask(&request);
        assert_eq!((answer.status, answer.header("x-burst")), (status, None), "{request:?}");
    }
    // Each request was sent to two workers.
    for (reason, count) in [
        ("unmapped", 2),
        ("passthrough", 2),
        ("inbound", 2),
        ("external", 2),
        ("no_entry", 2),
        ("no_cluster", 3 * 2),
    ] {
        proxy.wait_for_stat(&format!("burst_header_absent_{reason}_total"), |counted| {
            counted == count
        });
    }
    let answer = main.ask(&Request::get(WITH_BURST).through("idle.default"));
    assert_eq!(answer.header("x-burst"), None, "not {ITS_OWN} either");
}

fn the_header_follows_the_cluster(version: Version) {
    let backend = Backend::sample();
    let (_proxy, mut main) = Proxy::start(version, &backend, json!({}));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    backend.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
}
