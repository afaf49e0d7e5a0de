//! Services joined to workloads joined to HPAs: from objects to the table that is served.

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
/// The section of HPAs, by the short name of seed 000.
pub const HPAS: &str = "hpas";
/// The section of what the external metrics API sums up: the HPAs that count, once each, with what they scale and the
/// Services in front of it as labels. No kind has such a name.
pub const SERIES: &str = ":series";

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Whose load it is.
    pub of: ObjectName,
    /// What the header calls it: the scaled workload, or the Service itself where it stands for several.
    pub label: ObjectName,
    /// The numbers.
    pub load: Load,
    /// Labels of it, as [`LabelText`](crate::label_text::LabelText); empty where they are not kept.
    pub labels: Box<str>,
}

/// What is served: a section for each kind, by its plural name, the rows sorted by `namespace/name`.
pub type Table = BTreeMap<String, Vec<Row>>;

/// Whether rows of that section are made of what the list holds. Every row has an HPA; a Service has a load by any
/// workload that it selects.
#[must_use]
pub fn produces_section(source: &Source, section: &str) -> bool {
    match source.kind {
        ObjectKind::Hpas => true,
        ObjectKind::Services => section == SERVICES,
        ObjectKind::Workloads => section == SERVICES || section == source.resource.plural,
        ObjectKind::Policies => false,
    }
}

/// What an operator should know of a join, besides the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinFindings {
    /// HPAs that no controller has looked at yet; they have no load.
    pub unobserved: u64,
    /// HPAs whose target another HPA, alphabetically before them, already scales.
    pub overshadowed: u64,
}

/// Joins the objects of all lists. `percent` of the maximum is the target load. It is what a join means, with nothing
/// kept; the filter has a [`IncrementalJoin`], which is held to it.
#[must_use]
pub fn join<'a>(
    lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])> + Clone,
    percent: Percent,
) -> (Table, JoinFindings) {
    let hpas = hpas(lists.clone());
    let claims = hpas_by_target(&hpas, percent);
    // Workloads without a load are of no use to a Service.
    let scaled: Vec<_> = workloads(lists.clone(), &claims)
        .filter(|scalable| scalable.row().is_some())
        .collect();
    let mut table = Table::new();
    table.insert(
        HPAS.into(),
        hpas.iter().filter_map(|hpa| row_of(hpa, percent)).collect(),
    );
    for (source, _) in lists.clone().filter(|(source, _)| source.kind == ObjectKind::Workloads) {
        table.entry(source.resource.plural.clone()).or_default();
    }
    for scalable in &scaled {
        let row = scalable.row().map(|row| Row {
            of: scalable.workload.name.clone(),
            labels: scalable.workload.own_labels.clone(),
            ..row.clone()
        });
        table.entry(scalable.resource.plural.clone()).or_default().extend(row);
    }
    let by_label = LabelIndex::new(&scaled);
    if lists.clone().any(|(source, _)| source.keep_labels) {
        table.insert(SERIES.into(), series::rows(&claims, services(lists.clone()), &by_label));
    }
    let services =
        services(lists).filter_map(|service| row_of_service(service, &rows_of(&by_label.selected(service)), percent));
    table.insert(SERVICES.into(), services.collect());
    for rows in table.values_mut() {
        sort_by(rows, |a, b| a.of.cmp_as_text(&b.of));
        rows.dedup_by(|a, b| a.of == b.of);
    }
    (table, findings(&hpas, &claims))
}

fn objects<'a>(lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])>) -> impl Iterator<Item = &'a Object> {
    lists.flat_map(|(_, objects)| objects).map(|object| &**object)
}

fn services<'a>(lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])>) -> impl Iterator<Item = &'a Service> {
    objects(lists).filter_map(|object| match object {
        Object::Service(service) => Some(service),
        Object::Hpa(_) | Object::Workload(_) | Object::Policy(_) => None,
    })
}

/// All HPAs, alphabetically.
fn hpas<'a>(lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])>) -> Vec<&'a Hpa> {
    let mut hpas: Vec<_> = objects(lists)
        .filter_map(|object| match object {
            Object::Hpa(hpa) => Some(hpa),
            Object::Service(_) | Object::Workload(_) | Object::Policy(_) => None,
        })
        .collect();
    sort_by(&mut hpas, |a, b| a.name.cmp(&b.name));
    hpas
}

/// The row of an HPA; `None` while no controller has looked at it.
fn row_of(hpa: &Hpa, percent: Percent) -> Option<Row> {
    let label = ObjectName {
        namespace: hpa.name.namespace.clone(),
        name: hpa.target.name.clone(),
    };
    Some(Row {
        of: hpa.name.clone(),
        label,
        load: Load::new(hpa.current_replicas?, hpa.max_replicas, percent),
        labels: hpa.own_labels.clone(),
    })
}

/// Namespace, group, kind and name of what is scaled.
type TargetKey<'a> = (&'a Name, &'a str, &'a str, &'a Name);

/// What the HPAs on one target come to. The alphabetically first counts, observed or not: a second one may not speak
/// for it meanwhile.
struct TargetHpas<'a> {
    first: &'a Hpa,
    others: Vec<&'a Hpa>,
    row: Option<Row>,
}

fn hpas_by_target<'a>(hpas: &[&'a Hpa], percent: Percent) -> BTreeMap<TargetKey<'a>, TargetHpas<'a>> {
    let mut claims = BTreeMap::<_, TargetHpas<'_>>::new();
    for hpa in hpas {
        let ScaleTarget { group, kind, name } = &hpa.target;
        let claim = TargetHpas {
            first: hpa,
            others: Vec::new(),
            row: row_of(hpa, percent),
        };
        match claims.entry((&hpa.name.namespace, &**group, &**kind, name)) {
            Entry::Vacant(free) => drop(free.insert(claim)),
            Entry::Occupied(mut taken) => taken.get_mut().others.push(hpa),
        }
    }
    claims
}

fn findings(hpas: &[&Hpa], claims: &BTreeMap<TargetKey<'_>, TargetHpas<'_>>) -> JoinFindings {
    JoinFindings {
        unobserved: hpas.iter().filter(|hpa| hpa.current_replicas.is_none()).count() as u64,
        overshadowed: claims.values().map(|claim| claim.others.len() as u64).sum(),
    }
}

/// A workload, and the HPAs on it.
struct ScaledWorkload<'a> {
    resource: &'a Resource,
    workload: &'a Workload,
    claim: Option<&'a TargetHpas<'a>>,
}

impl<'a> ScaledWorkload<'a> {
    fn row(&self) -> Option<&'a Row> {
        self.claim?.row.as_ref()
    }
}

fn workloads<'a: 'b, 'b>(
    lists: impl Iterator<Item = (&'a Source, &'a [Rc<Object>])>,
    claims: &'b BTreeMap<TargetKey<'a>, TargetHpas<'a>>,
) -> impl Iterator<Item = ScaledWorkload<'b>> {
    let of = |resource: &'b Resource, workload: &'b Workload| {
        let ObjectName { namespace, name } = &workload.name;
        ScaledWorkload {
            resource,
            workload,
            claim: claims.get(&(namespace, &*resource.group, &*resource.kind, name)),
        }
    };
    let of_list = move |(source, objects): (&'a Source, &'a [Rc<Object>])| {
        objects.iter().filter_map(move |object| match &**object {
            Object::Workload(workload) => Some(of(&source.resource, workload)),
            Object::Hpa(_) | Object::Service(_) | Object::Policy(_) => None,
        })
    };
    lists.flat_map(of_list)
}

/// Workloads by namespace and each of their labels, so that a Service looks at few of them.
struct LabelIndex<'a>(BTreeMap<(&'a Name, &'a str, &'a str), Vec<&'a ScaledWorkload<'a>>>);

impl<'a> LabelIndex<'a> {
    fn new(workloads: &'a [ScaledWorkload<'a>]) -> Self {
        let mut index = BTreeMap::<_, Vec<_>>::new();
        for scalable in workloads {
            for (key, value) in &scalable.workload.labels {
                index
                    .entry((&scalable.workload.name.namespace, &**key, &**value))
                    .or_default()
                    .push(scalable);
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
            .map(|(key, value)| self.with(namespace, key, value));
        let fewest = candidates.min_by_key(|found| found.len()).unwrap_or_default();
        fewest
            .iter()
            .filter(|scalable| selects(&service.selector, &scalable.workload.labels))
            .copied()
            .collect()
    }

    fn with<'b>(&'b self, namespace: &'b Name, key: &'b str, value: &'b str) -> &'b [&'b ScaledWorkload<'a>] {
        self.0.get(&(namespace, key, value)).map_or(&[], Vec::as_slice)
    }
}

fn rows_of(selected: &[&ScaledWorkload<'_>]) -> Vec<Row> {
    selected.iter().filter_map(|scalable| scalable.row().cloned()).collect()
}

/// The row of a Service: that of the one scaled workload it selects, or the sum of several.
fn row_of_service(service: &Service, rows: &[Row], percent: Percent) -> Option<Row> {
    let (of, labels) = (service.name.clone(), service.own_labels.clone());
    let (first, others) = rows.split_first()?;
    if others.is_empty() {
        let row = first.clone();
        return Some(Row { of, labels, ..row });
    }
    let sum = |of: fn(&Load) -> u32| rows.iter().map(|row| of(&row.load)).fold(0, u32::saturating_add);
    Some(Row {
        label: of.clone(),
        of,
        load: Load::new(sum(|load| load.current), sum(|load| load.max), percent),
        labels,
    })
}

/// Whether an equality selector is met by labels.
fn selects(selector: &LabelMap, labels: &LabelMap) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests;
