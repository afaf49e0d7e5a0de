//! Checks whether the ExternalMetricPolicies allow a request for an external metric.

use crate::api_version::EXTERNAL_GROUP;
use crate::objects::StatusDetails;
use crate::path::ExternalMetricPath;
use crate::request::MetricsRequest;
use crate::sources::MetricSources;
use crate::status::StatusError;
use burst_kube::name::Name;
use burst_model::policies::EffectivePolicies;
use burst_policy::{AccessRequest, LabelConstraints, Policy, evaluate, name};

/// Checks a request before its metric is looked up, so that a user without permission learns nothing about the metric.
///
/// # Errors
/// `403` if a policy denies the request, `400` if it cannot be checked, `503` if the policies are not known.
pub(crate) fn check(
    sources: &MetricSources<'_>,
    request: &MetricsRequest,
    path: &ExternalMetricPath,
) -> Result<(), StatusError> {
    let Some(policies) = &sources.apis.policies else {
        return Ok(());
    };
    let metric = name::canonical(&path.metric);
    if metric.len() > name::MAX_LENGTH {
        let message = format!(
            "the name of the metric has {} bytes; {} are allowed",
            metric.len(),
            name::MAX_LENGTH
        );
        return Err(StatusError::bad_request(message));
    }
    // A policy applies to one namespace or to all of them. Another adapter may read a name like `*` as all namespaces.
    if !Name::is_valid(&path.namespace) {
        let message = format!(
            "{:?} is not the name of a namespace",
            name::abbreviated(&path.namespace)
        );
        return Err(StatusError::bad_request(message));
    }
    let root_namespace = policies.root_namespace.as_ref();
    let objects = policy_objects(sources.policies, root_namespace, &path.namespace)?;
    let access = AccessRequest {
        namespace: &path.namespace,
        metric: &metric,
        user: request.user.name(),
        groups: &request.user.groups,
        labels: &LabelConstraints::from_query(&request.options.label_selector),
    };
    let evaluation = evaluate(policies.given.iter().chain(objects), policies.default, access);
    let Some(reason) = evaluation.denial() else {
        return Ok(());
    };
    let message = format!("{}.{EXTERNAL_GROUP} is forbidden: {reason}", path.metric);
    let details = StatusDetails {
        group: EXTERNAL_GROUP.to_owned(),
        kind: path.metric.clone(),
        ..StatusDetails::default()
    };
    Err(StatusError::forbidden(message, details))
}

/// The policies that are Kubernetes objects and apply to a namespace. There are none without a root namespace.
fn policy_objects<'a>(
    policies: &'a EffectivePolicies,
    root_namespace: Option<&Name>,
    namespace: &str,
) -> Result<impl Iterator<Item = &'a Policy> + use<'a>, StatusError> {
    let objects = root_namespace
        .map(|root| policies.for_namespace(root, namespace))
        .transpose()
        .map_err(|reason| StatusError::unavailable(reason.to_string()))?;
    Ok(objects.into_iter().flatten())
}
