//! `burstctl policy check`: the policies of a cluster as the filter finds them, and a status that says so.
//!
//! The filter only reads; who wants `kubectl get` to tell of a policy that is none runs this, in a pipeline or a CronJob.

use std::io;

use burst_policy::{Policy, PolicyError};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::files::{API_VERSION, KIND};
use super::limits::over_limits;
use crate::args::Output;
use crate::live::{Cluster, LiveError, chain};
use crate::page::Page;

const PLURAL: &str = "externalmetricpolicies";
const ACCEPTED: &str = "Accepted";

/// What is found of a policy.
#[derive(Debug)]
pub struct Checked {
    /// `namespace/name`
    pub title: String,
    /// How many rules it has; 0 where it is none.
    pub rules: usize,
    /// Why it is none; `None` if it is one.
    pub reason: Option<String>,
    /// Why its status could not be written.
    pub unwritten: Option<String>,
}

/// Checks every policy of a cluster, and may write what is found. `root` is the namespace whose policies are for all.
///
/// # Errors
/// If there is no such cluster, or the policies cannot be listed.
pub fn check(context: &str, root: Option<&str>, write_status: bool) -> Result<Vec<Checked>, LiveError> {
    let cluster = Cluster::of(context)?;
    let all: Api<DynamicObject> = Api::all_with(cluster.client(), &resource());
    let objects = cluster.wait(all.list(&ListParams::default()))?.items;
    let mut checked = checked(&objects, root);
    if write_status {
        for (object, found) in objects.iter().zip(&mut checked) {
            if let Some(status) = status(object, found) {
                let written = cluster.wait(write_to(cluster.client(), object, &status));
                found.unwritten = written.err().map(|error| chain(&error));
            }
        }
    }
    Ok(checked)
}

fn resource() -> ApiResource {
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, KIND), PLURAL)
}

/// What is found of each, for itself and with the others.
fn checked(objects: &[DynamicObject], root: Option<&str>) -> Vec<Checked> {
    let parsed: Vec<_> = objects.iter().map(parse).collect();
    let of = |(title, parsed): &(String, Result<Policy, PolicyError>)| Checked {
        title: title.clone(),
        rules: parsed.as_ref().map_or(0, |policy| policy.rules().len()),
        reason: parsed
            .as_ref()
            .err()
            .map(|PolicyError { path, kind }| format!("spec.{path}: {kind}")),
        unwritten: None,
    };
    let mut checked: Vec<_> = parsed.iter().map(of).collect();
    let good = objects.iter().zip(&parsed).enumerate();
    let good =
        good.filter_map(|(place, (object, (_, parsed)))| Some((place, namespace(object), parsed.as_ref().ok()?)));
    let good: Vec<_> = good.collect();
    let policies: Vec<_> = good
        .iter()
        .map(|(_, namespace, policy)| (*namespace, *policy))
        .collect();
    for (place, reason) in over_limits(&policies, root) {
        let place = good.get(place).map(|(place, ..)| *place);
        if let Some(found) = place.and_then(|place| checked.get_mut(place)) {
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

/// The status that says so; `None` where it is there already.
fn status(object: &DynamicObject, found: &Checked) -> Option<Value> {
    let generation = object.metadata.generation;
    let (word, reason) = match found.reason {
        Some(_) => ("False", "Invalid"),
        None => ("True", "Valid"),
    };
    let message = found.reason.clone().unwrap_or_default();
    let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
    let before = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == ACCEPTED);
    let since = before
        .filter(|before| before["status"] == word)
        .map(|before| before["lastTransitionTime"].clone());
    let since = since.unwrap_or_else(|| json!(Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()));
    let condition = json!({
        "type": ACCEPTED, "status": word, "reason": reason, "message": message,
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

/// Writes what is found: a line each.
///
/// # Errors
/// If it cannot be written.
pub fn write(checked: &[Checked], output: Output, page: &mut Page<'_>) -> io::Result<()> {
    checked.iter().try_for_each(
        |Checked {
             title, rules, reason, ..
         }| match (output, reason) {
            (Output::Text, None) => page.line(format_args!(
                "{title}: accepted, {rules} rule{}",
                if *rules == 1 { "" } else { "s" }
            )),
            (Output::Text, Some(reason)) => page.line(format_args!("{title}: refused: {reason}")),
            (Output::Json, _) => {
                let object = json!({"policy": title, "rules": rules, "accepted": reason.is_none(), "reason": reason});
                page.json(&object)
            }
        },
    )
}
