//! The shipped role: it suffices, it grants nothing else, and a proxy without it recovers once it gets the role.

use std::{collections::BTreeSet, fs};

use burst_testkit::{ControlPlane, repository, wait};

use crate::{
    account::{Account, apply_shipped_role, kubectl_as, shipped_role},
    gateway::{Gateway, SOON},
    sample,
};

#[test]
fn the_shipped_role_allows_list_and_watch_of_four_kinds_and_nothing_more() {
    let cluster = ControlPlane::start();
    let anyone = Account {
        namespace: "default",
        name: "anyone",
    }
    .create(&cluster);
    let account = apply_shipped_role(&cluster);
    let kinds = [
        "deployments.apps",
        "horizontalpodautoscalers.autoscaling",
        "services",
        "statefulsets.apps",
    ];
    let of_each = BTreeSet::from(kinds.map(|resource| format!("{resource} [] [] [list watch]")));
    // A new role takes effect after a moment.
    wait::for_ok(SOON, "the role's rules", || {
        let granted = &rules(&cluster, account) - &rules(&cluster, anyone);
        if granted == of_each {
            Ok(())
        } else {
            Err(format!("{granted:?}"))
        }
    });

    let token = account.token(&cluster);
    let watch = "/apis/autoscaling/v2/horizontalpodautoscalers?watch=1&timeoutSeconds=1";
    assert_eq!(
        kubectl_as(&cluster, &token, &["get", "--raw", watch]).as_deref(),
        Ok("")
    );
    for refused in [
        ["get", "secrets", "--all-namespaces"],
        ["get", "pods", "--all-namespaces"],
        ["get", "--raw", "/apis/apps/v1/replicasets?watch=1"],
        ["get", "--raw", "/api/v1/namespaces/default/services/kubernetes"],
        ["delete", "service", "kubernetes"],
    ] {
        let said = kubectl_as(&cluster, &token, &refused).expect_err("a refusal");
        assert!(
            said.contains("Forbidden") && said.contains(&account.user()),
            "{refused:?}: {said}"
        );
    }

    let guide = fs::read_to_string(repository().join("docs/security.md")).expect("the guide");
    let (_, commands) = guide.split_once("```console\n").expect("the commands of the guide");
    let commands: Vec<_> = commands.lines().take_while(|line| *line != "```").collect();
    assert_eq!(commands.len(), 8);
    for command in commands.chunks(2) {
        let words = command[0].strip_prefix("$ kubectl ").expect("a command");
        let words: Vec<_> = words.split(' ').collect();
        let answer = match cluster.try_kubectl(&words, "") {
            Ok(yes) => yes.trim().to_owned(),
            // The exit code of kubectl says no, and stderr nothing.
            Err(error) => format!("no{error}"),
        };
        assert_eq!(answer, command[1], "{words:?}");
    }
}

/// The lines that `kubectl auth can-i` prints for an account, such as `services [] [] [list watch]`.
fn rules(cluster: &ControlPlane, account: Account) -> BTreeSet<String> {
    let rules = cluster.kubectl(&["auth", "can-i", "--list", "--no-headers", "--as", &account.user()]);
    rules
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn without_its_role_the_proxy_names_what_is_missing_serves_old_values_for_a_while_and_recovers() {
    const HEADER: &str = "service=default/ngsa-1, current-load=1, target-load=4, max-load=5";
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    sample::create_with_status(&cluster);
    // An open stream is not authorized again, so it would not end for minutes.
    let gateway = Gateway::in_windows(&cluster, &mount, r#""max_staleness": "30s""#);
    gateway.wait_for_header("ngsa-svc-1.default", Some(HEADER));
    gateway.wait_for_main_thread();

    cluster.kubectl(&["delete", "clusterrole", "burst-metrics"]);
    gateway.wait_for_stat("burst_poll_forbidden_total", 4);
    assert_eq!(
        gateway.header("ngsa-svc-1.default").as_deref(),
        Some(HEADER),
        "what was read serves on"
    );
    assert_eq!(gateway.burst("services").status, 200);
    for resource in [
        "services",
        "horizontalpodautoscalers.autoscaling",
        "deployments.apps",
        "statefulsets.apps",
    ] {
        let advice = format!("; give the proxy's ServiceAccount a ClusterRole with the verb list on {resource}");
        gateway.envoy.wait_for_log(SOON, &advice);
    }
    let refusal = "services is forbidden: User \"system:serviceaccount:istio-system:istio-ingressgateway\" cannot list";
    gateway
        .envoy
        .wait_for_log(SOON, &format!("cannot list services: 403 Forbidden: {refusal}"));

    gateway.wait_for_header("ngsa-svc-1.default", None);
    let stale = gateway.burst("services");
    assert_eq!(stale.status, 503);
    assert!(
        stale.body.starts_with("too stale: ") && stale.body.ends_with(", and 30 s are allowed\n"),
        "{}",
        stale.body
    );
    assert_eq!(stale.header("retry-after"), Some("1"));
    gateway.wait_for_stat("burst_header_absent_stale_total", 1);
    let lines = gateway.envoy.log().matches("burst-metrics: cannot list ").count();
    assert_eq!(
        lines,
        4,
        "one line for each list, not for each poll:\n{}",
        gateway.envoy.log()
    );
    // The filter keeps retrying.
    gateway.wait_for_stat("burst_poll_forbidden_total", 9);

    sample::set_current_replicas(&cluster, "default", "ngsa-hpa-1", 2);
    cluster.apply(&shipped_role());
    gateway.wait_for_header(
        "ngsa-svc-1.default",
        Some(&HEADER.replace("current-load=1", "current-load=2")),
    );
    assert_eq!(gateway.burst("services").status, 200);
    gateway.envoy.wait_for_log(SOON, "listing services works again");
}
