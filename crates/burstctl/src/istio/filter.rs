//! The filter in each of its three forms, and the Envoy cluster for the Kubernetes API.

use serde_json::{Value, json};

use super::module::Module;
use super::settings::Settings;
use super::template::{
    GATEWAY_EXTENSION, GATEWAY_FILTER, GATEWAY_PLUGIN, KUBE_API, ManifestFile, SIDECAR_FILTER, SIDECAR_KUBE_API,
    SIDECAR_PLUGIN, Template, TemplateMismatch,
};
use super::validate::CLUSTER_DOMAIN;
use super::values::{ExtensionKind, ProxyKind};

/// The JSON pointer to the address in `base/kube-api.yaml`.
const API_ADDRESS: &str = "/spec/configPatches/0/patch/value/load_assignment/endpoints/0/lb_endpoints/0/endpoint\
                           /address/socket_address/address";
/// The JSON pointer to the HTTP filters of the cluster in `base/kube-api.yaml`.
const UPSTREAM_FILTERS: &str = "/spec/configPatches/0/patch/value/typed_extension_protocol_options\
                                /envoy.extensions.upstreams.http.v3.HttpProtocolOptions/http_filters";
/// The JSON pointer to the extension in `filter.yaml`.
const EXTENSION: &str = "/spec/configPatches/1/patch/value/typed_config/config";
/// The JSON pointer to the name of that extension.
const EXTENSION_NAME: &str = "/spec/configPatches/1/patch/value/name";

/// Returns the EnvoyFilter that adds the Envoy cluster for the Kubernetes API.
pub(super) fn kube_api(settings: &Settings) -> Result<Value, TemplateMismatch> {
    let mut template = KUBE_API.object()?;
    if settings.proxy == ProxyKind::Sidecar {
        template = template.patched(SIDECAR_KUBE_API)?;
    }
    let address = template
        .text(API_ADDRESS)?
        .replace(CLUSTER_DOMAIN, &settings.cluster_domain);
    template.replace(API_ADDRESS, address)?;
    set_upstream_filter(&mut template, &resource_names(settings)?)?;
    target_proxies(&mut template, settings, "workloadSelector", "labels")?;
    Ok(template.object)
}

/// Makes the filter of the listener an upstream filter of the cluster, once for each name that its resource may have.
fn set_upstream_filter(template: &mut Template, names: &[String]) -> Result<(), TemplateMismatch> {
    let discovery = template.at(&format!("{UPSTREAM_FILTERS}/0/config_discovery"))?;
    let others = template.list(UPSTREAM_FILTERS)?.iter();
    let others = others.filter(|filter| filter.get("config_discovery").is_none());
    let filters: Vec<_> = names
        .iter()
        .map(|name| json!({"name": name, "config_discovery": discovery}))
        .chain(others.cloned())
        .collect();
    template.replace(UPSTREAM_FILTERS, filters)
}

/// The names that istiod may have for the configuration of the listener's filter.
fn resource_names(settings: &Settings) -> Result<Vec<String>, TemplateMismatch> {
    let Settings { namespace, name, .. } = settings;
    let extension = format!("extensions.istio.io/trafficextension/{namespace}.{name}");
    Ok(match settings.form {
        // Istio 1.30 and later turn a WasmPlugin into a TrafficExtension. Earlier versions use the second name.
        ExtensionKind::WasmPlugin => vec![
            format!("{extension}~istio-translated-wasmplugin"),
            format!("extensions.istio.io/wasmplugin/{namespace}.{name}"),
        ],
        ExtensionKind::TrafficExtension => vec![extension],
        ExtensionKind::EnvoyFilter => {
            let filter = shipped(settings, GATEWAY_FILTER, SIDECAR_FILTER).object()?;
            vec![filter.text(EXTENSION_NAME)?.to_owned()]
        }
    })
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
    let code = format!("{EXTENSION}/vm_config/code");
    match &settings.module {
        Module::Fetched { url, sha256 } => {
            template.replace(&format!("{code}/remote/http_uri/uri"), url.as_str())?;
            template.replace(&format!("{code}/remote/sha256"), sha256.as_str())?;
        }
        Module::File { path } => template.replace(&code, json!({"local": {"filename": path}}))?,
    }
    let config = format!("{:#}\n", settings.plugin_config);
    template.replace(&format!("{EXTENSION}/configuration/value"), config)?;
    target_proxies(&mut template, settings, "workloadSelector", "labels")?;
    Ok(template)
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
