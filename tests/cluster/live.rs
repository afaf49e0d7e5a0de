//! Objects that kubectl creates, and what a client of the proxy then sees.

use std::time::{SystemTime, UNIX_EPOCH};

use burst_testkit::{ControlPlane, Controllers, wait};

use crate::{
    account::apply_shipped_role,
    gateway::{Gateway, SOON},
    sample,
};

#[test]
fn the_header_and_the_endpoints_follow_the_status_of_the_hpa() {
    let mut cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create(&cluster);
    let gateway = Gateway::new(&cluster, &mount, "");

    gateway.wait_for_stat("burst_unobserved_hpas", 5);
    gateway.wait_for_burst("services", 204);
    assert_eq!(gateway.header("ngsa-svc-1.default"), None);

    cluster.start_controllers(Controllers::Autoscaler);
    let one = "service=default/ngsa-1, current-load=1, target-load=4, max-load=5";
    gateway.wait_for_header("ngsa-svc-1.default", Some(one));
    for (service, header) in [
        (
            "ngsa-svc-2.ngsa",
            "service=ngsa/ngsa-2, current-load=2, target-load=4, max-load=6",
        ),
        (
            "queue.data",
            "service=data/queue, current-load=6, target-load=7, max-load=9",
        ),
        (
            "checkout.shop",
            "service=shop/checkout, current-load=6, target-load=10, max-load=13",
        ),
    ] {
        gateway.wait_for_header(service, Some(header));
    }

    cluster.kubectl(&["scale", "deployment", "ngsa-1", "--replicas=3"]);
    let three = "service=default/ngsa-1, current-load=3, target-load=4, max-load=5";
    gateway.wait_for_header("ngsa-svc-1.default", Some(three));
    for path in [
        "services/default/ngsa-svc-1",
        "deployments/default/ngsa-1",
        "hpas/default/ngsa-hpa-1",
    ] {
        assert_eq!(gateway.burst(path).body, three, "{path}");
    }
    assert_eq!(
        gateway.burst("statefulsets").body.lines().count(),
        3,
        "one row and its braces"
    );

    cluster.kubectl(&["delete", "hpa", "ngsa-hpa-1"]);
    gateway.wait_for_header("ngsa-svc-1.default", None);
    assert_eq!(gateway.burst("services/default/ngsa-svc-1").status, 204);
    assert!(!gateway.burst("hpas").body.contains("ngsa-hpa-1"));
    assert!(gateway.header("ngsa-svc-2.ngsa").is_some(), "the others are there");
}

/// Each interval produces a snapshot with a later time. So a change shows within one interval if every snapshot that
/// was read after it contains it, however slow the machine is.
#[test]
fn a_snapshot_that_was_read_after_a_change_contains_it() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    let gateway = Gateway::new(&cluster, &mount, r#""header": {"extra_keys": ["as-of"]}"#);

    for replicas in [1, 5, 2, 4] {
        sample::set_current_replicas(&cluster, "default", "ngsa-hpa-1", replicas);
        let header = header_as_of(&gateway, after_now());
        let expected = format!("service=default/ngsa-1, current-load={replicas}, target-load=4, max-load=5, as-of=");
        assert!(header.starts_with(&expected), "{header}");
    }
}

/// The first header whose snapshot was read at that Unix time or later.
fn header_as_of(gateway: &Gateway, seconds: u64) -> String {
    wait::for_ok(SOON, &format!("a snapshot of {seconds} or later"), || {
        let header = gateway.header("ngsa-svc-1.default").ok_or("there is no header")?;
        let as_of: u64 = header
            .rsplit_once("as-of=")
            .expect("as-of")
            .1
            .parse()
            .expect("a number");
        if as_of >= seconds {
            Ok(header)
        } else {
            Err("an older snapshot")
        }
    })
}

/// A time so far ahead that a read which ends then has started after now, even on a busy machine.
fn after_now() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock after 1970");
    now.as_secs() + 10
}
