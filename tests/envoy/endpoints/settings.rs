//! The settings of the endpoints, and their answers before the first snapshot.

use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, Proxy},
    http::Request,
};
use serde_json::json;

use super::{TEXT, essence, synced};

on_each_envoy!(
    hosts_prefix_and_enabled_are_configurable,
    a_worker_without_a_snapshot_answers_503,
);

fn hosts_prefix_and_enabled_are_configurable(version: Version) {
    let backend = Backend::sample();
    let proxy = Proxy::of(version)
        .listener("main", json!({}))
        .listener("host", json!({"endpoints": {"hosts": ["Burst.test"]}}))
        .listener("prefix", json!({"endpoints": {"prefix": "/load/now/"}}))
        .listener("off", json!({"endpoints": {"enabled": false}}))
        .start(&backend);
    synced(&mut proxy.client("main"));
    let own = |path| Request::get(path).through(NGSA_1_CLUSTER);
    let services = || own("/burstmetrics/services/default/ngsa-svc-1");
    for (listener, request, answered) in [
        ("host", services(), false),
        ("host", services().host("burst.test"), true),
        ("host", services().host("BURST.TEST:8080"), true),
        ("host", services().host("burst.test.evil"), false),
        ("host", own("/burstmetrics/nothing").host("other.test"), false),
        ("prefix", own("/load/now/services/default/ngsa-svc-1"), true),
        ("prefix", own("/load/now?x").host("any"), true),
        ("prefix", services(), false),
        ("prefix", own("/load/nowhere"), false),
        ("off", services(), false),
    ] {
        let mut client = proxy.client(listener);
        client.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
        let answer = client.ask(&request);
        // Requests that the filter does not answer go to the upstream, and their responses get the header.
        let passed = (answer.body == "hello\n", answer.header("x-burst"));
        let expected = if answered { (false, None) } else { (true, Some(NGSA_1)) };
        assert_eq!(passed, expected, "{listener}: {request:?}");
    }
}

fn a_worker_without_a_snapshot_answers_503(version: Version) {
    let mut backend = Backend::sample();
    backend.refuse_connections();
    let (proxy, mut main) = Proxy::start(version, &backend, json!({}));
    for path in ["/burstmetrics/services", "/burstmetrics/services/default/ngsa-svc-1"] {
        let answer = main.ask(&Request::get(path).through(NGSA_1_CLUSTER));
        let body = "not synced yet: the Kubernetes API was never read in full\n";
        assert_eq!(essence(&answer), (503, Some(TEXT), body), "{path}");
        assert_eq!(answer.header("retry-after"), Some("1"), "{path}");
    }
    let response = main.ask(&Request::to(NGSA_1_CLUSTER));
    assert_eq!((response.status, response.header("x-burst")), (200, None));
    proxy.wait_for_stat("burst_reply_503_total", |count| count == 4);
    proxy.wait_for_stat("burst_header_absent_unsynced_total", |count| count == 2);
    backend.accept_connections();
    synced(&mut main);
}
