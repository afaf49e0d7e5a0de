//! `hpa lint` with the HPAs of a cluster.

use std::path::Path;
use std::time::Duration;

use burst_testkit::{ControlPlane, wait};
use serde_json::{Value, json};

use crate::support::api::serve;
use crate::support::kubeconfig::kubeconfig;
use crate::support::service_account::Kubeconfig;
use crate::support::{hpa_command, program};
use burstctl::run::Outcome;

/// Long enough for a watch of the API server on a busy machine.
const SOON: Duration = Duration::from_secs(120);

/// A workload of each kind. The API server adds `replicas`, which manifests omit.
const HEALTHY: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: 'web:1', resources: {requests: {cpu: 100m}}}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: default}
spec:
  serviceName: store
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: app, image: 'store:1', resources: {requests: {cpu: 100m}}}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: batch, namespace: default}
spec:
  selector: {matchLabels: {app: batch}}
  template:
    metadata: {labels: {app: batch}}
    spec: {containers: [{name: app, image: 'batch:1', resources: {requests: {cpu: 100m}}}]}
";

/// The verbs that the help and the README name, and no other.
const READER: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: lint}
rules:
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [list]}
- {apiGroups: [apps], resources: [deployments, statefulsets, replicasets], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lint}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: lint}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
";

fn hpa(kind: &str, name: &str) -> String {
    format!(
        "
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: {name}, namespace: default}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: {kind}, name: {name}}}
  minReplicas: 2
  maxReplicas: 10
  metrics: [{{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 80}}}}}}]
"
    )
}

/// Starts a cluster in which all is well. Its controllers do not run, so the status is written here as the HPA controller
/// would.
fn healthy_cluster() -> ControlPlane {
    let cluster = ControlPlane::start();
    let hpas = [("Deployment", "web"), ("StatefulSet", "store"), ("ReplicaSet", "batch")];
    let manifest = hpas.iter().map(|(kind, name)| hpa(kind, name)).collect::<String>();
    cluster.apply(HEALTHY);
    cluster.apply(&manifest);
    let status = r#"{"status":{"currentReplicas":2,"desiredReplicas":2,"conditions":[]}}"#;
    for (_, name) in hpas {
        cluster.kubectl(&[
            "patch",
            "hpa",
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
            status,
        ]);
    }
    cluster
}

fn lint(kubeconfig: &Path, args: &[&str]) -> (String, String, Option<i32>) {
    let kubeconfig = kubeconfig.to_str().unwrap();
    program(&[&["hpa", "lint", "--kubeconfig", kubeconfig], args].concat())
}

#[test]
fn the_hpas_of_a_cluster_are_checked_with_their_targets() {
    let cluster = healthy_cluster();
    let run = |args: &[&str]| lint(&cluster.kubeconfig(), args);
    let well = (String::new(), "burstctl: 3 HPAs: all is well\n".to_owned(), Some(0));
    for args in [&["-A"][..], &["-n", "default"], &[]] {
        assert_eq!(run(args), well, "{args:?}");
    }
    // The same objects through kubectl are as quiet.
    let objects = cluster.kubectl(&["get", "hpa,deployment,statefulset,replicaset", "--output=yaml"]);
    assert!(objects.contains("uid: ") && objects.contains("status:"), "{objects}");
    let (outcome, findings, messages) = hpa_command(&["lint", "-"], &objects);
    assert_eq!(
        (outcome, findings.as_str(), messages.as_str()),
        (Outcome::Success, "", "burstctl: 3 HPAs: all is well\n")
    );
    let (_, messages, code) = run(&["-n", "kube-public"]);
    assert_eq!(
        (messages.as_str(), code),
        (
            "burstctl: no HPA was found; if that is intended, use --allow-empty\n",
            Some(2)
        )
    );
    let (_, messages, code) = run(&["-n", "kube-public", "--allow-empty"]);
    assert_eq!((messages.as_str(), code), ("burstctl: no HPA was found\n", Some(0)));
    let (_, messages, code) = run(&["-n", "shopp"]);
    assert!(
        code == Some(2) && messages.contains("namespace \"shopp\" does not exist"),
        "{messages}"
    );

    let patch = r#"{"spec":{"scaleTargetRef":{"name":"wep"}}}"#;
    cluster.kubectl(&["patch", "hpa", "web", "--type=merge", "--patch", patch]);
    let (findings, messages, code) = run(&["-A"]);
    assert_eq!(
        (messages.as_str(), code),
        ("burstctl: 3 HPAs: 1 error, 0 warnings\n", Some(1))
    );
    for expected in [
        "error[missing-target]: Deployment default/wep does not exist, so the controller\n",
        "--> HorizontalPodAutoscaler default/web:",
        " |   scaleTargetRef:\n",
        "= help: Did you mean Deployment default/web?",
    ] {
        assert!(findings.contains(expected), "{findings}");
    }
}

#[test]
fn the_right_to_list_is_enough() {
    let cluster = healthy_cluster();
    cluster.apply(READER);
    let reader = Kubeconfig::of(&cluster, "reader");
    // The API server learns of a role, and of its end, by a watch.
    let (findings, messages) = wait::for_ok(SOON, "the right to list", || match lint(&reader.path(), &["-A"]) {
        (findings, messages, Some(0)) => Ok((findings, messages)),
        (_, messages, _) => Err(messages),
    });
    assert_eq!(findings, "");
    assert_eq!(
        messages,
        "burstctl: your user may not list limitranges, so the rules that need them were not applied\n\
         burstctl: your user may not list poddisruptionbudgets, so the rules that need them were not applied\n\
         burstctl: 3 HPAs: all is well\n"
    );
    cluster.kubectl(&["delete", "clusterrolebinding", "lint"]);
    let messages = wait::for_ok(SOON, "a refusal of the first list", || {
        match lint(&reader.path(), &["-A"]) {
            (_, messages, Some(2)) if messages.starts_with("burstctl: cannot list horizontalpodautoscalers: ") => {
                Ok(messages)
            }
            (_, messages, _) => Err(messages),
        }
    });
    assert!(
        messages.ends_with("; your user needs the verb list on them\n") && messages.lines().count() == 1,
        "{messages}"
    );
}

/// Answers for two pages of HPAs, whose targets are on two pages too, and for a vertical autoscaler of one target.
fn two_pages(path: &str) -> (u16, Value) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if path == "/apis/autoscaling.k8s.io/v1" {
        return (200, json!({"kind": "APIResourceList"}));
    }
    assert!(query.contains("limit=500"), "{path}?{query}");
    let (name, token) = if query.contains("continue=next") {
        ("store", None)
    } else {
        ("web", Some("next"))
    };
    let metadata = json!({"name": name, "namespace": "shop", "uid": name});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    let (spec, token) = match path.rsplit('/').next().unwrap_or_default() {
        "horizontalpodautoscalers" => (json!({"scaleTargetRef": target, "maxReplicas": 3}), token),
        "deployments" => {
            let labels = json!({"app": name});
            let container = json!({"name": "app", "resources": {"requests": {"cpu": "1"}}});
            let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
            (
                json!({"selector": {"matchLabels": labels}, "template": template, "replicas": 1}),
                token,
            )
        }
        "verticalpodautoscalers" => (json!({"targetRef": target}), None),
        _ => return (200, json!({"metadata": {}, "items": []})),
    };
    let item = json!({"metadata": metadata, "spec": spec});
    (200, json!({"metadata": {"continue": token}, "items": [item]}))
}

#[test]
fn long_lists_are_read_to_their_end() {
    let folder = kubeconfig(&serve(two_pages));
    let (findings, messages, code) = lint(&folder.path().join("kubeconfig"), &["-A", "-o", "json"]);
    assert_eq!((messages.as_str(), code), ("", Some(0)));
    let findings: Vec<Value> = findings
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let found: Vec<_> = findings
        .iter()
        .map(|finding| (&finding["object"], &finding["rule"]))
        .collect();
    // No target is missing, and each of the two HPAs was checked: by default they measure utilization.
    assert_eq!(found, [(&json!("shop/web"), &json!("vertical-autoscaler"))]);
}

#[test]
fn files_and_a_cluster_cannot_be_mixed() {
    let (outcome, out, messages) = hpa_command(&["lint", "-n", "shop", "web.yaml"], "");
    assert_eq!(
        (outcome, out.as_str(), messages.as_str()),
        (
            Outcome::Incomplete,
            "",
            "burstctl: give either files, or options of a cluster such as --namespace\n"
        )
    );
}
