//! `peers`: proxies of other clusters whose Services this proxy reads, and the name of its own cluster.

use super::origin::HUB_PREFIX;
use super::value::{invalid, path, text};
use super::{Artifact, ConfigError, raw, requests};
use crate::index::SERVICES;
use crate::name::Name;
use crate::printable::printable;

/// Each peer costs a request in ten seconds and the memory of its Services in every thread.
const MAX_PEERS: usize = 16;

/// The longest DNS label. <https://www.rfc-editor.org/rfc/rfc1123#section-2.1>
const MAX_LABEL: usize = 63;

/// The other clusters that are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PeersConfig {
    /// The name of the own cluster.
    pub own_name: String,
    /// The other clusters, in the order of the configuration. There is at least one.
    pub peers: Vec<PeerConfig>,
}

/// A proxy of another cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PeerConfig {
    /// The name of its cluster.
    pub name: String,
    /// The Envoy cluster.
    pub cluster: String,
    /// `:authority`.
    pub authority: String,
    /// The path of the Services at the peer.
    pub path: String,
}

/// The Envoy clusters that lead to the own cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnClusters<'a> {
    /// The one that the snapshot is read from.
    pub(super) source: &'a str,
    /// The one that requests are reported to.
    pub(super) reports: Option<&'a str>,
}

impl PeersConfig {
    pub(super) fn check(raw: raw::RawPeers, own: OwnClusters<'_>, artifact: Artifact) -> Result<Self, ConfigError> {
        if artifact == Artifact::HeaderOnly {
            return Err(ConfigError::NeedsFullModule("peers"));
        }
        let count = raw.read.len();
        if !(1..=MAX_PEERS).contains(&count) {
            let reason = format_args!("has {count} peers, and must have 1 to {MAX_PEERS}");
            return Err(invalid("peers.read", reason));
        }
        let own_name = label("peers.self", raw.own_name)?;
        let mut peers: Vec<PeerConfig> = Vec::with_capacity(count);
        for (index, raw) in raw.read.into_iter().enumerate() {
            let key = format!("peers.read[{index}]");
            let peer = PeerConfig::check(&key, raw)?;
            peer.refuse_own_cluster(&key, &own_name, own)?;
            for other in &peers {
                peer.refuse_same(&key, other)?;
            }
            peers.push(peer);
        }
        Ok(Self { own_name, peers })
    }
}

impl PeerConfig {
    fn check(key: &str, raw: raw::RawPeer) -> Result<Self, ConfigError> {
        let prefix = path(&format!("{key}.prefix"), raw.prefix.as_deref().unwrap_or(HUB_PREFIX))?;
        let authority = raw.authority.as_deref().unwrap_or(requests::AUTHORITY);
        Ok(Self {
            name: label(&format!("{key}.name"), raw.name)?,
            cluster: text(&format!("{key}.cluster"), &raw.cluster)?,
            authority: text(&format!("{key}.authority"), authority)?,
            path: format!("{prefix}/{SERVICES}"),
        })
    }

    /// Refuses a peer whose numbers would count twice, because they are those of the own cluster.
    fn refuse_own_cluster(&self, key: &str, own_name: &str, own: OwnClusters<'_>) -> Result<(), ConfigError> {
        let Self { name, cluster, .. } = self;
        if name == own_name {
            let reason = format_args!("{name:?} is the own cluster, by peers.self; a peer is another cluster");
            return Err(invalid(format!("{key}.name"), reason));
        }
        let own_key = match own {
            OwnClusters { source, .. } if source == cluster => "cluster",
            OwnClusters { reports, .. } if reports == Some(cluster) => "requests.hub.cluster",
            _ => return Ok(()),
        };
        let reason = format_args!("{cluster:?} leads to the own cluster, because {own_key} names it too");
        Err(invalid(format!("{key}.cluster"), reason))
    }

    fn refuse_same(&self, key: &str, other: &Self) -> Result<(), ConfigError> {
        let name = &other.name;
        if self.name == *name {
            return Err(invalid(
                format!("{key}.name"),
                format_args!("{name:?} is the name of two peers"),
            ));
        }
        let place = |peer: &Self| (peer.cluster.clone(), peer.authority.clone(), peer.path.clone());
        if place(self) == place(other) {
            let reason = format_args!("is the same proxy as the peer {name:?}, and would count twice");
            return Err(invalid(key, reason));
        }
        Ok(())
    }
}

/// Checks the name of a cluster: a DNS label, which needs no escaping in any answer.
fn label(key: &str, name: String) -> Result<String, ConfigError> {
    if name.len() <= MAX_LABEL && !name.contains('.') && Name::is_valid(&name) {
        return Ok(name);
    }
    let name = printable(name, MAX_LABEL);
    Err(invalid(
        key,
        format_args!(
            "\"{name}\" is not a DNS label (at most {MAX_LABEL} of a-z, 0-9 and -, with a letter or digit at both ends)"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn parse_as(peers: &str, more: &str, artifact: Artifact) -> Result<Config, ConfigError> {
        Config::parse(
            format!(r#"{{"cluster":"kube_api","peers":{peers}{more}}}"#).as_bytes(),
            artifact,
        )
    }

    fn parse(peers: &str) -> Result<PeersConfig, String> {
        let config = parse_as(peers, "", Artifact::Full).map_err(|error| error.to_string())?;
        Ok(config.peers.unwrap().into_inner())
    }

    /// A configuration with these peers.
    fn read(peers: &str) -> String {
        format!(r#"{{"self":"east","read":[{peers}]}}"#)
    }

    const WEST: &str = r#"{"name":"west","cluster":"burst_west"}"#;

    #[test]
    fn peers_are_read_only_if_configured() {
        let config = Config::parse(br#"{"cluster":"kube_api"}"#, Artifact::Full).unwrap();
        assert_eq!(config.peers, None);
        let west = |authority: &str, path: &str| PeerConfig {
            name: "west".into(),
            cluster: "burst_west".into(),
            authority: authority.into(),
            path: path.into(),
        };
        let peers = parse(&read(WEST)).unwrap();
        assert_eq!(
            (peers.own_name.as_str(), peers.peers),
            ("east", vec![west("burst-hub", "/burstmetrics/services")])
        );
        let peer = r#"{"name":"west","cluster":"burst_west","authority":"burst.west","prefix":"/load/"}"#;
        let peers = parse(&read(peer)).unwrap();
        assert_eq!(peers.peers, [west("burst.west", "/load/services")]);
    }

    #[test]
    fn the_peers_do_not_change_what_is_read_of_the_own_cluster() {
        let hash = |config: Config| (config.settings_hash(), config.lists_hash());
        let with = parse_as(&read(WEST), "", Artifact::Full).unwrap();
        let without = Config::parse(br#"{"cluster":"kube_api"}"#, Artifact::Full).unwrap();
        assert_eq!(
            hash(with),
            hash(without),
            "the header-only module beside it shares the leader"
        );
    }

    #[test]
    fn an_error_names_the_key_and_what_is_allowed() {
        let many: Vec<_> = (0..17)
            .map(|n| format!(r#"{{"name":"p{n}","cluster":"p{n}"}}"#))
            .collect();
        let named = |name: &str| read(&format!(r#"{{"name":"{name}","cluster":"c"}}"#));
        let two = |second: &str| read(&format!("{WEST},{second}"));
        for (peers, message) in [
            ("{}".to_owned(), "peers: missing field `self`"),
            (r#"{"self":"east"}"#.into(), "peers: missing field `read`"),
            (read(""), "peers.read: has 0 peers, and must have 1 to 16"),
            (read(&many.join(",")), "peers.read: has 17 peers, and must have 1 to 16"),
            (
                r#"{"self":"East","read":[{"name":"west","cluster":"c"}]}"#.into(),
                "peers.self: \"East\" is not a DNS label (at most 63 of a-z, 0-9 and -,",
            ),
            (named("a.b"), "peers.read[0].name: \"a.b\" is not a DNS label"),
            (named(""), "peers.read[0].name: \"\" is not a DNS label"),
            (named(&"x".repeat(64)), "peers.read[0].name: \"xxx"),
            (
                named("east"),
                "peers.read[0].name: \"east\" is the own cluster, by peers.self; a peer is another cluster",
            ),
            (
                read(r#"{"name":"west","cluster":"kube_api"}"#),
                "peers.read[0].cluster: \"kube_api\" leads to the own cluster, because cluster names it too",
            ),
            (
                two(r#"{"name":"west","cluster":"c"}"#),
                "peers.read[1].name: \"west\" is the name of two peers",
            ),
            (
                two(r#"{"name":"north","cluster":"burst_west"}"#),
                "peers.read[1]: is the same proxy as the peer \"west\", and would count twice",
            ),
            (
                read(r#"{"name":"west","cluster":"c","prefix":"x"}"#),
                "peers.read[0].prefix: \"x\" is not a path",
            ),
            (
                read(r#"{"name":"west","cluster":""}"#),
                "peers.read[0].cluster: \"\" must be a text",
            ),
            (
                read(r#"{"name":"west","cluster":"c","weight":1}"#),
                "peers.read[0].weight: unknown field `weight`",
            ),
        ] {
            let error = parse(&peers).unwrap_err();
            assert!(error.starts_with(message), "{peers}: {error}");
        }
    }

    #[test]
    fn a_peer_is_not_the_hub_of_reports() {
        let more = r#","requests":{"hub":{"cluster":"burst_west"}}"#;
        let error = parse_as(&read(WEST), more, Artifact::Full).unwrap_err().to_string();
        let message = r#"peers.read[0].cluster: "burst_west" leads to the own cluster, because requests.hub.cluster names it too"#;
        assert_eq!(error, message);
    }

    #[test]
    fn peers_need_the_full_module() {
        let header_only = parse_as(&read(WEST), "", Artifact::HeaderOnly);
        let header_only = header_only.unwrap_err().to_string();
        assert!(
            header_only.starts_with("peers: is not supported by the header-only module"),
            "{header_only}"
        );
    }
}
