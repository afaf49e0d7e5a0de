//! Joins Services to workloads and workloads to HPAs: from API objects to the table that the proxy serves.

use crate::kube::object::LabelMap;
use crate::kube::{Hpa, Object, ObjectKind, Resource, ScaleTarget, Service, Source, Workload};
use crate::load::{Load, Percent};
use crate::name::{Name, ObjectName};
use crate::order::sort_by;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

mod explain;
mod incremental_join;
mod lookup;
mod series;

pub use explain::{Explanation, LoadFinding, NoLoadReason, ServiceExplanation, UnmatchedHpa, explain};
pub use incremental_join::{Delta, IncrementalJoin};

/// The section of Services.
pub const SERVICES: &str = "services";
/// The section of HPAs, by the short name that the endpoints use.
pub const HPAS: &str = "hpas";
/// The section that the external metrics API sums up: one row for each HPA that counts. Its labels are the scaled
/// workload and the Services that select it. No kind has this name.
pub const SERIES: &str = ":series";

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The object whose load this is.
    pub name: ObjectName,
    /// The name in the header: the scaled workload, or the Service itself if it selects several workloads.
    pub label: ObjectName,
    /// The numbers.
    pub load: Load,
    /// Its labels, as [`LabelText`](crate::label_text::LabelText). Empty if the configuration does not keep labels.
    pub labels: Box<str>,
}

/// A section for each kind, by its plural name. Rows are sorted by `namespace/name`.
pub type Table = BTreeMap<String, Vec<Row>>;

/// Returns whether rows of that section depend on the objects of the list. Every row depends on HPAs, and the row of a
/// Service also depends on the workloads that it selects.
#[must_use]
pub fn produces_section(source: &Source, section: &str) -> bool {
    match source.kind {
        ObjectKind::Hpas => true,
        ObjectKind::Services => section == SERVICES,
        ObjectKind::Workloads => section == SERVICES || section == source.resource.plural,
        ObjectKind::Policies | ObjectKind::EndpointSlices | ObjectKind::Pods => false,
    }
}

/// Problems with HPAs that a join found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinFindings {
    /// HPAs without a status, because no controller has processed them yet. They have no load.
    pub unobserved: u64,
    /// HPAs whose target is already scaled by another HPA, which sorts before them.
    pub shadowed: u64,
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
    table.insert(
        HPAS.into(),
        hpas.iter().filter_map(|hpa| row_of_hpa(hpa, percent)).collect(),
    );
    for (source, _) in lists.clone().filter(|(source, _)| source.kind == ObjectKind::Workloads) {
        table.entry(source.resource.plural.clone()).or_default();
    }
    for scaled in &scaled_workloads {
        let row = scaled.row().map(|row| Row {
            name: scaled.workload.name.clone(),
            labels: scaled.workload.own_labels.clone(),
            ..row.clone()
        });
        table.entry(scaled.resource.plural.clone()).or_default().extend(row);
    }
    let by_label = LabelIndex::new(&scaled_workloads);
    if lists.clone().any(|(source, _)| source.keep_labels) {
        table.insert(
            SERIES.into(),
            series::rows(&by_target, services(lists.clone()), &by_label),
        );
    }
    let services =
        services(lists).filter_map(|service| row_of_service(service, &rows_of(&by_label.selected(service)), percent));
    table.insert(SERVICES.into(), services.collect());
    for rows in table.values_mut() {
        sort_by(rows, |a, b| a.name.cmp_as_text(&b.name));
        rows.dedup_by(|a, b| a.name == b.name);
    }
    (table, findings(&hpas, &by_target))
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
        labels: hpa.own_labels.clone(),
    })
}

/// Namespace, group, kind and name of a scaled workload.
type TargetKey<'a> = (&'a Name, &'a str, &'a str, &'a Name);

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
        let ScaleTarget { group, kind, name } = &hpa.target;
        let hpas = TargetHpas {
            first: hpa,
            others: Vec::new(),
            row: row_of_hpa(hpa, percent),
        };
        match by_target.entry((&hpa.name.namespace, &**group, &**kind, name)) {
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

    fn row(&self) -> Option<&'a Row> {
        self.hpas?.row.as_ref()
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
    selected.iter().filter_map(|scaled| scaled.row().cloned()).collect()
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
        labels,
    })
}

/// Returns whether the labels match an equality selector.
fn matches_selector(selector: &LabelMap, labels: &LabelMap) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests;
