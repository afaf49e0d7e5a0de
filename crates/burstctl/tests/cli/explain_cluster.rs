//! `hpa explain --context` with a real API server and the real HPA controller.

use std::process::{Command, Output};
use std::time::Duration;

use burst_testkit::wait;
use burst_testkit::{ControlPlane, Controllers, Envoy, Version};
use serde_json::{Value, json};

/// Long enough for several syncs of the controller on a busy machine.
const SOON: Duration = Duration::from_secs(120);

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

fn explain(cluster: &ControlPlane, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_burstctl"))
        .args(["hpa", "explain", "--context", ""])
        .args(args)
        .env("KUBECONFIG", cluster.kubeconfig())
        .output()
        .unwrap()
}

#[test]
fn the_status_of_a_real_controller_is_explained() {
    let cluster = ControlPlane::start_with(Controllers::Autoscaler);
    cluster.apply(WORKLOAD);
    let output = wait::for_ok(SOON, "conditions of the controller", || {
        let output = explain(&cluster, &["default/web"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let messages = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{messages}");
        if text.contains("ScalingActive is False (FailedGetResourceMetric)") {
            Ok(text)
        } else {
            Err(text)
        }
    });
    // This cluster has no metrics API. The controller reports that, and the command still explains the spec.
    assert!(
        output.starts_with("HPA default/web keeps Deployment web between 2 and 10 replicas.\n"),
        "{output}"
    );
    assert!(
        output.contains("1. cpu of whole pods: 80 % of the request."),
        "{output}"
    );
    assert!(output.contains("AbleToScale is True (SucceededGetScale)"), "{output}");

    let absent = explain(&cluster, &["default/absent"]);
    assert_eq!(absent.status.code(), Some(2));
    let args = String::from_utf8(absent.stderr).unwrap();
    assert!(args.starts_with("burstctl: default/absent: "), "{args}");
    assert!(args.contains("not found"), "{args}");
}

/// The response of a metrics-server for the pods of `web`: 70 % of the CPU that they request, and 48Mi of memory.
fn pod_metrics() -> Value {
    let usage = json!({"cpu": "70m", "memory": "48Mi"});
    let item = |name: &str| {
        let metadata = json!({"name": name, "namespace": "default", "labels": {"app": "web"}});
        let containers = json!([{"name": "app", "usage": usage}]);
        json!({"metadata": metadata, "timestamp": "2026-11-21T06:00:00Z", "window": "30s", "containers": containers})
    };
    let items: Vec<Value> = PODS.map(item).into();
    json!({"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items})
}

const PODS: [&str; 3] = ["web-0", "web-1", "web-2"];

/// An aggregated API server for the part of `metrics.k8s.io` that the HPA controller requests.
fn metrics_api() -> Envoy {
    let resources = json!([{"name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics", "verbs": ["get", "list"]}]);
    let discovery = json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "metrics.k8s.io/v1beta1", "resources": resources,
    });
    let answer = |path: &str, body: &Value| {
        let content_type = json!({"header": {"key": "content-type", "value": "application/json"}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"});
        json!({
            "match": {"path": format!("/apis/metrics.k8s.io/v1beta1{path}")},
            "direct_response": {"status": 200, "body": {"inline_string": body.to_string()}},
            "response_headers_to_add": [content_type],
        })
    };
    let routes = json!([
        answer("", &discovery),
        answer("/namespaces/default/pods", &pod_metrics())
    ]);
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "metrics",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": [{"name": "router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}],
    });
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = json!({
        "certificate_chain": {"inline_string": cert.pem()},
        "private_key": {"inline_string": signing_key.serialize_pem()},
    });
    let tls = json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        "common_tls_context": {"tls_certificates": [certificate]},
    });
    let bootstrap = json!({"static_resources": {"listeners": [{
        "name": "metrics",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{
            "transport_socket": {"name": "tls", "typed_config": tls},
            "filters": [{"name": "http", "typed_config": manager}],
        }],
    }]}});
    Envoy::start(Version::Tested, &bootstrap.to_string(), 1)
}

/// Registers the API, and creates three pods that have been ready for a long time.
fn serve_metrics(cluster: &ControlPlane, api: &Envoy) {
    let port = api.listener("metrics").port();
    cluster.apply(&format!(
        "
apiVersion: v1
kind: Namespace
metadata: {{name: metrics}}
---
apiVersion: v1
kind: Service
metadata: {{name: server, namespace: metrics}}
spec: {{type: ExternalName, externalName: localhost, ports: [{{port: {port}}}]}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: v1beta1.metrics.k8s.io}}
spec:
  group: metrics.k8s.io
  version: v1beta1
  service: {{name: server, namespace: metrics, port: {port}}}
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: default}}
"
    ));
    let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T06:00:00Z"});
    let status =
        json!({"status": {"phase": "Running", "startTime": "2026-11-20T06:00:00Z", "conditions": [ready]}}).to_string();
    for pod in PODS {
        cluster.apply(&format!(
            "
apiVersion: v1
kind: Pod
metadata: {{name: {pod}, labels: {{app: web}}}}
spec:
  automountServiceAccountToken: false
  containers: [{{name: app, image: 'web:1', resources: {{requests: {{cpu: 100m, memory: 64Mi}}}}}}]
"
        ));
        cluster.kubectl(&[
            "patch",
            "pod",
            pod,
            "--subresource=status",
            "--type=merge",
            "-p",
            &status,
        ]);
    }
}

#[test]
fn the_measurements_of_a_real_controller_are_explained() {
    let mut cluster = ControlPlane::start_aggregating();
    let api = metrics_api();
    serve_metrics(&cluster, &api);
    let metrics = "  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}
  - type: Resource
    resource: {name: memory, target: {type: AverageValue, averageValue: 50Mi}}
";
    cluster.apply(&format!("{WORKLOAD}{metrics}"));
    cluster.start_controllers(Controllers::Autoscaler);
    let output = wait::for_ok(SOON, "metrics of the controller", || {
        let output = explain(&cluster, &["default/web"]);
        let text = String::from_utf8(output.stdout).unwrap();
        if text.contains("ScalingActive is True (ValidMetricFound)") {
            Ok(text)
        } else {
            Err(text + &String::from_utf8_lossy(&output.stderr))
        }
    });
    for line in [
        "   Now it is 70 %: 70 % ÷ 80 % = 0.875; × 3 replicas = 2.625, so it proposes 3.",
        "   Now it is 48Mi: 48Mi ÷ 50Mi = 0.96, within the tolerance, so it proposes the current 3.",
        "At the last sync there were 3 replicas, and the desired number was 3.",
    ] {
        assert!(output.contains(line), "{line}\n{output}");
    }
}
