//! An API server is killed and restarted while requests go through the proxy.

use std::{
    collections::BTreeSet,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use burst_testkit::{ControlPlane, Version};

use crate::{
    account::apply_shipped_role,
    gateway::Gateway,
    sample,
    shipped::{Shipped, Token},
};

/// The time between two requests, which leaves the machine time to start an API server.
const PACE: Duration = Duration::from_millis(10);

fn header(replicas: u32) -> String {
    format!("service=default/ngsa-1, current-load={replicas}, target-load=4, max-load=5")
}

#[test]
fn a_killed_api_server_changes_no_response_and_later_changes_are_served() {
    let mut cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    let watching = Gateway::new(&cluster, &mount, "");
    let shipped = Shipped::bootstrap(Token::Injected, &cluster, &mount).configured("");
    let listing = shipped.with(
        r#""sync": {"window": "3s", "workload_window": "3s"}"#,
        r#""sync": {"mode": "list"}"#,
    );
    let gateways = [Gateway::start(Version::Tested, &listing, &mount), watching];
    for gateway in &gateways {
        gateway.wait_for_header("ngsa-svc-1.default", Some(&header(1)));
    }
    thread::scope(|scope| {
        let load = gateways.each_ref().map(|gateway| {
            let (running, stopped) = mpsc::channel::<()>();
            (running, scope.spawn(move || collect_headers(gateway, &stopped)))
        });
        for _ in 0..2 {
            cluster.kill_apiserver();
            for gateway in &gateways {
                let failures = gateway.stat("burst_poll_unreachable_total");
                gateway.wait_for_stat("burst_poll_unreachable_total", failures + 4);
            }
            cluster.restart_apiserver();
        }
        sample::set_current_replicas(&cluster, "default", "ngsa-hpa-1", 3);
        for gateway in &gateways {
            gateway.wait_for_header("ngsa-svc-1.default", Some(&header(3)));
        }
        for (running, load) in load {
            drop(running);
            let seen = load.join().expect("every request was answered with 200");
            assert_eq!(seen, [1, 3].map(|replicas| Some(header(replicas))).into());
        }
    });
    let [listed, watched] = gateways.each_ref().map(|gateway| gateway.burst("hpas").body);
    assert_eq!(listed, watched);
}

/// Sends requests until `stopped` fires, and one more then. So the result contains the gateway's latest header even if
/// this thread rarely ran.
fn collect_headers(gateway: &Gateway, stopped: &mpsc::Receiver<()>) -> BTreeSet<Option<String>> {
    let mut seen = BTreeSet::new();
    loop {
        let is_last = stopped.recv_timeout(PACE) != Err(RecvTimeoutError::Timeout);
        seen.insert(gateway.header("ngsa-svc-1.default"));
        if is_last {
            return seen;
        }
    }
}
