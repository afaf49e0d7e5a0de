//! `metrics_apis.policies`, checked.

use super::check::bad;
use super::{BadConfig, Policies, words};
use crate::kube::{Reads, Resource, Source};
use crate::name::Name;
use burst_policy::{MOST_RULES, Policy};
use std::collections::BTreeSet;

const KEY: &str = "metrics_apis.policies";

pub(super) fn check(words: words::Policies) -> Result<Policies, BadConfig> {
    let (mut given, mut names) = (Vec::new(), BTreeSet::new());
    for (place, words) in words.given.into_iter().enumerate() {
        let at = |key: &str| format!("{KEY}.given[{place}].{key}");
        for (key, name) in [("name", Some(&words.name)), ("namespace", words.namespace.as_ref())] {
            name.map_or(Ok(()), |name| Name::parse(name).map(drop))
                .map_err(|error| bad(at(key), error))?;
        }
        let (name, namespace, spec) = words.into_spec();
        let policy = Policy::new(&name, namespace.as_deref(), &spec);
        given.push(policy.map_err(|refused| bad(at(&refused.place), refused.fault))?);
        if !names.insert(name.clone()) {
            return Err(bad(at("name"), format_args!("{name} is the name of one before it")));
        }
    }
    let rules: usize = given.iter().map(|policy| policy.rules().len()).sum();
    if rules > MOST_RULES {
        let reason = format_args!("have {rules} rules together; {MOST_RULES} are allowed");
        return Err(bad(format!("{KEY}.given"), reason));
    }
    Ok(Policies {
        default: words.default.unwrap_or_default(),
        given,
        root_namespace: root_namespace(words.root_namespace.as_deref())?,
    })
}

fn root_namespace(word: Option<&str>) -> Result<Option<Name>, BadConfig> {
    let name = word.map(Name::parse).transpose();
    name.map_err(|error| bad(format!("{KEY}.root_namespace"), error))
}

/// The lists of the policies that are objects: of the root namespace, wherever else is read.
pub(super) fn sources(
    words: Option<&words::MetricsApis>,
    namespaces: &[Option<Name>],
) -> Result<Vec<Source>, BadConfig> {
    let words = words.and_then(|words| words.policies.as_ref());
    let Some(root) = root_namespace(words.and_then(|words| words.root_namespace.as_deref()))? else {
        return Ok(Vec::new());
    };
    let mut namespaces: BTreeSet<_> = namespaces.iter().cloned().collect();
    if !namespaces.contains(&None) {
        namespaces.insert(Some(root));
    }
    let source = |namespace| Source {
        namespace,
        ..Source::everywhere(Reads::Policies, Resource::external_metric_policies())
    };
    Ok(namespaces.into_iter().map(source).collect())
}
