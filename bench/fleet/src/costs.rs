//! The cost of an answer for the server.

use std::time::Duration;

/// CPU time and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Of one core.
    pub cpu: Duration,
    /// On the wire.
    pub bytes: u64,
}

impl Cost {
    const fn new(nanos: u64, bytes: u64) -> Self {
        Self {
            cpu: Duration::from_nanos(nanos),
            bytes,
        }
    }

    /// Returns this cost `count` times.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self {
            cpu: self.cpu.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)),
            bytes: self.bytes.saturating_mul(count),
        }
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// A page of a list, without its objects. This and the next three are measurements of kube-apiserver v1.36 by
/// `bench/api_server`: the mean of Services, HPAs and Deployments.
pub const PAGE: Cost = Cost::new(650_000, 400);
/// An object in a page.
pub const LISTED: Cost = Cost::new(22_000, 1_600);
/// A watch, from start to end.
pub const WATCH: Cost = Cost::new(280_000, 650);
/// An object that a stream begins with: 1.75 times the CPU time of an object in a page, in the same run.
pub const LISTED_AS_EVENT: Cost = Cost::new(38_000, 1_650);
/// A bookmark of an open watch. Its CPU time is that of an object in a watch.
pub const BOOKMARK: Cost = Cost::new(2_000, 300);
/// An object in a watch. The server serializes it once for all watches.
pub const WATCHED: Cost = Cost::new(2_000, 2_000);

/// A full answer of a hub, without its Services. This and the next two are measurements of `bench/bulk`.
pub const BULK: Cost = Cost::new(25_000, 300);
/// A Service in it.
pub const BULK_SERVICE: Cost = Cost::new(25, 95);
/// A 304 of a hub.
pub const UNCHANGED: Cost = Cost::new(25_000, 200);
