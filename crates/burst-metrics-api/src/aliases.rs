//! The names of custom metrics: those of the filter, and the aliases of the configuration.
//!
//! A metric of another adapter takes precedence over an alias of the same name: a name must not change its meaning because
//! an alias was configured. While it is not known which metrics that adapter has, its route gets the requests for aliases.

use crate::adapters::AdapterResources;
use crate::catalog::DescribedKind;
use crate::sources::MetricSources;
use burst_model::config::MetricsApisConfig;
use burst_model::metric::ServedMetric;

/// The metric that a path of the custom metrics API names.
pub(crate) fn find(sources: &MetricSources<'_>, name: &str) -> Option<ServedMetric> {
    let apis = sources.apis;
    ServedMetric::find(apis.counting, name).or_else(|| {
        let (_, metric) = apis.aliases.iter().find(|(alias, _)| alias == name)?;
        let is_taken = is_taken(apis, sources.adapter_resources, name)?;
        (!is_taken).then_some(*metric)
    })
}

/// The names of all metrics of a kind of objects.
pub(crate) fn names<'a>(sources: &MetricSources<'a>, kind: &DescribedKind) -> Vec<&'a str> {
    let apis = sources.apis;
    let is_free = |name: &str| is_taken(apis, sources.adapter_resources, name) == Some(false);
    let aliases = apis.aliases.iter().filter(|(name, _)| is_free(name));
    ServedMetric::all(apis.counting)
        .map(|metric| (metric.name(), metric))
        .chain(aliases.map(|(name, metric)| (name.as_str(), *metric)))
        .filter(|(_, metric)| kind.has(*metric))
        .map(|(name, _)| name)
        .collect()
}

/// The aliases that are names of another adapter's metrics. `None` while that is not known.
pub(crate) fn taken<'a>(apis: &'a MetricsApisConfig, resources: &AdapterResources) -> Option<Vec<&'a str>> {
    let mut taken = Vec::new();
    for (name, _) in &apis.aliases {
        if is_taken(apis, resources, name)? {
            taken.push(name.as_str());
        }
    }
    Some(taken)
}

/// Returns whether another adapter has a custom metric of that name. `None` while that is not known.
fn is_taken(apis: &MetricsApisConfig, resources: &AdapterResources, name: &str) -> Option<bool> {
    match apis.fallback.custom {
        Some(_) => resources.has_custom_metric(name),
        None => Some(false),
    }
}
