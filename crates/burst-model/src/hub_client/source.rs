//! What a [`HubClient`](super::HubClient) reads: the hub of its own cluster, or a peer.

use crate::config::{Config, PeerConfig};
use std::fmt;

/// What is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSource {
    kind: SourceKind,
    /// The Envoy cluster.
    cluster: String,
    /// The path of the Services.
    path: String,
    /// The name that the cluster of the responses must have, if they say one.
    expected_cluster: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SourceKind {
    Hub,
    Peer { name: String },
}

impl HubSource {
    /// The hub, whose Services are at that path.
    #[must_use]
    pub fn hub(config: &Config, path: &str) -> Self {
        Self {
            kind: SourceKind::Hub,
            cluster: config.api.cluster.clone(),
            path: path.into(),
            expected_cluster: config.peers.as_ref().map(|peers| peers.own_name.clone()),
        }
    }

    /// A peer.
    #[must_use]
    pub fn peer(peer: &PeerConfig) -> Self {
        Self {
            kind: SourceKind::Peer {
                name: peer.name.clone(),
            },
            cluster: peer.cluster.clone(),
            path: peer.path.clone(),
            expected_cluster: Some(peer.name.clone()),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn expected_cluster(&self) -> Option<&str> {
        self.expected_cluster.as_deref()
    }

    /// The log line about an excluded entry of the response.
    pub(super) fn exclusion_line(&self, name: &str, reason: &str) -> String {
        match &self.kind {
            SourceKind::Hub => format!("excluded Service {name}: {reason}"),
            SourceKind::Peer { name: peer } => format!("excluded Service {name} of the peer {peer}: {reason}"),
        }
    }

    /// The keys of the configuration that lead to it, for the advice in log lines.
    pub(super) fn keys(&self) -> SourceKeys {
        match self.kind {
            SourceKind::Hub => SourceKeys {
                place: "`authority` and `hub_prefix`",
                name: "hub",
            },
            SourceKind::Peer { .. } => SourceKeys {
                place: "its `authority` and `prefix`",
                name: "peer",
            },
        }
    }
}

/// Words for the advice in log lines.
pub(super) struct SourceKeys {
    /// The keys that say where the Services are.
    pub(super) place: &'static str,
    /// What is read.
    pub(super) name: &'static str,
}

/// The name in log lines.
impl fmt::Display for HubSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cluster = &self.cluster;
        match &self.kind {
            SourceKind::Hub => write!(f, "the hub {cluster}"),
            SourceKind::Peer { name } => write!(f, "the peer {name} ({cluster})"),
        }
    }
}
