//! The kit's control plane is a real one.

use std::time::Duration;

use burst_testkit::{ControlPlane, Controllers, wait};

/// Two rounds of a controller that looks every 2 s, on a machine that does other things as well.
const A_FEW_ROUNDS: Duration = Duration::from_secs(120);

const WEB: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
"#;

#[test]
fn an_hpa_that_kubectl_creates_can_be_read_back() {
    let cluster = ControlPlane::start();
    cluster.apply(WEB);
    let spec = cluster.kubectl(&[
        "get",
        "hpa",
        "web",
        "-o",
        "jsonpath={.spec.minReplicas} {.spec.maxReplicas}",
    ]);
    assert_eq!(spec, "1 5", "minReplicas is the API server's default");
}

#[test]
fn the_hpa_controller_gives_an_hpa_its_conditions() {
    let cluster = ControlPlane::start_with(Controllers::Autoscaler);
    cluster.apply(WEB);
    wait::until(A_FEW_ROUNDS, "the condition that no metrics API answers", || {
        let reason = "jsonpath={.status.conditions[?(@.type=='ScalingActive')].reason}";
        cluster.kubectl(&["get", "hpa", "web", "-o", reason]) == "FailedGetResourceMetric"
    });
}

#[test]
fn with_all_controllers_a_deployment_creates_its_pods() {
    let cluster = ControlPlane::start_with(Controllers::All);
    cluster.apply(WEB);
    wait::until(A_FEW_ROUNDS, "both pods of the Deployment", || {
        cluster
            .kubectl(&["get", "pods", "--selector=app=web", "--output=name"])
            .lines()
            .count()
            == 2
    });
}

#[test]
fn a_service_account_may_do_what_its_role_allows_and_no_more() {
    let cluster = ControlPlane::start();
    cluster.kubectl(&["create", "serviceaccount", "reader"]);
    cluster.kubectl(&[
        "create",
        "clusterrole",
        "reads-services",
        "--verb=list",
        "--resource=services",
    ]);
    cluster.kubectl(&[
        "create",
        "clusterrolebinding",
        "reader",
        "--clusterrole=reads-services",
        "--serviceaccount=default:reader",
    ]);
    let as_reader = [
        "--kubeconfig=/dev/null",
        &format!("--server=https://127.0.0.1:{}", cluster.port()),
        &format!("--certificate-authority={}", cluster.ca_file().display()),
        &format!(
            "--token={}",
            cluster.token("reader", "default", Duration::from_secs(600))
        ),
    ];
    let get = |what| [&["get", what], &as_reader[..]].concat();
    // An API server takes a moment to know a new role.
    let services = wait::for_ok(A_FEW_ROUNDS, "the role", || cluster.try_kubectl(&get("services"), ""));
    assert!(services.contains("kubernetes"), "{services}");
    let refused = cluster.kubectl_refused(&get("hpa"), "");
    assert!(
        refused.contains("system:serviceaccount:default:reader\" cannot list"),
        "{refused}"
    );
}
