//! Custom resources that refer to a workload: a `VerticalPodAutoscaler`, a KEDA `ScaledObject`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::workload::DEFAULT_NAMESPACE;

/// With this annotation KEDA takes over an existing HPA instead of creating one.
const TAKES_OVER: &str = "scaledobject.keda.sh/transfer-hpa-ownership";

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Custom {
    pub metadata: Name,
    pub spec: CustomSpec,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Name {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CustomSpec {
    #[serde(alias = "scaleTargetRef")]
    target_ref: TargetRef,
    #[serde(default)]
    update_policy: Option<UpdatePolicy>,
    #[serde(default)]
    advanced: Option<Advanced>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpdatePolicy {
    update_mode: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetRef {
    #[serde(default)]
    kind: Option<String>,
    name: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Advanced {
    horizontal_pod_autoscaler_config: Option<HpaName>,
}

#[derive(Clone, Debug, Deserialize)]
struct HpaName {
    name: Option<String>,
}

/// Namespace, kind and name. These resources do not always name the group.
pub(super) type TargetKey = (String, String, String);

impl Custom {
    /// The workload that the resource refers to. KEDA's default kind is Deployment.
    pub(super) fn target(&self) -> TargetKey {
        let target = &self.spec.target_ref;
        let kind = target.kind.as_deref().unwrap_or("Deployment");
        let namespace = self.metadata.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
        (namespace.to_owned(), kind.to_owned(), target.name.clone())
    }

    /// Returns whether a `VerticalPodAutoscaler` changes requests.
    pub(super) fn acts(&self) -> bool {
        let policy = self.spec.update_policy.as_ref();
        policy.and_then(|policy| policy.update_mode.as_deref()) != Some("Off")
    }

    /// Returns whether a `ScaledObject` takes over the HPA of this name.
    pub(super) fn takes_over(&self, hpa: Option<&str>) -> bool {
        let annotation = self
            .metadata
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get(TAKES_OVER));
        let config = self.spec.advanced.as_ref();
        let name = config.and_then(|advanced| advanced.horizontal_pod_autoscaler_config.as_ref()?.name.as_deref());
        annotation.is_some_and(|value| value == "true") && name.is_some() && name == hpa
    }
}
