//! An API server is killed and restarted while requests go through the proxy.

use burst_testkit::{ControlPlane, Version};

use crate::{
    account::apply_shipped_role,
    gateway::Gateway,
    sample,
    shipped::{SHORT_WATCHES, Shipped, Token},
};

/// Without this feature gate an API server does not send lists as events. It is off by default in Kubernetes 1.33.
const WITHOUT_WATCH_LIST: &str = "--feature-gates=WatchList=false";

#[test]
fn a_killed_api_server_changes_no_response_and_later_changes_are_served() {
    let mut cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    let shipped = || Shipped::bootstrap(Token::Injected, &cluster, &mount).configured("");
    let listing = shipped().with(SHORT_WATCHES, r#""sync": {"mode": "list"}"#);
    let by_lua = Shipped::bootstrap(Token::ByLua, &cluster, &mount).configured("");
    let gateways = [
        Gateway::start(Version::Tested, &listing, &mount),
        Gateway::start(Version::Tested, &shipped(), &mount),
        Gateway::start(Version::Oldest, &by_lua, &mount),
    ];
    let streaming = &gateways[1..];
    for gateway in &gateways {
        gateway.wait_for_replicas(1);
        gateway.wait_for_main_thread();
    }
    let headers = gateways.each_ref().map(Gateway::collect_headers);
    for (flags, replicas) in [(&[][..], 3), (&[WITHOUT_WATCH_LIST], 5)] {
        streaming.iter().for_each(Gateway::wait_for_streams);
        cluster.kill_apiserver();
        for gateway in &gateways {
            let failures = gateway.stat("burst_poll_unreachable_total");
            gateway.wait_for_stat("burst_poll_unreachable_total", failures + 4);
        }
        cluster.restart_apiserver_with(flags);
        sample::scale(&cluster, replicas);
        for gateway in &gateways {
            gateway.wait_for_replicas(replicas);
        }
    }
    streaming.iter().for_each(Gateway::wait_for_streams);
    sample::scale(&cluster, 2);
    for gateway in &gateways {
        gateway.wait_for_replicas(2);
        gateway.wait_until_current(&cluster, "");
    }
    for headers in headers {
        headers.assert_replicas([1, 3, 5, 2]);
    }
    for gateway in streaming {
        let lines = gateway.envoy.log().matches("does not send lists as events").count();
        assert_eq!(lines, 1, "{}", gateway.envoy.log());
    }
}
