//! `source`: whether the snapshot comes from the Kubernetes API or from a hub, which is another proxy with this filter.

use super::raw::{RawConfig, RawSelectors, RawSource, RawSync};
use super::value::{invalid, path};
use super::{ConfigError, requests};
use crate::index::SERVICES;
use std::fmt;

/// The default of `endpoints.prefix`, and so the prefix of a hub or a peer.
pub(super) const HUB_PREFIX: &str = "/burstmetrics";

/// The name in the API server's certificate.
const AUTHORITY: &str = "kubernetes.default.svc";

/// Where the snapshot comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The Kubernetes API.
    #[default]
    Kubernetes,
    /// A hub: another proxy with this filter. It serves Services only.
    Hub {
        /// The path of the Services at the hub.
        path: String,
    },
}

impl Origin {
    pub(super) fn check(raw: &RawConfig) -> Result<Self, ConfigError> {
        match raw.source.unwrap_or_default() {
            RawSource::Kubernetes if raw.hub_prefix.is_some() => {
                Err(invalid("hub_prefix", "has no effect unless source is hub"))
            }
            RawSource::Kubernetes => Ok(Self::Kubernetes),
            RawSource::Hub => {
                refuse_what_the_hub_decides(raw)?;
                let prefix = path("hub_prefix", raw.hub_prefix.as_deref().unwrap_or(HUB_PREFIX))?;
                Ok(Self::Hub {
                    path: format!("{prefix}/{SERVICES}"),
                })
            }
        }
    }

    /// Returns the default host name of requests. A hub has one name for reads and reports.
    pub(super) fn authority(&self) -> &'static str {
        match self {
            Self::Kubernetes => AUTHORITY,
            Self::Hub { .. } => requests::AUTHORITY,
        }
    }
}

/// The name in log lines and responses.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kubernetes => "the Kubernetes API",
            Self::Hub { .. } => "the hub",
        })
    }
}

/// Refuses keys that would have no effect, because the hub decides them.
fn refuse_what_the_hub_decides(raw: &RawConfig) -> Result<(), ConfigError> {
    if raw.metrics_apis.is_some() {
        let reason = "is not available with source hub, which serves Services only; serve the metrics APIs at the hub";
        return Err(invalid("metrics_apis", reason));
    }
    let given = [
        ("sync", raw.sync != RawSync::default()),
        ("page_size", raw.page_size.is_some()),
        ("target_percent", raw.target_percent.is_some()),
        ("namespaces", !raw.namespaces.is_empty()),
        ("hpas", raw.hpas != RawSelectors::default()),
        ("services", raw.services != RawSelectors::default()),
        ("workloads", raw.workloads.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((key, _)) => Err(invalid(
            key,
            "has no effect with source hub: the hub decides what is read from the cluster",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Artifact, Config};
    use super::*;
    use std::time::Duration;

    fn parse(more: &str) -> Result<Config, ConfigError> {
        Config::parse(format!(r#"{{"cluster":"c"{more}}}"#).as_bytes(), Artifact::Full)
    }

    #[test]
    fn the_default_source_is_the_kubernetes_api() {
        for default in ["", r#","source":"kubernetes""#] {
            let config = parse(default).unwrap();
            assert_eq!(
                (&config.origin, config.api.authority.as_str()),
                (&Origin::Kubernetes, "kubernetes.default.svc")
            );
        }
        let config = parse(r#","source":"hub""#).unwrap();
        let path = "/burstmetrics/services".to_owned();
        assert_eq!(config.origin, Origin::Hub { path });
        assert_eq!(
            (config.api.cluster.as_str(), config.api.authority.as_str()),
            ("c", "burst-hub")
        );
        assert!(config.content.sources.is_empty());
    }

    #[test]
    fn a_hub_may_have_another_name_and_another_path() {
        let config = parse(r#","source":"hub","hub_prefix":"/load/","authority":"hub.shop""#).unwrap();
        let path = "/load/services".to_owned();
        assert_eq!(config.origin, Origin::Hub { path });
        assert_eq!(config.api.authority, "hub.shop");
    }

    #[test]
    fn the_header_only_module_reads_a_hub_too() {
        let config = br#"{"cluster":"c","source":"hub"}"#;
        assert!(Config::parse(config, Artifact::HeaderOnly).is_ok());
    }

    #[test]
    fn watch_windows_do_not_limit_the_staleness_of_a_spoke() {
        let config = parse(r#","source":"hub","poll_interval":"1s","max_staleness":"4s""#).unwrap();
        assert_eq!(config.max_staleness, Duration::from_secs(4));
    }

    #[test]
    fn keys_that_the_hub_decides_are_refused() {
        for key in [
            r#""sync":{"mode":"list"}"#,
            r#""sync":{"max_windows":3}"#,
            r#""page_size":10"#,
            r#""target_percent":70"#,
            r#""namespaces":["shop"]"#,
            r#""hpas":{"label_selector":"a=b"}"#,
            r#""services":{"field_selector":"a=b"}"#,
            r#""workloads":[]"#,
        ] {
            let error = parse(&format!(r#","source":"hub",{key}"#)).unwrap_err().to_string();
            let name = key.split('"').nth(1).unwrap();
            assert_eq!(
                error,
                format!("{name}: has no effect with source hub: the hub decides what is read from the cluster")
            );
        }
        for (more, message) in [
            (
                r#","source":"hub","metrics_apis":{"filter_chain":"m"}"#,
                "metrics_apis: is not available with source hub, which serves Services only; serve the metrics APIs at the hub",
            ),
            (
                r#","hub_prefix":"/load""#,
                "hub_prefix: has no effect unless source is hub",
            ),
            (
                r#","source":"hub","hub_prefix":"load""#,
                r#"hub_prefix: "load" is not a path such as /burstmetrics"#,
            ),
            (
                r#","source":"spoke""#,
                "source: unknown variant `spoke`, expected `kubernetes` or `hub`",
            ),
        ] {
            let error = parse(more).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn the_source_changes_the_settings_hash() {
        let hash = |more: &str| parse(more).unwrap().settings_hash();
        let hub = hash(r#","source":"hub""#);
        assert_ne!(hub, hash(r#","source":"hub","hub_prefix":"/load""#));
        assert_ne!(hub, hash(r#","authority":"burst-hub""#));
    }
}
