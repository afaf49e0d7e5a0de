//! A proxy that reads a part of the cluster: some namespaces, some labels, some names.

use burst_testkit::{ControlPlane, wait};

use crate::{
    account::{Account, apply_shipped_role},
    gateway::{Gateway, SOON},
    sample,
};

const RESOURCES: &str = "--resource=services,horizontalpodautoscalers.autoscaling,deployments.apps,statefulsets.apps";

#[test]
fn a_role_in_each_listed_namespace_is_enough() {
    let cluster = ControlPlane::start();
    sample::create_with_status(&cluster);
    let account = Account {
        namespace: "ngsa",
        name: "gateway",
    }
    .create(&cluster);
    let allow = |namespace| {
        let (role, subject) = ("--role=reader", "--serviceaccount=ngsa:gateway");
        cluster.kubectl(&[
            "create",
            "role",
            "reader",
            "--namespace",
            namespace,
            "--verb=list,watch",
            RESOURCES,
        ]);
        cluster.kubectl(&[
            "create",
            "rolebinding",
            "reader",
            "--namespace",
            namespace,
            role,
            subject,
        ]);
    };
    allow("ngsa");
    // A new role takes effect after a moment. Waiting for it keeps this failure out of the log.
    let may = [
        "auth",
        "can-i",
        "list",
        "statefulsets.apps",
        "--namespace=ngsa",
        "--as",
        &account.user(),
    ];
    wait::for_ok(SOON, "the role", || cluster.try_kubectl(&may, ""));
    let mount = account.mount(&cluster);
    let keys = r#""namespaces": ["shop", "ngsa"], "max_staleness": "30s""#;
    // An open stream outlives its role for minutes.
    let gateway = Gateway::in_windows(&cluster, &mount, keys);

    let ngsa = "service=ngsa/ngsa-2, current-load=2, target-load=4, max-load=6";
    gateway.wait_for_header("ngsa-svc-2.ngsa", Some(ngsa));
    assert_eq!(gateway.header("checkout.shop"), None, "no Role there yet");
    gateway.wait_for_gauge("burst_unreadable_services_in_shop", 1);
    assert_eq!(gateway.burst("services/shop/checkout").status, 503);

    allow("shop");
    let sum = "service=shop/checkout, current-load=6, target-load=10, max-load=13";
    gateway.wait_for_header("checkout.shop", Some(sum));
    assert_eq!(
        gateway.burst("hpas").body,
        r#"{
    "ngsa/ngsa-hpa-2": "service=ngsa/ngsa-2, current-load=2, target-load=4, max-load=6",
    "shop/checkout-canary": "service=shop/checkout-canary, current-load=2, target-load=2, max-load=3",
    "shop/checkout-stable": "service=shop/checkout-stable, current-load=4, target-load=8, max-load=10"
}
"#
    );
    assert_eq!(
        gateway.header("ngsa-svc-1.default"),
        None,
        "of a namespace that is not listed"
    );
    gateway.wait_for_gauge("burst_unreadable_services_in_shop", 0);

    cluster.kubectl(&["delete", "rolebinding", "reader", "--namespace", "shop"]);
    let advice = "; give the proxy's ServiceAccount a Role in namespace shop with the verb list on services";
    // Once before the first Role, and now again.
    wait::until(SOON, "the log says so again", || {
        gateway.envoy.log().matches(advice).count() >= 2
    });
    assert!(!gateway.envoy.log().contains("a Role in namespace ngsa"));
    // A proxy that stood still when it should have excluded the other namespace does so late, and serves nothing until
    // then.
    wait::until(SOON, "the other namespace alone is served", || {
        gateway.burst("services").body.matches("service=").count() == 1
    });
    assert_eq!(gateway.header("checkout.shop"), None);
    assert_eq!(gateway.header("ngsa-svc-2.ngsa").as_deref(), Some(ngsa));
}

#[test]
fn selectors_are_evaluated_by_the_api_server() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    for (namespace, hpa, team) in [
        ("default", "ngsa-hpa-1", "a"),
        ("ngsa", "ngsa-hpa-2", "b"),
        ("data", "queue", "c"),
    ] {
        cluster.kubectl(&["label", "hpa", hpa, "--namespace", namespace, &format!("team={team}")]);
    }
    let gateway = Gateway::new(
        &cluster,
        &mount,
        r#""hpas": {"label_selector": "team in (a, b),team!=c"},
           "services": {"field_selector": "metadata.namespace!=ngsa"},
           "workloads": [
               {"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment", "label_selector": "app"}
           ]"#,
    );

    let one = "service=default/ngsa-1, current-load=1, target-load=4, max-load=5";
    gateway.wait_for_header("ngsa-svc-1.default", Some(one));
    let names = |path: &str| gateway.burst(path).body.matches("\": \"").count();
    assert_eq!((names("hpas"), names("deployments"), names("services")), (2, 2, 1));
    assert_eq!(
        gateway.burst("statefulsets").status,
        404,
        "`workloads` replaces the default list"
    );
    assert_eq!(
        gateway.header("ngsa-svc-2.ngsa"),
        None,
        "a Service that the field selector leaves out"
    );
    gateway
        .envoy
        .wait_for_log(SOON, "this thread polls the Kubernetes API from now on");
}
