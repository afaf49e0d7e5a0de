//! The question whether other clusters have room for a Service. Whatever sends traffic to peers asks it here.

use super::{PeerState, Peers};

/// The headroom of a Service in the peers that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerHeadroom<'a> {
    /// The replicas that can still be added there, in all of them together.
    pub sum: u64,
    /// The peer with the most headroom, the first of the configuration if several have the same; `None` if none has any.
    pub best: Option<BestPeer<'a>>,
}

/// The peer with the most headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestPeer<'a> {
    /// The name of its cluster.
    pub name: &'a str,
    /// The replicas that can still be added there: at least 1.
    pub headroom: u32,
}

impl Peers {
    /// The headroom of a Service, by `namespace/name`, in the peers. A peer that is stale, was never read, or does not have
    /// the Service adds nothing. `None` if no peer counts, so that nothing is known.
    #[must_use]
    pub fn headroom(&self, service: &str) -> Option<PeerHeadroom<'_>> {
        let mut counted = self
            .iter()
            .filter(|peer| matches!(peer.state(), PeerState::Fresh(_)))
            .peekable();
        counted.peek()?;
        let none = PeerHeadroom { sum: 0, best: None };
        Some(counted.fold(none, |total, peer| {
            let row = peer.services().and_then(|services| services.find(service));
            let headroom = row.map_or(0, |row| row.load.headroom());
            let is_best = headroom > total.best.map_or(0, |best| best.headroom);
            let name = peer.name();
            PeerHeadroom {
                sum: total.sum.saturating_add(headroom.into()),
                best: if is_best {
                    Some(BestPeer { name, headroom })
                } else {
                    total.best
                },
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::{Known, peers};

    fn best(name: &str, headroom: u32) -> Option<BestPeer<'_>> {
        Some(BestPeer { name, headroom })
    }

    #[test]
    fn the_headroom_of_all_recent_peers_counts_and_the_best_is_named() {
        let peers = peers(&[
            ("west", Known::Fresh(&[("shop/web", 3, 10), ("shop/full", 7, 7)])),
            ("north", Known::Fresh(&[("shop/web", 1, 10), ("shop/over", 9, 7)])),
            ("south", Known::Fresh(&[("shop/web", 1, 10)])),
        ]);
        for (service, sum, best) in [
            ("shop/web", 25, best("north", 9)),
            ("shop/full", 0, None),
            ("shop/over", 0, None),
            ("shop/none", 0, None),
        ] {
            assert_eq!(peers.headroom(service), Some(PeerHeadroom { sum, best }), "{service}");
        }
    }

    #[test]
    fn a_stale_or_unread_peer_has_no_headroom() {
        let web: &[_] = &[("shop/web", 1, 100)];
        let some = peers(&[
            ("west", Known::Stale(web)),
            ("north", Known::Unread),
            ("south", Known::Fresh(&[("shop/web", 4, 5)])),
        ]);
        let of_south = PeerHeadroom {
            sum: 1,
            best: best("south", 1),
        };
        assert_eq!(some.headroom("shop/web"), Some(of_south));
        let none = peers(&[("west", Known::Stale(web)), ("north", Known::Unread)]);
        assert_eq!(none.headroom("shop/web"), None, "nothing is known");
        assert_eq!(Peers::default().headroom("shop/web"), None);
    }
}
