//! Streams and their root contexts, in the module that is called at the end of a stream and in the one that is not.

use super::kube::Kube;
use super::{EVERY_SECOND, FULL, HEADER_ONLY, SECOND};
use crate::host::{FakeEnvoy, Request, Route, Vm};

const RENAMED: &str = r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"1s","header":{"name":"x-new"}}"#;

/// A proxy for each of the two modules. Each proxy has read its cluster.
fn both(kube: &Kube) -> [(FakeEnvoy, Vm); 2] {
    [FULL, HEADER_ONLY].map(|module| {
        let kube = kube.clone();
        let envoy = FakeEnvoy::new(module).config(EVERY_SECOND).cluster("kube_api");
        let envoy = envoy.kube(move |callout| kube.answer(callout));
        let worker = envoy.worker();
        envoy.advance(SECOND * 2).answer();
        (envoy, worker)
    })
}

fn web() -> (Request, Route) {
    (Request::get("/"), Route::istio("web", "shop"))
}

#[test]
fn each_stream_is_served_by_its_own_configuration() {
    for (_envoy, worker) in both(&Kube::new()) {
        let old = worker.root();
        let (request, route) = web();
        let before = worker.open(request, route);
        let new = worker.configure(RENAMED).unwrap();
        let names = |root| {
            let (request, route) = web();
            let seen = worker.request_through(root, request, route);
            ["x-burst", "x-new"].map(|name| seen.header(name).is_some())
        };
        assert_eq!(names(new), [false, true]);
        assert_eq!(names(old), [true, false]);
        let (request, route) = web();
        let during = worker.open(request, route);
        assert!(
            before.finish().header("x-burst").is_some(),
            "the stream began before the second configuration"
        );
        worker.retire(old);
        assert!(
            during.finish().header("x-new").is_some(),
            "the stream ended after the first configuration was removed"
        );
        assert_eq!(names(new), [false, true]);
    }
}

#[test]
fn an_older_configuration_polls_again_when_the_newer_one_is_gone() {
    let kube = Kube::new();
    for (replicas, (envoy, worker)) in [2, 3].into_iter().zip(both(&kube)) {
        let new = worker.configure(RENAMED).unwrap();
        envoy.advance(SECOND * 2).answer();
        worker.retire(new);
        kube.scale("shop/web", replicas);
        envoy.advance(SECOND * 8).answer();
        let header = worker.response("web.shop").header("x-burst").map(str::to_owned);
        let expected = format!("current-load={replicas},");
        assert!(
            header.as_ref().is_some_and(|value| value.contains(&expected)),
            "{header:?}"
        );
    }
}

#[test]
fn clients_that_disconnect_break_no_other_request() {
    for (envoy, worker) in both(&Kube::new()) {
        let new = worker.configure(RENAMED).unwrap();
        for _ in 0..3 {
            let (request, route) = web();
            worker.open(request, route).abandon();
        }
        envoy.advance(SECOND * 2).answer();
        let (request, route) = web();
        assert!(worker.request_through(new, request, route).header("x-new").is_some());
        assert!(worker.alive());
    }
}
