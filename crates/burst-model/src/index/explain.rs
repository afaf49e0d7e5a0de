//! Explains a join: why a Service has no load, and what is wrong with the load of another. `burstctl` shows it. The
//! filter does not use it.

use super::{
    LabelIndex, ScaledWorkload, TargetKey, hpas, hpas_by_target, row_of_service, rows_of, services, workloads,
};
use crate::kube::{Object, ScaleTarget, Service, Source};
use crate::load::Percent;
use crate::name::ObjectName;
use std::collections::BTreeSet;
use std::rc::Rc;

mod text;

/// The explanation of a join.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Every Service that was read, sorted by `namespace/name`.
    pub services: Vec<ServiceExplanation>,
    /// HPAs whose target is not among the workloads that were read.
    pub unmatched_hpas: Vec<UnmatchedHpa>,
}

/// The explanation of one Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceExplanation {
    /// The Service.
    pub name: ObjectName,
    /// Why it has no load, if it has none.
    pub no_load: Option<NoLoadReason>,
    /// Other findings about its workloads.
    pub findings: Vec<LoadFinding>,
}

/// A workload, as `Deployment shop/web`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadRef {
    kind: String,
    name: ObjectName,
}

/// Why a Service has no load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoLoadReason {
    /// It has no selector, so another component manages its endpoints.
    NoSelector,
    /// Its selector matches no workload that was read.
    NothingSelected,
    /// No HPA scales the workloads that it selects.
    NoHpa(Vec<WorkloadRef>),
    /// The HPAs that count for its workloads have no status yet.
    Unobserved(Vec<ObjectName>),
}

/// A finding about the load of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadFinding {
    /// Two HPAs scale one workload. The first by name counts.
    Shadowed {
        /// The HPA that does not count.
        hpa: ObjectName,
        /// The HPA that counts.
        by: ObjectName,
        /// The workload that both scale.
        workload: WorkloadRef,
    },
    /// One of several workloads is missing from the sums, because its HPA has no status yet.
    Excluded {
        /// Its HPA.
        hpa: ObjectName,
        /// The workload.
        workload: WorkloadRef,
    },
    /// One of several workloads has no HPA, so its replicas do not count.
    Fixed(WorkloadRef),
}

/// An HPA whose target is not among the workloads that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedHpa {
    /// The HPA.
    pub hpa: ObjectName,
    /// Its target.
    pub target: ScaleTarget,
    /// Whether workloads of the target's kind were read. If so, the target does not exist.
    pub kind_is_read: bool,
}

/// Joins the objects of all lists as [`super::join`] does, and explains the result for each Service.
#[must_use]
pub fn explain<'a>(
    lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])> + Clone,
    percent: Percent,
) -> Explanation {
    let hpas = hpas(lists.clone());
    let by_target = hpas_by_target(&hpas, percent);
    let workloads: Vec<_> = workloads(lists.clone(), &by_target).collect();
    let by_label = LabelIndex::new(&workloads);
    let mut services: Vec<_> = services(lists.clone())
        .map(|service| explain_service(service, &by_label.selected(service), percent))
        .collect();
    services.sort_by(|a, b| a.name.cmp_as_text(&b.name));
    services.dedup_by(|a, b| a.name == b.name);
    let found: BTreeSet<TargetKey<'_>> = workloads.iter().map(ScaledWorkload::target).collect();
    let kinds: BTreeSet<_> = lists
        .map(|(source, _)| (&source.resource.group, &source.resource.kind))
        .collect();
    let unmatched_hpas = by_target
        .iter()
        .filter(|(target, _)| !found.contains(target))
        .map(|((_, group, kind, _), hpas)| UnmatchedHpa {
            hpa: hpas.first.name.clone(),
            target: hpas.first.target.clone(),
            kind_is_read: kinds.iter().any(|(g, k)| (g.as_str(), k.as_str()) == (*group, *kind)),
        })
        .collect();
    Explanation {
        services,
        unmatched_hpas,
    }
}

impl ScaledWorkload<'_> {
    fn workload_ref(&self) -> WorkloadRef {
        WorkloadRef {
            kind: self.resource.kind.clone(),
            name: self.workload.name.clone(),
        }
    }
}

fn explain_service(service: &Service, selected: &[&ScaledWorkload<'_>], percent: Percent) -> ServiceExplanation {
    let no_load = row_of_service(service, &rows_of(selected), percent)
        .is_none()
        .then(|| no_load_reason(service, selected));
    let shadowed = selected.iter().flat_map(|workload| {
        let others = workload
            .hpas
            .iter()
            .flat_map(|hpas| hpas.others.iter().map(move |hpa| (hpas, hpa)));
        others.map(|(hpas, hpa)| LoadFinding::Shadowed {
            hpa: hpa.name.clone(),
            by: hpas.first.name.clone(),
            workload: workload.workload_ref(),
        })
    });
    let excluded = selected
        .iter()
        .filter(|workload| no_load.is_none() && workload.row().is_none())
        .map(|workload| match workload.hpas {
            Some(hpas) => LoadFinding::Excluded {
                hpa: hpas.first.name.clone(),
                workload: workload.workload_ref(),
            },
            None => LoadFinding::Fixed(workload.workload_ref()),
        });
    ServiceExplanation {
        name: service.name.clone(),
        findings: shadowed.chain(excluded).collect(),
        no_load,
    }
}

fn no_load_reason(service: &Service, selected: &[&ScaledWorkload<'_>]) -> NoLoadReason {
    if service.selector.is_empty() {
        return NoLoadReason::NoSelector;
    }
    if selected.is_empty() {
        return NoLoadReason::NothingSelected;
    }
    let hpas: Vec<_> = selected
        .iter()
        .filter_map(|workload| Some(workload.hpas?.first.name.clone()))
        .collect();
    if hpas.is_empty() {
        NoLoadReason::NoHpa(selected.iter().map(|workload| workload.workload_ref()).collect())
    } else {
        NoLoadReason::Unobserved(hpas)
    }
}

#[cfg(test)]
mod tests;
