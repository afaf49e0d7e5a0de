//! The peers as one VM serves them: it takes what the leader published of each.

use crate::quarantine::Quarantine;
use crate::shared_data::SharedData;
use burst_model::config::{Config, Part};
use burst_model::peers::{Peer, Peers};
use burst_model::quarantine::{Item, ItemKind};
use burst_model::records::{Confirmed, PeerKeys};
use burst_model::time::Time;

/// The keys of the peers, in the order of the configuration, and when the served snapshots were confirmed.
#[derive(Debug)]
pub(crate) struct PeersView {
    peers: Vec<PeerView>,
}

#[derive(Debug)]
struct PeerView {
    keys: PeerKeys,
    /// An older confirmation stays while a newer snapshot is in quarantine.
    confirmed: Option<Confirmed>,
}

impl PeersView {
    pub(crate) fn new(config: &Config) -> Self {
        let settings = config.metrics_hash();
        let served = config.peers.iter().filter(|_| config.part() == Part::Snapshot);
        let peers = served.flat_map(|peers| &peers.peers).map(|peer| PeerView {
            keys: PeerKeys::new(settings, peer),
            confirmed: None,
        });
        Self { peers: peers.collect() }
    }

    /// Takes newer snapshots, and computes the age of each peer.
    pub(crate) fn refresh<H: SharedData>(
        &mut self,
        peers: &mut Peers,
        config: &Config,
        quarantine: &Quarantine<H>,
        now: Time,
    ) {
        for (view, peer) in self.peers.iter_mut().zip(peers.iter_mut()) {
            view.take(peer, quarantine, now);
            peer.refresh(config, view.confirmed.as_ref(), now);
        }
    }
}

impl PeerView {
    /// Takes the snapshot if it is newer. If it is in quarantine, the one that is served stays, and ages.
    fn take<H: SharedData>(&mut self, peer: &mut Peer, quarantine: &Quarantine<H>, now: Time) {
        let confirmed: Option<Confirmed> = H::read(&self.keys.confirmed).record();
        if let Some(newer) = confirmed.as_ref().filter(|confirmed| peer.is_behind(confirmed)) {
            let generation = newer.generation.to_le_bytes();
            let item = Item::of_bytes(
                ItemKind::PeerSnapshot,
                &[self.keys.snapshot.as_bytes(), &generation].concat(),
            );
            let taken = quarantine.take(item, now, || {
                peer.drop_snapshot();
                let bytes = H::read(&self.keys.snapshot).bytes;
                H::before_parse(ItemKind::PeerSnapshot, &bytes);
                // Damaged bytes leave the peer unread. The leader finds the damage too, and repairs it.
                let _ = peer.take(bytes);
            });
            if taken.is_none() {
                return;
            }
        }
        self.confirmed = confirmed;
    }
}
