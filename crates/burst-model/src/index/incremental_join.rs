//! A join that is kept up to date, object by object: a change touches the rows that it can touch, and those are made
//! anew of what there is then. How much of it is done at a time is up to the caller; when nothing is left to do the rows
//! are those of a fresh [`join`](super::join()).

use super::lookup::{HPA, IndexKey, IndexedObject, ObjectIndex, SERVICE, index_keys};
use super::{HPAS, JoinFindings, Row, SERIES, SERVICES, Table, row_of, row_of_service, selects, series};
use crate::kube::{Hpa, Object, ObjectKind, Resource, ScaleTarget, Service, Source, Workload};
use crate::load::Percent;
use crate::name::{Name, ObjectName};
use crate::order::sort_by;
use std::collections::VecDeque;
use std::rc::Rc;

/// What became of an object of a list.
#[derive(Clone, Debug)]
pub struct Delta {
    /// As it was.
    pub before: Option<Rc<Object>>,
    /// As it is.
    pub after: Option<Rc<Object>>,
}

impl Delta {
    /// From that to this.
    #[must_use]
    pub fn from(before: Option<Rc<Object>>, after: Option<Rc<Object>>) -> Self {
        Self { before, after }
    }
}

/// Lists that are joined, and stay so.
#[derive(Debug)]
pub struct IncrementalJoin {
    percent: Percent,
    sources: Rc<[Source]>,
    links: ObjectIndex,
    table: Table,
    notes: JoinFindings,
    /// What is not joined yet, each with the place of its list.
    waiting: VecDeque<(usize, Delta)>,
}

/// A row, by its section and its name.
type RowKey<'a> = (&'a str, ObjectName);

impl IncrementalJoin {
    /// Lists without an object. `percent` of the maximum is the target load.
    #[must_use]
    pub fn new(sources: Rc<[Source]>, percent: Percent) -> Self {
        let sections = sources.iter().filter(|source| source.kind == ObjectKind::Workloads);
        let sections = sections.map(|source| source.resource.plural.as_str());
        let series = sources.iter().any(|source| source.keep_labels).then_some(SERIES);
        let sections = sections.chain([HPAS, SERVICES]).chain(series);
        let mut table = Table::new();
        table.extend(sections.map(|section| (section.to_owned(), Vec::new())));
        Self {
            percent,
            table,
            sources,
            links: ObjectIndex::default(),
            notes: JoinFindings::default(),
            waiting: VecDeque::new(),
        }
    }

    /// Takes note of what changed in the list of that place.
    pub fn enqueue(&mut self, list: usize, moved: impl IntoIterator<Item = Delta>) {
        self.waiting.extend(moved.into_iter().map(|moved| (list, moved)));
    }

    /// Whether everything that was noted is joined.
    #[must_use]
    pub fn is_up_to_date(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Joins what was noted, until as many rows were made as `budget` allows or nothing is left to do; whether a row
    /// changed.
    pub fn advance(&mut self, budget: &mut usize) -> bool {
        let mut changed = false;
        while *budget > 0
            && let Some((list, moved)) = self.waiting.pop_front()
        {
            let (rows, has_changed) = self.apply(list, &moved);
            *budget = budget.saturating_sub(rows.max(1));
            changed |= has_changed;
        }
        changed
    }

    /// Lets go of so many objects, and as many rows; whether there were any left.
    pub fn release(&mut self, most: usize) -> bool {
        self.waiting.truncate(self.waiting.len().saturating_sub(most));
        let rows = self.table.values_mut();
        rows.for_each(|rows| rows.truncate(rows.len().saturating_sub(most)));
        self.table.retain(|_, rows| !rows.is_empty());
        self.links.release(most) || !self.waiting.is_empty() || !self.table.is_empty()
    }

    /// The rows.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What an operator should know of it.
    #[must_use]
    pub fn findings(&self) -> JoinFindings {
        self.notes
    }

    /// How many rows it made, and whether that changed one.
    fn apply(&mut self, list: usize, Delta { before, after }: &Delta) -> (usize, bool) {
        let sources = self.sources.clone();
        let Some(source) = sources.get(list) else {
            return (0, false);
        };
        let linked = |object: &Option<Rc<Object>>| {
            let object = object.clone()?;
            Some((index_keys(source, &object), IndexedObject { list, object }))
        };
        let (before, after) = (linked(before), linked(after));
        let mut places = Vec::new();
        if let (Some((traits, before)), Some((same, after))) = (&before, &after)
            && traits == same
        {
            // What a Service selects besides is no trait of it.
            if matches!(*before.object, Object::Service(_)) {
                places.extend(self.affected_rows(&sources, source, &before.object));
            }
            self.count(&before.object, u64::checked_sub);
            self.links.replace(traits, before, after);
            self.count(&after.object, u64::checked_add);
        } else {
            if let Some((traits, linked)) = &before {
                places.extend(self.affected_rows(&sources, source, &linked.object));
                self.count(&linked.object, u64::checked_sub);
                self.links.remove(traits, linked);
            }
            if let Some((traits, linked)) = &after {
                self.links.add(traits, linked);
                self.count(&linked.object, u64::checked_add);
            }
        }
        if let Some((_, linked)) = &after {
            places.extend(self.affected_rows(&sources, source, &linked.object));
        }
        // Not everybody has series.
        places.retain(|(section, _)| self.table.contains_key(*section));
        sort_by(&mut places, Ord::cmp);
        places.dedup();
        let mut changed = false;
        for (section, of) in &places {
            let row = self.row(section, of);
            let rows = self.table.get_mut(*section);
            changed |= rows.is_some_and(|rows| put(rows, of, row));
        }
        (places.len(), changed)
    }

    /// Counts an HPA: after it was linked, or before it is not any more.
    fn count(&mut self, object: &Object, add: fn(u64, u64) -> Option<u64>) {
        let Object::Hpa(hpa) = object else { return };
        let is_unobserved = hpa.current_replicas.is_none();
        let is_one_of_several = self.scaling(&hpa.name.namespace, &hpa.target).count() > 1;
        let JoinFindings {
            unobserved,
            overshadowed,
        } = &mut self.notes;
        for (count, is_one) in [(unobserved, is_unobserved), (overshadowed, is_one_of_several)] {
            *count = add(*count, u64::from(is_one)).unwrap_or_default();
        }
    }

    /// The rows that an object can touch.
    fn affected_rows<'a>(&self, sources: &'a [Source], source: &'a Source, object: &Object) -> Vec<RowKey<'a>> {
        let of = object.name();
        let mut places = Vec::new();
        match object {
            Object::Hpa(hpa) => {
                places.extend([(HPAS, of.clone()), (SERIES, of.clone())]);
                let name = ObjectName {
                    namespace: of.namespace.clone(),
                    name: hpa.target.name.clone(),
                };
                let scaled = sources.iter().filter(|source| is_of(source, &hpa.target));
                places.extend(scaled.map(|source| (source.resource.plural.as_str(), name.clone())));
                let workloads = self.scaled(&of.namespace, &hpa.target);
                let services = workloads.flat_map(|(_, workload)| self.selecting(workload));
                places.extend(services.map(|service| (SERVICES, service.name.clone())));
                places.extend(self.series_of(&of.namespace, &hpa.target));
            }
            Object::Workload(workload) => {
                places.push((&source.resource.plural, of.clone()));
                let services = self.selecting(workload);
                places.extend(services.map(|service| (SERVICES, service.name.clone())));
                places.extend(self.series_of(&of.namespace, &target(&source.resource, workload)));
            }
            Object::Service(service) => {
                places.push((SERVICES, of.clone()));
                // Without series there is nothing that a Service tells of but itself.
                if self.table.contains_key(SERIES) {
                    let targets = self
                        .selected(service)
                        .map(|(resource, workload)| target(resource, workload));
                    places
                        .extend(targets.flat_map(|target| self.series_of(&of.namespace, &target).collect::<Vec<_>>()));
                }
            }
            Object::Policy(_) => {}
        }
        places
    }

    fn series_of<'a>(&self, namespace: &Name, target: &ScaleTarget) -> impl Iterator<Item = RowKey<'a>> {
        self.scaling(namespace, target).map(|hpa| (SERIES, hpa.name.clone()))
    }

    /// A row as it is now.
    fn row(&self, section: &str, of: &ObjectName) -> Option<Row> {
        match section {
            HPAS => self.hpas(of).find_map(|hpa| row_of(hpa, self.percent)),
            SERIES => self.hpas(of).find_map(|hpa| self.series(hpa)),
            SERVICES => self.services(of).find_map(|service| self.row_of_service(service)),
            plural => self.row_of_workload(plural, of),
        }
    }

    fn row_of_service(&self, service: &Service) -> Option<Row> {
        let namespace = &service.name.namespace;
        let selected = self.selected(service);
        let rows = selected.filter_map(|(resource, workload)| self.load(namespace, &target(resource, workload)));
        row_of_service(service, &rows.collect::<Vec<_>>(), self.percent)
    }

    fn row_of_workload(&self, plural: &str, of: &ObjectName) -> Option<Row> {
        let lists = self.sources.iter().enumerate();
        let mut lists = lists.filter(|(_, source)| source.resource.plural == plural);
        lists.find_map(|(list, source)| {
            let all = self
                .links
                .get(&of.namespace, &IndexKey::is(&source.resource, of.name.as_str()));
            let mut here = all.iter().filter(|linked| linked.list == list);
            let workload = here.find_map(|linked| workload(linked).filter(|workload| workload.name == *of))?;
            let row = self.load(&of.namespace, &target(&source.resource, workload))?;
            Some(Row {
                of: of.clone(),
                labels: workload.own_labels.clone(),
                ..row
            })
        })
    }

    /// The row of an HPA, where it is the one that counts for its target, with what it scales and who selects that.
    fn series(&self, hpa: &Hpa) -> Option<Row> {
        let namespace = &hpa.name.namespace;
        let row = self.load(namespace, &hpa.target).filter(|row| row.of == hpa.name)?;
        let workloads = self.scaled(namespace, &hpa.target);
        let services = workloads.flat_map(|(_, workload)| self.selecting(workload));
        let mut names: Vec<_> = services.map(|service| &service.name.name).collect();
        sort_by(&mut names, Ord::cmp);
        names.dedup();
        Some(Row {
            labels: series::labels(&hpa.target, names.into_iter()),
            ..row
        })
    }

    /// The row of the HPA that counts for a target: the alphabetically first.
    fn load(&self, namespace: &Name, target: &ScaleTarget) -> Option<Row> {
        let first = self.scaling(namespace, target).min_by(|a, b| a.name.cmp(&b.name))?;
        row_of(first, self.percent)
    }

    /// The HPAs on a target.
    fn scaling(&self, namespace: &Name, target: &ScaleTarget) -> impl Iterator<Item = &Hpa> {
        let all = self
            .links
            .get(namespace, &IndexKey::scales(target))
            .iter()
            .filter_map(hpa);
        all.filter(move |hpa| hpa.name.namespace == *namespace && hpa.target == *target)
    }

    /// The workloads that a target is.
    fn scaled(&self, namespace: &Name, target: &ScaleTarget) -> impl Iterator<Item = (&Resource, &Workload)> {
        let all = self.links.get(namespace, &IndexKey::is_target(target)).iter();
        let all = all.filter_map(|linked| Some((self.resource(linked)?, workload(linked)?)));
        all.filter(move |(resource, workload)| {
            let ObjectName { namespace: own, name } = &workload.name;
            own == namespace && *name == target.name && is_kind(resource, target)
        })
    }

    /// The workloads whose pods a Service selects. An empty selector selects nothing.
    fn selected<'a>(&'a self, service: &'a Service) -> impl Iterator<Item = (&'a Resource, &'a Workload)> {
        let namespace = &service.name.namespace;
        let pairs = service.selector.iter();
        let candidates = pairs.map(|(key, value)| self.links.get(namespace, &IndexKey::Has(key, value)));
        let fewest = candidates.min_by_key(|found| found.len()).unwrap_or_default();
        let all = fewest
            .iter()
            .filter_map(|linked| Some((self.resource(linked)?, workload(linked)?)));
        all.filter(|(_, workload)| is_selected(service, workload))
    }

    /// The Services that select the pods of a workload.
    fn selecting<'a>(&'a self, workload: &'a Workload) -> impl Iterator<Item = &'a Service> {
        let namespace = &workload.name.namespace;
        let pairs = workload.labels.iter();
        let all = pairs.flat_map(|(key, value)| self.links.get(namespace, &IndexKey::Selects(key, value)));
        all.filter_map(service).filter(|service| is_selected(service, workload))
    }

    /// Those of that name, in the order of the lists.
    fn hpas(&self, of: &ObjectName) -> impl Iterator<Item = &Hpa> {
        self.named(HPA, of)
            .into_iter()
            .filter_map(hpa)
            .filter(move |hpa| hpa.name == *of)
    }

    fn services(&self, of: &ObjectName) -> impl Iterator<Item = &Service> {
        let all = self.named(SERVICE, of).into_iter().filter_map(service);
        all.filter(move |service| service.name == *of)
    }

    fn named(&self, kind: &str, of: &ObjectName) -> Vec<&IndexedObject> {
        let all = self.links.get(&of.namespace, &IndexKey::Named(kind, of.name.as_str()));
        let mut all: Vec<_> = all.iter().collect();
        sort_by(&mut all, |a, b| a.list.cmp(&b.list));
        all
    }

    fn resource(&self, linked: &IndexedObject) -> Option<&Resource> {
        self.sources.get(linked.list).map(|source| &source.resource)
    }
}

fn hpa(linked: &IndexedObject) -> Option<&Hpa> {
    match &*linked.object {
        Object::Hpa(hpa) => Some(hpa),
        Object::Service(_) | Object::Workload(_) | Object::Policy(_) => None,
    }
}

fn service(linked: &IndexedObject) -> Option<&Service> {
    match &*linked.object {
        Object::Service(service) => Some(service),
        Object::Hpa(_) | Object::Workload(_) | Object::Policy(_) => None,
    }
}

fn workload(linked: &IndexedObject) -> Option<&Workload> {
    match &*linked.object {
        Object::Workload(workload) => Some(workload),
        Object::Hpa(_) | Object::Service(_) | Object::Policy(_) => None,
    }
}

fn is_of(source: &Source, target: &ScaleTarget) -> bool {
    source.kind == ObjectKind::Workloads && is_kind(&source.resource, target)
}

fn is_kind(resource: &Resource, target: &ScaleTarget) -> bool {
    (resource.group.as_str(), resource.kind.as_str()) == (&*target.group, &*target.kind)
}

fn is_selected(service: &Service, workload: &Workload) -> bool {
    service.name.namespace == workload.name.namespace && selects(&service.selector, &workload.labels)
}

/// What an HPA on a workload names.
fn target(resource: &Resource, workload: &Workload) -> ScaleTarget {
    ScaleTarget {
        group: resource.group.as_str().into(),
        kind: resource.kind.as_str().into(),
        name: workload.name.name.clone(),
    }
}

/// Puts a row in its place, or takes it away; whether that changed anything.
fn put(rows: &mut Vec<Row>, of: &ObjectName, row: Option<Row>) -> bool {
    let found = rows.binary_search_by(|row| row.of.cmp_as_text(of));
    match (found, row) {
        (Ok(place), Some(row)) => {
            let Some(kept) = rows.get_mut(place).filter(|kept| **kept != row) else {
                return false;
            };
            *kept = row;
        }
        (Ok(place), None) => drop(rows.remove(place)),
        (Err(place), Some(row)) => rows.insert(place, row),
        (Err(_), None) => return false,
    }
    true
}

#[cfg(test)]
mod tests;
