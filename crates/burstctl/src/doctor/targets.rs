//! Collects the facts from a cluster or from one Envoy, and runs all checks on them.

use std::collections::BTreeSet;

use burst_model::config::Config;
use burst_model::kube::{Source, Verb};
use burst_model::time::Time;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1 as core;
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use super::access::{self, ServiceAccount};
use super::manifests::{self, IstioObject};
use super::pods::{self, Pod};
use super::proxy::{self, Expected};
use super::versions::OLDEST_KUBERNETES;
use super::{Check, EnvoyInfo, admin};
use crate::live::{Cluster, LiveError};
use crate::plugin_config;

/// The port of Envoy's admin interface in Istio's pods; it listens on loopback, so it needs a port-forward.
const ADMIN_PORT: u16 = 15000;

/// The page size of lists.
const PAGE: u32 = 500;

/// The API and the plural of each kind that can install the filter.
const KINDS: [(&str, &str); 3] = [
    ("extensions.istio.io/v1alpha1", "wasmplugins"),
    ("extensions.istio.io/v1alpha1", "trafficextensions"),
    ("networking.istio.io/v1alpha3", "envoyfilters"),
];

/// Runs all checks of the gateway with these labels.
///
/// # Errors
/// The API server does not answer, or the namespace does not exist.
pub fn check_cluster(cluster: &Cluster, namespace: &str, selector: &str, now: Time) -> Result<Vec<Check>, LiveError> {
    let mut checks = match check_api_server(&cluster.get("/version")?) {
        Ok(check) => vec![check],
        Err(unusable) => return Ok(vec![unusable]),
    };
    cluster.require_namespace(namespace)?;
    let pods = match list_pods(cluster, namespace, selector) {
        Ok(pods) => pods,
        Err(error) => {
            let advice = format!("your user needs the verb list on pods in namespace {namespace}");
            checks.push(Check::unknown("pods", "", error.to_string(), advice));
            return Ok(checks);
        }
    };
    checks.push(pods::check_any(&pods, namespace, selector));
    let objects = list_istio(cluster, namespace)
        .map_err(|unknown| checks.push(*unknown))
        .ok();
    let mut configs = Vec::new();
    for pod in &pods {
        let (found, config) = objects
            .as_ref()
            .map(|objects| manifests::check_manifests(pod, objects))
            .unwrap_or_default();
        checks.extend(found);
        configs.push(config);
    }
    let defaults = defaults();
    checks.extend(check_rbac(cluster, &pods, &configs, defaults.as_ref()));
    for (pod, config) in pods.iter().zip(&configs) {
        let config = config.as_ref().or(defaults.as_ref());
        let max_staleness = config.map_or(0, |config| config.max_staleness.as_secs());
        checks.push(pods::check_token(pod));
        checks.extend(pods::check_istio_version(pod));
        checks.extend(check_proxy(cluster, pod, Expected { now, max_staleness }));
    }
    Ok(checks)
}

/// Runs the checks of the Envoy with this admin interface.
///
/// # Errors
/// The async runtime cannot be started.
pub fn check_envoy(url: &str, now: Time) -> Result<Vec<Check>, LiveError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let max_staleness = defaults().map_or(0, |config| config.max_staleness.as_secs());
    Ok(match runtime.block_on(admin::fetch_from_url(url)) {
        Ok(info) => proxy::checks("", &info, Expected { now, max_staleness }),
        Err(error) => vec![Check::unknown(
            "envoy",
            "",
            error.to_string(),
            "give the URL of Envoy's admin interface",
        )],
    })
}

/// The filter's defaults.
fn defaults() -> Option<Config> {
    plugin_config::parse(&json!({"cluster": "kubernetes"})).ok()
}

/// Checks the API server by its answer for `/version`; an error if nothing else can be checked.
fn check_api_server(answer: &http::Response<Vec<u8>>) -> Result<Check, Check> {
    let unknown = |found: String, advice| Check::unknown("api-server", "", found, advice);
    let found = format!("{} for /version", answer.status());
    match answer.status().as_u16() {
        401 => {
            let advice = "log in again: the cluster rejects the credentials of this context";
            return Err(unknown(found, advice));
        }
        403 => {
            let advice = "your user needs the verb get on /version, which the role system:public-info-viewer grants to all users";
            return Ok(unknown(found, advice));
        }
        _ => {}
    }
    let version_info: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let version = version_info
        .get("gitVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let minor = version
        .strip_prefix("v1.")
        .and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    match minor {
        Some(minor) if minor >= OLDEST_KUBERNETES => Ok(Check::ok("api-server", "", format!("Kubernetes {version}"))),
        Some(_) => Ok(Check::problem(
            "api-server",
            "",
            format!("Kubernetes {version} has no autoscaling/v2"),
            format!("update to 1.{OLDEST_KUBERNETES} or later"),
        )),
        None => Err(unknown(
            found,
            "check the server of the context: it may not be an API server",
        )),
    }
}

fn list_pods(cluster: &Cluster, namespace: &str, selector: &str) -> Result<Vec<Pod>, LiveError> {
    let api: Api<core::Pod> = Api::namespaced(cluster.client(), namespace);
    let mut params = ListParams::default().labels(selector).limit(PAGE);
    let mut pods = Vec::new();
    loop {
        let page = cluster.request(api.list(&params))?;
        pods.extend(page.items.iter().map(Pod::of));
        match page
            .metadata
            .continue_
            .filter(|continue_token| !continue_token.is_empty())
        {
            Some(continue_token) => params = params.continue_token(&continue_token),
            None => return Ok(pods),
        }
    }
}

/// Lists the Istio objects in the gateway's namespace and in the root namespace.
fn list_istio(cluster: &Cluster, namespace: &str) -> Result<Vec<IstioObject>, Box<Check>> {
    let mut objects = Vec::new();
    for namespace in BTreeSet::from([namespace, manifests::ROOT_NAMESPACE]) {
        for (api, plural) in KINDS {
            objects.extend(list_kind(cluster, api, namespace, plural)?);
        }
    }
    Ok(objects)
}

fn list_kind(cluster: &Cluster, api: &str, namespace: &str, plural: &str) -> Result<Vec<IstioObject>, Box<Check>> {
    let unknown = |reason: String| {
        let advice = format!("your user needs the verb list on {plural} in namespace {namespace}");
        Box::new(Check::unknown("plugin", "", reason, advice))
    };
    let (mut objects, mut continue_token) = (Vec::new(), String::new());
    loop {
        let path = format!("/apis/{api}/namespaces/{namespace}/{plural}?limit={PAGE}&continue={continue_token}");
        let answer = cluster.get(&path).map_err(|error| unknown(error.to_string()))?;
        let list: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let text = |pointer: &str| {
            list.pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        match answer.status().as_u16() {
            200 => objects.extend(
                list.get("items")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .cloned()
                    .map(IstioObject),
            ),
            // This version of Istio does not have the kind.
            404 => return Ok(objects),
            status => return Err(unknown(format!("cannot list {plural}: {status}: {}", text("/message")))),
        }
        continue_token = text("/metadata/continue");
        if continue_token.is_empty() {
            return Ok(objects);
        }
    }
}

/// Checks the access of each ServiceAccount.
fn check_rbac(cluster: &Cluster, pods: &[Pod], configs: &[Option<Config>], defaults: Option<&Config>) -> Vec<Check> {
    let of_pods = pods.iter().zip(configs).map(|(pod, config)| {
        let (namespace, name) = (pod.namespace.clone(), pod.account.clone());
        (ServiceAccount { namespace, name }, config.as_ref())
    });
    access::required_access(of_pods, defaults)
        .iter()
        .map(|(account, required)| match review_access(cluster, account, required) {
            Ok(answers) => access::check(account, &answers),
            Err(error) => access::unknown(account, error.to_string()),
        })
        .collect()
}

/// Reviews each access of the account with the API server.
fn review_access(
    cluster: &Cluster,
    account: &ServiceAccount,
    required: &[(Verb, Source)],
) -> Result<Vec<(Verb, Source, bool)>, LiveError> {
    let mut answers = Vec::new();
    for (verb, source) in required {
        let allowed = is_allowed(cluster, &account.access_review(*verb, source))?;
        answers.push((*verb, source.clone(), allowed));
    }
    Ok(answers)
}

fn is_allowed(cluster: &Cluster, review: &SubjectAccessReview) -> Result<bool, LiveError> {
    let api: Api<SubjectAccessReview> = Api::all(cluster.client());
    let answer = cluster.request(api.create(&PostParams::default(), review))?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

fn check_proxy(cluster: &Cluster, pod: &Pod, expected: Expected) -> Vec<Check> {
    match fetch_envoy_info(cluster, pod) {
        Ok(info) => proxy::checks(&pod.title(), &info, expected),
        Err(reason) => {
            let advice = format!(
                "your user needs the verbs get and create on pods/portforward in namespace {}, and the pod must be running",
                pod.namespace
            );
            let found = format!("the admin interface cannot be reached: {reason}");
            vec![Check::unknown("envoy", pod.title(), found, advice)]
        }
    }
}

fn fetch_envoy_info(cluster: &Cluster, pod: &Pod) -> Result<EnvoyInfo, String> {
    let api: Api<core::Pod> = Api::namespaced(cluster.client(), &pod.namespace);
    cluster.block_on(async {
        let forwarded = api.portforward(&pod.name, &[ADMIN_PORT]).await;
        let mut forwarder = forwarded.map_err(|error| LiveError::from(error).to_string())?;
        let stream = forwarder
            .take_stream(ADMIN_PORT)
            .ok_or("the port-forward has no stream")?;
        admin::fetch_over_stream(stream)
            .await
            .map_err(|error| error.to_string())
    })
}
