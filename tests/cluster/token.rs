//! The token of the ServiceAccount, which the kubelet rotates while the proxy runs.

use burst_testkit::{ControlPlane, Version, wait};

use crate::{
    account::{Account, apply_shipped_role, kubectl_as},
    gateway::{Gateway, SOON},
    sample,
    shipped::{SHORT_WATCHES, SHORT_WINDOWS, Shipped, Token},
};

const HPAS: &str = "/apis/autoscaling/v2/horizontalpodautoscalers?limit=1";

/// Both ways to add the token to a request, each with an Envoy that supports it.
const FORMS: [(Version, Token); 2] = [(Version::Tested, Token::Injected), (Version::Oldest, Token::ByLua)];

#[test]
fn a_rotated_token_is_used_and_an_expired_one_is_logged_and_recovered_from() {
    let cluster = ControlPlane::start();
    let account = apply_shipped_role(&cluster);
    sample::create_with_status(&cluster);
    let first = bound_token(&cluster, account, "first");
    let mount = account.mount_with(&cluster, &first);
    let gateways = FORMS.map(|(version, token)| {
        // An open stream is not authorized again, so it would go on without a valid token.
        let bootstrap = Shipped::bootstrap(token, &cluster, &mount)
            .configured("")
            .with(SHORT_WATCHES, SHORT_WINDOWS);
        Gateway::start(version, &bootstrap, &mount)
    });
    wait_for_replicas(&gateways, &cluster, 1);

    mount.swap(&bound_token(&cluster, account, "second"));
    // The first token is still valid, as in a real rotation: an Envoy reads the new one after a moment.
    wait_for_replicas(&gateways, &cluster, 2);
    invalidate(&cluster, account, "first");
    wait::for_ok(SOON, "the first token to be refused", || {
        match kubectl_as(&cluster, &first, &["get", "--raw", HPAS]) {
            Err(said) if said.contains("Unauthorized") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    wait_for_replicas(&gateways, &cluster, 3);
    for gateway in &gateways {
        assert_eq!(
            gateway.stat("burst_poll_unauthorized_total"),
            0,
            "{}",
            gateway.envoy.log()
        );
    }

    invalidate(&cluster, account, "second");
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
    wait_for_replicas(&gateways, &cluster, 5);
    for gateway in &gateways {
        gateway.envoy.wait_for_log(SOON, "watching services works again");
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

fn wait_for_replicas(gateways: &[Gateway], cluster: &ControlPlane, replicas: u32) {
    sample::set_current_replicas(cluster, "default", "ngsa-hpa-1", replicas);
    let header = format!("service=default/ngsa-1, current-load={replicas}, target-load=4, max-load=5");
    for gateway in gateways {
        gateway.wait_for_header("ngsa-svc-1.default", Some(&header));
    }
}
