//! `burstctl policy check`: checks the policies of a cluster as the filter does. It can write the results to their
//! status.
//!
//! The filter itself never writes. Run this command in a pipeline or a CronJob if you want `kubectl get` to show
//! which policies are invalid.

use std::io;

use burst_policy::{Policy, PolicyError};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::files::{API_VERSION, KIND};
use super::limits::exceeding_limits;
use crate::args::{ClusterArgs, OutputFormat};
use crate::live::{Cluster, LiveError, error_chain};
use crate::printer::Printer;

const PLURAL: &str = "externalmetricpolicies";
const ACCEPTED: &str = "Accepted";

/// The result of checking a policy.
#[derive(Debug)]
pub struct CheckedPolicy {
    /// `namespace/name`
    pub title: String,
    /// The number of rules; 0 if the policy is invalid.
    pub rules: usize,
    /// Why the policy is invalid; `None` if it is valid.
    pub reason: Option<String>,
    /// Why the status could not be written; `None` if it was, or did not have to be.
    pub status_error: Option<String>,
}

/// Checks every policy of a cluster, and writes the results to their status if `write_status` is set. Policies in the
/// namespace `root` apply to all namespaces.
///
/// # Errors
/// Returns an error if the context cannot be used, or the policies cannot be listed.
pub fn check(args: &ClusterArgs, root: Option<&str>, write_status: bool) -> Result<Vec<CheckedPolicy>, LiveError> {
    let cluster = Cluster::connect(args)?;
    let all: Api<DynamicObject> = Api::all_with(cluster.client(), &resource());
    let objects = cluster.request(all.list(&ListParams::default()))?.items;
    let mut checked = checked(&objects, root);
    if write_status {
        for (object, found) in objects.iter().zip(&mut checked) {
            if let Some(status) = status(object, found) {
                let written = cluster.block_on(write_to(cluster.client(), object, &status));
                found.status_error = written.err().map(|error| error_chain(&error));
            }
        }
    }
    Ok(checked)
}

fn resource() -> ApiResource {
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, KIND), PLURAL)
}

/// Checks each policy by itself, then all of them against the limits.
fn checked(objects: &[DynamicObject], root: Option<&str>) -> Vec<CheckedPolicy> {
    let parsed: Vec<_> = objects.iter().map(parse).collect();
    let of = |(title, parsed): &(String, Result<Policy, PolicyError>)| CheckedPolicy {
        title: title.clone(),
        rules: parsed.as_ref().map_or(0, |policy| policy.rules().len()),
        reason: parsed
            .as_ref()
            .err()
            .map(|PolicyError { path, kind }| format!("spec.{path}: {kind}")),
        status_error: None,
    };
    let mut checked: Vec<_> = parsed.iter().map(of).collect();
    let valid: Vec<_> = objects
        .iter()
        .zip(&parsed)
        .enumerate()
        .filter_map(|(index, (object, (_, parsed)))| Some((index, namespace(object), parsed.as_ref().ok()?)))
        .collect();
    let policies: Vec<_> = valid
        .iter()
        .map(|(_, namespace, policy)| (*namespace, *policy))
        .collect();
    for (index, reason) in exceeding_limits(&policies, root) {
        let index = valid.get(index).map(|(index, ..)| *index);
        if let Some(found) = index.and_then(|index| checked.get_mut(index)) {
            found.reason = Some(reason);
        }
    }
    checked
}

fn namespace(object: &DynamicObject) -> &str {
    object.metadata.namespace.as_deref().unwrap_or_default()
}

fn parse(object: &DynamicObject) -> (String, Result<Policy, PolicyError>) {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let title = format!("{}/{name}", namespace(object));
    let spec = object.data.get("spec").map(Value::to_string).unwrap_or_default();
    let parsed = Policy::parse(&title, None, &spec);
    (title, parsed)
}

/// Returns the status to write, or `None` if the object already has it.
fn status(object: &DynamicObject, found: &CheckedPolicy) -> Option<Value> {
    let generation = object.metadata.generation;
    let (accepted, reason) = match found.reason {
        Some(_) => ("False", "Invalid"),
        None => ("True", "Valid"),
    };
    let message = found.reason.clone().unwrap_or_default();
    let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
    let before = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == ACCEPTED);
    let since = match before {
        Some(before) if before["status"] == accepted => before["lastTransitionTime"].clone(),
        _ => json!(Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    };
    let condition = json!({
        "type": ACCEPTED, "status": accepted, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": since,
    });
    let status = json!({"observedGeneration": generation, "rules": found.rules, "conditions": [condition]});
    (object.data.get("status") != Some(&status)).then_some(status)
}

async fn write_to(client: Client, object: &DynamicObject, status: &Value) -> kube::Result<()> {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let api: Api<DynamicObject> = Api::namespaced_with(client, namespace(object), &resource());
    let patch = json!({"status": status});
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .map(drop)
}

/// Writes one line per policy.
///
/// # Errors
/// Returns an error if the printer cannot write.
pub fn write(checked: &[CheckedPolicy], output: OutputFormat, printer: &mut Printer<'_>) -> io::Result<()> {
    checked.iter().try_for_each(
        |CheckedPolicy {
             title, rules, reason, ..
         }| match (output.objects(), reason) {
            (None, None) => printer.line(format_args!(
                "{title}: accepted, {rules} rule{}",
                if *rules == 1 { "" } else { "s" }
            )),
            (None, Some(reason)) => printer.line(format_args!("{title}: refused: {reason}")),
            (Some(format), _) => {
                let object = json!({"policy": title, "rules": rules, "accepted": reason.is_none(), "reason": reason});
                printer.object(&object, format)
            }
        },
    )
}
