//! Decides which requests another adapter answers.
//!
//! A metric name that we serve is ours, and so is an alias unless another adapter has a metric of that name. Any other name
//! belongs to the adapter that the configuration names for the group.

use crate::adapters::{adapter, adapters};
use crate::aliases;
use crate::api_version::ApiVersion;
use crate::path::{ApiPath, ExternalMetricPath};
use crate::policy_check;
use crate::request::MetricsRequest;
use crate::sources::MetricSources;
use crate::status::StatusError;
use burst_model::metric::ServedMetric;

/// Returns whether another adapter answers a request. Only the name of the metric decides, not the object.
///
/// # Errors
/// The request is for another adapter, and the ExternalMetricPolicies do not allow it.
pub(crate) fn is_delegated(sources: &MetricSources<'_>, request: &MetricsRequest) -> Result<bool, StatusError> {
    // The other adapter must not resolve a path differently than the policy check here.
    if adapters(sources.apis).next().is_none() || request.path.is_ambiguous {
        return Ok(false);
    }
    match &request.path.target {
        ApiPath::Custom(api, path) => {
            let is_ours = aliases::find(sources, &path.metric).is_some();
            Ok(adapter(sources.apis, *api).is_some() && !is_ours)
        }
        ApiPath::External(path) => is_external_delegated(sources, request, path),
        _ => Ok(false),
    }
}

fn is_external_delegated(
    sources: &MetricSources<'_>,
    request: &MetricsRequest,
    path: &ExternalMetricPath,
) -> Result<bool, StatusError> {
    let has_adapter = adapter(sources.apis, ApiVersion::ExternalV1Beta1).is_some();
    if !has_adapter || ServedMetric::find_external(sources.apis.counting, &path.metric).is_some() {
        return Ok(false);
    }
    if sources.apis.policies.is_some() {
        request.options.check()?;
        policy_check::check(sources, request, path)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
