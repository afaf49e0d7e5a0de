//! The filter in each of its three forms, and the Envoy cluster for the Kubernetes API.

use serde_json::{Value, json};

use super::module::Module;
use super::settings::Settings;
use super::template::{
    GATEWAY_EXTENSION, GATEWAY_FILTER, GATEWAY_PLUGIN, KUBE_API, ManifestFile, SIDECAR_FILTER, SIDECAR_KUBE_API,
    SIDECAR_PLUGIN, STREAMS, Template, TemplateMismatch,
};
use super::validate::CLUSTER_DOMAIN;
use super::values::{ExtensionKind, ProxyKind};

/// The JSON pointer to the address in `base/kube-api.yaml`.
const API_ADDRESS: &str = "/spec/configPatches/0/patch/value/load_assignment/endpoints/0/lb_endpoints/0/endpoint\
                           /address/socket_address/address";
/// The JSON pointers to the extension in `filter.yaml`: the listener's, and the one of the cluster for the Kubernetes API.
const EXTENSIONS: [&str; 2] = [
    "/spec/configPatches/1/patch/value/typed_config/config",
    "/spec/configPatches/2/patch/value/typed_config/config",
];

/// Returns the EnvoyFilter that adds the Envoy cluster for the Kubernetes API.
pub(super) fn kube_api(settings: &Settings) -> Result<Value, TemplateMismatch> {
    let mut template = KUBE_API.object()?;
    if settings.proxy == ProxyKind::Sidecar {
        template = template.patched(SIDECAR_KUBE_API)?;
    }
    if settings.form == ExtensionKind::EnvoyFilter {
        template = template.patched(STREAMS)?;
    }
    let address = template
        .text(API_ADDRESS)?
        .replace(CLUSTER_DOMAIN, &settings.cluster_domain);
    template.replace(API_ADDRESS, address)?;
    target_proxies(&mut template, settings, "workloadSelector", "labels")?;
    Ok(template.object)
}

/// Returns the object that adds the filter to the proxies.
pub(super) fn object(settings: &Settings) -> Result<Value, TemplateMismatch> {
    let template = match settings.form {
        ExtensionKind::WasmPlugin => plugin(
            settings,
            shipped(settings, GATEWAY_PLUGIN, SIDECAR_PLUGIN).object()?,
            "/spec",
        )?,
        ExtensionKind::TrafficExtension => plugin(settings, extension(settings)?, "/spec/wasm")?,
        ExtensionKind::EnvoyFilter => envoy_filter(settings)?,
    };
    Ok(template.object)
}

fn shipped(settings: &Settings, gateway: ManifestFile, sidecar: ManifestFile) -> ManifestFile {
    match settings.proxy {
        ProxyKind::Gateway => gateway,
        ProxyKind::Sidecar => sidecar,
    }
}

/// There is no shipped TrafficExtension for sidecars. It differs from the gateway's as the two WasmPlugins differ.
fn extension(settings: &Settings) -> Result<Template, TemplateMismatch> {
    let mut template = GATEWAY_EXTENSION.object()?;
    if settings.proxy == ProxyKind::Sidecar {
        let matched = SIDECAR_PLUGIN.object()?.at("/spec/match")?.clone();
        template.put("/spec", "match", Some(matched))?;
        template.put("/spec", "selector", None)?;
    }
    Ok(template)
}

/// Fills in a WasmPlugin, or a TrafficExtension, which has the same fields under `wasm`.
fn plugin(settings: &Settings, mut template: Template, wasm: &str) -> Result<Template, TemplateMismatch> {
    template.replace(&format!("{wasm}/url"), settings.module.url())?;
    template.put(wasm, "sha256", settings.module.sha256().map(Value::from))?;
    template.replace(&format!("{wasm}/pluginConfig"), settings.plugin_config.clone())?;
    target_proxies(&mut template, settings, "selector", "matchLabels")?;
    Ok(template)
}

fn envoy_filter(settings: &Settings) -> Result<Template, TemplateMismatch> {
    let mut template = shipped(settings, GATEWAY_FILTER, SIDECAR_FILTER).object()?;
    for extension in EXTENSIONS {
        fill_in(&mut template, extension, settings)?;
    }
    target_proxies(&mut template, settings, "workloadSelector", "labels")?;
    Ok(template)
}

/// Sets the module and the configuration of an extension.
fn fill_in(template: &mut Template, extension: &str, settings: &Settings) -> Result<(), TemplateMismatch> {
    let code = format!("{extension}/vm_config/code");
    match &settings.module {
        Module::Fetched { url, sha256 } => {
            template.replace(&format!("{code}/remote/http_uri/uri"), url.as_str())?;
            template.replace(&format!("{code}/remote/sha256"), sha256.as_str())?;
        }
        Module::File { path } => template.replace(&code, json!({"local": {"filename": path}}))?,
    }
    let config = format!("{:#}\n", settings.plugin_config);
    template.replace(&format!("{extension}/configuration/value"), config)
}

/// Sets the namespace of an object, and the selector if the values have labels.
pub(super) fn target_proxies(
    template: &mut Template,
    settings: &Settings,
    selector: &str,
    labels: &str,
) -> Result<(), TemplateMismatch> {
    template.replace("/metadata/namespace", settings.namespace.as_str())?;
    match settings.labels_in(labels) {
        Some(selected) => template.put("/spec", selector, Some(selected)),
        None => Ok(()),
    }
}
