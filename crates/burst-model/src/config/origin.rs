//! Where the picture comes from: the Kubernetes API, or another proxy that reads it, the hub of this spoke.

use super::raw::{RawConfig, RawSelectors, RawSource, RawSync};
use super::validate::{invalid, path};
use super::{ConfigError, requests};
use crate::index::SERVICES;
use std::fmt;

/// Seed 000, and so what a hub has unless it was told otherwise.
const HUB_PREFIX: &str = "/burstmetrics";

/// The name in the API server's certificate.
const AUTHORITY: &str = "kubernetes.default.svc";

/// Where the picture comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The Kubernetes API.
    #[default]
    Kubernetes,
    /// Another proxy with this filter, the hub. It tells of Services and of nothing else.
    Hub {
        /// The path of its Services.
        path: String,
    },
}

impl Origin {
    pub(super) fn check(words: &RawConfig) -> Result<Self, ConfigError> {
        match words.source.unwrap_or_default() {
            RawSource::Kubernetes if words.hub_prefix.is_some() => {
                Err(invalid("hub_prefix", "is of no use unless source is hub"))
            }
            RawSource::Kubernetes => Ok(Self::Kubernetes),
            RawSource::Hub => {
                refuse_what_the_hub_decides(words)?;
                let prefix = path("hub_prefix", words.hub_prefix.as_deref().unwrap_or(HUB_PREFIX))?;
                Ok(Self::Hub {
                    path: format!("{prefix}/{SERVICES}"),
                })
            }
        }
    }

    /// The host name in requests to it. A hub has one name, whether it is read or reported to.
    pub(super) fn authority(&self) -> &'static str {
        match self {
            Self::Kubernetes => AUTHORITY,
            Self::Hub { .. } => requests::AUTHORITY,
        }
    }
}

/// As it stands in log lines and answers.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kubernetes => "the Kubernetes API",
            Self::Hub { .. } => "the hub",
        })
    }
}

/// Somebody who sets these here believes that they do something.
fn refuse_what_the_hub_decides(words: &RawConfig) -> Result<(), ConfigError> {
    if words.metrics_apis.is_some() {
        let reason = "cannot be had with source hub: a hub tells of Services only; serve them at the hub";
        return Err(invalid("metrics_apis", reason));
    }
    let given = [
        ("sync", words.sync != RawSync::default()),
        ("page_size", words.page_size.is_some()),
        ("target_percent", words.target_percent.is_some()),
        ("namespaces", !words.namespaces.is_empty()),
        ("hpas", words.hpas != RawSelectors::default()),
        ("services", words.services != RawSelectors::default()),
        ("workloads", words.workloads.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((key, _)) => Err(invalid(
            key,
            "is of no use with source hub: the hub decides what is read of the cluster",
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
    fn a_picture_is_of_the_kubernetes_api_unless_it_is_a_hubs() {
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
    fn the_staleness_of_a_spoke_does_not_mind_windows_that_it_does_not_open() {
        let config = parse(r#","source":"hub","poll_interval":"1s","max_staleness":"4s""#).unwrap();
        assert_eq!(config.max_staleness, Duration::from_secs(4));
    }

    #[test]
    fn what_the_other_source_decides_is_refused() {
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
                format!("{name}: is of no use with source hub: the hub decides what is read of the cluster")
            );
        }
        for (more, message) in [
            (
                r#","source":"hub","metrics_apis":{"filter_chain":"m"}"#,
                "metrics_apis: cannot be had with source hub: a hub tells of Services only; serve them at the hub",
            ),
            (
                r#","hub_prefix":"/load""#,
                "hub_prefix: is of no use unless source is hub",
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
    fn another_origin_has_other_bytes() {
        let hash = |more: &str| parse(more).unwrap().settings_hash();
        let hub = hash(r#","source":"hub""#);
        assert_ne!(hub, hash(r#","source":"hub","hub_prefix":"/load""#));
        assert_ne!(hub, hash(r#","authority":"burst-hub""#));
    }
}
