//! `burstctl istio render`: the manifests in `istio/`, adjusted to your gateway or sidecars.

mod authorization_policy;
mod config;
mod filter;
mod module;
mod rbac;
mod settings;
mod template;
mod validate;
mod values;

use burst_hpa::{Node, Severity};
use serde_json::Value;
use settings::{NAME, Settings};
pub use template::TemplateMismatch;
use validate::InvalidValues;

use crate::deserialize::{DeserializeError, deserialize, span_of};
use crate::finding::{Finding, FindingKind};
use crate::input::Input;
use crate::objects::Object;
use crate::yaml::to_yaml;

/// The JSON schema of the values.
pub const SCHEMA: &str = include_str!("../../istio-values.schema.json");

/// Renders the manifests, one YAML document for each object.
///
/// # Errors
/// Returns the first value that is wrong, with its position.
pub fn render(values: &Object) -> Result<Vec<String>, Box<Finding>> {
    let parsed = deserialize(&values.tree).map_err(|DeserializeError { field, span, detail }| {
        let mut finding = invalid_value(values, &field, detail);
        finding.span = span;
        finding
    })?;
    let objects = Settings::from_values(parsed)
        .and_then(|settings| Ok(objects(&settings)?))
        .map_err(|error| invalid_value(values, &error.key(), detail(&error)))?;
    Ok(objects.iter().map(to_document).collect())
}

/// Returns the only document of an input, or `None` if there are more or none.
#[must_use]
pub fn only_document(input: &Input) -> Option<&Object> {
    match input.objects.as_slice() {
        [values] => Some(values),
        _ => None,
    }
}

fn objects(settings: &Settings) -> Result<Vec<Value>, TemplateMismatch> {
    let mut objects = rbac::objects(settings)?;
    objects.push(filter::kube_api(settings)?);
    objects.push(filter::object(settings)?);
    objects.extend(authorization_policy::object(settings)?);
    objects.iter_mut().for_each(|object| rename(object, &settings.name));
    Ok(objects)
}

fn rename(object: &mut Value, name: &str) {
    for pointer in ["/metadata/name", "/roleRef/name"] {
        if let Some(Value::String(shipped)) = object.pointer_mut(pointer) {
            *shipped = shipped.replacen(NAME, name, 1);
        }
    }
}

fn invalid_value(values: &Object, field: &str, detail: String) -> Box<Finding> {
    Box::new(Finding {
        span: span_of(&values.tree, field, &detail),
        object: String::new(),
        kind: FindingKind::Values,
        severity: Severity::Error,
        ..Finding::at(values, field, detail)
    })
}

/// Returns the error message without the field name, which the finding already shows.
fn detail(error: &InvalidValues) -> String {
    use burst_model::config::ConfigError;
    match error {
        InvalidValues::Config {
            error: ConfigError::InvalidValue { reason, .. },
            ..
        } => reason.clone(),
        InvalidValues::Config {
            error: ConfigError::Parse(error),
            ..
        } => error.reason().to_owned(),
        other => other.to_string(),
    }
}

fn to_document(object: &Value) -> String {
    Node::from_json(&object.to_string())
        .map(|node| to_yaml(&node))
        .unwrap_or_default()
}
