//! The filter itself, in each of the forms, and the cluster of the Kubernetes API beside it.

use serde_json::{Value, json};

use super::module::Module;
use super::set::{CLUSTER_DOMAIN, Set};
use super::template::{
    Changed, File, GATEWAY_EXTENSION, GATEWAY_FILTER, GATEWAY_PLUGIN, KUBE_API, SIDECAR_FILTER, SIDECAR_KUBE_API,
    SIDECAR_PLUGIN, Template,
};
use super::words::{Form, Proxy};

/// Of `base/kube-api.yaml`.
const API_ADDRESS: &str = "/spec/configPatches/0/patch/value/load_assignment/endpoints/0/lb_endpoints/0/endpoint\
                           /address/socket_address/address";
/// Of the extension in a `filter.yaml`.
const EXTENSION: &str = "/spec/configPatches/1/patch/value/typed_config/config";

/// The Kubernetes API as a cluster of Envoy.
pub(super) fn kube_api(set: &Set) -> Result<Value, Changed> {
    let mut template = KUBE_API.object()?;
    if set.proxy == Proxy::Sidecar {
        template = template.patched(SIDECAR_KUBE_API)?;
    }
    let address = template.text(API_ADDRESS)?.replace(CLUSTER_DOMAIN, &set.cluster_domain);
    template.replace(API_ADDRESS, address)?;
    on_proxies(&mut template, set, "workloadSelector", "labels")?;
    Ok(template.object)
}

/// The filter.
pub(super) fn object(set: &Set) -> Result<Value, Changed> {
    let template = match set.form {
        Form::WasmPlugin => plugin(set, shipped(set, GATEWAY_PLUGIN, SIDECAR_PLUGIN).object()?, "/spec")?,
        Form::TrafficExtension => plugin(set, extension(set)?, "/spec/wasm")?,
        Form::EnvoyFilter => envoy_filter(set)?,
    };
    Ok(template.object)
}

fn shipped(set: &Set, gateway: File, sidecar: File) -> File {
    match set.proxy {
        Proxy::Gateway => gateway,
        Proxy::Sidecar => sidecar,
    }
}

/// No set for sidecars ships in this form: it differs from that of a gateway as the plugin does.
fn extension(set: &Set) -> Result<Template, Changed> {
    let mut template = GATEWAY_EXTENSION.object()?;
    if set.proxy == Proxy::Sidecar {
        let matched = SIDECAR_PLUGIN.object()?.at("/spec/match")?.clone();
        template.put("/spec", "match", Some(matched))?;
        template.put("/spec", "selector", None)?;
    }
    Ok(template)
}

/// A WasmPlugin, or the newer kind, which has the same below `wasm`.
fn plugin(set: &Set, mut template: Template, wasm: &str) -> Result<Template, Changed> {
    template.replace(&format!("{wasm}/url"), set.module.url())?;
    template.put(wasm, "sha256", set.module.sha256().map(Value::from))?;
    template.replace(&format!("{wasm}/pluginConfig"), set.plugin_config.clone())?;
    on_proxies(&mut template, set, "selector", "matchLabels")?;
    Ok(template)
}

fn envoy_filter(set: &Set) -> Result<Template, Changed> {
    let mut template = shipped(set, GATEWAY_FILTER, SIDECAR_FILTER).object()?;
    let code = format!("{EXTENSION}/vm_config/code");
    match &set.module {
        Module::Fetched { url, sha256 } => {
            template.replace(&format!("{code}/remote/http_uri/uri"), url.as_str())?;
            template.replace(&format!("{code}/remote/sha256"), sha256.as_str())?;
        }
        Module::File { path } => template.replace(&code, json!({"local": {"filename": path}}))?,
    }
    let config = format!("{:#}\n", set.plugin_config);
    template.replace(&format!("{EXTENSION}/configuration/value"), config)?;
    on_proxies(&mut template, set, "workloadSelector", "labels")?;
    Ok(template)
}

/// In their namespace, for their labels.
pub(super) fn on_proxies(template: &mut Template, set: &Set, selector: &str, labels: &str) -> Result<(), Changed> {
    template.replace("/metadata/namespace", set.namespace.as_str())?;
    match set.labels_in(labels) {
        Some(selected) => template.put("/spec", selector, Some(selected)),
        None => Ok(()),
    }
}
