//! The connection to the API server goes silent or becomes too slow, and no side closes it.

use burst_testkit::{ControlPlane, Relay, Version};

use crate::{
    account::apply_shipped_role,
    gateway::Gateway,
    sample,
    shipped::{Shipped, Token},
};

/// The shortest `max_staleness` with streams.
const SHORTEST: &str = r#""max_staleness": "30s""#;

/// The default: an age that the snapshot must not reach because of a dead connection.
const MINUTE: &str = r#""max_staleness": "60s""#;

#[test]
fn a_dead_connection_is_replaced_before_the_header_is_stale() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    let relays = [(); 3].map(|()| Relay::to(cluster.port()));
    let [tested_relay, oldest_relay, shortest_relay] = &relays;
    let gateways = [
        (Version::Tested, Token::Injected, MINUTE, tested_relay),
        (Version::Oldest, Token::ByLua, MINUTE, oldest_relay),
        (Version::Tested, Token::Injected, SHORTEST, shortest_relay),
    ]
    .map(|(version, token, keys, relay)| {
        let bootstrap = Shipped::bootstrap(token, &cluster, &mount).configured(keys);
        Gateway::start(version, &bootstrap.through(relay, &cluster), &mount)
    });
    for gateway in &gateways {
        gateway.wait_for_replicas(1);
        gateway.wait_for_main_thread();
        gateway.wait_for_streams();
    }
    let [tested, oldest, shortest] = &gateways;
    let headers = [tested, oldest].map(Gateway::collect_headers);

    // Only the open connections are dead: Envoy notices it by HTTP/2 keepalive.
    tested_relay.silence_connections();
    oldest_relay.drip();
    shortest_relay.silence_connections();
    sample::scale(&cluster, 3);
    for gateway in &gateways {
        gateway.wait_for_replicas(3);
        gateway.wait_for_streams();
        // And not because a bookmark is missed, which takes longer.
        let dead = gateway.envoy.stat("cluster.kube_api.http2.keepalive_timeout");
        assert!(dead.is_some_and(|connections| connections > 0), "{dead:?}");
    }

    // No connection works, until the snapshot of the third proxy is stale.
    for relay in &relays {
        relay.silence();
    }
    sample::scale(&cluster, 5);
    shortest.wait_for_header(sample::SCALED, None);
    let stale = shortest.burst("services");
    assert_eq!(stale.status, 503);
    assert!(stale.body.ends_with(", and 30 s are allowed\n"), "{}", stale.body);
    for relay in &relays {
        relay.cut();
    }
    for gateway in &gateways {
        gateway.wait_for_replicas(5);
        gateway.wait_for_streams();
        gateway.wait_until_current(&cluster, "");
    }
    for headers in headers {
        headers.assert_replicas([1, 3, 5]);
    }
}
