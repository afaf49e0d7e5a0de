//! The token of the ServiceAccount, which the kubelet rotates while the proxy runs, and its role: the API server checks both
//! when a stream begins.

use burst_testkit::{ControlPlane, Relay, Version, wait};

use crate::{
    account::{Account, apply_shipped_role, kubectl_as, shipped_role},
    gateway::{Gateway, SOON},
    sample,
    shipped::{Shipped, Token},
};

const HPAS: &str = "/apis/autoscaling/v2/horizontalpodautoscalers?limit=1";

/// Both ways to add the token to a request, each with an Envoy that supports it.
const FORMS: [(Version, Token); 2] = [(Version::Tested, Token::Injected), (Version::Oldest, Token::ByLua)];

#[test]
fn open_streams_outlive_their_token_and_their_role_and_the_next_ones_need_both() {
    let cluster = ControlPlane::start();
    let account = apply_shipped_role(&cluster);
    sample::create_with_status(&cluster);
    let first = bound_token(&cluster, account, "first");
    let mount = account.mount_with(&cluster, &first);
    let relay = Relay::to(cluster.port());
    let gateways = FORMS.map(|(version, token)| {
        let bootstrap = Shipped::bootstrap(token, &cluster, &mount).configured("");
        Gateway::start(version, &bootstrap.through(&relay, &cluster), &mount)
    });
    let wait_for_replicas = |replicas| {
        sample::scale(&cluster, replicas);
        for gateway in &gateways {
            gateway.wait_for_replicas(replicas);
        }
    };
    wait_for_replicas(1);
    gateways.iter().for_each(Gateway::wait_for_main_thread);
    gateways.iter().for_each(Gateway::wait_for_streams);
    let headers = gateways.each_ref().map(Gateway::collect_headers);

    // The first token is valid for a while, as in a real rotation: an Envoy reads the new one after a moment.
    let second = bound_token(&cluster, account, "second");
    mount.swap(&second);
    invalidate(&cluster, account, "first");
    wait_until_refused(&cluster, &first);
    wait_for_replicas(2);
    relay.cut();
    wait_for_replicas(3);
    for gateway in &gateways {
        let log = gateway.envoy.log();
        assert_eq!(gateway.stat("burst_poll_unauthorized_total"), 0, "{log}");
        gateway.wait_for_streams();
    }

    invalidate(&cluster, account, "second");
    wait_until_refused(&cluster, &second);
    wait_for_replicas(4);
    relay.cut();
    for gateway in &gateways {
        gateway.wait_for_stat("burst_poll_unauthorized_total", 4);
        let line =
            "cannot watch services: 401 Unauthorized: Unauthorized; check the token that Envoy puts on the callout";
        gateway.envoy.wait_for_log(SOON, line);
    }
    mount.swap(&bound_token(&cluster, account, "third"));
    wait_for_replicas(5);
    for gateway in &gateways {
        gateway.envoy.wait_for_log(SOON, "watching services works again");
        gateway.wait_for_streams();
    }

    cluster.kubectl(&["delete", "clusterrole", "burst-metrics"]);
    let third = mount.token();
    wait::for_ok(SOON, "the role to be gone", || {
        match kubectl_as(&cluster, &third, &["get", "--raw", HPAS]) {
            Err(said) if said.contains("Forbidden") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    wait_for_replicas(1);
    relay.cut();
    for gateway in &gateways {
        gateway.wait_for_stat("burst_poll_forbidden_total", 4);
        let advice = "; give the proxy's ServiceAccount a ClusterRole with the verb watch on services";
        gateway.envoy.wait_for_log(SOON, advice);
    }
    cluster.apply(&shipped_role());
    wait_for_replicas(2);
    for (gateway, headers) in gateways.iter().zip(headers) {
        gateway.wait_for_streams();
        gateway.wait_until_current(&cluster, "");
        // The header never went missing, and showed each change.
        headers.assert_replicas([1, 2, 3, 4, 5, 1, 2]);
    }
}

/// A token that is valid as long as the Secret of that name exists.
fn bound_token(cluster: &ControlPlane, account: Account, secret: &str) -> String {
    cluster.kubectl(&["create", "secret", "generic", secret, "--namespace", account.namespace]);
    let bound = [
        "--bound-object-kind=Secret",
        "--bound-object-name",
        secret,
        "--namespace",
        account.namespace,
    ];
    cluster
        .kubectl(&[&["create", "token", account.name], &bound[..]].concat())
        .trim_end()
        .to_owned()
}

/// Invalidates the token by deleting its Secret. An API server caches a valid token for 10 s.
fn invalidate(cluster: &ControlPlane, account: Account, secret: &str) {
    cluster.kubectl(&["delete", "secret", secret, "--namespace", account.namespace]);
}

fn wait_until_refused(cluster: &ControlPlane, token: &str) {
    wait::for_ok(SOON, "the token to be refused", || {
        match kubectl_as(cluster, token, &["get", "--raw", HPAS]) {
            Err(said) if said.contains("Unauthorized") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
}
