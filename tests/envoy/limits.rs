//! More objects than a proxy can hold: which of them are excluded, and what that costs.

use std::fs;

use burst_lab::api::Fault;
use burst_lab::cluster::SERVICES;
use burst_testkit::{
    Version,
    filter::{Backend, Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy},
    http::Request,
    wait,
};
use serde_json::json;
use std::time::Duration;

on_each_envoy!(the_services_of_one_tenant_remove_no_other_tenants_header);

const TENANTS: usize = 300;

/// The peak memory of the proxy, in megabytes.
fn peak(proxy: &Proxy) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", proxy.envoy.id())).expect("a running proxy");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes
        .and_then(|number| number.parse::<u64>().ok())
        .expect("a number")
        / 1024
}

/// Enough to read 300 MB of Services.
const READ: Duration = Duration::from_secs(360);

/// Ten times the limit of a namespace, in objects that are too large and in objects that are just small enough.
fn the_services_of_one_tenant_remove_no_other_tenants_header(version: Version) {
    for (bytes, stat, reason) in [
        (
            970_000,
            "burst_bad_objects",
            "bytes of memory, more than the limit of 131072",
        ),
        (
            14_000,
            "burst_objects_over_limits",
            "its namespace has more than 16384 KiB in this list",
        ),
    ] {
        let backend = Backend::sample();
        // Its name sorts before those of all other namespaces.
        let namespace = "a-tenant".to_owned();
        for number in 0..TENANTS {
            let metadata = json!({"name": format!("large-{number:03}"), "namespace": namespace});
            let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}});
            backend.cluster.apply(service).expect("a Service");
        }
        backend
            .api
            .faults
            .inject(SERVICES, Fault::LargeSelectors { namespace, bytes });
        // A page of more would take so long on a busy machine that the leader loses its lease, again and again.
        let plugin = Plugin::new("main", json!({"page_size": 5})).module(Module::HeaderOnly);
        let proxy = Proxy::of(version).plugin(plugin).start(&backend);
        let mut main = proxy.client("main");
        main.wait_at_most(READ, &Request::to(NGSA_1_CLUSTER), NGSA_1, |answer| {
            answer.header("x-burst") == Some(NGSA_1)
        });
        proxy.wait_for_stat(stat, |count| count >= TENANTS as u64 / 2);
        let lines = "excluded Service a-tenant/large-";
        wait::until(PATIENCE, lines, || {
            proxy.log_lines(lines).iter().any(|line| line.ends_with(reason))
        });
        backend.scale_ngsa_1(3);
        let risen = NGSA_1.replace("current-load=1", "current-load=3");
        main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
        assert!(proxy.log_lines("Uncaught").is_empty(), "a VM died");
        let peak = peak(&proxy);
        assert!(peak < 500, "{peak} MB");
    }
}
