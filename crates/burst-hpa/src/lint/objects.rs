//! The other objects of a cluster that lints use.

use std::collections::{BTreeMap, HashMap, HashSet};

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::autoscaling::v2::{CrossVersionObjectReference, HorizontalPodAutoscaler};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::custom::{Custom, TargetKey};
use super::index::{Labels, Selectors};
use super::namespace;
use crate::selector::matches;
use crate::spec::spec;
use crate::workload::{DEFAULT_NAMESPACE, Workload, group};

/// The other objects of the cluster of an HPA.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    hpas: HashMap<ScaleTargetKey, Vec<HorizontalPodAutoscaler>>,
    workloads: Vec<Workload>,
    targets: HashMap<ScaleTargetKey, usize>,
    labels: Labels,
    budgets: Vec<PodDisruptionBudget>,
    budget_selectors: Selectors,
    vertical_autoscalers: HashMap<TargetKey, Vec<Custom>>,
    scaled_objects: HashMap<TargetKey, Vec<Custom>>,
    /// The namespaces in which a `LimitRange` may add requests.
    limit_ranges: HashSet<String>,
    coverage: Coverage,
}

/// Which objects of a cluster are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Coverage {
    /// Those of the input. Others may exist.
    #[default]
    Some,
    /// The targets of all HPAs, as far as their kinds are known.
    Targets,
}

/// The object that a `scaleTargetRef` refers to. The version does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ScaleTargetKey {
    namespace: String,
    group: String,
    kind: String,
    name: String,
}

impl ScaleTargetKey {
    fn from_hpa(hpa: &HorizontalPodAutoscaler) -> Self {
        let reference = &spec(hpa).scale_target_ref;
        let api_version = reference.api_version.as_deref().unwrap_or_default();
        Self::new(namespace(hpa), api_version, &reference.kind, &reference.name)
    }

    fn from_workload(workload: &Workload) -> Self {
        Self::new(
            workload.namespace(),
            &workload.api_version,
            &workload.kind,
            &workload.name,
        )
    }

    fn new(namespace: &str, api_version: &str, kind: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            group: group(api_version).to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// Lints use the object.
    Used,
    /// No lint uses this kind.
    Ignored,
}

impl Objects {
    /// Returns an empty set for the objects of a cluster. The caller inserts every Deployment and StatefulSet, and every
    /// ReplicaSet that an HPA refers to. So a target of these kinds that is not in the set does not exist.
    #[must_use]
    pub fn of_cluster() -> Self {
        Self {
            coverage: Coverage::Targets,
            ..Self::default()
        }
    }

    /// Adds an object of any kind, as JSON.
    ///
    /// # Errors
    /// Fails if lints use the kind of the object, but the object cannot be decoded.
    pub fn insert(&mut self, object: Value) -> Result<Insertion, serde_json::Error> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match (text("apiVersion").as_str(), text("kind").as_str()) {
            ("autoscaling/v2", "HorizontalPodAutoscaler") => self.insert_hpa(parse(object)?),
            ("apps/v1", "Deployment") => self.insert_workload((&parse::<Deployment>(object)?).into()),
            ("apps/v1", "StatefulSet") => self.insert_workload((&parse::<StatefulSet>(object)?).into()),
            ("apps/v1", "ReplicaSet") => self.insert_workload((&parse::<ReplicaSet>(object)?).into()),
            ("policy/v1", "PodDisruptionBudget") => self.insert_budget(parse(object)?),
            (api, "VerticalPodAutoscaler") if api.starts_with("autoscaling.k8s.io/") => {
                let vertical: Custom = parse(object)?;
                self.vertical_autoscalers
                    .entry(vertical.target())
                    .or_default()
                    .push(vertical);
            }
            (api, "ScaledObject") if api.starts_with("keda.sh/") => {
                let scaled: Custom = parse(object)?;
                self.scaled_objects.entry(scaled.target()).or_default().push(scaled);
            }
            ("v1", "LimitRange") => {
                let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
                self.limit_ranges
                    .insert(namespace.unwrap_or(DEFAULT_NAMESPACE).to_owned());
            }
            _ => return Ok(Insertion::Ignored),
        }
        Ok(Insertion::Used)
    }

    /// Adds an HPA. Some lints compare the targets of all HPAs.
    pub fn insert_hpa(&mut self, hpa: HorizontalPodAutoscaler) {
        self.hpas.entry(ScaleTargetKey::from_hpa(&hpa)).or_default().push(hpa);
    }

    fn insert_workload(&mut self, workload: Workload) {
        let index = self.workloads.len();
        self.labels.insert(index, workload.namespace(), &workload.labels());
        self.targets
            .entry(ScaleTargetKey::from_workload(&workload))
            .or_insert(index);
        self.workloads.push(workload);
    }

    fn insert_budget(&mut self, budget: PodDisruptionBudget) {
        let Some(selector) = selector(&budget) else { return };
        let namespace = budget.metadata.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
        self.budget_selectors.insert(self.budgets.len(), namespace, selector);
        self.budgets.push(budget);
    }

    pub(super) fn target(&self, hpa: &HorizontalPodAutoscaler) -> Option<&Workload> {
        self.workloads.get(*self.targets.get(&ScaleTargetKey::from_hpa(hpa))?)
    }

    pub(super) fn coverage(&self) -> Coverage {
        self.coverage
    }

    pub(super) fn has_workloads(&self) -> bool {
        !self.workloads.is_empty()
    }

    pub(super) fn workloads_in(&self, namespace: &str) -> impl Iterator<Item = &Workload> {
        self.labels
            .in_namespace(namespace)
            .iter()
            .filter_map(|index| self.workloads.get(*index))
    }

    pub(super) fn may_add_requests(&self, namespace: &str) -> bool {
        self.limit_ranges.contains(namespace)
    }

    /// HPAs of another name that scale the same target.
    pub(super) fn hpas_with_same_target<'a>(
        &'a self,
        hpa: &HorizontalPodAutoscaler,
    ) -> impl Iterator<Item = &'a HorizontalPodAutoscaler> + use<'a> {
        self.others(&ScaleTargetKey::from_hpa(hpa), hpa)
    }

    /// HPAs of another name that scale a workload.
    pub(super) fn scaling<'a>(
        &'a self,
        workload: &Workload,
        hpa: &HorizontalPodAutoscaler,
    ) -> impl Iterator<Item = &'a HorizontalPodAutoscaler> + use<'a> {
        self.others(&ScaleTargetKey::from_workload(workload), hpa)
    }

    fn others<'a>(
        &'a self,
        target: &ScaleTargetKey,
        hpa: &HorizontalPodAutoscaler,
    ) -> impl Iterator<Item = &'a HorizontalPodAutoscaler> + use<'a> {
        let name = hpa.metadata.name.clone();
        let with_target = self.hpas.get(target).into_iter().flatten();
        with_target.filter(move |other| other.metadata.name != name)
    }

    /// Other workloads whose pods the selector of this one matches.
    pub(super) fn selected_by<'a>(&'a self, target: &'a Workload) -> impl Iterator<Item = &'a Workload> {
        let candidates = self.labels.candidates(target.namespace(), &target.selector);
        let others = candidates.iter().filter_map(|index| self.workloads.get(*index));
        others.filter(move |other| *other != target && matches(&target.selector, &other.labels()))
    }

    /// The budgets that cover pods of these labels.
    pub(super) fn budgets_covering<'a>(
        &'a self,
        namespace: &str,
        labels: &BTreeMap<String, String>,
    ) -> impl Iterator<Item = &'a PodDisruptionBudget> {
        let candidates = self.budget_selectors.candidates(namespace, labels);
        let budgets = candidates.into_iter().filter_map(|index| self.budgets.get(index));
        budgets.filter(move |budget| selector(budget).is_some_and(|selector| matches(selector, labels)))
    }

    pub(super) fn vertical_autoscalers(&self, hpa: &HorizontalPodAutoscaler) -> impl Iterator<Item = &Custom> {
        self.vertical_autoscalers.get(&target_key(hpa)).into_iter().flatten()
    }

    pub(super) fn scaled_objects(&self, hpa: &HorizontalPodAutoscaler) -> impl Iterator<Item = &Custom> {
        self.scaled_objects.get(&target_key(hpa)).into_iter().flatten()
    }
}

fn target_key(hpa: &HorizontalPodAutoscaler) -> TargetKey {
    let CrossVersionObjectReference { kind, name, .. } = &spec(hpa).scale_target_ref;
    (namespace(hpa).to_owned(), kind.clone(), name.clone())
}

fn selector(budget: &PodDisruptionBudget) -> Option<&LabelSelector> {
    budget.spec.as_ref()?.selector.as_ref()
}

fn parse<T: DeserializeOwned>(object: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(object)
}
