//! The metrics of pods: counted by the address that answered, joined with the pod that has it, and served.

use super::kube::Kube;
use super::metrics_apis::over_mutual_tls;
use super::{SECOND, envoy, logged};
use crate::host::{FakeEnvoy, Request, Response, Route, Vm};
use serde_json::Value;
use std::time::Duration;

const PODS: &str = r#"{"cluster":"kube_api","metrics_apis":{"filter_chain":"metrics"},
    "requests":{"pods":true,"window":"10s","report_interval":"1s"}}"#;

/// Longer than a new pod has no value: a window, a sixth of it, three seconds, and the time to report.
const SETTLED: Duration = Duration::from_secs(20);

/// A cluster of `shop/web` with one pod at 10.0.0.1, and `shop/api` with one at 10.0.0.2.
fn kube() -> Kube {
    let kube = Kube::new().with("shop/api", 1, 5);
    kube.set_address("shop/web", "10.0.0.1");
    kube.set_address("shop/api", "10.0.0.2");
    kube
}

fn synced(configuration: &str, kube: &Kube) -> (FakeEnvoy, Vm) {
    let envoy = envoy(configuration, kube);
    let worker = envoy.worker();
    envoy.advance(SETTLED).answer();
    (envoy, worker)
}

/// One request a second to a Service for so long, which that endpoint answers.
fn serve(envoy: &FakeEnvoy, worker: &Vm, (service, endpoint): (&str, &str), seconds: u64) {
    for _ in 0..seconds {
        let route = Route::istio(service, "shop").property(&["upstream", "address"], endpoint);
        worker.request(Request::get("/"), route);
        envoy.advance(SECOND).answer();
    }
}

fn ask(worker: &Vm, pods: &str) -> (u16, Value) {
    ask_selected(worker, pods, "")
}

fn ask_selected(worker: &Vm, pods: &str, query: &str) -> (u16, Value) {
    let path = format!(
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/{pods}/burst_proxy_requests_per_second{query}"
    );
    let request = Request::get(&path)
        .header("x-remote-user", "system:kube-aggregator")
        .header("accept", "application/json");
    let seen = worker.request(request, over_mutual_tls());
    (seen.status(), serde_json::from_str(seen.text()).unwrap())
}

/// The pods with a value, each as `NAME VALUE`.
fn values(worker: &Vm) -> Vec<String> {
    let (status, body) = ask(worker, "*");
    assert_eq!(status, 200, "{body}");
    let items = body["items"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    items
        .map(|item| format!("{} {}", text(&item["describedObject"]["name"]), text(&item["value"])))
        .collect()
}

#[test]
fn each_pod_has_the_requests_that_its_address_answered() {
    let kube = kube();
    let (envoy, worker) = synced(PODS, &kube);
    assert_eq!(values(&worker), ["api-0 0", "web-0 0"]);
    serve(&envoy, &worker, ("web", "10.0.0.1:8080"), 20);
    assert_eq!(values(&worker), ["api-0 0", "web-0 1"]);
    let (_, one) = ask_selected(&worker, "*", "?labelSelector=app%3Dweb");
    assert_eq!(one["items"].as_array().unwrap().len(), 1, "{one}");
    let requested = kube.take_requests();
    for resource in ["/apis/discovery.k8s.io/v1/endpointslices?", "/api/v1/pods?"] {
        assert!(requested.iter().any(|path| path.starts_with(resource)), "{requested:?}");
    }
}

#[test]
fn a_pod_that_gets_the_address_of_another_has_no_value_until_the_window_is_its_own() {
    let kube = kube();
    let (envoy, worker) = synced(PODS, &kube);
    serve(&envoy, &worker, ("web", "10.0.0.1:8080"), 20);
    kube.delete("shop/web");
    let kube = kube.with("shop/next", 1, 5);
    kube.set_address("shop/next", "10.0.0.1");
    // The watch brings both changes within seconds.
    envoy.advance(Duration::from_secs(6)).answer();
    assert_eq!(values(&worker), ["api-0 0"], "the requests were for `web-0`");
    serve(&envoy, &worker, ("next", "10.0.0.1:8080"), 20);
    assert_eq!(values(&worker), ["api-0 0", "next-0 1"]);
}

#[test]
fn two_pods_with_one_address_have_no_value() {
    let kube = kube();
    let (envoy, worker) = synced(PODS, &kube);
    kube.set_address("shop/api", "10.0.0.1");
    envoy.advance(SETTLED).answer();
    assert_eq!(values(&worker), [""; 0]);
    assert_eq!(envoy.stat("burst_disputed_pods"), Some(2));
    kube.set_address("shop/api", "10.0.0.3");
    envoy.advance(SETTLED).answer();
    assert_eq!(values(&worker), ["api-0 0", "web-0 0"]);
    assert_eq!(envoy.stat("burst_disputed_pods"), Some(0));
}

#[test]
fn an_endpoint_without_an_address_leaves_the_requests_to_pods_unknown() {
    let (envoy, worker) = synced(PODS, &kube());
    serve(&envoy, &worker, ("web", "10.0.0.1:8080"), 10);
    serve(&envoy, &worker, ("web", "/var/run/web.sock"), 1);
    envoy.advance(SECOND).answer();
    let (status, body) = ask(&worker, "*");
    let message = "the requests to pods are not known: a proxy does not count them, or there are too many addresses, or \
                   endpoints without one";
    assert_eq!((status, &body["message"]), (503, &message.into()));
    assert_eq!(envoy.stat("burst_requests_uncounted_endpoint_total"), Some(1));
    serve(&envoy, &worker, ("web", "10.0.0.1:8080"), 20);
    assert_eq!(values(&worker), ["api-0 0", "web-0 1"]);
}

#[test]
fn without_the_option_no_pod_is_read_and_none_has_a_metric() {
    let kube = kube();
    let (_envoy, worker) = synced(&PODS.replace(r#""pods":true,"#, ""), &kube);
    assert_eq!(ask(&worker, "*").0, 404);
    let requested = kube.take_requests();
    assert!(
        requested
            .iter()
            .all(|path| !path.contains("pods") && !path.contains("endpointslices")),
        "{requested:?}"
    );
}

#[test]
fn pods_that_the_api_refuses_leave_their_metrics_unavailable_and_the_others_as_they_are() {
    let kube = kube();
    kube.fail("pods", || Response::status(403));
    let (envoy, worker) = synced(PODS, &kube);
    let (status, body) = ask(&worker, "*");
    let message = "the pods are not known: cannot list pods";
    assert_eq!((status, &body["message"]), (503, &message.into()));
    assert!(worker.response("web.shop").header("x-burst").is_some());
    assert_eq!(envoy.stat("burst_unreadable_pods"), Some(1));
    assert!(
        logged(&envoy).iter().any(|line| line.contains("cannot list pods")),
        "{:?}",
        logged(&envoy)
    );
}
