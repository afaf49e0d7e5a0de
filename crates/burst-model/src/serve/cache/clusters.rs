//! The documents about all clusters, as one VM renders them from its own snapshot and those of the peers.

use super::ServingCache;
use crate::config::PeersConfig;
use crate::hash;
use crate::index::SERVICES;
use crate::peers::{PeerState, ReadTime};
use crate::serve::format::{Cluster, Clusters, ClustersFormat, Rendered, Rows};
use std::rc::Rc;

/// The Services of all clusters in a format.
#[derive(Debug)]
pub(in crate::serve) struct ClustersBody {
    format: ClustersFormat,
    /// The generation and the state of each cluster that it was rendered from.
    rendered_from: Vec<(Option<u64>, PeerState)>,
    pub(in crate::serve) content_type: &'static str,
    pub(in crate::serve) body: Rc<[u8]>,
}

impl ServingCache {
    /// The Services of all clusters, or one of them by `namespace/name`. `None` if nothing was read of the own one.
    pub(in crate::serve) fn clusters<'a>(
        &'a self,
        config: &'a PeersConfig,
        service: Option<&str>,
    ) -> Option<Clusters<'a>> {
        let rows = |section| match service {
            None => Rows::All(section),
            Some(name) => section
                .and_then(|section: crate::snapshot::Section<'a>| section.find(name))
                .map_or(Rows::All(None), Rows::One),
        };
        let own = Cluster {
            name: &config.own_name,
            state: self.own_state()?,
            rows: rows(self.section(SERVICES)),
        };
        let peers = self.peers.iter().map(|peer| Cluster {
            name: peer.name(),
            state: peer.state(),
            rows: rows(peer.services()),
        });
        Some(Clusters(std::iter::once(own).chain(peers).collect()))
    }

    /// The own cluster as one of all. An answer is only given while it is recent.
    fn own_state(&self) -> Option<PeerState> {
        Some(PeerState::Fresh(ReadTime::new(self.as_of?, self.age)))
    }

    /// The entity tag of the Services of all clusters: it changes with what they say and with which of them count.
    pub(in crate::serve) fn clusters_etag(&mut self, format: ClustersFormat) -> String {
        let own = self.row_hash(SERVICES, format.signals());
        let peers = self.peers.iter();
        let peers: Vec<_> = peers.map(|peer| (peer.state().name(), peer.content_hash())).collect();
        format.etag(hash::of(&(own, peers)))
    }

    /// The Services of all clusters in a format, rendered at most once a second if clients ask for one format. `None` if
    /// nothing was read of the own cluster.
    pub(in crate::serve) fn clusters_body(
        &mut self,
        config: &PeersConfig,
        format: ClustersFormat,
    ) -> Option<Rc<ClustersBody>> {
        let own = (self.generation(), self.own_state()?);
        let peers = self.peers.iter().map(|peer| (peer.generation(), peer.state()));
        let rendered_from: Vec<_> = std::iter::once(own).chain(peers).collect();
        let is_same = |known: &&Rc<ClustersBody>| known.format == format && known.rendered_from == rendered_from;
        if let Some(known) = self.all_clusters.as_ref().filter(is_same) {
            return Some(known.clone());
        }
        // The old one is freed first: the memory of a VM never shrinks.
        self.all_clusters = None;
        let Rendered { content_type, body } = format.render(&self.clusters(config, None)?);
        let rendered = Rc::new(ClustersBody {
            format,
            rendered_from,
            content_type,
            body: body.into_bytes().into(),
        });
        self.all_clusters = Some(rendered.clone());
        Some(rendered)
    }
}
