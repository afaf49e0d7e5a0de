//! The token of the ServiceAccount, which the kubelet rotates while the proxy runs.

use burst_testkit::{ControlPlane, Version, wait};

use crate::{
    account::{Account, apply_shipped_role, kubectl_as},
    gateway::{Gateway, SOON},
    sample,
    shipped::{Shipped, Token},
};

const HPAS: &str = "/apis/autoscaling/v2/horizontalpodautoscalers?limit=1";

/// Both ways to put the token on a request, each on an Envoy that has it.
const FORMS: [(Version, Token); 2] = [(Version::Tested, Token::Injected), (Version::Oldest, Token::ByLua)];

#[test]
fn a_rotated_token_is_used_and_an_expired_one_is_logged_and_recovered_from() {
    let cluster = ControlPlane::start();
    let account = apply_shipped_role(&cluster);
    sample::create_with_status(&cluster);
    let first = bound_token(&cluster, account, "first");
    let mount = account.mount_with(&cluster, &first);
    let gateways = FORMS.map(|(version, token)| {
        let bootstrap = Shipped::bootstrap(token, &cluster, &mount).configured("");
        Gateway::start(version, &bootstrap, &mount)
    });
    follows(&gateways, &cluster, 1);

    mount.swap(&bound_token(&cluster, account, "second"));
    // The first one is still good, as it is when the kubelet swaps it: an Envoy takes a moment to read another.
    follows(&gateways, &cluster, 2);
    end(&cluster, account, "first");
    wait::for_ok(SOON, "the first token to be refused", || {
        match kubectl_as(&cluster, &first, &["get", "--raw", HPAS]) {
            Err(said) if said.contains("Unauthorized") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    follows(&gateways, &cluster, 3);
    for gateway in &gateways {
        assert_eq!(
            gateway.stat("burst_poll_unauthorized_total"),
            0,
            "{}",
            gateway.envoy.log()
        );
    }

    end(&cluster, account, "second");
    for gateway in &gateways {
        gateway.wait_for_stat("burst_poll_unauthorized_total", 4);
        let line =
            "cannot watch services: 401 Unauthorized: Unauthorized; check the token that Envoy puts on the callout";
        gateway.envoy.wait_for_log(SOON, line);
        assert!(
            gateway.header("ngsa-svc-1.default").is_some(),
            "the last snapshot serves on"
        );
    }
    mount.swap(&bound_token(&cluster, account, "third"));
    follows(&gateways, &cluster, 5);
    for gateway in &gateways {
        gateway.envoy.wait_for_log(SOON, "watching services works again");
    }
}

/// A token that lives as long as a Secret of that name.
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

/// Ends the token with its Secret; an API server that saw it remembers for 10 s that it was good.
fn end(cluster: &ControlPlane, account: Account, secret: &str) {
    cluster.kubectl(&["delete", "secret", secret, "--namespace", account.namespace]);
}

fn follows(gateways: &[Gateway], cluster: &ControlPlane, replicas: u32) {
    sample::set_current_replicas(cluster, "default", "ngsa-hpa-1", replicas);
    let header = format!("service=default/ngsa-1, current-load={replicas}, target-load=4, max-load=5");
    for gateway in gateways {
        gateway.wait_for_header("ngsa-svc-1.default", Some(&header));
    }
}
