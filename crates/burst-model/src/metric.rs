//! The metrics of the metrics APIs. Which of them are served follows from the configuration alone.

use crate::load::Load;
use crate::request_rates::{CountingSettings, RateScope};

/// A metric that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedMetric {
    /// From the snapshot.
    Replicas(ReplicaMetric),
    /// From the requests that the proxies count.
    Requests(RequestMetric, RateScope),
}

/// A metric of the replicas of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaMetric {
    /// The current replicas.
    Current,
    /// The maximum minus the current replicas.
    Headroom,
    /// The maximum.
    Max,
    /// The target load of the maximum.
    Target,
    /// The current replicas as a share of the maximum.
    Utilization,
}

/// A metric of the requests to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestMetric {
    /// Rejected requests per second.
    Rejected,
    /// Requests per second.
    Requests,
    /// Requests in flight.
    InFlight,
}

const REPLICA_METRICS: [ReplicaMetric; 5] = [
    ReplicaMetric::Current,
    ReplicaMetric::Headroom,
    ReplicaMetric::Max,
    ReplicaMetric::Target,
    ReplicaMetric::Utilization,
];

impl ReplicaMetric {
    /// The value in thousandths. `None` for the utilization of a maximum of 0.
    #[must_use]
    pub fn milli(self, load: Load) -> Option<u64> {
        let replicas = |count: u32| Some(u64::from(count) * 1000);
        match self {
            Self::Current => replicas(load.current),
            Self::Headroom => replicas(load.headroom()),
            Self::Max => replicas(load.max),
            Self::Target => replicas(load.target),
            Self::Utilization => load.utilization_milli(),
        }
    }
}

impl ServedMetric {
    /// The name of the metric in the metrics APIs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Replicas(ReplicaMetric::Current) => "burst_current_load",
            Self::Replicas(ReplicaMetric::Headroom) => "burst_headroom",
            Self::Replicas(ReplicaMetric::Max) => "burst_max_load",
            Self::Replicas(ReplicaMetric::Target) => "burst_target_load",
            Self::Replicas(ReplicaMetric::Utilization) => "burst_utilization",
            Self::Requests(RequestMetric::Rejected, RateScope::Cluster) => "burst_rejected_per_second",
            Self::Requests(RequestMetric::Requests, RateScope::Cluster) => "burst_requests_per_second",
            Self::Requests(RequestMetric::InFlight, RateScope::Cluster) => "burst_requests_in_flight",
            Self::Requests(RequestMetric::Rejected, RateScope::Proxy) => "burst_proxy_rejected_per_second",
            Self::Requests(RequestMetric::Requests, RateScope::Proxy) => "burst_proxy_requests_per_second",
            Self::Requests(RequestMetric::InFlight, RateScope::Proxy) => "burst_proxy_requests_in_flight",
        }
    }

    /// The kind in discovery: `BurstHeadroom`. Each metric has its own, because kubectl goes from the name of a resource
    /// to its kind, and from there to the last resource of that kind.
    #[must_use]
    pub fn kind(self) -> String {
        let mut kind = String::new();
        for part in self.name().split('_') {
            let start = kind.len();
            kind.push_str(part);
            if let Some(first) = kind.get_mut(start..start.saturating_add(1)) {
                first.make_ascii_uppercase();
            }
        }
        kind
    }

    /// All metrics that are served if requests are counted in this way, sorted by name.
    pub fn all(counting: Option<CountingSettings>) -> impl Iterator<Item = Self> {
        let replica_metrics = REPLICA_METRICS.map(Self::Replicas);
        let request_metrics = counting.into_iter().flat_map(Self::counted);
        replica_metrics.into_iter().chain(request_metrics)
    }

    /// All metrics that any configuration serves.
    pub fn any() -> impl Iterator<Item = Self> {
        let in_flight = true;
        let pods = false;
        let proxy = Self::counted(CountingSettings {
            scope: RateScope::Proxy,
            in_flight,
            pods,
        });
        let cluster = CountingSettings {
            scope: RateScope::Cluster,
            in_flight,
            pods,
        };
        Self::all(Some(cluster)).chain(proxy)
    }

    fn counted(CountingSettings { scope, in_flight, .. }: CountingSettings) -> impl Iterator<Item = Self> {
        [RequestMetric::Rejected, RequestMetric::Requests]
            .into_iter()
            .chain(in_flight.then_some(RequestMetric::InFlight))
            .map(move |metric| Self::Requests(metric, scope))
    }

    /// The metric with exactly this name.
    #[must_use]
    pub fn find(counting: Option<CountingSettings>, name: &str) -> Option<Self> {
        Self::all(counting).find(|metric| metric.name() == name)
    }

    /// The external metric with this name, in any case: client-go lowers it. Our names may be written with a slash in the
    /// place of the first underscore: `burst/headroom`. Clients write a slash as `\|` or `|` as well.
    #[must_use]
    pub fn find_external(counting: Option<CountingSettings>, name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace("\\|", "/").replace('|', "/");
        Self::all(counting).find(|metric| metric.name() == name || metric.name().replacen('_', "/", 1) == name)
    }
}
