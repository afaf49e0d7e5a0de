//! `metrics_apis.policies`, checked.

use super::validate::invalid;
use super::{ConfigError, PoliciesConfig, raw};
use crate::kube::{Reads, Resource, Source};
use crate::name::Name;
use burst_policy::{Policy, cost};

const KEY: &str = "metrics_apis.policies";

pub(super) fn check(words: raw::RawPolicies) -> Result<PoliciesConfig, ConfigError> {
    let mut given: Vec<Policy> = Vec::new();
    for (place, words) in words.given.into_iter().enumerate() {
        let at = |key: &str| format!("{KEY}.given[{place}].{key}");
        for (key, name) in [("name", Some(&words.name)), ("namespace", words.namespace.as_ref())] {
            name.map_or(Ok(()), |name| Name::parse(name).map(drop))
                .map_err(|error| invalid(at(key), error))?;
        }
        let (name, namespace, spec) = words.into_spec();
        let policy = Policy::new(&name, namespace.as_deref(), &spec);
        let policy = policy.map_err(|refused| invalid(at(&refused.path), refused.kind))?;
        if given.iter().any(|before| before.name() == name) {
            return Err(invalid(at("name"), format_args!("{name} is the name of one before it")));
        }
        given.push(policy);
    }
    let all: Vec<_> = given.iter().collect();
    cost::check_set(&all).map_err(|(place, excess)| {
        invalid(
            format!("{KEY}.given[{place}]"),
            format_args!("up to here they have {excess}"),
        )
    })?;
    Ok(PoliciesConfig {
        default: words.default.unwrap_or_default(),
        given,
        root_namespace: root_namespace(words.root_namespace.as_deref())?,
    })
}

fn root_namespace(word: Option<&str>) -> Result<Option<Name>, ConfigError> {
    let name = word.map(Name::parse).transpose();
    name.map_err(|error| invalid(format!("{KEY}.root_namespace"), error))
}

/// The lists of the policies that are objects: of the root namespace, wherever else is read.
pub(super) fn sources(
    words: Option<&raw::RawMetricsApis>,
    namespaces: &[Option<Name>],
) -> Result<Vec<Source>, ConfigError> {
    let words = words.and_then(|words| words.policies.as_ref());
    let Some(root) = root_namespace(words.and_then(|words| words.root_namespace.as_deref()))? else {
        return Ok(Vec::new());
    };
    let mut namespaces = namespaces.to_vec();
    let root = Some(root);
    if !namespaces.contains(&None) && !namespaces.contains(&root) {
        namespaces.push(root);
    }
    let source = |namespace| Source {
        namespace,
        ..Source::everywhere(Reads::Policies, Resource::external_metric_policies())
    };
    Ok(namespaces.into_iter().map(source).collect())
}
