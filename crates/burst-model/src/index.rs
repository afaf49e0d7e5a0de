//! Services joined to workloads joined to HPAs: from objects to the table that is served.

use crate::kube::object::Labels;
use crate::kube::{Hpa, Object, Reads, Resource, Service, Source, TargetRef, Workload};
use crate::load::{Load, Percent};
use crate::name::{Name, ObjectName};
use std::collections::{BTreeMap, BTreeSet};

/// The section of Services.
pub const SERVICES: &str = "services";
/// The section of HPAs, by the short name of seed 000.
pub const HPAS: &str = "hpas";

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Whose load it is.
    pub of: ObjectName,
    /// What the header calls it: the scaled workload, or the Service itself where it stands for several.
    pub label: ObjectName,
    /// The numbers.
    pub load: Load,
}

/// What is served: a section for each kind, by its plural name, the rows sorted by `namespace/name`.
pub type Table = BTreeMap<String, Vec<Row>>;

/// What an operator should know of a join, besides the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// HPAs that no controller has looked at yet; they have no load.
    pub unobserved: u64,
    /// HPAs whose target another HPA, alphabetically before them, already scales.
    pub overshadowed: u64,
}

/// Joins the objects of all lists. `percent` of the maximum is the target load.
#[must_use]
pub fn join<'a>(lists: impl Iterator<Item = (&'a Source, &'a [Object])> + Clone, percent: Percent) -> (Table, Notes) {
    let hpas = hpas(lists.clone());
    let (scaled, notes) = scaled(&hpas, percent);
    let workloads = workloads(lists.clone(), &scaled);
    let mut table = Table::new();
    table.insert(
        HPAS.into(),
        hpas.iter().filter_map(|hpa| row_of(hpa, percent)).collect(),
    );
    for (source, _) in lists.clone().filter(|(source, _)| source.reads == Reads::Workloads) {
        table.entry(source.resource.plural.clone()).or_default();
    }
    for Scaled {
        resource,
        workload,
        row,
    } in &workloads
    {
        let row = Row {
            of: workload.name.clone(),
            ..row.clone()
        };
        table.entry(resource.plural.clone()).or_default().push(row);
    }
    let by_label = ByLabel::new(&workloads);
    let services = objects(lists).filter_map(|object| match object {
        Object::Service(service) => by_label.row(service, percent),
        Object::Hpa(_) | Object::Workload(_) => None,
    });
    table.insert(SERVICES.into(), services.collect());
    for rows in table.values_mut() {
        rows.sort_by_cached_key(|row| row.of.to_string());
        rows.dedup_by(|a, b| a.of == b.of);
    }
    (table, notes)
}

fn objects<'a>(lists: impl Iterator<Item = (&'a Source, &'a [Object])>) -> impl Iterator<Item = &'a Object> {
    lists.flat_map(|(_, objects)| objects)
}

/// All HPAs, alphabetically.
fn hpas<'a>(lists: impl Iterator<Item = (&'a Source, &'a [Object])>) -> Vec<&'a Hpa> {
    let mut hpas: Vec<_> = objects(lists)
        .filter_map(|object| match object {
            Object::Hpa(hpa) => Some(hpa),
            Object::Service(_) | Object::Workload(_) => None,
        })
        .collect();
    hpas.sort_by(|a, b| a.name.cmp(&b.name));
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
    })
}

/// Namespace, group, kind and name of what is scaled.
type Target<'a> = (&'a Name, &'a str, &'a str, &'a Name);

fn scaled<'a>(hpas: &[&'a Hpa], percent: Percent) -> (BTreeMap<Target<'a>, Row>, Notes) {
    let mut notes = Notes::default();
    let mut scaled = BTreeMap::new();
    let mut targets = BTreeSet::new();
    for hpa in hpas {
        let TargetRef { group, kind, name } = &hpa.target;
        let target = (&hpa.name.namespace, &**group, &**kind, name);
        let row = row_of(hpa, percent);
        notes.unobserved += u64::from(row.is_none());
        // The alphabetically first counts, observed or not: a second one may not speak for it meanwhile.
        if !targets.insert(target) {
            notes.overshadowed += 1;
        } else if let Some(row) = row {
            scaled.insert(target, row);
        }
    }
    (scaled, notes)
}

/// A workload that an HPA scales.
struct Scaled<'a> {
    resource: &'a Resource,
    workload: &'a Workload,
    row: Row,
}

fn workloads<'a>(
    lists: impl Iterator<Item = (&'a Source, &'a [Object])>,
    scaled: &BTreeMap<Target<'_>, Row>,
) -> Vec<Scaled<'a>> {
    let of = |resource: &'a Resource, workload: &'a Workload| {
        let ObjectName { namespace, name } = &workload.name;
        let row = scaled.get(&(namespace, &*resource.group, &*resource.kind, name))?;
        Some(Scaled {
            resource,
            workload,
            row: row.clone(),
        })
    };
    let of_list = |(source, objects): (&'a Source, &'a [Object])| {
        objects.iter().filter_map(move |object| match object {
            Object::Workload(workload) => of(&source.resource, workload),
            Object::Hpa(_) | Object::Service(_) => None,
        })
    };
    lists.flat_map(of_list).collect()
}

/// The scaled workloads by namespace and each of their labels, so that a Service looks at few of them.
struct ByLabel<'a>(BTreeMap<(&'a Name, &'a str, &'a str), Vec<&'a Scaled<'a>>>);

impl<'a> ByLabel<'a> {
    fn new(workloads: &'a [Scaled<'a>]) -> Self {
        let mut index = BTreeMap::<_, Vec<_>>::new();
        for scaled in workloads {
            for (key, value) in &scaled.workload.labels {
                index
                    .entry((&scaled.workload.name.namespace, &**key, &**value))
                    .or_default()
                    .push(scaled);
            }
        }
        Self(index)
    }

    /// The row of a Service: that of the one scaled workload it selects, or the sum of several.
    fn row(&self, service: &Service, percent: Percent) -> Option<Row> {
        let of = service.name.clone();
        let selected = self.selected(service);
        let (first, others) = selected.split_first()?;
        if others.is_empty() {
            return Some(Row {
                of,
                ..first.row.clone()
            });
        }
        let sum = |of: fn(&Load) -> u32| {
            selected
                .iter()
                .map(|scaled| of(&scaled.row.load))
                .fold(0, u32::saturating_add)
        };
        Some(Row {
            label: of.clone(),
            of,
            load: Load::new(sum(|load| load.current), sum(|load| load.max), percent),
        })
    }

    /// The scaled workloads whose pods a Service selects. An empty selector selects nothing.
    fn selected<'b>(&'b self, service: &'b Service) -> Vec<&'b Scaled<'a>> {
        let namespace = &service.name.namespace;
        let candidates = service
            .selector
            .iter()
            .map(|(key, value)| self.with(namespace, key, value));
        let fewest = candidates.min_by_key(|found| found.len()).unwrap_or_default();
        fewest
            .iter()
            .filter(|scaled| selects(&service.selector, &scaled.workload.labels))
            .copied()
            .collect()
    }

    fn with<'b>(&'b self, namespace: &'b Name, key: &'b str, value: &'b str) -> &'b [&'b Scaled<'a>] {
        self.0.get(&(namespace, key, value)).map_or(&[], Vec::as_slice)
    }
}

/// Whether an equality selector is met by labels.
fn selects(selector: &Labels, labels: &Labels) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests;
