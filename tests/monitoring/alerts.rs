//! Each alert on real proxies: its query finds the proxy with the fault, and not the healthy one.

use std::collections::{BTreeMap, BTreeSet};

use burst_lab::{api::Fault, cluster::HPAS};
use burst_testkit::{
    Envoy, Version,
    filter::{
        Backend, Client, Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, UpstreamProtocol, on_each_envoy,
    },
    http::Request,
    wait,
};
use serde_json::json;

use crate::prometheus::{Prometheus, admin};

/// An Envoy without the filter.
const BARE: &str = "node: {id: bare, cluster: bare}";

#[test]
fn each_alert_sees_the_proxy_with_its_fault_and_no_alert_sees_a_healthy_one() {
    on_each_envoy(check);
}

fn check(version: Version) {
    let backend = Backend::sample();
    let refusing = Backend::sample();
    refusing.api.faults.inject("statefulsets.apps", Fault::Forbidden);
    for (hpa, condition) in [
        (
            "default/ngsa-hpa-1",
            json!({"type": "ScalingLimited", "status": "True", "reason": "TooManyReplicas"}),
        ),
        (
            "ngsa/ngsa-hpa-2",
            json!({"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric"}),
        ),
    ] {
        let patch = json!({"status": {"conditions": [condition]}});
        backend.cluster.patch(HPAS, hpa, &patch).expect("an HPA");
    }
    let keys = json!({"endpoints": {"extra_fields": ["ready", "demand", "state"]}});
    let plugin = Plugin::new("main", keys).upstream_filter(UpstreamProtocol::Http1);
    let healthy = Proxy::of(version).plugin(plugin).start(&backend);
    let denied = Proxy::of(version).listener("main", json!({})).start(&refusing);
    // Nothing else polls for a reader, so it has no leader and no snapshot.
    let plugin = Plugin::new("main", json!({"role": "reader"})).module(Module::Trap);
    let reader = Proxy::of(version).plugin(plugin).start(&backend);
    let bare = Envoy::start(version, BARE, 1);

    let address = |proxy: &Proxy| proxy.envoy.listener("main").to_string();
    let admin_of_bare = bare.admin_url("").trim_start_matches("http://").to_owned();
    let names = BTreeMap::from([
        (admin(&healthy), "healthy"),
        (address(&healthy), "healthy"),
        (admin(&denied), "denied"),
        (admin(&reader), "reader"),
        (address(&reader), "reader"),
        (admin_of_bare.clone(), "bare"),
    ]);
    let proxies = [admin(&healthy), admin(&denied), admin(&reader), admin_of_bare];
    let services = [address(&healthy), address(&reader)];
    let prometheus = Prometheus::start(&proxies, &services);
    let mut served = healthy.client("main");
    served.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    // A counter that rises from its first sample on has no increase.
    let reloads = format!("envoy_wasm_vm_reload_success{{instance={:?}}} == 0", admin(&reader));
    wait::until(PATIENCE, "the first sample", || !prometheus.query(&reloads).is_empty());
    let mut unserved = reader.client("main");
    let trap = Request::to(NGSA_1_CLUSTER).header("x-burst-test-trap", "1");
    assert!(unserved.ask_each(&trap).iter().all(|answer| answer.status == 503));

    let expected = BTreeMap::from([
        ("BurstModuleNotLoaded", "bare"),
        ("BurstNoLeader", "reader"),
        ("BurstSnapshotStale", "reader"),
        ("BurstHeaderMissing", "reader"),
        ("BurstNoHeaderAtAll", "reader"),
        ("BurstResourceUnreadable", "denied"),
        ("BurstVmTrapped", "reader"),
        ("BurstServicesNotShown", "reader"),
        ("BurstServiceLimited", "ngsa-svc-1"),
        ("BurstHpaBlocked", "ngsa-svc-2"),
    ]);
    let alerts = prometheus.alerts();
    let alerts: BTreeMap<&str, &str> = alerts.iter().map(|(name, query)| (&**name, &**query)).collect();
    assert!(alerts.keys().eq(expected.keys()), "{alerts:?}");
    wait::for_ok(PATIENCE, "the faults", || {
        send_traffic(&mut served, &mut unserved);
        let found: BTreeMap<&str, BTreeSet<String>> = alerts
            .iter()
            .map(|(alert, query)| (*alert, found(&prometheus, query, &names)))
            .collect();
        let is_expected = found.iter().all(|(alert, found)| found.iter().eq([expected[alert]]));
        is_expected.then_some(()).ok_or(format!("{found:?}"))
    });
}

/// Sends responses that have the header, and responses that lack it for two reasons.
fn send_traffic(served: &mut Client, unserved: &mut Client) {
    served.ask_each(&Request::to(NGSA_1_CLUSTER));
    unserved.ask_each(&Request::to(NGSA_1_CLUSTER));
    unserved.ask_each(&Request::to("elsewhere"));
}

/// What a query finds: the services, or else the proxies.
fn found(prometheus: &Prometheus, query: &str, names: &BTreeMap<String, &str>) -> BTreeSet<String> {
    let samples = prometheus.query(query);
    let found = samples.iter().map(|sample| match sample.label("service") {
        "" => names[sample.label("instance")].to_owned(),
        service => service.to_owned(),
    });
    found.collect()
}
