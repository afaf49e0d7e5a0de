//! Peers: the same Services in other clusters. The leader reads a proxy of each with a
//! [`HubClient`](crate::hub_client::HubClient); here is what a VM serves of them.
//!
//! A peer counts only while what is known of it is recent. It is asked only for the numbers of its own cluster, so two
//! proxies that are peers of each other do not multiply requests, and no number comes back to where it came from.

mod headroom;

pub use headroom::{BestPeer, PeerHeadroom};

use crate::config::{Config, PeersConfig};
use crate::index::SERVICES;
use crate::records::Confirmed;
use crate::snapshot::{InvalidSnapshot, Section, Snapshot};
use crate::time::Time;
use std::time::Duration;

/// The response header with the name of the cluster that a response is about. A proxy with peers sends it, so that a peer
/// that leads to the wrong cluster, or back to the own one, is found.
pub const CLUSTER_HEADER: &str = "x-burst-cluster";

/// The peers of one VM, in the order of the configuration. There are none if none are configured.
#[derive(Debug, Default)]
pub struct Peers {
    peers: Vec<Peer>,
}

/// A peer, as this VM last took what the leader published of it.
#[derive(Debug)]
pub struct Peer {
    name: String,
    snapshot: Option<Snapshot>,
    state: PeerState,
}

/// Whether what is known of a peer is recent enough to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeerState {
    /// Nothing was read yet.
    #[default]
    Unread,
    /// Read within `max_staleness`.
    Fresh(ReadTime),
    /// Read before that.
    Stale(ReadTime),
}

/// When a cluster was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTime {
    /// The time of the read.
    pub at: Time,
    /// How long ago that was at the last refresh, in whole seconds.
    pub age: Duration,
}

impl ReadTime {
    /// A read at that time, which is `age` ago.
    #[must_use]
    pub fn new(at: Time, age: Duration) -> Self {
        let age = Duration::from_secs(age.as_secs());
        Self { at, age }
    }
}

impl PeerState {
    /// The name of the state in answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::Fresh(_) => "fresh",
            Self::Stale(_) => "stale",
        }
    }

    /// When the peer was read, if it ever was.
    #[must_use]
    pub fn read(self) -> Option<ReadTime> {
        match self {
            Self::Unread => None,
            Self::Fresh(read) | Self::Stale(read) => Some(read),
        }
    }
}

impl Peers {
    /// The peers of a configuration. Nothing is known of them yet.
    #[must_use]
    pub fn new(config: &PeersConfig) -> Self {
        let peers = config.peers.iter().map(|peer| Peer {
            name: peer.name.clone(),
            snapshot: None,
            state: PeerState::Unread,
        });
        Self { peers: peers.collect() }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// The peers.
    pub fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter()
    }

    /// The same, to be refreshed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.peers.iter_mut()
    }

    /// The peers that do not count, because they were never read or are stale.
    pub fn unavailable(&self) -> impl Iterator<Item = &Peer> {
        self.iter().filter(|peer| !matches!(peer.state, PeerState::Fresh(_)))
    }
}

impl Peer {
    /// The name of the cluster.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it counts, as of the last refresh.
    #[must_use]
    pub fn state(&self) -> PeerState {
        self.state
    }

    /// Whether the leader has published another snapshot than this one.
    #[must_use]
    pub fn is_behind(&self, confirmed: &Confirmed) -> bool {
        self.generation() != Some(confirmed.generation)
    }

    /// Drops the snapshot. Call this before fetching the bytes of a newer one: the memory of a VM never shrinks.
    pub fn drop_snapshot(&mut self) {
        self.snapshot = None;
    }

    /// Replaces the snapshot by these bytes.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn take(&mut self, bytes: Vec<u8>) -> Result<(), InvalidSnapshot> {
        self.snapshot = Some(Snapshot::open(bytes)?);
        Ok(())
    }

    /// Updates the age. `confirmed` is that of the snapshot.
    pub fn refresh(&mut self, config: &Config, confirmed: Option<&Confirmed>, now: Time) {
        let read = confirmed.and_then(Confirmed::oldest);
        self.state = match read.filter(|_| self.snapshot.is_some()) {
            None => PeerState::Unread,
            Some(at) => {
                let age = now.since(at);
                let read = ReadTime::new(at, age);
                if age <= config.max_staleness {
                    PeerState::Fresh(read)
                } else {
                    PeerState::Stale(read)
                }
            }
        };
    }

    /// Its Services, if it counts. `None` also if it has none.
    #[must_use]
    pub fn services(&self) -> Option<Section<'_>> {
        match self.state {
            PeerState::Fresh(_) => self.snapshot.as_ref()?.section(SERVICES),
            PeerState::Unread | PeerState::Stale(_) => None,
        }
    }

    pub(crate) fn generation(&self) -> Option<u64> {
        self.snapshot.as_ref().map(Snapshot::generation)
    }

    /// The hash of its Services, if it counts.
    pub(crate) fn content_hash(&self) -> Option<u64> {
        match self.state {
            PeerState::Fresh(_) => self.snapshot.as_ref().map(Snapshot::content_hash),
            PeerState::Unread | PeerState::Stale(_) => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
