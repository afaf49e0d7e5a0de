//! The names of custom metrics: those of the filter, and the aliases of the configuration.
//!
//! A metric of another adapter takes precedence over an alias of the same name: a name must not change its meaning because
//! an alias was configured. While it is not known which metrics that adapter has, its route gets the requests for aliases.

use crate::adapters::AdapterResources;
use crate::catalog::DescribedKind;
use crate::sources::MetricSources;
use burst_model::config::MetricsApisConfig;
use burst_model::metric::ServedMetric;
use std::collections::BTreeSet;

/// The metric that a path of the custom metrics API names.
pub(crate) fn find(sources: &MetricSources<'_>, name: &str) -> Option<ServedMetric> {
    let apis = sources.apis;
    ServedMetric::find(apis.counting, name).or_else(|| {
        let metric = apis.aliases.get(name).copied()?;
        let taken = taken(apis, sources.adapter_resources)?;
        (!taken.contains(name)).then_some(metric)
    })
}

/// The names of all metrics of a kind of objects.
pub(crate) fn names<'a>(sources: &MetricSources<'a>, kind: &DescribedKind) -> Vec<&'a str> {
    let apis = sources.apis;
    let taken = taken(apis, sources.adapter_resources);
    let aliases = apis
        .aliases
        .iter()
        .filter(|(name, _)| taken.as_ref().is_some_and(|taken| !taken.contains(name.as_str())));
    ServedMetric::all(apis.counting)
        .map(|metric| (metric.name(), metric))
        .chain(aliases.map(|(name, metric)| (name.as_str(), *metric)))
        .filter(|(_, metric)| kind.has(*metric))
        .map(|(name, _)| name)
        .collect()
}

/// The aliases that are names of another adapter's metrics. `None` while that is not known.
pub(crate) fn taken<'a>(apis: &MetricsApisConfig, resources: &'a AdapterResources) -> Option<BTreeSet<&'a str>> {
    if apis.fallback.custom.is_none() || apis.aliases.is_empty() {
        return Some(BTreeSet::new());
    }
    let metrics = resources.custom_metrics()?;
    Some(metrics.filter(|name| apis.aliases.contains_key(*name)).collect())
}
