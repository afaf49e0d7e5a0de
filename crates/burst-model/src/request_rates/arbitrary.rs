//! Arbitrary tallies for the property tests.

use super::count::RequestCounts;
use super::tally::Tally;
use crate::time::Time;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// A tally that owns its names.
#[derive(Clone, Debug)]
pub(super) struct OwnedTally {
    id: u64,
    taken: u64,
    span: u64,
    services: BTreeMap<String, (u64, u64, Option<u64>)>,
    addresses: Option<BTreeMap<IpAddr, (u64, u64)>>,
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
            addresses: self.addresses.as_ref().map(|addresses| {
                let addresses = addresses.iter();
                addresses
                    .map(|(address, (requests, rejected))| (*address, count(&(*requests, *rejected, None))))
                    .collect()
            }),
        }
    }
}

pub(super) fn tally() -> impl Strategy<Value = OwnedTally> {
    let counts = (0..1u64 << 40, 0..1u64 << 40, proptest::option::of(0..1u64 << 40));
    let services = btree_map("[a-c]{1,2}/[a-z0-9]{1,5}", counts, 0..12);
    let address = prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        // Few addresses, so that tallies have some in common.
        (0..4u8).prop_map(|last| IpAddr::from([10, 0, 0, last])),
        any::<[u8; 16]>().prop_map(|bytes| IpAddr::from(bytes).to_canonical()),
    ];
    let addresses = proptest::option::of(btree_map(address, (0..1u64 << 40, 0..1u64 << 40), 0..8));
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>());
    (numbers, services, addresses).prop_map(|((id, taken, span), services, addresses)| OwnedTally {
        id,
        taken,
        span,
        services,
        addresses,
    })
}

pub(super) fn tallies() -> impl Strategy<Value = Vec<OwnedTally>> {
    vec(tally(), 0..6)
}
