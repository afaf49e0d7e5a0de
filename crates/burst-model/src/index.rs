//! Joins Services to workloads and workloads to HPAs: from API objects to the table that the proxy serves.

use crate::kube::object::LabelMap;
use crate::kube::{Hpa, Object, ObjectKind, Resource, ScaleTarget, Service, Source, Workload};
use crate::load::{Load, Percent};
use crate::name::{Name, ObjectName};
use crate::order::sort_by;
use crate::signals::Signals;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

mod explain;
mod incremental_join;
mod lookup;
mod pods;
mod series;

pub use explain::{Explanation, LoadFinding, NoLoadReason, ServiceExplanation, UnmatchedHpa, explain};
pub use incremental_join::{Delta, IncrementalJoin};
pub use pods::PodAddresses;

/// The section of Services.
pub const SERVICES: &str = "services";
/// The section of HPAs, by the short name that the endpoints use.
pub const HPAS: &str = "hpas";
/// The section that the external metrics API sums up: one row for each HPA that counts. Its labels are the scaled
/// workload and the Services that select it. No kind has this name.
pub const SERIES: &str = ":series";
/// The section of pods that are ready and whose addresses are known. The label of a row has the [`PodAddresses`]. It exists
/// only if pods are read. No kind has this name.
pub const PODS: &str = ":pods";

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The object whose load this is.
    pub name: ObjectName,
    /// The name in the header: the scaled workload, or the Service itself if it selects several workloads.
    pub label: ObjectName,
    /// The numbers.
    pub load: Load,
    /// The signals that the configuration names.
    pub signals: Signals,
    /// Its labels, as [`LabelText`](crate::label_text::LabelText). Empty if the configuration does not keep labels.
    pub labels: Box<str>,
}

/// A section for each kind, by its plural name. Rows are sorted by `namespace/name`.
pub type Table = BTreeMap<String, Vec<Row>>;

/// Returns whether rows of that section depend on the objects of the list. Every row but that of a pod depends on HPAs, and
/// the row of a Service also depends on the workloads that it selects.
#[must_use]
pub fn produces_section(source: &Source, section: &str) -> bool {
    match source.kind {
        ObjectKind::Hpas => section != PODS,
        ObjectKind::Services => section == SERVICES,
        ObjectKind::Workloads => section == SERVICES || section == source.resource.plural,
        ObjectKind::EndpointSlices | ObjectKind::Pods => section == PODS,
        ObjectKind::Policies => false,
    }
}

/// Problems with objects that a join found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinFindings {
    /// HPAs without a status, because no controller has processed them yet. They have no load.
    pub unobserved: u64,
    /// HPAs whose target is already scaled by another HPA, which sorts before them.
    pub shadowed: u64,
    /// Endpoints that name a pod of another namespace than their EndpointSlice. They are ignored.
    pub foreign_endpoints: u64,
    /// Pods with an address that EndpointSlices also have for another pod. They have no row.
    pub disputed_pods: u64,
}

/// Joins the objects of all lists from scratch. The target load is `percent` of the maximum.
///
/// This is the definition of the join. The filter uses [`IncrementalJoin`], which a property test compares with it.
#[must_use]
pub fn join<'a>(
    lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])> + Clone,
    percent: Percent,
) -> (Table, JoinFindings) {
    let hpas = hpas(lists.clone());
    let by_target = hpas_by_target(&hpas, percent);
    // A workload without a load adds nothing to a Service.
    let scaled_workloads: Vec<_> = workloads(lists.clone(), &by_target)
        .filter(|scaled| scaled.row().is_some())
        .collect();
    let mut table = Table::new();
    let mut by_key = BTreeMap::new();
    for scaled in workloads(lists.clone(), &by_target) {
        // If several lists have the workload, the first one counts.
        by_key.entry(scaled.target()).or_insert(scaled.workload);
    }
    let of_hpa = |hpa: &&Hpa| {
        let workload = by_key.get(&target_key(hpa)).copied();
        Some(with_ready(row_of_hpa(hpa, percent)?, workload))
    };
    table.insert(HPAS.into(), hpas.iter().filter_map(of_hpa).collect());
    for (source, _) in lists.clone().filter(|(source, _)| source.kind == ObjectKind::Workloads) {
        table.entry(source.resource.plural.clone()).or_default();
    }
    for scaled in &scaled_workloads {
        let row = scaled.row().map(|row| Row {
            name: scaled.workload.name.clone(),
            labels: scaled.workload.own_labels.clone(),
            ..row
        });
        table.entry(scaled.resource.plural.clone()).or_default().extend(row);
    }
    let by_label = LabelIndex::new(&scaled_workloads);
    if lists.clone().any(|(source, _)| source.kept.labels) {
        table.insert(
            SERIES.into(),
            series::rows(&by_target, services(lists.clone()), &by_label),
        );
    }
    let mut disputed_pods = 0;
    if lists.clone().any(|(source, _)| source.kind == ObjectKind::Pods) {
        let (rows, disputed) = pods::rows(&objects(lists.clone()).collect::<Vec<_>>());
        table.insert(PODS.into(), rows);
        disputed_pods = disputed;
    }
    let foreign_endpoints = objects(lists.clone()).map(pods::foreign_endpoints).sum();
    let services =
        services(lists).filter_map(|service| row_of_service(service, &rows_of(&by_label.selected(service)), percent));
    table.insert(SERVICES.into(), services.collect());
    for rows in table.values_mut() {
        sort_by(rows, |a, b| a.name.cmp_as_text(&b.name));
        rows.dedup_by(|a, b| a.name == b.name);
    }
    let findings = JoinFindings {
        foreign_endpoints,
        disputed_pods,
        ..findings(&hpas, &by_target)
    };
    (table, findings)
}

fn objects<'a>(lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])>) -> impl Iterator<Item = &'a Object> {
    lists.flat_map(|(_, objects)| objects).map(|object| &**object)
}

fn services<'a>(lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])>) -> impl Iterator<Item = &'a Service> {
    objects(lists).filter_map(|object| match object {
        Object::Service(service) => Some(service),
        Object::Hpa(_) | Object::Workload(_) | Object::Policy(_) | Object::EndpointSlice(_) | Object::Pod(_) => None,
    })
}

/// All HPAs, sorted by name.
fn hpas<'a>(lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])>) -> Vec<&'a Hpa> {
    let mut hpas: Vec<_> = objects(lists)
        .filter_map(|object| match object {
            Object::Hpa(hpa) => Some(hpa),
            Object::Service(_)
            | Object::Workload(_)
            | Object::Policy(_)
            | Object::EndpointSlice(_)
            | Object::Pod(_) => None,
        })
        .collect();
    sort_by(&mut hpas, |a, b| a.name.cmp(&b.name));
    hpas
}

/// The row of an HPA. `None` if it has no status yet.
fn row_of_hpa(hpa: &Hpa, percent: Percent) -> Option<Row> {
    let label = ObjectName {
        namespace: hpa.name.namespace.clone(),
        name: hpa.target.name.clone(),
    };
    Some(Row {
        name: hpa.name.clone(),
        label,
        load: Load::new(hpa.current_replicas?, hpa.max_replicas, percent),
        signals: Signals {
            ready: None,
            demand: hpa.demand,
            state: hpa.state,
        },
        labels: hpa.own_labels.clone(),
    })
}

/// Adds what the scaled workload says itself to the row of its HPA.
fn with_ready(row: Row, workload: Option<&Workload>) -> Row {
    let ready = workload.and_then(|workload| workload.ready);
    let signals = Signals { ready, ..row.signals };
    Row { signals, ..row }
}

/// Namespace, group, kind and name of a scaled workload.
type TargetKey<'a> = (&'a Name, &'a str, &'a str, &'a Name);

fn target_key(hpa: &Hpa) -> TargetKey<'_> {
    let ScaleTarget { group, kind, name } = &hpa.target;
    (&hpa.name.namespace, group, kind, name)
}

/// The HPAs of one target. The first by name counts, even while it has no status: otherwise the load would jump when
/// it gets one.
struct TargetHpas<'a> {
    first: &'a Hpa,
    others: Vec<&'a Hpa>,
    row: Option<Row>,
}

fn hpas_by_target<'a>(hpas: &[&'a Hpa], percent: Percent) -> BTreeMap<TargetKey<'a>, TargetHpas<'a>> {
    let mut by_target = BTreeMap::<_, TargetHpas<'_>>::new();
    for hpa in hpas {
        let hpas = TargetHpas {
            first: hpa,
            others: Vec::new(),
            row: row_of_hpa(hpa, percent),
        };
        match by_target.entry(target_key(hpa)) {
            Entry::Vacant(free) => drop(free.insert(hpas)),
            Entry::Occupied(mut taken) => taken.get_mut().others.push(hpa),
        }
    }
    by_target
}

fn findings(hpas: &[&Hpa], by_target: &BTreeMap<TargetKey<'_>, TargetHpas<'_>>) -> JoinFindings {
    JoinFindings {
        unobserved: hpas.iter().filter(|hpa| hpa.current_replicas.is_none()).count() as u64,
        shadowed: by_target.values().map(|hpas| hpas.others.len() as u64).sum(),
        ..JoinFindings::default()
    }
}

/// A workload and the HPAs that scale it.
struct ScaledWorkload<'a> {
    resource: &'a Resource,
    workload: &'a Workload,
    hpas: Option<&'a TargetHpas<'a>>,
}

impl<'a> ScaledWorkload<'a> {
    fn new<'b: 'a>(
        resource: &'a Resource,
        workload: &'a Workload,
        by_target: &'a BTreeMap<TargetKey<'b>, TargetHpas<'b>>,
    ) -> Self {
        let ObjectName { namespace, name } = &workload.name;
        Self {
            resource,
            workload,
            hpas: by_target.get(&(namespace, &*resource.group, &*resource.kind, name)),
        }
    }

    fn row(&self) -> Option<Row> {
        Some(with_ready(self.hpas?.row.clone()?, Some(self.workload)))
    }

    fn target(&self) -> TargetKey<'a> {
        let ObjectName { namespace, name } = &self.workload.name;
        (namespace, &self.resource.group, &self.resource.kind, name)
    }
}

fn workloads<'a: 'b, 'b>(
    lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])>,
    by_target: &'b BTreeMap<TargetKey<'a>, TargetHpas<'a>>,
) -> impl Iterator<Item = ScaledWorkload<'b>> {
    lists
        .flat_map(|(source, objects)| objects.iter().map(move |object| (&source.resource, &**object)))
        .filter_map(|(resource, object)| match object {
            Object::Workload(workload) => Some(ScaledWorkload::new(resource, workload, by_target)),
            Object::Hpa(_) | Object::Service(_) | Object::Policy(_) | Object::EndpointSlice(_) | Object::Pod(_) => None,
        })
}

/// Workloads by namespace and each of their labels, so that a Service is compared with few of them.
struct LabelIndex<'a>(BTreeMap<(&'a Name, &'a str, &'a str), Vec<&'a ScaledWorkload<'a>>>);

impl<'a> LabelIndex<'a> {
    fn new(workloads: &'a [ScaledWorkload<'a>]) -> Self {
        let mut index = BTreeMap::<_, Vec<_>>::new();
        for workload in workloads {
            for (key, value) in &workload.workload.labels {
                index
                    .entry((&workload.workload.name.namespace, &**key, &**value))
                    .or_default()
                    .push(workload);
            }
        }
        Self(index)
    }

    /// The workloads whose pods a Service selects. An empty selector selects nothing.
    fn selected<'b>(&'b self, service: &'b Service) -> Vec<&'b ScaledWorkload<'a>> {
        let namespace = &service.name.namespace;
        let candidates = service
            .selector
            .iter()
            .map(|(key, value)| self.labelled(namespace, key, value));
        let fewest = candidates.min_by_key(|found| found.len()).unwrap_or_default();
        fewest
            .iter()
            .filter(|scaled| matches_selector(&service.selector, &scaled.workload.labels))
            .copied()
            .collect()
    }

    fn labelled<'b>(&'b self, namespace: &'b Name, key: &'b str, value: &'b str) -> &'b [&'b ScaledWorkload<'a>] {
        self.0.get(&(namespace, key, value)).map_or(&[], Vec::as_slice)
    }
}

fn rows_of(selected: &[&ScaledWorkload<'_>]) -> Vec<Row> {
    selected.iter().filter_map(|scaled| scaled.row()).collect()
}

/// The row of a Service: the row of the one scaled workload that it selects, or the sum of several.
fn row_of_service(service: &Service, rows: &[Row], percent: Percent) -> Option<Row> {
    let (name, labels) = (service.name.clone(), service.own_labels.clone());
    let (first, others) = rows.split_first()?;
    if others.is_empty() {
        let row = first.clone();
        return Some(Row { name, labels, ..row });
    }
    let sum = |field: fn(&Load) -> u32| rows.iter().map(|row| field(&row.load)).fold(0, u32::saturating_add);
    Some(Row {
        label: name.clone(),
        name,
        load: Load::new(sum(|load| load.current), sum(|load| load.max), percent),
        signals: Signals::sum(&rows.iter().map(|row| row.signals)),
        labels,
    })
}

/// Returns whether the labels match an equality selector.
fn matches_selector(selector: &LabelMap, labels: &LabelMap) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests;
