//! The request counts of one Service, or of one endpoint.

/// The request counts of one Service over a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Requests that got a response, including rejected ones.
    pub requests: u64,
    /// Requests that got 503 or 429.
    pub rejected: u64,
    /// Average requests in flight, in thousandths. `None` if they are not counted.
    pub in_flight_milli: Option<u64>,
}

impl RequestCounts {
    /// Adds the counts of another observer over the same period. Requests in flight are known only if both know them.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            rejected: self.rejected.saturating_add(other.rejected),
            in_flight_milli: self
                .in_flight_milli
                .zip(other.in_flight_milli)
                .map(|(one, two)| one.saturating_add(two)),
        }
    }
}

/// The counters of a Service since the start of the VM. They wrap around, so only differences are meaningful.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServiceCounters {
    pub(super) requests: u32,
    pub(super) rejected: u32,
    /// The integral of requests in flight over time, in request-milliseconds.
    pub(super) load: u64,
}

/// Returns whether the status means that the Service had no capacity: 429, or 503, which a proxy also sends if it has no
/// healthy upstream.
#[must_use]
pub fn is_rejected(status: &[u8]) -> bool {
    matches!(status, b"503" | b"429")
}
