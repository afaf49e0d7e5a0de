//! What was counted of the requests to one Service.

/// Counts of one Service over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Requests that got a response, the rejected ones included.
    pub requests: u64,
    /// Requests that got 503 or 429.
    pub rejected: u64,
    /// Thousandths of a request that was under way, on average over that time; `None` where it is not counted.
    pub in_flight_milli: Option<u64>,
}

impl RequestCounts {
    /// Both together, seen at the same time by two observers. Requests under way are known only where both know them.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
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

/// Whether a response of that status says that the Service had no room: 503, also by a proxy that has no healthy
/// upstream for it, and 429.
#[must_use]
pub fn is_rejected(status: &[u8]) -> bool {
    matches!(status, b"503" | b"429")
}
