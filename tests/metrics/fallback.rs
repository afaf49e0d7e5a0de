//! A real adapter behind ours, built with the library that every adapter uses.

use std::time::Duration;

use burst_testkit::{
    ControlPlane, Controllers, Version,
    metrics_apis::{
        Example, SOON, Stage,
        adapter::Adapter,
        shop, wait_until_available,
        workers::{Worker, wait_for_replicas, wait_until_active},
    },
    network_namespace, port, wait,
};
use serde_json::{Value, json};

use crate::scaling::{average, external, object};

/// The adapter's initial metric: 42 where `foo` is `bar`.
const THEIRS: &str = "my-external-metric";
/// The external metric that the adapter always lists. Its only custom metric has an empty name, and we exclude it.
const LISTED: &str = "externalmetrics";
const LIST: &str = "/apis/external.metrics.k8s.io/v1beta1";
const CUSTOM_LIST: &str = "/apis/custom.metrics.k8s.io/v1beta2";

/// The account that the gateway uses at the adapter, with the permissions in docs/metrics-apis.md.
const ACCOUNT: &str = "
{apiVersion: v1, kind: ServiceAccount, metadata: {name: gateway, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: burst-metrics-fallback}
rules:
  - apiGroups: [custom.metrics.k8s.io, external.metrics.k8s.io]
    resources: ['*']
    verbs: [get, list]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: burst-metrics-fallback}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: burst-metrics-fallback}
subjects: [{kind: ServiceAccount, name: gateway, namespace: default}]
";

/// The example configuration, with an adapter at that port.
fn example(cluster: &ControlPlane, port: u16) -> Example {
    cluster.apply(ACCOUNT);
    Example {
        file: "13-metrics-fallback.yaml",
        changes: vec![
            ("port_value: 6444", format!("port_value: {port}")),
            ("/etc/other-adapter/ca.crt", "$FOLDER/authority.crt".into()),
            (
                "/var/run/secrets/kubernetes.io/serviceaccount/token",
                "$FOLDER/token".into(),
            ),
        ],
        files: vec![("token", cluster.token("gateway", "default", Duration::from_secs(3600)))],
    }
}

/// Waits until a list contains our metric, and contains their metric or does not.
fn wait_for_list(stage: &Stage, path: &str, ours: &str, theirs: &str, both: bool) {
    wait::for_ok(SOON * 2, theirs, || {
        let list = stage.raw(path)?;
        let has = |name: &str| list.contains(&format!(r#""name":"{name}""#));
        assert!(has(ours), "{list}");
        if has(theirs) == both { Ok(()) } else { Err(list) }
    });
}

/// The value that any client of the API server gets.
fn value(stage: &Stage, path: &str) -> Result<Value, String> {
    let list: Value = serde_json::from_str(&stage.raw(path)?).map_err(|error| error.to_string())?;
    Ok(list["items"][0]["value"].clone())
}

#[test]
fn an_hpa_scales_by_the_metrics_of_both_adapters_and_ours_work_without_the_other() {
    network_namespace::run(
        "fallback::an_hpa_scales_by_the_metrics_of_both_adapters_and_ours_work_without_the_other",
        || {
            let port = port::free();
            let stage = Stage::of(Version::Tested, Controllers::All, "", |cluster| example(cluster, port));
            shop::create(&stage.cluster);
            // Our metrics are listed before the other adapter starts.
            wait_for_list(&stage, LIST, "burst_headroom", LISTED, false);
            let adapter = Adapter::start_at(port, &stage, &stage.cluster.kubeconfig());
            adapter.set_value("shop/services/web", "queue_depth", 25);
            wait_for_list(&stage, LIST, "burst_headroom", LISTED, true);
            let custom = wait::for_ok(SOON, "the list of custom metrics", || stage.raw(CUSTOM_LIST));
            assert!(!custom.contains("custommetrics"), "{custom}");
            let depth = format!("{CUSTOM_LIST}/namespaces/shop/services/web/queue_depth");
            wait::for_ok(SOON, "their value", || match value(&stage, &depth) {
                Ok(value) if value == "25" => Ok(()),
                other => Err(format!("{other:?}")),
            });

            let ours = Worker::new(
                "by-ours",
                external("burst_max_load", &json!({"service": "api"}), &average(2)),
            );
            let theirs = [
                Worker::new("by-theirs", external(THEIRS, &json!({"foo": "bar"}), &average(10))),
                Worker::new("by-their-object", object("Service", "web", "queue_depth", &average(5))),
            ];
            let all = [&theirs[..], std::slice::from_ref(&ours)].concat();
            all.iter().for_each(|worker| worker.create(&stage.cluster));
            wait_until_active(&stage.cluster, &all);
            wait_for_replicas(&stage.cluster, &all, 5);

            drop(adapter);
            wait::for_ok(SOON, "no metric of theirs", || {
                match theirs[0].activity(&stage.cluster) {
                    activity if activity == "False FailedGetExternalMetric" => Ok(()),
                    activity => Err(activity),
                }
            });
            wait_for_list(&stage, LIST, "burst_headroom", LISTED, false);
            wait_until_available(&stage.cluster);
            let ours = std::slice::from_ref(&ours);
            wait_until_active(&stage.cluster, ours);
            wait_for_replicas(&stage.cluster, ours, 5);
            let words = "lists this filter's metrics alone, because of the other adapter";
            stage.proxy.envoy.wait_for_log(SOON, words);
        },
    );
}

/// The proxy's certificate is signed by the request-header CA, so the adapter trusts the proxy as it trusts the API
/// server.
#[test]
fn an_adapter_that_trusts_the_proxy_reviews_the_original_user() {
    network_namespace::run(
        "fallback::an_adapter_that_trusts_the_proxy_reviews_the_original_user",
        || {
            let port = port::free();
            let stage = Stage::of(Version::Tested, Controllers::None, "", |cluster| trusted(cluster, port));
            let _adapter = Adapter::start_at(port, &stage, &stage.cluster.kubeconfig());
            wait_for_list(&stage, LIST, "burst_headroom", LISTED, true);
            let client = stage
                .proxy
                .client(Some(&stage.cluster.front_proxy().client("front-proxy-client", None)));
            let path = format!("{LIST}/namespaces/default/{THEIRS}");
            let ask = || stage.proxy.ask(&client, &path, &[("x-remote-user", "alice")]);
            let refused = ask();
            assert_eq!(refused.status, 403, "{refused:?}");
            assert!(
                refused
                    .body
                    .contains(r#"User \"alice\" cannot list resource \"my-external-metric\""#),
                "{refused:?}"
            );
            let role = [
                "create",
                "clusterrolebinding",
                "alice",
                "--clusterrole=burst-metrics-fallback",
                "--user=alice",
            ];
            stage.cluster.kubectl(&role);
            wait::for_ok(SOON, "a value", || match ask() {
                answer if answer.status == 200 && answer.body.contains(r#""value":"42""#) => Ok(()),
                answer => Err(format!("{answer:?}")),
            });
        },
    );
}

/// The example with a client certificate instead of a token, and without reviews by the proxy.
fn trusted(cluster: &ControlPlane, port: u16) -> Example {
    let mut example = example(cluster, port);
    let shown = cluster.front_proxy().client("front-proxy-client", None);
    example.files = vec![("front-proxy.crt", shown.certificate), ("front-proxy.key", shown.key)];
    let trusted = "validation_context: {trusted_ca: {filename: $FOLDER/authority.crt}}";
    let shows = "tls_certificates: [{certificate_chain: {filename: $FOLDER/front-proxy.crt}, \
                 private_key: {filename: $FOLDER/front-proxy.key}}]";
    example.changes.extend([
        (trusted, format!("{trusted}\n            {shows}")),
        ("prefix: x-remote-,", "prefix: x-nobody-,".into()),
        (
            r#""authorization": "subject_access_review""#,
            r#""authorization": "api_server""#.into(),
        ),
    ]);
    example
}
