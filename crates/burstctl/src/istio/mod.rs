//! `burstctl istio render`: the set of `istio/` for one's own gateway or sidecars.

mod config;
mod filter;
mod lock;
mod module;
mod rbac;
mod set;
mod template;
mod words;

use burst_hpa::{Node, Severity};
use serde_json::Value;
use set::{BadValues, NAME, Set};
pub use template::Changed;

use crate::input::Input;
use crate::lint::{Finding, Mistake};
use crate::objects::Object;
use crate::words::{Misread, place, read};
use crate::yaml::to_yaml;

/// The JSON schema of the values.
pub const SCHEMA: &str = include_str!("../../istio-values.schema.json");

/// The set of these values, a YAML document for each object.
///
/// # Errors
/// The first value that is wrong, with its place.
pub fn render(values: &Object) -> Result<Vec<String>, Box<Finding>> {
    let words = read(&values.tree).map_err(|Misread { field, span, detail }| {
        let mut finding = refused(values, &field, detail);
        finding.span = span;
        finding
    })?;
    let objects = Set::check(words).and_then(|set| Ok(objects(&set)?));
    let objects = objects.map_err(|error| refused(values, &error.key(), detail(&error)))?;
    Ok(objects.iter().map(written).collect())
}

/// The one document of an input, if it has no other.
#[must_use]
pub fn only_document(input: &Input) -> Option<&Object> {
    match input.objects.as_slice() {
        [values] => Some(values),
        _ => None,
    }
}

fn objects(set: &Set) -> Result<Vec<Value>, Changed> {
    let mut objects = rbac::objects(set)?;
    objects.push(filter::kube_api(set)?);
    objects.push(filter::object(set)?);
    objects.extend(lock::object(set)?);
    objects.iter_mut().for_each(|object| rename(object, &set.name));
    Ok(objects)
}

fn rename(object: &mut Value, name: &str) {
    for pointer in ["/metadata/name", "/roleRef/name"] {
        if let Some(Value::String(shipped)) = object.pointer_mut(pointer) {
            *shipped = shipped.replacen(NAME, name, 1);
        }
    }
}

fn refused(values: &Object, field: &str, detail: String) -> Box<Finding> {
    Box::new(Finding {
        span: place(&values.tree, field, &detail),
        object: String::new(),
        mistake: Mistake::Values,
        severity: Severity::Error,
        ..Finding::at(values, field, detail)
    })
}

/// What the filter says, without what the field and its place say already.
fn detail(error: &BadValues) -> String {
    use burst_model::config::ConfigError;
    match error {
        BadValues::Config {
            error: ConfigError::InvalidValue { reason, .. },
            ..
        } => reason.clone(),
        BadValues::Config {
            error: ConfigError::Parse(refusal),
            ..
        } => refusal.reason().to_owned(),
        other => other.to_string(),
    }
}

fn written(object: &Value) -> String {
    Node::from_json(&object.to_string())
        .map(|node| to_yaml(&node))
        .unwrap_or_default()
}
