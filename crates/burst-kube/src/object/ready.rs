//! The ready replicas of a workload, from its status.

use crate::json;
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default)]
    replicas: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    ready_replicas: Option<u32>,
    available_replicas: Option<IgnoredAny>,
    unavailable_replicas: Option<IgnoredAny>,
}

/// Reads `status.readyReplicas` of one item. `None` if it is not known: a custom kind may have no such field, or another type.
///
/// The API server leaves the field out if it is 0. The kind counts its pods if it has one of the two fields beside it.
pub(super) fn read(item: &[u8]) -> Option<u32> {
    let Item { spec, status } = json::read(item).ok()?;
    let status = status?;
    let is_counted = status.available_replicas.is_some() || status.unavailable_replicas.is_some();
    let is_zero = is_counted || spec.replicas == Some(0);
    status.ready_replicas.or(is_zero.then_some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_ready_as_the_status_says_and_otherwise_unknown() {
        for (spec, status, ready) in [
            ("{}", r#"{"readyReplicas":3,"replicas":4}"#, Some(3)),
            // A Deployment none of whose pods is ready, and a StatefulSet.
            (
                r#"{"replicas":2}"#,
                r#"{"replicas":2,"unavailableReplicas":2}"#,
                Some(0),
            ),
            (r#"{"replicas":2}"#, r#"{"availableReplicas":0,"replicas":2}"#, Some(0)),
            // Scaled to 0.
            (r#"{"replicas":0}"#, r#"{"observedGeneration":2}"#, Some(0)),
            // Not observed yet.
            (r#"{"replicas":2}"#, "{}", None),
            (r#"{"replicas":2}"#, "null", None),
            // A custom kind.
            (
                r#"{"replicas":2}"#,
                r#"{"observedGeneration":"7","phase":"Healthy"}"#,
                None,
            ),
            ("{}", r#"{"readyReplicas":"2 of 3"}"#, None),
            ("{}", r#"{"readyReplicas":-1}"#, None),
            ("{}", r#""fine""#, None),
        ] {
            let item = format!(r#"{{"metadata":{{}},"spec":{spec},"status":{status}}}"#);
            assert_eq!(read(item.as_bytes()), ready, "{spec} {status}");
        }
        assert_eq!(read(br#"{"spec":{"template":{}}}"#), None);
    }
}
