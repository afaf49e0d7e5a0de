//! The RBAC objects. They allow the ServiceAccount of the proxies to read the configured resources in the configured
//! namespaces, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use burst_model::kube::Source;
use serde_json::{Value, json};

use super::settings::Settings;
use super::template::{RBAC, SIDECAR_BINDING, Template, TemplateMismatch};
use super::values::ProxyKind;

/// Returns the ClusterRole and its binding, or a Role and a RoleBinding for each namespace.
pub(super) fn objects(settings: &Settings) -> Result<Vec<Value>, TemplateMismatch> {
    let [mut role, binding] = RBAC.objects()?;
    let sources: Vec<_> = settings.config.sources().cloned().collect();
    let sources = &sources;
    let rules = rules(role.at("/rules")?, sources);
    role.replace("/rules", rules)?;
    let binding = match settings.proxy {
        ProxyKind::Gateway => of_gateway(binding, settings)?,
        ProxyKind::Sidecar => of_sidecars(settings)?,
    };
    let name = binding.at("/roleRef/name")?.clone();
    role.replace("/metadata/name", name)?;
    if !settings.by_namespace {
        return Ok(vec![role.object, binding.object]);
    }
    let namespaces: BTreeSet<_> = sources.iter().filter_map(|source| source.namespace.as_ref()).collect();
    let mut objects = Vec::new();
    for namespace in namespaces {
        objects.push(within(role.clone(), "Role", namespace.as_str())?);
        let mut binding = binding.clone();
        binding.replace("/roleRef/kind", "Role")?;
        objects.push(within(binding, "RoleBinding", namespace.as_str())?);
    }
    Ok(objects)
}

fn within(mut template: Template, kind: &str, namespace: &str) -> Result<Value, TemplateMismatch> {
    template.replace("/kind", kind)?;
    template.put("/metadata", "namespace", Some(namespace.into()))?;
    Ok(template.object)
}

/// The shipped binding names the ServiceAccounts that Istio's own gateway may have.
fn of_gateway(mut binding: Template, settings: &Settings) -> Result<Template, TemplateMismatch> {
    let mut subjects = binding.at("/subjects")?.clone();
    let fields = subjects.as_array_mut().into_iter().flatten();
    for subject in fields.filter_map(Value::as_object_mut) {
        subject.insert("namespace".to_owned(), json!(settings.namespace));
    }
    if settings.service_account.is_some() {
        subjects = account(settings);
    }
    binding.replace("/subjects", subjects)?;
    Ok(binding)
}

/// The shipped binding is for every ServiceAccount of the sidecars' namespace.
fn of_sidecars(settings: &Settings) -> Result<Template, TemplateMismatch> {
    let mut binding = SIDECAR_BINDING.object()?;
    binding.replace("/metadata/namespace", settings.namespace.as_str())?;
    if settings.service_account.is_some() {
        binding.replace("/subjects", account(settings))?;
    } else {
        let group = format!("system:serviceaccounts:{}", settings.namespace);
        binding.replace("/subjects/0/name", group)?;
    }
    Ok(binding)
}

fn account(settings: &Settings) -> Value {
    json!([{"kind": "ServiceAccount", "name": settings.service_account, "namespace": settings.namespace}])
}

/// Returns the shipped rules that the configuration needs. Every other kind that it reads gets a rule with the same
/// verbs.
fn rules(shipped: &Value, sources: &[Source]) -> Value {
    let mut missing: BTreeSet<(&str, &str)> = sources
        .iter()
        .map(|source| (source.resource.group.as_str(), source.resource.plural.as_str()))
        .collect();
    let mut rules = Vec::new();
    let mut verbs = json!([]);
    for rule in shipped.as_array().into_iter().flatten() {
        verbs = rule["verbs"].clone();
        let group = rule.pointer("/apiGroups/0").and_then(Value::as_str).unwrap_or_default();
        let resources = rule["resources"].as_array().into_iter().flatten();
        let still_read: Vec<_> = resources
            .filter(|resource| missing.remove(&(group, resource.as_str().unwrap_or_default())))
            .collect();
        if !still_read.is_empty() {
            rules.push(rule_for(group, &json!(still_read), &verbs));
        }
    }
    let mut others: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (group, plural) in missing {
        others.entry(group).or_default().push(plural);
    }
    rules.extend(
        others
            .iter()
            .map(|(group, plurals)| rule_for(group, &json!(plurals), &verbs)),
    );
    rules.into()
}

fn rule_for(group: &str, resources: &Value, verbs: &Value) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}
