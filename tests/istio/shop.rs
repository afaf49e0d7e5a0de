//! The namespace `shop`: Services whose endpoints are listeners of one Envoy, and HPAs with a fixed status.

use burst_testkit::{ControlPlane, Envoy, Version};
use serde_json::{Value, json};

/// The header of `web`.
pub(crate) const WEB: &str = "service=shop/web, current-load=1, target-load=4, max-load=5";
/// The header of `api`.
pub(crate) const API: &str = "service=shop/api, current-load=2, target-load=8, max-load=10";

/// The programs behind the Services. Each one answers with its name.
const PROGRAMS: [&str; 3] = ["web-v1", "web-v2", "api-v1"];

/// Starts the programs.
pub(crate) fn start() -> Envoy {
    let listeners: Vec<_> = PROGRAMS.map(listener).into();
    let bootstrap = json!({"static_resources": {"listeners": listeners}});
    Envoy::of(Version::Tested).workers(1).start(&bootstrap.to_string())
}

/// Creates the objects of the namespace, with the programs as endpoints.
pub(crate) fn create(cluster: &ControlPlane, programs: &Envoy) {
    cluster.apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}");
    for (name, current, max) in [("web", 1, 5), ("api", 2, 10)] {
        autoscaled(cluster, name, current, max);
    }
    for program in PROGRAMS {
        join(cluster, program, programs.listener(program).port());
    }
}

/// Makes the program on that port an endpoint of its Service: `api-slow` belongs to `api`, version `slow`.
pub(crate) fn join(cluster: &ControlPlane, program: &str, port: u16) {
    cluster.apply(&endpoint(program, port).to_string());
}

/// A Deployment, the HPA that scales it, and a Service that selects it.
fn autoscaled(cluster: &ControlPlane, name: &str, current: u32, max: u32) {
    let labels = json!({"app": name});
    let metadata = json!({"name": name, "namespace": "shop"});
    let containers = json!([{"name": "app", "image": "app"}]);
    let objects = [
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        }}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {
            "selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": 8080}],
        }}),
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "maxReplicas": max,
        }}),
    ];
    cluster.apply(&objects.map(|object| object.to_string()).join("\n---\n"));
    scale(cluster, name, current);
}

/// Sets the number of current replicas in the status of an HPA.
pub(crate) fn scale(cluster: &ControlPlane, name: &str, current: u32) {
    let condition = json!({"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"});
    let status = json!({"status": {
        "currentReplicas": current, "desiredReplicas": current, "conditions": [condition],
    }});
    let patch = [
        "patch",
        "hpa",
        name,
        "--namespace",
        "shop",
        "--subresource",
        "status",
        "--type",
        "merge",
    ];
    cluster.kubectl(&[&patch[..], &["--patch", &status.to_string()]].concat());
}

/// The API server accepts no loopback address in an EndpointSlice. A WorkloadEntry may have one, and a Service also
/// selects it.
fn endpoint(program: &str, port: u16) -> Value {
    let (app, version) = program.split_once('-').expect("an application and its version");
    json!({
        "apiVersion": "networking.istio.io/v1",
        "kind": "WorkloadEntry",
        "metadata": {"name": program, "namespace": "shop"},
        "spec": {
            "address": "127.0.0.1",
            "labels": {"app": app, "version": version},
            "ports": {"http": port},
        },
    })
}

/// A program that answers with its name.
pub(crate) fn listener(name: &str) -> Value {
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "http_filters": [{"name": "router", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router",
        }}],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{
            "match": {"prefix": "/"},
            "direct_response": {"status": 200, "body": {"inline_string": name}},
        }]}]},
    });
    json!({
        "name": name,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    })
}
