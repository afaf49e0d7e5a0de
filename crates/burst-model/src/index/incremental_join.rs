//! A join that is updated object by object. A change recomputes only the rows that depend on the object. The caller
//! limits the work of each call. When no change is pending, the table equals that of a fresh [`join`](super::join()).

use super::lookup::{HPA, IndexKey, IndexedObject, ObjectIndex, POD, SERVICE, index_keys};
use super::pods::{self, PodEndpoints};
use super::{
    HPAS, JoinFindings, PODS, Row, SERIES, SERVICES, Table, matches_selector, row_of_hpa, row_of_service, series,
    with_ready,
};
use crate::kube::{Hpa, Object, ObjectKind, Resource, ScaleTarget, Service, Source, Workload};
use crate::load::Percent;
use crate::name::{Name, ObjectName};
use crate::order::sort_by;
use crate::signals::{Signal, Signals};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

/// A change of one object: created, updated or deleted.
#[derive(Clone, Debug)]
pub struct Delta {
    /// The object before the change. `None` if it was created.
    pub before: Option<Rc<Object>>,
    /// The object after the change. `None` if it was deleted.
    pub after: Option<Rc<Object>>,
}

impl Delta {
    /// A change from one state to another.
    #[must_use]
    pub fn new(before: Option<Rc<Object>>, after: Option<Rc<Object>>) -> Self {
        Self { before, after }
    }
}

/// The lists and their join.
#[derive(Debug)]
pub struct IncrementalJoin {
    percent: Percent,
    sources: Rc<[Source]>,
    index: ObjectIndex,
    table: Table,
    findings: JoinFindings,
    /// Pods with an address that is not theirs alone.
    disputed_pods: BTreeSet<ObjectName>,
    /// Changes that are not applied yet, each with the index of its list.
    pending: VecDeque<(usize, Delta)>,
}

/// The section and the name of a row.
type RowKey<'a> = (&'a str, ObjectName);

impl IncrementalJoin {
    /// A join of empty lists. The target load is `percent` of the maximum.
    #[must_use]
    pub fn new(sources: Rc<[Source]>, percent: Percent) -> Self {
        let table = sources
            .iter()
            .filter(|source| source.kind == ObjectKind::Workloads)
            .map(|source| source.resource.plural.as_str())
            .chain([HPAS, SERVICES])
            .chain(sources.iter().any(|source| source.kept.labels).then_some(SERIES))
            .chain(
                sources
                    .iter()
                    .any(|source| source.kind == ObjectKind::Pods)
                    .then_some(PODS),
            )
            .map(|section| (section.to_owned(), Vec::new()))
            .collect();
        Self {
            percent,
            table,
            sources,
            index: ObjectIndex::default(),
            findings: JoinFindings::default(),
            disputed_pods: BTreeSet::new(),
            pending: VecDeque::new(),
        }
    }

    /// Queues changes of the list with that index.
    pub fn enqueue(&mut self, list: usize, delta: impl IntoIterator<Item = Delta>) {
        self.pending.extend(delta.into_iter().map(|delta| (list, delta)));
    }

    /// Returns whether every queued change is applied.
    #[must_use]
    pub fn is_up_to_date(&self) -> bool {
        self.pending.is_empty()
    }

    /// Applies queued changes until `budget` rows are recomputed or the queue is empty, and subtracts the recomputed rows
    /// from `budget`. Returns whether a row changed.
    pub fn advance(&mut self, budget: &mut usize) -> bool {
        let mut changed = false;
        while *budget > 0
            && let Some((list, delta)) = self.pending.pop_front()
        {
            let (rows, has_changed) = self.apply(list, &delta);
            *budget = budget.saturating_sub(rows.max(1));
            changed |= has_changed;
        }
        changed
    }

    /// Frees at count `count` queued changes, rows and index entries each. Returns whether any are left.
    pub fn release(&mut self, count: usize) -> bool {
        self.pending.truncate(self.pending.len().saturating_sub(count));
        let rows = self.table.values_mut();
        rows.for_each(|rows| rows.truncate(rows.len().saturating_sub(count)));
        self.table.retain(|_, rows| !rows.is_empty());
        self.index.release(count) || !self.pending.is_empty() || !self.table.is_empty()
    }

    /// The table, as far as queued changes are applied.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The problems found so far.
    #[must_use]
    pub fn findings(&self) -> JoinFindings {
        JoinFindings {
            disputed_pods: self.disputed_pods.len() as u64,
            ..self.findings
        }
    }

    /// Applies one change. Returns how many rows were recomputed and whether one of them changed.
    fn apply(&mut self, list: usize, Delta { before, after }: &Delta) -> (usize, bool) {
        let sources = self.sources.clone();
        let Some(source) = sources.get(list) else {
            return (0, false);
        };
        let (before, after) = (with_keys(list, source, before), with_keys(list, source, after));
        let mut rows = Vec::new();
        if let (Some((keys, before)), Some((same, after))) = (&before, &after)
            && keys == same
        {
            // A Service has one key for its whole selector, so equal keys do not mean an equal selector.
            if matches!(*before.object, Object::Service(_)) {
                rows.extend(self.affected_rows(&sources, source, &before.object));
            }
            self.update_findings(&before.object, u64::checked_sub);
            self.index.replace(keys, before, after);
            self.update_findings(&after.object, u64::checked_add);
        } else {
            if let Some((keys, indexed)) = &before {
                rows.extend(self.affected_rows(&sources, source, &indexed.object));
                self.update_findings(&indexed.object, u64::checked_sub);
                self.index.remove(keys, indexed);
            }
            if let Some((keys, indexed)) = &after {
                self.index.add(keys, indexed);
                self.update_findings(&indexed.object, u64::checked_add);
            }
        }
        if let Some((_, indexed)) = &after {
            rows.extend(self.affected_rows(&sources, source, &indexed.object));
        }
        // The table has no series unless the configuration keeps labels.
        rows.retain(|(section, _)| self.table.contains_key(*section));
        sort_by(&mut rows, Ord::cmp);
        rows.dedup();
        let mut changed = false;
        for (section, name) in &rows {
            let row = match *section {
                PODS => self.update_pod(name),
                section => self.row(section, name),
            };
            let rows = self.table.get_mut(*section);
            changed |= rows.is_some_and(|rows| set_row(rows, name, row));
        }
        (rows.len(), changed)
    }

    /// Adds an object to the findings, or takes it out. Call it while the object is in the index.
    fn update_findings(&mut self, object: &Object, add: fn(u64, u64) -> Option<u64>) {
        let foreign = pods::foreign_endpoints(object);
        let findings = &mut self.findings;
        findings.foreign_endpoints = add(findings.foreign_endpoints, foreign).unwrap_or_default();
        let Object::Hpa(hpa) = object else { return };
        let is_unobserved = hpa.current_replicas.is_none();
        let is_one_of_several = self.hpas_scaling(&hpa.name.namespace, &hpa.target).count() > 1;
        let JoinFindings {
            unobserved, shadowed, ..
        } = &mut self.findings;
        for (count, is_one) in [(unobserved, is_unobserved), (shadowed, is_one_of_several)] {
            *count = add(*count, u64::from(is_one)).unwrap_or_default();
        }
    }

    /// The rows that depend on an object.
    fn affected_rows<'a>(&self, sources: &'a [Source], source: &'a Source, object: &Object) -> Vec<RowKey<'a>> {
        let name = object.name();
        let mut rows = Vec::new();
        match object {
            Object::Hpa(hpa) => {
                rows.extend([(HPAS, name.clone()), (SERIES, name.clone())]);
                let name = ObjectName {
                    namespace: name.namespace.clone(),
                    name: hpa.target.name.clone(),
                };
                let scaled = sources.iter().filter(|source| lists_target(source, &hpa.target));
                rows.extend(scaled.map(|source| (source.resource.plural.as_str(), name.clone())));
                let workloads = self.workloads_scaled(&name.namespace, &hpa.target);
                let services = workloads.flat_map(|(_, workload)| self.services_selecting(workload));
                rows.extend(services.map(|service| (SERVICES, service.name.clone())));
                rows.extend(self.series_of(&name.namespace, &hpa.target));
            }
            Object::Workload(workload) => {
                rows.push((&source.resource.plural, name.clone()));
                let services = self.services_selecting(workload);
                rows.extend(services.map(|service| (SERVICES, service.name.clone())));
                let target = target_of(&source.resource, workload);
                rows.extend(self.series_of(&name.namespace, &target));
                // Nothing else in the row of an HPA is its workload's.
                if source.kept.signals.contains(Signal::Ready) {
                    let hpas = self.hpas_scaling(&name.namespace, &target);
                    rows.extend(hpas.map(|hpa| (HPAS, hpa.name.clone())));
                }
            }
            Object::Service(service) => {
                rows.push((SERVICES, name.clone()));
                // Only series show Services of other rows.
                if self.table.contains_key(SERIES) {
                    let targets = self
                        .workloads_selected(service)
                        .map(|(resource, workload)| target_of(resource, workload));
                    rows.extend(
                        targets.flat_map(|target| self.series_of(&name.namespace, &target).collect::<Vec<_>>()),
                    );
                }
            }
            Object::EndpointSlice(slice) => {
                for endpoint in &slice.endpoints {
                    let slices = self.index.get_address(endpoint.address).iter();
                    let slices = slices.filter_map(IndexedObject::slice).chain([slice]);
                    let pods = slices.flat_map(|slice| pods::with_address(slice, endpoint.address));
                    rows.extend(pods.map(|pod| (PODS, pod)));
                }
            }
            Object::Pod(pod) => rows.push((PODS, pod.name.clone())),
            Object::Policy(_) => {}
        }
        rows
    }

    fn series_of<'a>(&self, namespace: &Name, target: &ScaleTarget) -> impl Iterator<Item = RowKey<'a>> {
        self.hpas_scaling(namespace, target)
            .map(|hpa| (SERIES, hpa.name.clone()))
    }

    /// Computes a row from the indexed objects.
    fn row(&self, section: &str, name: &ObjectName) -> Option<Row> {
        match section {
            HPAS => self.hpas_named(name).find_map(|hpa| self.row_of_hpa(hpa)),
            SERIES => self.hpas_named(name).find_map(|hpa| self.row_of_series(hpa)),
            SERVICES => self
                .services_named(name)
                .find_map(|service| self.row_of_service(service)),
            plural => self.row_of_workload(plural, name),
        }
    }

    /// Computes the row of a pod, and notes whether its addresses are disputed.
    fn update_pod(&mut self, name: &ObjectName) -> Option<Row> {
        let (row, is_disputed) = self.row_of_pod(name);
        if is_disputed {
            self.disputed_pods.insert(name.clone());
        } else {
            self.disputed_pods.remove(name);
        }
        row
    }

    /// The row of a pod, and whether one of its addresses is disputed.
    fn row_of_pod(&self, name: &ObjectName) -> (Option<Row>, bool) {
        let objects = self.objects_named(POD, name).into_iter();
        let Some(pod) = objects.filter_map(IndexedObject::pod).find(|pod| pod.name == *name) else {
            return (None, false);
        };
        let key = IndexKey::Endpoint(name.name.as_str());
        let slices = self.index.get(&name.namespace, &key).iter();
        let endpoints = PodEndpoints::collect(name, slices.filter_map(IndexedObject::slice));
        let is_disputed = endpoints.addresses().any(|address| {
            let mut slices = self.index.get_address(address).iter().filter_map(IndexedObject::slice);
            slices.any(|slice| pods::with_address(slice, address).any(|pod| pod != *name))
        });
        (endpoints.row(pod).filter(|_| !is_disputed), is_disputed)
    }

    fn row_of_hpa(&self, hpa: &Hpa) -> Option<Row> {
        let row = row_of_hpa(hpa, self.percent)?;
        let workloads = self.workloads_scaled(&hpa.name.namespace, &hpa.target);
        // If several lists have the workload, the first one counts.
        let first = workloads.min_by_key(|(list, _)| *list);
        Some(with_ready(row, first.map(|(_, workload)| workload)))
    }

    fn row_of_service(&self, service: &Service) -> Option<Row> {
        let namespace = &service.name.namespace;
        let selected = self.workloads_selected(service);
        let rows = selected.filter_map(|(resource, workload)| {
            let row = self.row_of_target(namespace, &target_of(resource, workload))?;
            Some(with_ready(row, Some(workload)))
        });
        row_of_service(service, &rows.collect::<Vec<_>>(), self.percent)
    }

    fn row_of_workload(&self, plural: &str, name: &ObjectName) -> Option<Row> {
        let lists = self.sources.iter().enumerate();
        let mut lists = lists.filter(|(_, source)| source.resource.plural == plural);
        lists.find_map(|(list, source)| {
            let all = self.index.get(
                &name.namespace,
                &IndexKey::workload(&source.resource, name.name.as_str()),
            );
            let mut here = all.iter().filter(|indexed| indexed.list == list);
            let workload = here.find_map(|indexed| indexed.workload().filter(|workload| workload.name == *name))?;
            let row = self.row_of_target(&name.namespace, &target_of(&source.resource, workload))?;
            Some(Row {
                name: name.clone(),
                labels: workload.own_labels.clone(),
                ..with_ready(row, Some(workload))
            })
        })
    }

    /// The series of an HPA: its row, with its target and the selecting Services as labels. `None` if it does not count
    /// for its target.
    fn row_of_series(&self, hpa: &Hpa) -> Option<Row> {
        let namespace = &hpa.name.namespace;
        let row = self
            .row_of_target(namespace, &hpa.target)
            .filter(|row| row.name == hpa.name)?;
        let workloads = self.workloads_scaled(namespace, &hpa.target);
        let services = workloads.flat_map(|(_, workload)| self.services_selecting(workload));
        let mut names: Vec<_> = services.map(|service| &service.name.name).collect();
        sort_by(&mut names, Ord::cmp);
        names.dedup();
        Some(Row {
            labels: series::labels(&hpa.target, names.into_iter()),
            signals: Signals::default(),
            ..row
        })
    }

    /// The row of the HPA that counts for a target: the first by name.
    fn row_of_target(&self, namespace: &Name, target: &ScaleTarget) -> Option<Row> {
        let first = self
            .hpas_scaling(namespace, target)
            .min_by(|a, b| a.name.cmp(&b.name))?;
        row_of_hpa(first, self.percent)
    }

    /// The HPAs that scale a target.
    fn hpas_scaling(&self, namespace: &Name, target: &ScaleTarget) -> impl Iterator<Item = &Hpa> {
        let all = self
            .index
            .get(namespace, &IndexKey::target(target))
            .iter()
            .filter_map(IndexedObject::hpa);
        all.filter(move |hpa| hpa.name.namespace == *namespace && hpa.target == *target)
    }

    /// The workloads that a target names, each with the index of its list.
    fn workloads_scaled(&self, namespace: &Name, target: &ScaleTarget) -> impl Iterator<Item = (usize, &Workload)> {
        let all = self.index.get(namespace, &IndexKey::workload_of(target)).iter();
        all.filter_map(move |indexed| {
            let (resource, workload) = (self.resource(indexed)?, indexed.workload()?);
            let ObjectName { namespace: own, name } = &workload.name;
            let is_target = own == namespace && *name == target.name && is_kind(resource, target);
            is_target.then_some((indexed.list, workload))
        })
    }

    /// The workloads whose pods a Service selects. An empty selector selects nothing.
    fn workloads_selected<'a>(&'a self, service: &'a Service) -> impl Iterator<Item = (&'a Resource, &'a Workload)> {
        let namespace = &service.name.namespace;
        let pairs = service.selector.iter();
        let candidates = pairs.map(|(key, value)| self.index.get(namespace, &IndexKey::Label(key, value)));
        let fewest = candidates.min_by_key(|found| found.len()).unwrap_or_default();
        let all = fewest
            .iter()
            .filter_map(|indexed| Some((self.resource(indexed)?, indexed.workload()?)));
        all.filter(|(_, workload)| is_selected(service, workload))
    }

    /// The Services that select the pods of a workload.
    fn services_selecting<'a>(&'a self, workload: &'a Workload) -> impl Iterator<Item = &'a Service> {
        let namespace = &workload.name.namespace;
        let pairs = workload.labels.iter();
        let all = pairs.flat_map(|(key, value)| self.index.get(namespace, &IndexKey::Selector(key, value)));
        all.filter_map(IndexedObject::service)
            .filter(|service| is_selected(service, workload))
    }

    /// The HPAs of that name, in the order of the lists.
    fn hpas_named(&self, name: &ObjectName) -> impl Iterator<Item = &Hpa> {
        self.objects_named(HPA, name)
            .into_iter()
            .filter_map(IndexedObject::hpa)
            .filter(move |hpa| hpa.name == *name)
    }

    fn services_named(&self, name: &ObjectName) -> impl Iterator<Item = &Service> {
        let all = self
            .objects_named(SERVICE, name)
            .into_iter()
            .filter_map(IndexedObject::service);
        all.filter(move |service| service.name == *name)
    }

    fn objects_named(&self, kind: &str, name: &ObjectName) -> Vec<&IndexedObject> {
        let all = self
            .index
            .get(&name.namespace, &IndexKey::Name(kind, name.name.as_str()));
        let mut all: Vec<_> = all.iter().collect();
        sort_by(&mut all, |a, b| a.list.cmp(&b.list));
        all
    }

    fn resource(&self, indexed: &IndexedObject) -> Option<&Resource> {
        self.sources.get(indexed.list).map(|source| &source.resource)
    }
}

fn with_keys(list: usize, source: &Source, object: &Option<Rc<Object>>) -> Option<(Vec<u64>, IndexedObject)> {
    let object = object.clone()?;
    Some((index_keys(source, &object), IndexedObject { list, object }))
}

fn lists_target(source: &Source, target: &ScaleTarget) -> bool {
    source.kind == ObjectKind::Workloads && is_kind(&source.resource, target)
}

fn is_kind(resource: &Resource, target: &ScaleTarget) -> bool {
    (resource.group.as_str(), resource.kind.as_str()) == (&*target.group, &*target.kind)
}

fn is_selected(service: &Service, workload: &Workload) -> bool {
    service.name.namespace == workload.name.namespace && matches_selector(&service.selector, &workload.labels)
}

/// The target of an HPA that scales a workload.
fn target_of(resource: &Resource, workload: &Workload) -> ScaleTarget {
    ScaleTarget {
        group: resource.group.as_str().into(),
        kind: resource.kind.as_str().into(),
        name: workload.name.name.clone(),
    }
}

/// Inserts, replaces or removes a row. Returns whether anything changed.
fn set_row(rows: &mut Vec<Row>, name: &ObjectName, row: Option<Row>) -> bool {
    let found = rows.binary_search_by(|row| row.name.cmp_as_text(name));
    match (found, row) {
        (Ok(index), Some(row)) => {
            let Some(kept) = rows.get_mut(index).filter(|kept| **kept != row) else {
                return false;
            };
            *kept = row;
        }
        (Ok(index), None) => drop(rows.remove(index)),
        (Err(index), Some(row)) => rows.insert(index, row),
        (Err(_), None) => return false,
    }
    true
}

#[cfg(test)]
mod tests;
