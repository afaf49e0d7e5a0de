//! The retries and the outlier detection that docs/using-the-header.md recommends to clients.

use std::sync::{
    Arc,
    atomic::{AtomicU16, AtomicUsize, Ordering},
};

use burst_lab::{api::Reply, server::Handler};
use burst_testkit::{
    Envoy, Version,
    filter::{PATIENCE, serve},
    http, port, wait,
};
use bytes::Bytes;

use super::front;

on_each_envoy!(
    a_full_service_keeps_its_pods_and_gets_each_request_once,
    a_pod_that_refuses_connections_costs_no_request_and_is_removed,
);

const REQUESTS: usize = 30;

/// Answers with a status, and counts the requests.
#[derive(Clone, Default)]
struct Pod {
    status: Arc<AtomicU16>,
    requests: Arc<AtomicUsize>,
}

impl Pod {
    fn with(status: u16) -> Self {
        let pod = Self::default();
        pod.status.store(status, Ordering::Relaxed);
        pod
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Handler for Pod {
    fn handle(&self, _: &::http::Request<Bytes>) -> Reply {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let answer = ::http::Response::builder().status(self.status.load(Ordering::Relaxed));
        Reply::Response(answer.body(Bytes::new()).expect("an answer"))
    }
}

/// The client's Envoy with the settings of the guide, before pods at these ports.
fn client(version: Version, pods: &[u16]) -> Envoy {
    let block =
        |key: &str| front::block_of_guide("using-the-header.md", |block| block.starts_with(&format!("{key}:\n")));
    let endpoints: Vec<_> = pods.iter().map(|port| front::endpoint(*port)).collect();
    let locality = format!("{{lb_endpoints: [{}]}}", endpoints.join(", "));
    front::start(
        version,
        &block("retry_policy"),
        &block("outlier_detection"),
        &[locality],
    )
}

fn get(envoy: &Envoy) -> u16 {
    http::get(&format!("http://{}/", envoy.listener("main"))).status
}

fn ejected(envoy: &Envoy) -> Option<u64> {
    envoy.stat("cluster.web.outlier_detection.ejections_active")
}

fn a_full_service_keeps_its_pods_and_gets_each_request_once(version: Version) {
    let pods = [Pod::with(503), Pod::with(503)];
    let servers = pods.clone().map(serve);
    let envoy = client(version, &servers.each_ref().map(|server| server.addr().port()));
    let answers: Vec<_> = (0..REQUESTS).map(|_| get(&envoy)).collect();
    assert_eq!(answers, [503; REQUESTS]);
    assert_eq!(pods.each_ref().map(Pod::requests).iter().sum::<usize>(), REQUESTS);
    let counted = "cluster.web.outlier_detection.ejections_detected_consecutive_5xx";
    assert!(envoy.stat(counted) > Some(0), "Envoy has counted the 503s");
    assert_eq!(ejected(&envoy), Some(0));
}

fn a_pod_that_refuses_connections_costs_no_request_and_is_removed(version: Version) {
    let pod = Pod::with(200);
    let server = serve(pod.clone());
    let envoy = client(version, &[server.addr().port(), port::free()]);
    wait::until(PATIENCE, "the other pod is removed", || {
        assert_eq!(get(&envoy), 200);
        ejected(&envoy) == Some(1)
    });
    assert!(envoy.stat("cluster.web.upstream_rq_retry_success") > Some(0));
}
