//! Checks the gateway's pods, their token and their Istio version.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;

use super::Check;
use super::versions::{OLDEST_ENVOY, OLDEST_ISTIO};

/// The path from which the manifests of `istio/` read the token.
const TOKEN_MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The container with Envoy.
const PROXY_CONTAINER: &str = "istio-proxy";

/// The parts of a pod that the checks need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) account: String,
    running: bool,
    has_token: bool,
    image: Option<String>,
}

impl Pod {
    pub(super) fn of(pod: &core::Pod) -> Self {
        let spec = pod.spec.as_ref();
        let containers = spec.map_or(&[][..], |spec| &spec.containers);
        let istio_proxy = containers.iter().find(|container| container.name == PROXY_CONTAINER);
        // Gateways that are not Istio's have the proxy in the first container.
        let proxy = istio_proxy.or(containers.first());
        let mounts = proxy.and_then(|container| container.volume_mounts.as_ref());
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        Self {
            namespace: pod.metadata.namespace.clone().unwrap_or_default(),
            name: pod.metadata.name.clone().unwrap_or_default(),
            labels: pod.metadata.labels.clone().unwrap_or_default(),
            account: spec
                .and_then(|spec| spec.service_account_name.clone())
                .unwrap_or_else(|| "default".to_owned()),
            running: phase == Some("Running"),
            has_token: mounts.is_some_and(|mounts| mounts.iter().any(|mount| mount.mount_path == TOKEN_MOUNT)),
            image: proxy.and_then(|container| container.image.clone()),
        }
    }

    pub(super) fn title(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// Checks that there are pods and that they run.
pub(super) fn check_any(pods: &[Pod], namespace: &str, selector: &str) -> Check {
    if pods.is_empty() {
        return Check::problem(
            "pods",
            "",
            format!("no pod in {namespace} has {selector}"),
            "give the gateway's own --namespace and --selector: kubectl get pods -A --show-labels",
        );
    }
    let waiting: Vec<_> = pods.iter().filter(|pod| !pod.running).map(|pod| &*pod.name).collect();
    let found = format!("{} in {namespace} with {selector}", pods.len());
    if waiting.is_empty() {
        Check::ok("pods", "", found)
    } else {
        let advice = format!("kubectl describe pod --namespace {namespace} {}", waiting.join(" "));
        Check::problem(
            "pods",
            "",
            format!("{found}, {} of them not running", waiting.len()),
            advice,
        )
    }
}

/// Checks that a token is mounted.
pub(super) fn check_token(pod: &Pod) -> Check {
    if pod.has_token {
        Check::ok("token", pod.title(), format!("of ServiceAccount {}", pod.account))
    } else {
        Check::problem(
            "token",
            pod.title(),
            format!("no token is mounted at {TOKEN_MOUNT}"),
            "take automountServiceAccountToken: false out of the pod, or out of its ServiceAccount, and restart it",
        )
    }
}

/// Checks the Istio version, if the tag of the image contains it.
pub(super) fn check_istio_version(pod: &Pod) -> Option<Check> {
    let tag = pod.image.as_deref()?.rsplit_once("proxyv2:")?.1;
    let mut parts = tag.split(['.', '-', '@']).map(str::parse::<u32>);
    let (major, minor) = (parts.next()?.ok()?, parts.next()?.ok()?);
    Some(if (major, minor) >= (1, OLDEST_ISTIO) {
        Check::ok("istio", pod.title(), format!("Istio {tag}"))
    } else {
        Check::problem(
            "istio",
            pod.title(),
            format!("Istio {tag} has an Envoy before 1.{OLDEST_ENVOY}"),
            format!("update to Istio 1.{OLDEST_ISTIO} or later"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use serde_json::json;

    fn pod(image: &str, mounts: &[&str], phase: &str) -> Pod {
        let mounts: Vec<_> = mounts
            .iter()
            .map(|path| json!({"name": "v", "mountPath": path}))
            .collect();
        let pod = json!({
            "metadata": {"name": "gateway-0", "namespace": "istio-system"},
            "spec": {
                "serviceAccountName": "gateway",
                "containers": [{"name": "other"}, {"name": PROXY_CONTAINER, "image": image, "volumeMounts": mounts}],
            },
            "status": {"phase": phase},
        });
        Pod::of(&serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn a_pod_without_a_token_is_reported() {
        assert_eq!(check_token(&pod("", &[TOKEN_MOUNT], "Running")).verdict, Verdict::Ok);
        let check = check_token(&pod("", &["/etc/istio/proxy"], "Running"));
        assert_eq!(check.finding, format!("no token is mounted at {TOKEN_MOUNT}"));
    }

    #[test]
    fn istios_version_is_read_from_the_image_of_the_proxy() {
        for (image, verdict) in [
            ("docker.io/istio/proxyv2:1.28.0", Some(Verdict::Ok)),
            ("registry.example.com:5000/proxyv2:1.31.1-distroless", Some(Verdict::Ok)),
            ("docker.io/istio/proxyv2:1.27.9", Some(Verdict::Problem)),
            ("docker.io/istio/proxyv2@sha256:00", None),
            ("docker.io/istio/proxyv2:latest", None),
            ("envoyproxy/envoy:v1.36.2", None),
        ] {
            assert_eq!(
                check_istio_version(&pod(image, &[], "Running")).map(|check| check.verdict),
                verdict,
                "{image}"
            );
        }
    }

    #[test]
    fn pods_that_do_not_run_are_named() {
        let check = check_any(
            &[pod("", &[], "Running"), pod("", &[], "Pending")],
            "istio-system",
            "a=b",
        );
        assert_eq!(check.finding, "2 in istio-system with a=b, 1 of them not running");
        assert_eq!(check.advice, "kubectl describe pod --namespace istio-system gateway-0");
    }
}
