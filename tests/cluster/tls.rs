//! The proxy sends its token only to a server with the right name and the right certificate authority.

use burst_testkit::{ControlPlane, Version};

use crate::{
    account::apply_shipped_role,
    gateway::{Gateway, SOON},
    sample,
    shipped::{Shipped, Token},
};

#[test]
fn a_server_with_another_name_or_another_certificate_authority_gets_no_request() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    let shipped = || Shipped::bootstrap(Token::Injected, &cluster, &mount).configured("");
    let ca = mount.path().join("ca.crt").display().to_string();
    let other_ca = cluster.front_proxy_ca_file().display().to_string();
    for (bootstrap, fails_by) in [
        (
            shipped().with("exact: kubernetes.default.svc", "exact: kubernetes.other.svc"),
            "fail_verify_san",
        ),
        (shipped().with(&ca, &other_ca), "fail_verify_error"),
    ] {
        let gateway = Gateway::start(Version::Tested, &bootstrap, &mount);
        gateway.wait_for_stat("burst_poll_unreachable_total", 4);
        gateway
            .envoy
            .wait_for_log(SOON, "cannot watch services: the Kubernetes API cannot be reached: ");
        gateway.envoy.wait_for_log(
            SOON,
            "; check the cluster's address, its CA and the subject name it expects",
        );
        let failed = gateway.envoy.stat(&format!("cluster.kube_api.ssl.{fails_by}"));
        assert!(failed.is_some_and(|count| count > 0), "{fails_by}: {failed:?}");

        assert_eq!(gateway.stat("burst_poll_ok_total"), 0);
        assert_eq!(gateway.header("ngsa-svc-1.default"), None);
        let unsynced = gateway.burst("services");
        assert_eq!(unsynced.status, 503);
        assert_eq!(
            unsynced.body,
            "not synced yet: the Kubernetes API was never read in full\n"
        );
    }
}
