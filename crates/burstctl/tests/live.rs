//! `hpa explain --context` before a real API server and the real HPA controller.
#![cfg(feature = "live")]

use std::process::{Command, Output};
use std::time::Duration;

use burst_testkit::wait;
use burst_testkit::{ControlPlane, Controllers};

const WORKLOAD: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "web:1", resources: {requests: {cpu: 100m}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
"#;

fn explain(cluster: &ControlPlane, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_burstctl"))
        .args(["hpa", "explain", "--context", ""])
        .args(words)
        .env("KUBECONFIG", cluster.kubeconfig())
        .output()
        .unwrap()
}

#[test]
fn what_a_real_controller_wrote_is_explained() {
    let cluster = ControlPlane::start_with(Controllers::Autoscaler);
    cluster.apply(WORKLOAD);
    let told = wait::for_ok(Duration::from_secs(60), "conditions of the controller", || {
        let output = explain(&cluster, &["default/web"]);
        let told = String::from_utf8(output.stdout).unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{words}");
        if told.contains("ScalingActive is False (FailedGetResourceMetric)") {
            Ok(told)
        } else {
            Err(told)
        }
    });
    // No metrics API in this cluster: the controller says so, and what it would do is still explained.
    assert!(
        told.starts_with("HPA default/web keeps Deployment web between 2 and 10 replicas.\n"),
        "{told}"
    );
    assert!(
        told.contains("1. cpu of whole pods: 80 % of what is requested."),
        "{told}"
    );
    assert!(told.contains("AbleToScale is True (SucceededGetScale)"), "{told}");

    let absent = explain(&cluster, &["default/absent"]);
    assert_eq!(absent.status.code(), Some(2));
    let words = String::from_utf8(absent.stderr).unwrap();
    assert!(words.starts_with("burstctl: default/absent: "), "{words}");
    assert!(words.contains("not found"), "{words}");
}
