//! Request rates as the metrics APIs serve them.

use crate::time::Time;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Which proxies' requests a metric counts. The metric's name includes it, so that one proxy's requests are not mistaken
/// for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateScope {
    /// Only those of the proxy that serves the metric: `burst_proxy_requests_per_second`.
    Proxy,
    /// Those of all proxies that report to the one that serves the metric: `burst_requests_per_second`.
    Cluster,
}

/// Which requests are counted, by configuration and artifact. It determines the metrics that discovery lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CountingSettings {
    /// Which proxies' requests.
    pub scope: RateScope,
    /// Whether requests in flight are counted too, which takes more callbacks of the module.
    pub in_flight: bool,
    /// Whether requests are also counted by the address of the endpoint that answered, for the metrics of pods.
    pub pods: bool,
}

/// The rates, or why there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Rates {
    /// The counts do not cover a whole window or all proxies yet.
    #[default]
    Unknown,
    /// The latest counts are too old.
    Stale {
        /// How old they are.
        age: Duration,
        /// How old they may be.
        limit: Duration,
    },
    /// Rates that can be served.
    Known(RateSums),
}

/// The rates of all Services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSums {
    /// The end of the oldest tally's window.
    pub as_of: Time,
    /// The period that the rates are averages of: as long as configured, or a little longer.
    pub window: Duration,
    /// By `namespace/name` of the Service. The proxies saw no request for a Service that is missing here, but it may have
    /// got requests that bypass them.
    pub services: BTreeMap<String, ServiceRate>,
    /// By the address of the endpoint that answered. An address that is missing here had no request. `None` if addresses
    /// are not counted, or not by all observers, or not all of them could be.
    pub addresses: Option<BTreeMap<IpAddr, ServiceRate>>,
}

/// The rates of one Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceRate {
    /// Requests, in thousandths per second.
    pub requests_milli: u64,
    /// Requests that got a 503 or 429 or had no healthy upstream, in thousandths per second.
    pub rejected_milli: u64,
    /// Average requests in flight over the window, in thousandths. `None` if they are not counted.
    pub in_flight_milli: Option<u64>,
}

impl ServiceRate {
    /// The rates of a Service without any request.
    pub const NONE: Self = Self {
        requests_milli: 0,
        rejected_milli: 0,
        in_flight_milli: Some(0),
    };
}
