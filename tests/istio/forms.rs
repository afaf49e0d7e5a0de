//! The API server accepts every set as it ships, and every form of the gateway set has the same effect.

use burst_testkit::{ControlPlane, Istiod, Version, wasm};
use serde_json::Value;

use crate::{
    gateway::{INTERNAL, PUBLIC, policies_apply_before_the_filter_answers},
    mesh::{Mesh, SOME},
    routes, shipped,
    shop::{API, WEB},
    streaming::wait_for_streams,
};

/// The sets, with the kind and name of each object.
const SETS: [(&str, &[&str]); 11] = [
    (".", &OWN_GATEWAY),
    ("gateway", &GATEWAY),
    ("gateway-elsewhere", &GATEWAY),
    (
        "gateway-trafficextension",
        &["TrafficExtension burst-metrics", ROLE, BINDING, KUBE_API, LOCK],
    ),
    (
        "gateway-envoyfilter",
        &["EnvoyFilter burst-metrics", ROLE, BINDING, KUBE_API, LOCK],
    ),
    ("metrics-apis", &METRICS_APIS),
    ("metrics-apis-review", &REVIEWED),
    (
        "sidecar",
        &["WasmPlugin burst-metrics", SIDECAR_ROLE, SIDECAR_BINDING, KUBE_API],
    ),
    (
        "sidecar-envoyfilter",
        &["EnvoyFilter burst-metrics", SIDECAR_ROLE, SIDECAR_BINDING, KUBE_API],
    ),
    (
        "waypoint",
        &[
            "WasmPlugin burst-metrics-waypoint",
            "ClusterRole burst-metrics-waypoint",
            "RoleBinding burst-metrics-waypoint",
            "EnvoyFilter burst-metrics-waypoint-kube-api",
        ],
    ),
    ("own-gateway", &OWN_GATEWAY),
];

const OWN_GATEWAY: [&str; 9] = [
    "Namespace burst-metrics",
    "ServiceAccount burst-gateway",
    "Service burst-gateway",
    "Deployment burst-gateway",
    "WasmPlugin burst-metrics",
    "ClusterRole burst-metrics-own-gateway",
    "ClusterRoleBinding burst-metrics-own-gateway",
    KUBE_API,
    LOCK,
];

const METRICS_APIS: [&str; 23] = [
    "EnvoyFilter burst-metrics",
    ROLE,
    BINDING,
    KUBE_API,
    LOCK,
    "EnvoyFilter burst-metrics-apis",
    "APIService v1beta1.custom.metrics.k8s.io",
    "APIService v1beta2.custom.metrics.k8s.io",
    "APIService v1beta1.external.metrics.k8s.io",
    "Service burst-metrics-apis",
    "ServiceAccount burst-metrics-copy-ca",
    "RoleBinding burst-metrics-copy-ca",
    "RoleBinding burst-metrics-copy-ca",
    "RoleBinding burst-metrics-copy-ca",
    "Role burst-metrics-copy-ca",
    "Role burst-metrics-copy-ca",
    "NetworkPolicy burst-metrics-apis",
    "Secret burst-metrics-apis-cacert",
    "ConfigMap burst-metrics-copy-ca",
    "CronJob burst-metrics-copy-ca",
    "CustomResourceDefinition externalmetricpolicies.burstmetrics.dev",
    "ClusterRole burst-metrics-policies",
    "ClusterRoleBinding burst-metrics-policies",
];

/// The same set, for a gateway that may send SubjectAccessReviews.
const REVIEWED: [&str; 24] = {
    let mut objects = ["ClusterRoleBinding burst-metrics-review"; 24];
    objects
        .split_at_mut(METRICS_APIS.len())
        .0
        .copy_from_slice(&METRICS_APIS);
    objects
};

const GATEWAY: [&str; 5] = ["WasmPlugin burst-metrics", ROLE, BINDING, KUBE_API, LOCK];
const ROLE: &str = "ClusterRole burst-metrics";
const BINDING: &str = "ClusterRoleBinding burst-metrics";
const SIDECAR_ROLE: &str = "ClusterRole burst-metrics-sidecars";
const SIDECAR_BINDING: &str = "RoleBinding burst-metrics";
const KUBE_API: &str = "EnvoyFilter burst-metrics-kube-api";
const LOCK: &str = "AuthorizationPolicy burst-metrics";

#[test]
fn the_api_server_accepts_every_shipped_set() {
    let cluster = ControlPlane::start();
    Istiod::create_crds(&cluster);
    for namespace in ["istio-system", "istio-ingress", "shop", "burst-metrics"] {
        cluster.kubectl(&["create", "namespace", namespace]);
    }
    for (set, expected) in SETS {
        let name = |object: &Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
        };
        let mut found: Vec<_> = shipped::set(&cluster, set).iter().map(name).collect();
        let mut expected = expected.to_vec();
        found.sort();
        expected.sort_unstable();
        assert_eq!(found, expected, "{set}");
    }
}

#[test]
fn every_form_of_the_gateway_set_does_the_same_on_the_oldest_envoy() {
    let mesh = Mesh::start();
    let ingress = mesh.ingress(Version::Oldest);
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    ingress.wait_for(PUBLIC, "/", "the mesh serves", |answer| answer.status == 200);
    let pod = mesh.ingress_pod();
    let traffic = ingress.traffic(PUBLIC).start();
    for form in ["gateway-envoyfilter", "gateway-trafficextension", "gateway"] {
        let applied = shipped::apply(&mesh.cluster, form, &wasm("burst-metrics.wasm"), &pod);
        ingress.wait_for_header(PUBLIC, "/", Some(WEB));
        ingress.wait_for_header(PUBLIC, "/api", Some(API));
        policies_apply_before_the_filter_answers(&mesh, &ingress);
        let single = ingress.get(INTERNAL, "/burstmetrics/services/shop/api").unwrap();
        assert_eq!((single.status, single.body.as_str()), (200, API), "{form}");
        assert_eq!(
            ingress.get(PUBLIC, "/burstmetrics/services").unwrap().body,
            "web-v1",
            "{form}"
        );
        if form == "gateway-envoyfilter" {
            wait_for_streams(&mesh, &ingress, PUBLIC, WEB);
        }
        applied.delete(&mesh.cluster);
        ingress.wait_for_header(PUBLIC, "/", None);
    }
    traffic.wait_for_more(SOME);
    traffic.stop();
}
