//! What is served: the counts of each Service's requests, as the views read them.

use crate::time::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// Whose requests a number counts. It is part of the metrics' names, so that nobody takes a share for the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateScope {
    /// Those of the proxy that answers, and no others: `burst_proxy_requests_per_second`.
    Proxy,
    /// Those of all proxies that report to the one that answers: `burst_requests_per_second`.
    Cluster,
}

/// What is counted, by configuration and artifact: the metrics that discovery names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CountingSettings {
    /// Whose requests.
    pub scope: RateScope,
    /// Whether requests in flight are counted too, which takes more of a module's exports.
    pub in_flight: bool,
}

/// The counts, or why there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Rates {
    /// Nothing was counted for a whole window yet, or not by all who should.
    #[default]
    Unknown,
    /// The newest counts are this old, which is more than the limit.
    Stale {
        /// How old they are.
        age: Duration,
        /// How old they may be.
        limit: Duration,
    },
    /// Counts that can be served.
    Known(RateSums),
}

/// The sums of all fresh shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSums {
    /// The end of the window of the oldest share.
    pub as_of: Time,
    /// What rates are averaged over: at least as long as configured, and longer by a little.
    pub window: Duration,
    /// By `namespace/name` of the Service. One that is not here had no request that anybody remembers: that is not
    /// known to be none, since the Service may be reached by another way.
    pub services: BTreeMap<String, ServiceRate>,
}

/// What is counted of one Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceRate {
    /// Requests, in thousandths per second.
    pub requests_milli: u64,
    /// … of them answered by 503 or 429, or that found no healthy upstream.
    pub rejected_milli: u64,
    /// Requests under way, in thousandths, on average over the window; `None` where they are not counted.
    pub in_flight_milli: Option<u64>,
}

impl ServiceRate {
    /// That of a Service without any request.
    pub const NONE: Self = Self {
        requests_milli: 0,
        rejected_milli: 0,
        in_flight_milli: Some(0),
    };
}
