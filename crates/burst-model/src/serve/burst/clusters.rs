//! `scope=all`: the Services of the own cluster and its peers. A peer that is stale or was never read is named as such, and
//! its numbers are neither shown nor added up.

use super::path::BurstPath;
use super::{bulk_reply, service_unavailable, unreadable};
use crate::config::{Config, PeersConfig};
use crate::index::SERVICES;
use crate::serve::cache::ServingCache;
use crate::serve::format::{Clusters, ClustersFormat, Rendered};
use crate::serve::local_reply::{LocalReply, not_modified};

/// The Services of all clusters, or one of them. `None` if no cluster has it.
pub(super) fn find(
    config: &Config,
    cache: &mut ServingCache,
    target: &BurstPath<'_>,
    format: ClustersFormat,
    if_none_match: Option<&[u8]>,
) -> Option<LocalReply> {
    let peers = config.peers.as_deref()?;
    if !is_in_own_cluster(cache, target)
        && let Some(reply) = unreadable(config, cache, target)
    {
        return Some(reply);
    }
    match target {
        BurstPath::Bulk { .. } => bulk(peers, cache, format, if_none_match),
        BurstPath::Single { name, .. } => {
            single(peers, cache, name, format).or_else(|| unavailable_peers(config, cache))
        }
    }
}

fn is_in_own_cluster(cache: &ServingCache, target: &BurstPath<'_>) -> bool {
    cache.section(SERVICES).is_some_and(|services| match target {
        BurstPath::Bulk { .. } => !services.is_empty(),
        BurstPath::Single { name, .. } => services.find(name).is_some(),
    })
}

fn bulk(
    peers: &PeersConfig,
    cache: &mut ServingCache,
    format: ClustersFormat,
    if_none_match: Option<&[u8]>,
) -> Option<LocalReply> {
    let etag = cache.clusters_etag(format);
    not_modified(&etag, if_none_match).or_else(|| {
        let rendered = cache.clusters_body(peers, format)?;
        Some(bulk_reply(&etag, rendered.content_type, rendered.body.clone()))
    })
}

fn single(peers: &PeersConfig, cache: &ServingCache, name: &str, format: ClustersFormat) -> Option<LocalReply> {
    let clusters = cache.clusters(peers, Some(name)).filter(Clusters::has_rows)?;
    let Rendered { content_type, body } = format.render(&clusters);
    Some(LocalReply::new(200, content_type, body.into_bytes()))
}

/// The reply if no cluster has the Service, but a peer that does not count may have it.
fn unavailable_peers(config: &Config, cache: &ServingCache) -> Option<LocalReply> {
    let peers: Vec<_> = cache
        .peers()
        .unavailable()
        .map(|peer| format!("{} ({})", peer.name(), peer.state().name()))
        .collect();
    (!peers.is_empty()).then(|| {
        let body = format!(
            "not known: no cluster has it, and these peers do not count: {}\n",
            peers.join(", ")
        );
        service_unavailable(config, body)
    })
}

#[cfg(test)]
mod tests;
