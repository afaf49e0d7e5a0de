//! The metrics APIs on a filter chain of their own, beside a gateway's.

use std::time::{Duration, Instant};

use burst_lab::cluster::HPAS;
use burst_testkit::{Version, wait};
use serde_json::{Value, json};

use crate::stage::{NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, Request, World};

on_each_envoy!(
    the_filter_chain_decides_who_is_answered,
    two_listeners_of_one_configuration_are_one_poller,
);

/// Several polls: two pollers would ask twice as often.
const WINDOW: Duration = Duration::from_secs(4);

/// The same for both listeners, so that they are one plugin.
fn keys() -> Value {
    json!({"metrics_apis": {"filter_chain": "metrics-apis"}})
}

fn start(world: &World) -> impl Fn(Version) -> Proxy {
    |version| {
        Proxy::of(version)
            .plugin(Plugin::new("gateway", keys()))
            .plugin(Plugin::new("apis", keys()).filter_chain("metrics-apis"))
            .start(world)
    }
}

fn by_user(path: &str) -> Request {
    Request::get(path)
        .through(NGSA_1_CLUSTER)
        .header("x-remote-user", "system:kube-aggregator")
}

fn the_filter_chain_decides_who_is_answered(version: Version) {
    let world = World::sample();
    let proxy = start(&world)(version);
    let (mut gateway, mut apis) = (proxy.client("gateway"), proxy.client("apis"));
    gateway.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    for (path, status) in [
        ("/apis/custom.metrics.k8s.io/v1beta2", 200),
        ("/apis/external.metrics.k8s.io/v1beta1", 200),
        ("/readyz", 200),
        ("/anything", 404),
        ("/burstmetrics/services", 404),
    ] {
        let answer = apis.ask(&by_user(path));
        assert_eq!((answer.status, answer.header("x-burst")), (status, None), "{path}");
    }
    assert_eq!(apis.ask(&Request::get("/readyz").through(NGSA_1_CLUSTER)).status, 401);
    // On the other chain the same requests are the upstream's, whoever they claim to be from.
    for path in ["/apis/custom.metrics.k8s.io/v1beta2", "/readyz"] {
        let answer = gateway.ask(&by_user(path));
        assert_eq!(
            (answer.body.as_str(), answer.header("x-burst")),
            ("hello\n", Some(NGSA_1)),
            "{path}"
        );
    }
    assert_eq!(gateway.ask(&by_user("/burstmetrics/services")).status, 200);
}

fn two_listeners_of_one_configuration_are_one_poller(version: Version) {
    let world = World::sample();
    let proxy = start(&world)(version);
    let (mut gateway, mut apis) = (proxy.client("gateway"), proxy.client("apis"));
    gateway.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    assert_eq!(apis.ask(&by_user("/healthz")).body, "ok");
    proxy.wait_for_main_thread();
    let asked = || world.api.requests.count(|seen| seen.resource == HPAS);
    let (before, started) = (asked(), Instant::now());
    wait::until(PATIENCE, "the window", || started.elapsed() >= WINDOW);
    let (polls, seconds) = (asked() - before, started.elapsed().as_secs());
    assert!(
        (1..=seconds + 1).contains(&(polls as u64)),
        "{polls} polls in {seconds} s"
    );
}
