//! Whether policies let a query for an external metric pass.

use super::Ask;
use super::external::{GROUP, Wanted};
use super::status::{Details, Refusal};
use crate::name::Name;
use crate::policies::EffectivePolicies;
use burst_policy::{AccessRequest, LabelConstraints, Policy, evaluate, name};

/// Before anything is looked up: whoever may not read a metric learns nothing of it.
pub(super) fn check(ask: &Ask<'_>, wanted: &Wanted<'_>) -> Result<(), Refusal> {
    let Some(policies) = &ask.apis.policies else {
        return Ok(());
    };
    let metric = name::canonical(&wanted.metric);
    if metric.len() > name::MAX_LENGTH {
        let message = format!(
            "the name of the metric has {} bytes; {} are allowed",
            metric.len(),
            name::MAX_LENGTH
        );
        return Err(Refusal::bad_request(message));
    }
    // A policy is for a namespace or for all of them. Another adapter may take `*` for all of them, too.
    if !Name::is_one(wanted.namespace) {
        let message = format!("{:?} is no name of a namespace", name::abbreviated(wanted.namespace));
        return Err(Refusal::bad_request(message));
    }
    let root = policies.root_namespace.as_ref();
    let objects = objects(ask.sources.enforced, root, wanted.namespace)?;
    let query = AccessRequest {
        namespace: wanted.namespace,
        metric: &metric,
        user: &String::from_utf8_lossy(ask.request.user),
        groups: ask.request.groups,
        labels: &LabelConstraints::from_query(&ask.query.labels),
    };
    let evaluation = evaluate(policies.given.iter().chain(objects), policies.default, query);
    let Some(reason) = evaluation.denial() else {
        return Ok(());
    };
    let kind = wanted.metric.clone();
    let message = format!("{kind}.{GROUP} is forbidden: {reason}");
    let details = Details {
        name: String::new(),
        group: GROUP.into(),
        kind,
    };
    Err(Refusal::forbidden(message, details))
}

/// Those of the objects, where objects are read.
fn objects<'a>(
    enforced: &'a EffectivePolicies,
    root: Option<&Name>,
    namespace: &str,
) -> Result<impl Iterator<Item = &'a Policy> + use<'a>, Refusal> {
    let objects = root.map(|root| enforced.for_namespace(root, namespace)).transpose();
    let objects = objects.map_err(|reason| Refusal::unavailable(reason.to_string()))?;
    Ok(objects.into_iter().flatten())
}
