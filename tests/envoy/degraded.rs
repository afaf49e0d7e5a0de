//! An Envoy in front of two clusters, which follows `x-envoy-degraded`: the example of `filter-config/`, and the settings of
//! docs/signals.md.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use burst_lab::{api::Reply, cluster::HPAS, server::Handler};
use burst_testkit::{
    Envoy, Version,
    filter::{Backend, PATIENCE, serve},
    http, wait,
};
use bytes::Bytes;
use serde_json::json;

use super::{front, signals::Example};

on_each_envoy!(an_active_health_check_moves_requests_away_from_a_full_service_and_back,);

const HPA: &str = "default/ngsa-hpa-1";
const FULL: u32 = 5;
const DEGRADED: &str = "cluster.web.membership_degraded";

/// As many answers of one cluster one after the other that the front Envoy prefers it.
const STREAK: usize = 10;

/// The hold time of the tests, for that of the example.
const HOLD: Duration = Duration::from_secs(4);

/// The other cluster. It counts the requests that it gets.
#[derive(Clone, Default)]
struct Other(Arc<AtomicUsize>);

impl Handler for Other {
    fn handle(&self, _: &::http::Request<Bytes>) -> Reply {
        self.0.fetch_add(1, Ordering::Relaxed);
        Reply::Response(::http::Response::new(Bytes::from_static(b"other\n")))
    }
}

/// Makes the HPA want that many of 5 replicas: its target is 70 %, and it has 1 replica.
fn set_demand(backend: &Backend, replicas: u32) {
    let seen = json!({"name": "cpu", "current": {"averageUtilization": 70 * replicas}});
    let status = json!({"currentMetrics": [{"type": "Resource", "resource": seen}]});
    let patched = backend.cluster.patch(HPAS, HPA, &json!({"status": status}));
    patched.expect("the HPA");
}

/// The gateway of the example, before a backend whose HPA wants one replica.
fn gateway(version: Version, backend: &Backend) -> Example {
    let hold = format!("\"hold\": \"{}s\"", HOLD.as_secs());
    let gateway = Example::start_with(version, "18-degraded.yaml", backend, &[("\"hold\": \"30s\"", &hold)]);
    wait::until(PATIENCE, "the gateway has read its cluster", || {
        gateway.ask("web", "/", &[]).header("x-burst").is_some()
    });
    gateway
}

/// The front Envoy with a block of docs/signals.md, whose times are those of a test. It prefers the gateway.
fn front(version: Version, block: &str, times: &[(&str, &str)], gateway: &Example, other: u16) -> Envoy {
    let settings = front::block_of_guide("signals.md", |settings| settings.starts_with(&format!("{block}:\n")));
    let port = gateway.envoy.listener("main").port();
    let localities = [port, other].into_iter().enumerate().map(|(priority, port)| {
        let endpoint = front::endpoint(port);
        format!("{{priority: {priority}, lb_endpoints: [{endpoint}]}}")
    });
    let localities: Vec<_> = localities.collect();
    front::start(version, "", &front::with_times(settings, times), &localities)
}

/// Whether a request goes to the other cluster.
fn goes_elsewhere(front: &Envoy) -> bool {
    let answer = http::get(&format!("http://{}/", front.listener("main")));
    assert_eq!(answer.status, 200, "no request is lost");
    answer.body == "other\n"
}

fn wait_for_cluster(front: &Envoy, what: &str, elsewhere: bool) {
    wait::until(PATIENCE, what, || {
        (0..STREAK).all(|_| goes_elsewhere(front) == elsewhere)
    });
}

fn full_and_back(front: &Envoy, gateway: &Example, backend: &Backend) {
    wait_for_cluster(front, "requests go to the gateway", false);
    set_demand(backend, FULL);
    wait_for_cluster(front, "requests go to the other cluster", true);
    set_demand(backend, 1);
    wait_for_cluster(front, "requests go to the gateway again", false);
    wait::until(PATIENCE, "no host is degraded", || front.stat(DEGRADED) == Some(0));
    wait::until(PATIENCE, "the gateway has counted", || {
        gateway.envoy.filter_stat("burst_degraded_added_total") > 0
    });
    assert_eq!(gateway.envoy.filter_stat("burst_degraded_entered_total"), 1);
    assert_eq!(gateway.envoy.filter_stat("burst_degraded_lost_total"), 0);
}

#[test]
fn outlier_detection_moves_requests_away_from_a_full_service_and_back() {
    let (version, backend, other) = (Version::Tested, Backend::sample(), serve(Other::default()));
    let gateway = gateway(version, &backend);
    let times = [
        ("interval: 10s", "interval: 1s"),
        ("base_ejection_time: 30s", "base_ejection_time: 2s"),
    ];
    let front = front(version, "outlier_detection", &times, &gateway, other.addr().port());
    full_and_back(&front, &gateway, &backend);
}

fn an_active_health_check_moves_requests_away_from_a_full_service_and_back(version: Version) {
    let (backend, other) = (Backend::sample(), serve(Other::default()));
    let gateway = gateway(version, &backend);
    let times = [("interval: 10s", "interval: 1s")];
    let front = front(version, "health_checks", &times, &gateway, other.addr().port());
    full_and_back(&front, &gateway, &backend);
}

/// A load that passes both marks all the time changes the preference of the front Envoy once in the hold time at most.
#[test]
fn a_sawtooth_load_makes_the_front_envoy_change_its_mind_once_in_the_hold_time() {
    const CHANGES: u64 = 4;
    let (version, backend, other) = (Version::Tested, Backend::sample(), serve(Other::default()));
    let gateway = gateway(version, &backend);
    let times = [("interval: 10s", "interval: 1s")];
    let front = front(version, "health_checks", &times, &gateway, other.addr().port());
    let (begin, mut teeth, mut changes, mut was_degraded) = (Instant::now(), 0, 0, false);
    wait::until(PATIENCE, "some changes", || {
        set_demand(&backend, if teeth % 2 == 0 { FULL } else { 1 });
        teeth += 1;
        // The gateway sees each tooth: the API sends the change at once.
        goes_elsewhere(&front);
        let is_degraded = front.stat(DEGRADED) == Some(1);
        changes += u64::from(is_degraded != was_degraded);
        was_degraded = is_degraded;
        changes >= CHANGES
    });
    let entered = || gateway.envoy.filter_stat("burst_degraded_entered_total");
    wait::until(PATIENCE, "the gateway has counted", || entered() >= CHANGES / 2);
    let (most, took) = (begin.elapsed().as_secs() / HOLD.as_secs() + 1, begin.elapsed());
    assert!(teeth > CHANGES * 2, "{teeth} teeth are no sawtooth");
    assert!(changes <= most, "{changes} changes in {took:?}");
    assert!(
        entered() <= most.div_ceil(2) + 1,
        "{} times full in {took:?}",
        entered()
    );
}
