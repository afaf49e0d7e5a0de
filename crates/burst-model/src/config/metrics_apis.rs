//! `metrics_apis`, checked.

use super::policies;
use super::raw;
use super::validate::{invalid, text};
use super::{AdapterConfig, Artifact, ConfigError, FallbackConfig, MetricsApisConfig, RequestPath};
use crate::kube::{Reads, Source};
use crate::rates::Counting;
use burst_labels::content;
use std::collections::BTreeMap;

/// The labels that every external series may have, whatever the kinds of the workloads.
const OWN_LABELS: [&str; 3] = ["namespace", "service", "hpa"];
/// Adapters look at who asks, and not at what they are called.
const AUTHORITY: &str = "metrics-adapter";
/// Resources with a meaning of their own in the paths of the custom metrics API.
const OWN_RESOURCES: [&str; 3] = ["metrics", "namespaces", "pods"];

pub(super) fn check(
    words: Option<RequestPath<raw::RawMetricsApis>>,
    sources: &[Source],
    counting: Option<Counting>,
    artifact: Artifact,
) -> Result<Option<RequestPath<MetricsApisConfig>>, ConfigError> {
    let Some(words) = words.map(RequestPath::into_inner) else {
        return Ok(None);
    };
    if artifact == Artifact::HeaderOnly {
        return Err(ConfigError::NeedsFullModule("metrics_apis"));
    }
    workloads(sources)?;
    Ok(RequestPath::new(MetricsApisConfig {
        filter_chain: text("metrics_apis.filter_chain", &words.filter_chain)?,
        insecure_loopback_demo: words.insecure_loopback_demo.unwrap_or_default(),
        labels: labels(words.labels, sources)?,
        unknown_external: words.unknown_external.unwrap_or_default(),
        authorization: words.authorization.unwrap_or_default(),
        fallback: fallback(words.fallback)?,
        counting,
        policies: words.policies.map(policies::check).transpose()?,
    }))
}

fn fallback(words: raw::RawFallback) -> Result<FallbackConfig, ConfigError> {
    let of = |group, words: Option<raw::RawAdapter>| words.map(|words| adapter(group, &words)).transpose();
    Ok(FallbackConfig {
        custom: of("custom", words.custom)?,
        external: of("external", words.external)?,
    })
}

fn adapter(group: &str, words: &raw::RawAdapter) -> Result<AdapterConfig, ConfigError> {
    let key = |name: &str| format!("metrics_apis.fallback.{group}.{name}");
    Ok(AdapterConfig {
        cluster: text(&key("cluster"), &words.cluster)?,
        authority: text(&key("authority"), words.authority.as_deref().unwrap_or(AUTHORITY))?,
    })
}

fn of_workloads(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources.iter().filter(|source| source.reads == Reads::Workloads)
}

/// The snapshot knows a kind by its plural name alone, and the APIs by name and group.
fn workloads(sources: &[Source]) -> Result<(), ConfigError> {
    for source in of_workloads(sources) {
        let resource = &source.resource;
        let refused = |why: &str| {
            Err(invalid(
                "workloads",
                format_args!("{resource} {why} while metrics_apis is on"),
            ))
        };
        if OWN_RESOURCES.contains(&resource.plural.as_str()) {
            return refused("means something else in the metrics APIs, and cannot be had");
        }
        if of_workloads(sources).any(|other| other.resource.plural == resource.plural && other.resource != *resource) {
            return refused("shares its plural name with another kind, which cannot be told apart");
        }
    }
    Ok(())
}

fn labels(words: BTreeMap<String, String>, sources: &[Source]) -> Result<BTreeMap<String, String>, ConfigError> {
    for (key, value) in &words {
        let path = || format!("metrics_apis.labels.{key}");
        let faults = [content::label_key(key), content::label_value(value)].concat();
        if let Some(fault) = faults.first() {
            return Err(invalid(path(), format_args!("{value:?} is no label: {fault}")));
        }
        let is_kind = of_workloads(sources).any(|source| source.resource.kind.eq_ignore_ascii_case(key));
        if is_kind || OWN_LABELS.contains(&key.as_str()) {
            return Err(invalid(path(), "the metrics have a label of that name already"));
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use crate::config::{Artifact, Authorization, Config, FallbackConfig, MetricsApisConfig};

    fn parse(more: &str) -> Result<MetricsApisConfig, String> {
        let json = format!(r#"{{"cluster":"k","metrics_apis":{{"filter_chain":"m"{more}}}}}"#);
        let config = Config::parse(json.as_bytes(), Artifact::Full).map_err(|error| error.to_string())?;
        Ok(config.metrics_apis.unwrap().into_inner())
    }

    #[test]
    fn clients_show_a_certificate_unless_the_configuration_says_that_this_is_a_demo() {
        assert!(!parse("").unwrap().insecure_loopback_demo);
        for written in [true, false] {
            let apis = parse(&format!(r#","insecure_loopback_demo":{written}"#)).unwrap();
            assert_eq!(apis.insecure_loopback_demo, written);
        }
        let error = parse(r#","insecure_loopback_demo":"yes""#).unwrap_err();
        assert!(error.contains("metrics_apis.insecure_loopback_demo"), "{error}");
    }

    #[test]
    fn nobody_is_asked_and_nobody_stands_behind_unless_told() {
        let apis = parse("").unwrap();
        assert_eq!(
            (apis.authorization, apis.fallback),
            (Authorization::ApiServer, FallbackConfig::default())
        );
        let apis = parse(r#","authorization":"subject_access_review","fallback":{"custom":{"cluster":"a"}}"#).unwrap();
        assert_eq!(apis.authorization, Authorization::SubjectAccessReview);
        let adapter = apis.fallback.custom.unwrap();
        assert_eq!(
            (adapter.cluster.as_str(), adapter.authority.as_str()),
            ("a", "metrics-adapter")
        );
        assert_eq!(apis.fallback.external, None);
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        for (more, why) in [
            (
                r#","authorization":"rbac""#,
                "expected `api_server` or `subject_access_review`",
            ),
            (
                r#","fallback":{"external":{}}"#,
                "metrics_apis.fallback.external: missing field `cluster`",
            ),
            (
                r#","fallback":{"external":{"cluster":""}}"#,
                r#"metrics_apis.fallback.external.cluster: "" must be"#,
            ),
            (
                r#","fallback":{"custom":{"cluster":"a","authority":"b\n"}}"#,
                r#"metrics_apis.fallback.custom.authority: "b\n" must be"#,
            ),
            (r#","fallback":{"resource":{}}"#, "unknown field `resource`"),
        ] {
            let error = parse(more).unwrap_err();
            assert!(error.contains(why), "{more}: {error}");
        }
    }
}
