//! The same join in words: why each Service has the load it has, or none. For people who look at a whole cluster; the
//! filter does not need it.

use super::{
    LabelIndex, ScaledWorkload, TargetKey, hpas, hpas_by_target, row_of_service, rows_of, services, workloads,
};
use crate::kube::{Object, ScaleTarget, Service, Source};
use crate::load::Percent;
use crate::name::ObjectName;
use std::collections::BTreeSet;
use std::rc::Rc;

mod text;

/// Everything that is to be said of a join.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Every Service that was read, by `namespace/name`.
    pub services: Vec<ServiceExplanation>,
    /// HPAs that stand for no workload that was read.
    pub astray: Vec<UnmatchedHpa>,
}

/// What is to be said of one Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceExplanation {
    /// Which.
    pub of: ObjectName,
    /// Why it has no load, where it has none.
    pub no_load: Option<NoLoadReason>,
    /// What is odd about it besides.
    pub remarks: Vec<LoadFinding>,
}

/// A workload, as `Deployment shop/web`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadRef {
    kind: String,
    of: ObjectName,
}

/// Why a Service has no load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoLoadReason {
    /// It has no selector: its endpoints are somebody else's affair.
    NoSelector,
    /// No workload that was read has pods with such labels.
    NothingSelected,
    /// The workloads it selects have no HPA.
    NoHpa(Vec<WorkloadRef>),
    /// No controller has looked at the HPAs yet that count for its workloads.
    Unobserved(Vec<ObjectName>),
}

/// What is odd about the load of a Service, or keeps it from being right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadFinding {
    /// Two HPAs scale one workload; the alphabetically first counts.
    Shadowed {
        /// The one that does not count.
        hpa: ObjectName,
        /// The one that does.
        by: ObjectName,
        /// What both scale.
        workload: WorkloadRef,
    },
    /// One of several workloads is missing from the sums, because no controller has looked at its HPA yet.
    Excluded {
        /// Its HPA.
        hpa: ObjectName,
        /// The workload.
        workload: WorkloadRef,
    },
    /// One of several workloads has no HPA, so its replicas do not count.
    Fixed(WorkloadRef),
}

/// An HPA that scales no workload that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedHpa {
    /// Which.
    pub hpa: ObjectName,
    /// What it scales.
    pub target: ScaleTarget,
    /// Whether workloads of that kind were read, so that this one is not there.
    pub kind_is_read: bool,
}

/// Joins the objects of all lists, as [`super::join`] does, and says what came of each Service and why.
#[must_use]
pub fn explain<'a>(
    lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])> + Clone,
    percent: Percent,
) -> Explanation {
    let hpas = hpas(lists.clone());
    let claims = hpas_by_target(&hpas, percent);
    let workloads: Vec<_> = workloads(lists.clone(), &claims).collect();
    let by_label = LabelIndex::new(&workloads);
    let explained = |service| explain_service(service, &by_label.selected(service), percent);
    let mut services: Vec<_> = services(lists.clone()).map(explained).collect();
    services.sort_by(|a, b| a.of.cmp_as_text(&b.of));
    services.dedup_by(|a, b| a.of == b.of);
    let found: BTreeSet<TargetKey<'_>> = workloads.iter().map(ScaledWorkload::target).collect();
    let kinds: BTreeSet<_> = lists
        .map(|(source, _)| (&source.resource.group, &source.resource.kind))
        .collect();
    let astray = claims.iter().filter(|(target, _)| !found.contains(target));
    let astray = astray.map(|((_, group, kind, _), claim)| UnmatchedHpa {
        hpa: claim.first.name.clone(),
        target: claim.first.target.clone(),
        kind_is_read: kinds.iter().any(|(g, k)| (g.as_str(), k.as_str()) == (*group, *kind)),
    });
    Explanation {
        services,
        astray: astray.collect(),
    }
}

impl<'a> ScaledWorkload<'a> {
    fn target(&self) -> TargetKey<'a> {
        let ObjectName { namespace, name } = &self.workload.name;
        (namespace, &self.resource.group, &self.resource.kind, name)
    }

    fn named(&self) -> WorkloadRef {
        WorkloadRef {
            kind: self.resource.kind.clone(),
            of: self.workload.name.clone(),
        }
    }
}

fn explain_service(service: &Service, selected: &[&ScaledWorkload<'_>], percent: Percent) -> ServiceExplanation {
    let no_load = row_of_service(service, &rows_of(selected), percent)
        .is_none()
        .then(|| no_load(service, selected));
    let overshadowed = selected.iter().flat_map(|scalable| {
        let others = scalable
            .claim
            .iter()
            .flat_map(|claim| claim.others.iter().map(move |hpa| (claim, hpa)));
        others.map(|(claim, hpa)| LoadFinding::Shadowed {
            hpa: hpa.name.clone(),
            by: claim.first.name.clone(),
            workload: scalable.named(),
        })
    });
    let left_out = selected
        .iter()
        .filter(|scalable| no_load.is_none() && scalable.row().is_none())
        .map(|scalable| match scalable.claim {
            Some(claim) => LoadFinding::Excluded {
                hpa: claim.first.name.clone(),
                workload: scalable.named(),
            },
            None => LoadFinding::Fixed(scalable.named()),
        });
    ServiceExplanation {
        of: service.name.clone(),
        remarks: overshadowed.chain(left_out).collect(),
        no_load,
    }
}

fn no_load(service: &Service, selected: &[&ScaledWorkload<'_>]) -> NoLoadReason {
    if service.selector.is_empty() {
        return NoLoadReason::NoSelector;
    }
    if selected.is_empty() {
        return NoLoadReason::NothingSelected;
    }
    let hpas: Vec<_> = selected
        .iter()
        .filter_map(|scalable| Some(scalable.claim?.first.name.clone()))
        .collect();
    if hpas.is_empty() {
        NoLoadReason::NoHpa(selected.iter().map(|scalable| scalable.named()).collect())
    } else {
        NoLoadReason::Unobserved(hpas)
    }
}

#[cfg(test)]
mod tests;
