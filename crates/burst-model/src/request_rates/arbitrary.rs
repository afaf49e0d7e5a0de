//! Arbitrary tallies for the property tests.

use super::count::RequestCounts;
use super::tally::Tally;
use crate::time::Time;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// A tally that owns its names.
#[derive(Clone, Debug)]
pub(super) struct OwnedTally {
    id: u64,
    taken: u64,
    span: u64,
    services: BTreeMap<String, (u64, u64, Option<u64>)>,
}

impl OwnedTally {
    pub(super) fn borrow(&self) -> Tally<'_> {
        let count = |&(requests, rejected, in_flight_milli): &(u64, u64, _)| RequestCounts {
            requests,
            rejected: rejected.min(requests),
            in_flight_milli,
        };
        Tally {
            id: self.id,
            taken_at: Time::from_unix_millis(self.taken),
            span: Duration::from_millis(self.span),
            services: self
                .services
                .iter()
                .map(|(name, counts)| (name.as_str(), count(counts)))
                .collect(),
        }
    }
}

pub(super) fn tally() -> impl Strategy<Value = OwnedTally> {
    let counts = (0..1u64 << 40, 0..1u64 << 40, proptest::option::of(0..1u64 << 40));
    let services = btree_map("[a-c]{1,2}/[a-z0-9]{1,5}", counts, 0..12);
    (any::<u64>(), any::<u64>(), any::<u64>(), services).prop_map(|(id, taken, span, services)| OwnedTally {
        id,
        taken,
        span,
        services,
    })
}

pub(super) fn tallies() -> impl Strategy<Value = Vec<OwnedTally>> {
    vec(tally(), 0..6)
}
