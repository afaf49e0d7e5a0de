//! `metrics_apis`: the metrics APIs, and the clients that they serve.

use super::policies;
use super::raw;
use super::value::{invalid, text};
use super::{AdapterConfig, Artifact, ConfigError, FallbackConfig, MetricsApisConfig, RequestPath};
use crate::kube::{ObjectKind, Source};
use crate::request_rates::CountingSettings;
use burst_labels::content;
use std::collections::BTreeMap;

/// Labels that an external series may have with any kind of workload.
const OWN_LABELS: [&str; 3] = ["namespace", "service", "hpa"];
/// Adapters do not check the host name of a request.
const AUTHORITY: &str = "metrics-adapter";
/// Resources that have a special meaning in the paths of the custom metrics API.
const OWN_RESOURCES: [&str; 3] = ["metrics", "namespaces", "pods"];

pub(super) fn check(
    raw: Option<RequestPath<raw::RawMetricsApis>>,
    sources: &[Source],
    counting: Option<CountingSettings>,
    artifact: Artifact,
) -> Result<Option<RequestPath<MetricsApisConfig>>, ConfigError> {
    let Some(raw) = raw.map(RequestPath::into_inner) else {
        return Ok(None);
    };
    if artifact == Artifact::HeaderOnly {
        return Err(ConfigError::NeedsFullModule("metrics_apis"));
    }
    workloads(sources)?;
    Ok(RequestPath::new(MetricsApisConfig {
        filter_chain: text("metrics_apis.filter_chain", &raw.filter_chain)?,
        insecure_loopback_demo: raw.insecure_loopback_demo.unwrap_or_default(),
        labels: labels(raw.labels, sources)?,
        unknown_external: raw.unknown_external.unwrap_or_default(),
        authorization: raw.authorization.unwrap_or_default(),
        fallback: fallback(raw.fallback)?,
        counting,
        policies: raw.policies.map(policies::check).transpose()?,
        aliases: raw.aliases.check(counting)?,
    }))
}

fn fallback(raw: raw::RawFallback) -> Result<FallbackConfig, ConfigError> {
    let of = |group, raw: Option<raw::RawAdapter>| raw.map(|raw| adapter(group, &raw)).transpose();
    Ok(FallbackConfig {
        custom: of("custom", raw.custom)?,
        external: of("external", raw.external)?,
    })
}

fn adapter(group: &str, raw: &raw::RawAdapter) -> Result<AdapterConfig, ConfigError> {
    let key = |name: &str| format!("metrics_apis.fallback.{group}.{name}");
    Ok(AdapterConfig {
        cluster: text(&key("cluster"), &raw.cluster)?,
        authority: text(&key("authority"), raw.authority.as_deref().unwrap_or(AUTHORITY))?,
    })
}

fn of_workloads(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources.iter().filter(|source| source.kind == ObjectKind::Workloads)
}

/// The snapshot identifies a resource by its plural name only, and the metrics APIs by name and group.
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
            return refused("has a special meaning in the metrics APIs and is not supported");
        }
        if of_workloads(sources).any(|other| other.resource.plural == resource.plural && other.resource != *resource) {
            return refused("has the same plural name as another resource and cannot be told apart");
        }
    }
    Ok(())
}

fn labels(raw: BTreeMap<String, String>, sources: &[Source]) -> Result<BTreeMap<String, String>, ConfigError> {
    for (key, value) in &raw {
        let path = || format!("metrics_apis.labels.{key}");
        let faults = [content::label_key(key), content::label_value(value)].concat();
        if let Some(fault) = faults.first() {
            return Err(invalid(path(), format_args!("{value:?} is not a valid label: {fault}")));
        }
        let is_kind = of_workloads(sources).any(|source| source.resource.kind.eq_ignore_ascii_case(key));
        if is_kind || OWN_LABELS.contains(&key.as_str()) {
            return Err(invalid(path(), "the metrics already have a label of that name"));
        }
    }
    Ok(raw)
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
    fn clients_need_a_certificate_except_in_a_demo() {
        assert!(!parse("").unwrap().insecure_loopback_demo);
        for written in [true, false] {
            let apis = parse(&format!(r#","insecure_loopback_demo":{written}"#)).unwrap();
            assert_eq!(apis.insecure_loopback_demo, written);
        }
        let error = parse(r#","insecure_loopback_demo":"yes""#).unwrap_err();
        assert!(error.contains("metrics_apis.insecure_loopback_demo"), "{error}");
    }

    #[test]
    fn by_default_there_is_no_review_and_no_fallback() {
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
    fn an_error_names_the_key() {
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
