//! The rest of the cluster works while the filter has nothing to serve.

use burst_testkit::{
    Controllers, Version,
    metrics_apis::{API_SERVICES, SOON, Stage, wait_until_available},
    wait,
};

/// Counts the aggregator's probes. It sends five at a time for each APIService.
const REQUESTS: &str = "http.metrics_apis.downstream_rq_total";

const GROUPS: [&str; 2] = ["custom.metrics.k8s.io", "external.metrics.k8s.io"];

#[test]
fn the_cluster_works_while_the_filter_cannot_read_it() {
    let mut stage = Stage::with(Version::Tested, Controllers::All, r#""max_staleness": "3s", "#);
    resources_are_listed(&stage);
    // A new APIService is unavailable for a moment, and the API server logs that until it is listed.
    let before = logs(&stage).map(|log| log.lines().count());
    create_and_delete_namespace(&stage, "before");

    stage.api = None;
    wait::until(SOON, "what was read is too old", || {
        stage
            .raw("/apis/external.metrics.k8s.io/v1beta1/namespaces/default/burst_headroom")
            .is_err()
    });
    probe_again(&stage);
    wait_until_available(&stage.cluster);
    resources_are_listed(&stage);
    create_and_delete_namespace(&stage, "during");

    stage.api = Some(stage.cluster.kubectl_proxy(stage.api_port));
    wait::for_ok(SOON, "values again", || {
        stage.raw("/apis/external.metrics.k8s.io/v1beta1/namespaces/default/burst_headroom")
    });
    for (log, before) in logs(&stage).iter().zip(before) {
        check_no_errors(log.lines().skip(before));
    }
}

/// Custom metrics are subresources, which kubectl lists for no group. `clients` covers them.
fn resources_are_listed(stage: &Stage) {
    let group = GROUPS[1];
    let arguments = ["api-resources", "--api-group", group, "--output=name", "--cached=false"];
    wait::for_ok(SOON, group, || {
        let listed = stage.cluster.try_kubectl(&arguments, "")?;
        let found = listed.lines().any(|line| line == format!("burst_headroom.{group}"));
        found.then_some(()).ok_or(listed)
    });
}

/// The namespace controller deletes a namespace only after every group has answered.
fn create_and_delete_namespace(stage: &Stage, name: &str) {
    stage.cluster.kubectl(&["create", "namespace", name]);
    stage.cluster.kubectl(&["delete", "namespace", name, "--timeout=120s"]);
}

/// Makes the aggregator probe at once. It probes when an APIService changes, and every 30 s.
fn probe_again(stage: &Stage) {
    let before = stage.proxy.envoy.stat(REQUESTS).unwrap_or(0);
    let touch = ["annotate", "apiservice", "touched=yes"];
    stage
        .cluster
        .kubectl(&[&touch[..2], &API_SERVICES, &touch[2..]].concat());
    wait::until(SOON, "a round of probes", || {
        stage.proxy.envoy.stat(REQUESTS).is_some_and(|now| now >= before + 15)
    });
}

/// The logs of the API server and of the controllers so far.
fn logs(stage: &Stage) -> [String; 2] {
    [stage.cluster.apiserver_log(), stage.cluster.controllers_log()]
}

fn check_no_errors<'a>(lines: impl Iterator<Item = &'a str>) {
    let complaints: Vec<_> = lines
        .filter(|line| line.contains("Unhandled Error") && GROUPS.iter().any(|group| line.contains(group)))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
