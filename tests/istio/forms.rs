//! The API server accepts every set as it ships, and every form of the gateway set has the same effect.

use std::{env, os::unix::fs::symlink, process::Command};

use burst_testkit::{ControlPlane, Istiod, Part, Version, repository, wasm};
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
    (".", &GATEWAY),
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
    (
        "own-gateway",
        &[
            "Namespace burst-metrics",
            "ServiceAccount burst-gateway",
            "Service burst-gateway",
            "Deployment burst-gateway",
            "WasmPlugin burst-metrics",
            "ClusterRole burst-metrics-own-gateway",
            "ClusterRoleBinding burst-metrics-own-gateway",
            KUBE_API,
            LOCK,
        ],
    ),
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
fn make_deploy_applies_the_default_set_once_it_knows_the_image() {
    let cluster = ControlPlane::start();
    Istiod::create_crds(&cluster);
    cluster.kubectl(&["create", "namespace", "istio-system"]);
    let bin = tempfile::tempdir().unwrap();
    symlink(Part::Kubectl.path(), bin.path().join("kubectl")).unwrap();
    let path = format!("{}:{}", bin.path().display(), env::var("PATH").unwrap());
    let deploy = |arguments: &[&str]| {
        let mut make = Command::new("make");
        make.arg("deploy").args(arguments).current_dir(repository());
        make.env("PATH", &path)
            .env("KUBECONFIG", cluster.kubeconfig())
            .output()
            .unwrap()
    };
    let refused = deploy(&[]);
    assert!(!refused.status.success());
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("IMAGE=registry/name:tag"),
        "{refused:?}"
    );

    let digest = "ab".repeat(32);
    let cut = deploy(&[
        "IMAGE=127.0.0.1:5000/burst-metrics:9",
        &format!("DIGEST=sha256:{}", &digest[1..]),
    ]);
    assert!(!cut.status.success(), "{cut:?}");
    assert!(
        String::from_utf8_lossy(&cut.stderr).contains("is not sha256: with 64 hexadecimal digits"),
        "{cut:?}"
    );
    let image = [
        "IMAGE=127.0.0.1:5000/burst-metrics:9",
        &format!("DIGEST=sha256:{digest}"),
    ];
    let deployed = deploy(&image);
    assert!(deployed.status.success(), "{deployed:?}");
    let plugin = ["get", "wasmplugin", "burst-metrics", "--namespace=istio-system"];
    let spec = cluster.kubectl(&[&plugin[..], &["--output=jsonpath={.spec.url} {.spec.sha256}"]].concat());
    assert_eq!(spec, format!("oci://127.0.0.1:5000/burst-metrics:9 {digest}"));
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
