//! What an answer costs who gives it.

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

    /// So many of it.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self {
            cpu: self.cpu.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)),
            bytes: self.bytes.saturating_mul(count),
        }
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// A page of a list, besides its objects. This and the three after it are of a kube-apiserver v1.36 as
/// `bench/api_server` measures it, the mean of Services, HPAs and Deployments.
pub const PAGE: Cost = Cost::new(650_000, 400);
/// An object in a page.
pub const LISTED: Cost = Cost::new(22_000, 1_600);
/// A watch, from its beginning to its end.
pub const WATCH: Cost = Cost::new(280_000, 650);
/// An object in a watch. The server writes it once for all who watch.
pub const WATCHED: Cost = Cost::new(2_000, 2_000);

/// A whole answer of a hub, besides its Services. This and the two after it are of `bench/bulk`.
pub const BULK: Cost = Cost::new(25_000, 300);
/// A Service in it.
pub const BULK_SERVICE: Cost = Cost::new(25, 95);
/// The hub's word that nothing changed.
pub const UNCHANGED: Cost = Cost::new(25_000, 200);
