//! One poller per proxy. Each thread of Envoy runs the filter in a VM of its own, the main thread too; they share a
//! map of bytes with compare-and-swap and nothing else. The lease is one record in it.
//!
//! It is claimed in a tick, renewed each tick by raising its beat, and lost when the beat stands still for
//! [`PATIENCE`] of the observer's own ticks: nobody compares clocks. Between rounds a holder that has served requests
//! gives way to a thread that has not, which ends at the main thread (design, decision 2).

use crate::hash;
use serde::{Deserialize, Serialize};

/// Ticks without a beat after which the holder counts as gone. A tick is a second, and a holder may be busy for some
/// of them with a large answer.
pub const PATIENCE: u32 = 5;

/// Items that killed a VM and are remembered, at most: the oldest is forgotten first.
const MOST_POISON: usize = 8;

/// The hash by which an item is known among those that killed a VM. In a list an object of the API's own kinds comes
/// without the kind and the version that it has in a watch; from its metadata on the bytes are the same.
#[must_use]
pub fn poison_of(item: &str) -> u64 {
    const METADATA: &str = r#""metadata":"#;
    let lasting = item.find(METADATA).and_then(|at| item.get(at..)).unwrap_or(item);
    hash::of_bytes(lasting.as_bytes())
}

/// A root context, by a number that was given out once per proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Id(pub u32);

/// The record in shared data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who polls; `None` once it was handed back.
    pub holder: Option<Id>,
    /// Rises with each renewal.
    pub beat: u64,
    /// Whether the holder's VM has served requests.
    pub served: bool,
    /// Whether the holder has nothing under way.
    pub between_rounds: bool,
    /// Hashes of items during whose parsing a holder was lost; no successor parses them.
    pub poison: Vec<u64>,
}

impl Lease {
    /// Remembers an item that must not be parsed.
    fn with_poison(mut self, item: Option<u64>) -> Self {
        self.poison.extend(item.filter(|item| !self.poison.contains(item)));
        let surplus = self.poison.len().saturating_sub(MOST_POISON);
        self.poison.drain(..surplus);
        self
    }
}

/// How a root context stands when it looks at the lease.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Whether its VM has served requests.
    pub served: bool,
    /// Whether it has nothing under way.
    pub between_rounds: bool,
    /// Whether it should poll at all: not where the configuration says reader, nor in its drain.
    pub eligible: bool,
}

/// What a look at the lease leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Move {
    /// Write this to become the holder, or to stay it. Only with the CAS number of the look: if that fails somebody
    /// else was faster.
    Hold(Lease),
    /// Write this to hand the lease back.
    Release(Lease),
    /// Somebody else polls.
    Follow,
}

/// A root context that may come to poll.
#[derive(Debug)]
pub struct Candidate {
    id: Id,
    /// The beat that was seen last, and for how many looks it has stood.
    seen: Option<(Id, u64)>,
    stood: u32,
}

impl Candidate {
    /// A candidate of that number.
    #[must_use]
    pub fn new(id: Id) -> Self {
        Self {
            id,
            seen: None,
            stood: 0,
        }
    }

    /// Whether the lease is this candidate's.
    #[must_use]
    pub fn holds(&self, lease: Option<&Lease>) -> bool {
        lease.and_then(|lease| lease.holder) == Some(self.id)
    }

    /// Looks at the lease, once a tick. `unfinished` is the item whose parsing somebody began and did not end.
    pub fn look(&mut self, lease: Option<&Lease>, unfinished: Option<u64>, standing: Standing) -> Move {
        let holds = self.holds(lease);
        match lease {
            _ if !standing.eligible && !holds => Move::Follow,
            Some(lease) if holds && !standing.eligible => Move::Release(self.released(lease)),
            Some(lease) if holds => Move::Hold(self.claim(lease.clone(), standing)),
            Some(lease) if !self.may_take(lease, standing) => Move::Follow,
            Some(lease) => {
                // A holder that gives way may be parsing just now; it has not died of that.
                let is_gone = lease.holder.is_some() && self.stood >= PATIENCE;
                let lost = unfinished.filter(|_| is_gone);
                Move::Hold(self.claim(lease.clone().with_poison(lost), standing))
            }
            None => {
                let first = Lease {
                    holder: None,
                    beat: 0,
                    served: false,
                    between_rounds: true,
                    poison: Vec::new(),
                };
                Move::Hold(self.claim(first, standing))
            }
        }
    }

    fn claim(
        &self,
        lease: Lease,
        Standing {
            served, between_rounds, ..
        }: Standing,
    ) -> Lease {
        Lease {
            holder: Some(self.id),
            beat: lease.beat.wrapping_add(1),
            served,
            between_rounds,
            ..lease
        }
    }

    fn released(&self, lease: &Lease) -> Lease {
        Lease {
            holder: None,
            beat: lease.beat.wrapping_add(1),
            ..lease.clone()
        }
    }

    /// Whether the holder is gone, or should give way.
    fn may_take(&mut self, lease: &Lease, standing: Standing) -> bool {
        let Some(holder) = lease.holder else { return true };
        let beat = Some((holder, lease.beat));
        self.stood = if self.seen == beat {
            self.stood.saturating_add(1)
        } else {
            0
        };
        self.seen = beat;
        let gives_way = lease.served && !standing.served && lease.between_rounds;
        gives_way || self.stood >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Standing = Standing {
        served: false,
        between_rounds: true,
        eligible: true,
    };
    const SERVED: Standing = Standing { served: true, ..IDLE };

    /// Shared data with one record, as Envoy keeps it: every write gets a new CAS number.
    #[derive(Default)]
    struct Shared {
        lease: Option<Lease>,
        cas: u32,
    }

    impl Shared {
        /// One tick of a candidate; whether it holds the lease afterwards.
        fn tick(&mut self, candidate: &mut Candidate, standing: Standing) -> bool {
            let (lease, cas) = (self.lease.clone(), self.cas);
            self.write(candidate.look(lease.as_ref(), None, standing), cas)
        }

        fn write(&mut self, step: Move, cas: u32) -> bool {
            let (lease, held) = match step {
                Move::Hold(lease) => (lease, true),
                Move::Release(lease) => (lease, false),
                Move::Follow => return false,
            };
            let fresh = self.cas == cas;
            if fresh {
                (self.lease, self.cas) = (Some(lease), cas + 1);
            }
            fresh && held
        }
    }

    fn candidates() -> (Shared, Candidate, Candidate) {
        (Shared::default(), Candidate::new(Id(1)), Candidate::new(Id(2)))
    }

    /// A lease that is held, and not by who looks at it.
    fn of_another() -> Lease {
        Lease {
            holder: Some(Id(1)),
            beat: 9,
            served: false,
            between_rounds: true,
            poison: vec![],
        }
    }

    #[test]
    fn of_two_racing_first_claims_one_wins() {
        let (mut shared, mut one, mut two) = candidates();
        let (a, b) = (one.look(None, None, IDLE), two.look(None, None, IDLE));
        assert!(shared.write(a, 0));
        assert!(!shared.write(b, 0));
    }

    #[test]
    fn a_silent_holder_is_replaced_after_the_observers_own_ticks() {
        let (mut shared, mut one, mut two) = candidates();
        assert!(shared.tick(&mut one, IDLE));
        let taken = (1..).find(|_| shared.tick(&mut two, IDLE)).unwrap();
        assert_eq!(taken, PATIENCE + 1, "the first look only learns the beat");
        assert!(!shared.tick(&mut one, IDLE), "the old holder finds itself deposed");
    }

    #[test]
    fn a_holder_that_beats_is_left_alone() {
        let (mut shared, mut one, mut two) = candidates();
        for _ in 0..50 {
            assert!(shared.tick(&mut one, IDLE));
            assert!(!shared.tick(&mut two, IDLE));
        }
    }

    #[test]
    fn the_lease_drifts_to_a_thread_that_serves_nobody_and_stays_there() {
        let (mut shared, mut worker, mut main) = candidates();
        assert!(shared.tick(&mut worker, IDLE));
        assert!(!shared.tick(&mut main, IDLE));
        assert!(shared.tick(
            &mut worker,
            Standing {
                between_rounds: false,
                ..SERVED
            }
        ));
        assert!(!shared.tick(&mut main, IDLE), "not in the middle of a round");
        assert!(shared.tick(&mut worker, SERVED));
        assert!(shared.tick(&mut main, IDLE));
        for _ in 0..50 {
            assert!(!shared.tick(&mut worker, SERVED));
            assert!(shared.tick(&mut main, IDLE));
        }
    }

    #[test]
    fn two_threads_that_both_serve_do_not_take_it_from_each_other() {
        let (mut shared, mut one, mut two) = candidates();
        for _ in 0..50 {
            assert!(shared.tick(&mut one, SERVED));
            assert!(!shared.tick(&mut two, SERVED));
        }
    }

    #[test]
    fn a_context_in_its_drain_hands_back_and_never_claims() {
        let (mut shared, mut old, mut new) = candidates();
        let draining = Standing {
            eligible: false,
            ..IDLE
        };
        assert!(shared.tick(&mut old, IDLE));
        assert!(!shared.tick(&mut old, draining));
        assert!(!shared.tick(&mut old, draining));
        assert!(
            shared.tick(&mut new, IDLE),
            "without waiting for the beat to stand still"
        );
    }

    #[test]
    fn what_killed_a_holder_is_remembered_and_what_was_merely_handed_back_is_not() {
        let mut two = Candidate::new(Id(2));
        let lease = Lease {
            between_rounds: false,
            ..of_another()
        };
        let Move::Hold(taken) = (0..)
            .map(|_| two.look(Some(&lease), Some(77), IDLE))
            .find(|m| *m != Move::Follow)
            .unwrap()
        else {
            panic!()
        };
        assert_eq!(taken.poison, [77]);
        let back = Lease { holder: None, ..lease };
        let Move::Hold(taken) = Candidate::new(Id(3)).look(Some(&back), Some(77), IDLE) else {
            panic!()
        };
        assert!(taken.poison.is_empty());
    }

    #[test]
    fn who_gives_way_while_it_parses_has_not_died_of_what_it_parses() {
        // What an open window brings is parsed between rounds.
        let lease = Lease {
            served: true,
            ..of_another()
        };
        let Move::Hold(taken) = Candidate::new(Id(2)).look(Some(&lease), Some(77), IDLE) else {
            panic!()
        };
        assert!(taken.poison.is_empty());
    }

    #[test]
    fn what_killed_a_vm_in_a_watch_is_known_in_a_list() {
        let object = r#""metadata":{"name":"web","resourceVersion":"7"},"spec":{"metadata":{}}}"#;
        let [listed, watched] =
            ["{", r#"{"kind":"Service","apiVersion":"v1","#].map(|start| format!("{start}{object}"));
        assert_eq!(poison_of(&listed), poison_of(&watched));
        assert_ne!(
            poison_of(&listed),
            poison_of(&listed.replace("\"7\"", "\"8\"")),
            "it has changed"
        );
        assert_ne!(poison_of("[1]"), poison_of("[2]"));
    }

    #[test]
    fn only_the_latest_poison_is_kept() {
        let lease = (0..20).fold(of_another(), |lease, item| {
            lease.with_poison(Some(item)).with_poison(Some(item))
        });
        assert_eq!(lease.poison, [12, 13, 14, 15, 16, 17, 18, 19]);
    }
}
