//! The APIServices of `istio/metrics-apis/`, for a proxy that is no pod.

use crate::{ControlPlane, repository};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

use super::{MetricsProxy, SERVER, SOON};

/// Every APIService that ships.
pub const API_SERVICES: [&str; 3] = [
    "v1beta1.custom.metrics.k8s.io",
    "v1beta2.custom.metrics.k8s.io",
    "v1beta1.external.metrics.k8s.io",
];

/// Registers the proxy, and waits until the API server has found it to be available.
#[track_caller]
pub(super) fn register(cluster: &ControlPlane, proxy: &MetricsProxy) {
    let (service, namespace) = SERVER
        .strip_suffix(".svc")
        .and_then(|name| name.split_once('.'))
        .expect("the name of a Service");
    cluster.apply(&format!(
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}"
    ));
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": service, "namespace": namespace},
        "spec": {"type": "ExternalName", "externalName": "127.0.0.1"},
    });
    cluster.apply(&service.to_string());
    let file = repository().join("istio/metrics-apis/api-services.yaml");
    let file = file.to_str().expect("a path that is text");
    let shipped = cluster.kubectl(&["create", "--dry-run=client", "--output=json", "--filename", file]);
    for object in serde_json::Deserializer::from_str(&shipped).into_iter::<Value>() {
        let mut object = object.expect("a JSON document");
        object["spec"]["caBundle"] = json!(BASE64.encode(proxy.authority.pem()));
        object["spec"]["service"]["port"] = json!(proxy.address.port());
        cluster.apply(&object.to_string());
    }
    wait_until_available(cluster);
}

/// Waits until the API server has found every API to be available.
#[track_caller]
pub fn wait_until_available(cluster: &ControlPlane) {
    let timeout = format!("--timeout={}s", SOON.as_secs());
    let names = API_SERVICES.map(|name| format!("apiservice/{name}"));
    let mut wait = vec!["wait", "--for=condition=Available", &timeout];
    wait.extend(names.iter().map(String::as_str));
    cluster.kubectl(&wait);
}
