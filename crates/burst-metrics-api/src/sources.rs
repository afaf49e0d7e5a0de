//! The data behind an answer.

use crate::adapters::AdapterResources;
use burst_model::config::{Config, MetricsApisConfig};
use burst_model::policies::EffectivePolicies;
use burst_model::request_rates::Rates;
use burst_model::serve::ServingCache;
use burst_model::time::Time;

/// The data behind an answer, besides the request.
#[derive(Clone, Copy, Debug)]
pub struct MetricSources<'a> {
    /// The configuration of the filter.
    pub config: &'a Config,
    /// The part of it that configures the metrics APIs.
    pub apis: &'a MetricsApisConfig,
    /// The snapshot of the cluster.
    pub cache: &'a ServingCache,
    /// The request rates that the proxies count.
    pub rates: &'a Rates,
    /// The resources that other adapters list.
    pub adapter_resources: &'a AdapterResources,
    /// The ExternalMetricPolicies that are Kubernetes objects.
    pub policies: &'a EffectivePolicies,
    /// The current time.
    pub now: Time,
}
