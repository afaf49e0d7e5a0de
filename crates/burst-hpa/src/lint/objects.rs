//! The objects around an HPA, as far as lints look at them.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::autoscaling::v2::{CrossVersionObjectReference, HorizontalPodAutoscaler};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::namespace;
use crate::spec::spec;
use crate::workload::{DEFAULT_NAMESPACE, Workload};

/// Everything that is known beside an HPA.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub(super) hpas: Vec<HorizontalPodAutoscaler>,
    pub(super) workloads: Vec<Workload>,
    pub(super) budgets: Vec<PodDisruptionBudget>,
    pub(super) vertical: Vec<Custom>,
    pub(super) scaled: Vec<Custom>,
    /// The namespaces in which a `LimitRange` may fill requests in.
    limit_ranges: Vec<String>,
}

/// A custom resource that points at a workload: a `VerticalPodAutoscaler` or a KEDA `ScaledObject`.
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
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CustomSpec {
    #[serde(alias = "scaleTargetRef")]
    target_ref: TargetRef,
    #[serde(default)]
    pub update_policy: UpdatePolicy,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpdatePolicy {
    pub update_mode: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetRef {
    #[serde(default)]
    kind: Option<String>,
    name: String,
}

impl Custom {
    /// KEDA's default kind is a Deployment.
    pub(super) fn targets(&self, reference: &CrossVersionObjectReference, namespace: &str) -> bool {
        let target = &self.spec.target_ref;
        let kind = target.kind.as_deref().unwrap_or("Deployment");
        let own = self.metadata.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
        kind == reference.kind && target.name == reference.name && own == namespace
    }
}

/// What became of an object that was put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Lints will look at it.
    Used,
    /// No lint looks at this kind.
    Ignored,
}

impl Objects {
    /// Takes an object of any kind, as JSON.
    ///
    /// # Errors
    /// If it is of a kind lints look at, and is not shaped like one.
    pub fn insert(&mut self, object: Value) -> Result<Read, serde_json::Error> {
        let word = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match (word("apiVersion").as_str(), word("kind").as_str()) {
            ("autoscaling/v2", "HorizontalPodAutoscaler") => self.hpas.push(parse(object)?),
            ("apps/v1", "Deployment") => self.workloads.push((&parse::<Deployment>(object)?).into()),
            ("apps/v1", "StatefulSet") => self.workloads.push((&parse::<StatefulSet>(object)?).into()),
            ("apps/v1", "ReplicaSet") => self.workloads.push((&parse::<ReplicaSet>(object)?).into()),
            ("policy/v1", "PodDisruptionBudget") => self.budgets.push(parse(object)?),
            (api, "VerticalPodAutoscaler") if api.starts_with("autoscaling.k8s.io/") => {
                self.vertical.push(parse(object)?);
            }
            (api, "ScaledObject") if api.starts_with("keda.sh/") => self.scaled.push(parse(object)?),
            ("v1", "LimitRange") => {
                let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
                self.limit_ranges
                    .push(namespace.unwrap_or(DEFAULT_NAMESPACE).to_owned());
            }
            _ => return Ok(Read::Ignored),
        }
        Ok(Read::Used)
    }

    pub(super) fn target(&self, hpa: &HorizontalPodAutoscaler) -> Option<&Workload> {
        self.workloads
            .iter()
            .find(|workload| workload.is(&spec(hpa).scale_target_ref, namespace(hpa)))
    }

    pub(super) fn may_add_requests(&self, namespace: &str) -> bool {
        self.limit_ranges.iter().any(|own| own == namespace)
    }
}

fn parse<T: DeserializeOwned>(object: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(object)
}
