//! Another thread, or another configuration, takes over from a leader whose streams are open.

use burst_testkit::{ControlPlane, Version, port, wait};

use crate::{
    account::apply_shipped_role,
    gateway::{Gateway, SOON},
    sample,
    shipped::{Shipped, Token},
    watch,
};

/// The module that traps on demand.
const TRAP_MODULE: &str = "burst-metrics-trap.wasm";

/// Longer than any name. With its annotations an object may have 256 KiB, and the filter takes 128 KiB.
const LONG: usize = 100_000;

#[test]
fn a_successor_continues_the_streams_of_a_leader_that_trapped_or_was_replaced_without_a_list() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    let listener = format!("port_value: {}", port::free());
    // The condition holds for each request. It makes another configuration.
    let bootstrap = |condition: &str| {
        let keys = format!(r#""header": {{"when": {{"request_header": "{condition}"}}}}"#);
        Shipped::bootstrap(Token::Injected, &cluster, &mount)
            .configured(&keys)
            .with("burst-metrics.wasm", TRAP_MODULE)
            .with("port_value: 0", &listener)
    };
    let gateway = Gateway::start_with_listener_file(Version::Tested, bootstrap("host"), &mount);
    gateway.wait_for_replicas(1);
    gateway.wait_for_main_thread();
    gateway.wait_for_streams();
    let headers = gateway.collect_headers();
    let lists = watch::lists(&cluster);
    let annotate = |annotation: &str| {
        cluster.kubectl(&[
            "annotate",
            "hpa",
            "ngsa-hpa-2",
            "--namespace=ngsa",
            "--overwrite",
            annotation,
        ]);
    };

    annotate(&format!("long={}", "x".repeat(LONG)));
    sample::scale(&cluster, 2);
    gateway.wait_for_replicas(2);

    let leaders = gateway.pollers().len();
    annotate("burst-metrics.test/trap=1");
    wait::until(SOON, "another leader", || gateway.pollers().len() > leaders);
    gateway.envoy.wait_for_log(
        SOON,
        "keeping the last version of HorizontalPodAutoscaler ngsa/ngsa-hpa-2",
    );
    sample::scale(&cluster, 3);
    gateway.wait_for_replicas(3);
    annotate("burst-metrics.test/trap-");
    assert_eq!(gateway.envoy.log().matches("Uncaught RuntimeError").count(), 1);

    for (condition, replicas) in [("x-request-id", 4), ("x-forwarded-proto", 5)] {
        let leaders = gateway.pollers().len();
        gateway.replace_listeners(bootstrap(condition));
        wait::until(SOON, "another leader", || gateway.pollers().len() > leaders);
        sample::scale(&cluster, replicas);
        gateway.wait_for_replicas(replicas);
    }
    wait::until(SOON, "the end of the drain", || {
        gateway.envoy.stat("listener_manager.total_filter_chains_draining") == Some(0)
    });
    gateway.wait_for_streams();
    assert_eq!(watch::lists(&cluster), lists);
    gateway.wait_until_current(&cluster, "");
    headers.assert_replicas([1, 2, 3, 4, 5]);
}
