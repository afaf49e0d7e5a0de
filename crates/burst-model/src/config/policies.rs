//! `metrics_apis.policies`: which user may read which external metric.

use super::value::invalid;
use super::{ConfigError, PoliciesConfig, raw};
use crate::kube::{ObjectKind, Resource, Source};
use crate::name::Name;
use burst_policy::{Policy, cost};

const KEY: &str = "metrics_apis.policies";

pub(super) fn check(raw: raw::RawPolicies) -> Result<PoliciesConfig, ConfigError> {
    let mut given: Vec<Policy> = Vec::new();
    for (index, raw) in raw.given.into_iter().enumerate() {
        let at = |key: &str| format!("{KEY}.given[{index}].{key}");
        for (key, name) in [("name", Some(&raw.name)), ("namespace", raw.namespace.as_ref())] {
            name.map_or(Ok(()), |name| Name::parse(name).map(drop))
                .map_err(|error| invalid(at(key), error))?;
        }
        let (name, namespace, spec) = raw.into_spec();
        let policy = Policy::new(&name, namespace.as_deref(), &spec);
        let policy = policy.map_err(|refused| invalid(at(&refused.path), refused.kind))?;
        if given.iter().any(|before| before.name() == name) {
            return Err(invalid(
                at("name"),
                format_args!("{name} is the name of an earlier policy"),
            ));
        }
        given.push(policy);
    }
    let all: Vec<_> = given.iter().collect();
    cost::check_set(&all).map_err(|(index, excess)| {
        invalid(
            format!("{KEY}.given[{index}]"),
            format_args!("the policies up to this one have {excess}"),
        )
    })?;
    Ok(PoliciesConfig {
        default: raw.default.unwrap_or_default(),
        given: given.into(),
        root_namespace: root_namespace(raw.root_namespace.as_deref())?,
    })
}

fn root_namespace(text: Option<&str>) -> Result<Option<Name>, ConfigError> {
    let name = text.map(Name::parse).transpose();
    name.map_err(|error| invalid(format!("{KEY}.root_namespace"), error))
}

/// Returns the lists of policy objects: those of all namespaces that are read, and of the root namespace.
pub(super) fn sources(
    raw: Option<&raw::RawMetricsApis>,
    namespaces: &[Option<Name>],
) -> Result<Vec<Source>, ConfigError> {
    let raw = raw.and_then(|raw| raw.policies.as_ref());
    let Some(root) = root_namespace(raw.and_then(|raw| raw.root_namespace.as_deref()))? else {
        return Ok(Vec::new());
    };
    let mut namespaces = namespaces.to_vec();
    let root = Some(root);
    if !namespaces.contains(&None) && !namespaces.contains(&root) {
        namespaces.push(root);
    }
    let source = |namespace| Source {
        namespace,
        ..Source::all_namespaces(ObjectKind::Policies, Resource::external_metric_policies())
    };
    Ok(namespaces.into_iter().map(source).collect())
}
