//! The protocols by which the VMs of one proxy agree through shared data: a map of bytes with compare-and-swap, and the
//! only thing that they share.
//!
//! A host implements [`SharedData`] for a type without values, and everything here is generic over that type. The current
//! time is an argument. What is logged, counted or sent is returned as a value, and the shell of the filter does it.
//!
//! - [`Election`]: one VM leads, by a lease.
//! - [`ClusterLeader`]: the leader reads the cluster and publishes what it found.
//! - [`PeersLeader`]: the leader reads the other clusters, and publishes what it found.
//! - [`View`]: every VM serves what the leader published.
//! - [`FencedKey`]: records that only the leader writes. A deposed leader cannot overwrite anything.
//! - [`Quarantine`] and [`LeaderGuard`]: no VM reads bytes that may have ended another one.
//! - [`CachedRecord`]: such a record, as another VM reads it.
//! - [`Slots`]: numbered keys that several writers share.
//! - [`request_counts`]: the counted requests of all VMs, and of all proxies on a hub.
//! - [`WakeQueues`]: the leader wakes the other VMs when it has published.
//! - [`OtherLeaders`]: leaders with other settings find each other.
//! - [`GarbageCollector`]: empties the keys of configurations that are gone.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

mod cached_record;
mod cluster_leader;
mod election;
mod fenced_key;
mod garbage_collector;
mod ids;
mod leader_guard;
mod other_leaders;
mod peers_leader;
mod peers_view;
mod quarantine;
pub mod request_counts;
mod shared_data;
mod slots;
mod view;
mod wake_queues;

pub use cached_record::CachedRecord;
pub use cluster_leader::{ClusterLeader, HostEffect, ReadEvent};
pub use election::Election;
pub use fenced_key::{FencedKey, Term};
pub use garbage_collector::GarbageCollector;
pub use ids::{LazyId, new_vm_id};
pub use leader_guard::LeaderGuard;
pub use other_leaders::{OtherLeaders, OtherLeadersReport};
pub use peers_leader::{PeerEffect, PeersLeader};
pub use quarantine::{Quarantine, QuarantineNotice};
pub use shared_data::{Cas, CasConflict, SharedData, SharedValue};
pub use slots::Slots;
pub use view::View;
pub use wake_queues::WakeQueues;

#[cfg(test)]
mod tests;
