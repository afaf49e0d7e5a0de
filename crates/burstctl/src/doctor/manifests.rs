//! Checks the Istio objects that install the filter, and which pods they select.

use std::collections::BTreeMap;

use burst_model::config::{Config, Origin};
use serde_json::Value;

use super::Check;
use super::pods::Pod;
use crate::plugin_config;

/// Istio's default root namespace, whose objects apply to the whole mesh.
pub(super) const ROOT_NAMESPACE: &str = "istio-system";

/// The name in all manifests of `istio/`.
const NAME: &str = "burst-metrics";

/// The fields that can contain that name.
const NAME_FIELDS: [&str; 5] = [
    "/metadata/name",
    "/spec/pluginName",
    "/spec/url",
    "/spec/wasm/pluginName",
    "/spec/wasm/url",
];

/// An Istio object.
#[derive(Clone, Debug)]
pub(super) struct IstioObject(pub(super) Value);

impl IstioObject {
    fn text(&self, pointer: &str) -> &str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// `WasmPlugin istio-system/burst-metrics`
    pub(super) fn title(&self) -> String {
        let [kind, namespace, name] =
            ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| self.text(pointer));
        format!("{kind} {namespace}/{name}")
    }

    /// Returns whether it installs the filter.
    pub(super) fn has_filter(&self) -> bool {
        match self.text("/kind") {
            "EnvoyFilter" => plugin_config::patches(&self.0).any(|patch| {
                let config = patch.pointer("/patch/value/typed_config/config");
                let named = |pointer| {
                    config
                        .and_then(|config| config.pointer(pointer))
                        .and_then(Value::as_str)
                };
                ["/name", "/root_id"]
                    .into_iter()
                    .filter_map(named)
                    .any(|name| name.contains(NAME))
            }),
            _ => NAME_FIELDS.iter().any(|pointer| self.text(pointer).contains(NAME)),
        }
    }

    /// Returns whether it adds an Envoy cluster of that name.
    fn adds_cluster(&self, name: &str) -> bool {
        plugin_config::patches(&self.0).any(|patch| {
            patch.get("applyTo").and_then(Value::as_str) == Some("CLUSTER")
                && patch.pointer("/patch/value/name").and_then(Value::as_str) == Some(name)
        })
    }

    /// Returns whether Istio applies it to a pod.
    /// <https://istio.io/latest/docs/reference/config/proxy_extensions/wasm-plugin/>
    pub(super) fn selects(&self, pod: &Pod) -> bool {
        let namespace = self.text("/metadata/namespace");
        if namespace != pod.namespace && namespace != ROOT_NAMESPACE {
            return false;
        }
        let targets = self.0.pointer("/spec/targetRefs").and_then(Value::as_array);
        if let Some(targets) = targets.filter(|targets| !targets.is_empty()) {
            // The Gateway API labels the pods of a Gateway with its name.
            let gateway = pod.labels.get("gateway.networking.k8s.io/gateway-name");
            let named = |target: &Value| {
                let text = |field: &str| target.get(field).and_then(Value::as_str);
                text("kind") == Some("Gateway") && text("name") == gateway.map(String::as_str)
            };
            return gateway.is_some() && namespace == pod.namespace && targets.iter().any(named);
        }
        let labels = ["/spec/selector/matchLabels", "/spec/workloadSelector/labels"]
            .iter()
            .find_map(|pointer| self.0.pointer(pointer))
            .and_then(Value::as_object);
        labels.is_none_or(|labels| matches(labels, &pod.labels))
    }
}

fn matches(selector: &serde_json::Map<String, Value>, labels: &BTreeMap<String, String>) -> bool {
    selector
        .iter()
        .all(|(key, value)| labels.get(key).map(String::as_str) == value.as_str())
}

/// Checks that exactly one object installs the filter on a pod, and returns its configuration.
pub(super) fn check_manifests(pod: &Pod, objects: &[IstioObject]) -> (Vec<Check>, Option<Config>) {
    let found: Vec<_> = objects.iter().filter(|object| object.has_filter()).collect();
    let selecting: Vec<_> = found.iter().filter(|object| object.selects(pod)).collect();
    let of = pod.title();
    let manifest = match &selecting[..] {
        [manifest] => manifest,
        [] => {
            let labels: Vec<_> = pod.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let (found, advice) = match &found[..] {
                [] => (
                    format!(
                        "no WasmPlugin, TrafficExtension or EnvoyFilter in {} contains the filter",
                        pod.namespace
                    ),
                    "run make deploy, or apply manifests of istio/ for this gateway".to_owned(),
                ),
                [other, ..] => (
                    format!("{} does not select this pod", other.title()),
                    format!("give it a selector that matches the pod's labels: {}", labels.join(",")),
                ),
            };
            return (vec![Check::problem("plugin", of, found, advice)], None);
        }
        several => {
            let titles: Vec<_> = several.iter().map(|object| object.title()).collect();
            let found = format!("{} all select this pod", titles.join(", "));
            let check = Check::problem("plugin", of, found, "keep one, and delete the others");
            return (vec![check], None);
        }
    };
    let plugin = Check::ok("plugin", &of, manifest.title());
    let (configuration, config) = check_configuration(manifest, &of);
    let api = config
        .as_ref()
        .map(|config| check_upstream_cluster(pod, objects, config));
    let checks = [
        Some(plugin),
        Some(configuration),
        Some(check_failure_policy(manifest, &of)),
        api,
    ];
    (checks.into_iter().flatten().collect(), config)
}

fn check_configuration(manifest: &IstioObject, of: &str) -> (Check, Option<Config>) {
    let trouble = |found: String| {
        let advice = format!(
            "correct it in {}; until then the proxy keeps the previous one",
            manifest.title()
        );
        (Check::problem("configuration", of, found, advice), None)
    };
    let Some(config) = plugin_config::in_object(&manifest.0) else {
        return trouble("there is none".to_owned());
    };
    match plugin_config::parse(&config) {
        Ok(config) => (Check::ok("configuration", of, "the filter accepts it"), Some(config)),
        Err(refused) => trouble(format!("the filter rejects it: {refused}")),
    }
}

/// Checks the failure strategy, and that authorization comes before the filter.
fn check_failure_policy(manifest: &IstioObject, of: &str) -> Check {
    let one_of = |pointers: [&str; 2]| pointers.map(|pointer| manifest.text(pointer)).concat();
    let strategy = match manifest.text("/kind") {
        "EnvoyFilter" => plugin_config::patches(&manifest.0)
            .find_map(|patch| patch.pointer("/patch/value/typed_config/config/failure_policy"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        _ => one_of(["/spec/failStrategy", "/spec/wasm/failStrategy"]),
    };
    let phase = one_of(["/spec/phase", "/spec/wasm/phase"]);
    if strategy != "FAIL_RELOAD" {
        let effective = if strategy.is_empty() {
            "FAIL_CLOSE, the default"
        } else {
            &strategy
        };
        return Check::problem(
            "policy",
            of,
            format!(
                "the filter runs with {effective}: after a trap its thread answers 503, or runs without the filter, permanently"
            ),
            format!("set FAIL_RELOAD in {}", manifest.title()),
        );
    }
    match phase.as_str() {
        "AUTHN" | "AUTHZ" => Check::problem(
            "policy",
            of,
            format!("phase {phase}: /burstmetrics is answered before any AuthorizationPolicy is evaluated"),
            format!("remove the phase from {}", manifest.title()),
        ),
        _ => Check::ok("policy", of, "FAIL_RELOAD, after authorization"),
    }
}

/// Checks that Envoy gets the cluster of the Kubernetes API or of the hub.
fn check_upstream_cluster(pod: &Pod, objects: &[IstioObject], config: &Config) -> Check {
    let (name, advice) = match config.origin {
        Origin::Kubernetes => (
            "kube-api",
            "apply istio/base/kube-api.yaml with a workloadSelector that selects it",
        ),
        Origin::Hub { .. } => (
            "hub",
            "name the cluster that Istio has for the hub's Service, or add one",
        ),
    };
    let cluster = &config.api.cluster;
    let adds = objects
        .iter()
        .find(|object| object.selects(pod) && object.adds_cluster(cluster));
    match adds {
        Some(object) => Check::ok(name, pod.title(), format!("{cluster}, by {}", object.title())),
        None if cluster.contains('|') => Check::ok(name, pod.title(), format!("{cluster}, by Istio")),
        None => Check::problem(
            name,
            pod.title(),
            format!("no EnvoyFilter gives this pod the cluster {cluster}"),
            advice,
        ),
    }
}

#[cfg(test)]
mod tests;
