//! A join that is kept up to date. Nothing joins across the border of a namespace, so a change touches the rows of its
//! own one: those are joined anew, by the same [`join`](super::join()), and the others stay as they are.

use super::{Notes, Row, Table, join};
use crate::kube::{Object, Source};
use crate::load::Percent;
use crate::name::Name;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What has to be joined anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Touched {
    /// Nothing.
    #[default]
    Nothing,
    /// What is in these namespaces.
    Namespaces(BTreeSet<Name>),
    /// All of it.
    Everything,
}

impl Touched {
    /// What is in that namespace.
    #[must_use]
    pub fn namespace(name: Name) -> Self {
        let mut names = BTreeSet::new();
        names.insert(name);
        Self::Namespaces(names)
    }

    /// Both.
    pub fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Everything, _) | (_, Self::Nothing) => {}
            (Self::Namespaces(names), Self::Namespaces(more)) => names.extend(more),
            (_, other) => *self = other,
        }
    }
}

/// Lists that are joined, and stay so.
#[derive(Debug)]
pub struct Joined {
    percent: Percent,
    /// Without a section before the first join.
    table: Table,
    notes: BTreeMap<Name, Notes>,
}

impl Joined {
    /// Nothing yet. `percent` of the maximum is the target load.
    #[must_use]
    pub fn new(percent: Percent) -> Self {
        Self {
            percent,
            table: Table::new(),
            notes: BTreeMap::new(),
        }
    }

    /// Joins what was touched since the last time; whether that may have changed a row. The objects of each list must
    /// be sorted by their names.
    pub fn renew<'a>(
        &mut self,
        lists: &(impl Iterator<Item = (&'a Source, &'a [Object])> + Clone),
        touched: Touched,
    ) -> bool {
        let mut changed = false;
        let touched = match touched {
            Touched::Nothing => BTreeSet::new(),
            Touched::Namespaces(names) if !self.table.is_empty() => names,
            Touched::Namespaces(_) | Touched::Everything => {
                let nothing = lists.clone().map(|(source, _)| (source, &[][..]));
                (self.table, self.notes, changed) = (join(nothing, self.percent).0, BTreeMap::new(), true);
                namespaces(lists.clone())
            }
        };
        for namespace in touched {
            let of_namespace = lists
                .clone()
                .map(|(source, objects)| (source, within(objects, &namespace)));
            let (table, notes) = join(of_namespace, self.percent);
            for (section, rows) in table {
                let all = self.table.entry(section).or_default();
                let place = place(all, &namespace);
                if all.get(place.clone()) != Some(&rows[..]) {
                    all.splice(place, rows);
                    changed = true;
                }
            }
            self.notes.insert(namespace, notes);
        }
        changed
    }

    /// The rows.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What an operator should know of it.
    #[must_use]
    pub fn notes(&self) -> Notes {
        self.notes.values().fold(Notes::default(), |sum, notes| Notes {
            unobserved: sum.unobserved.saturating_add(notes.unobserved),
            overshadowed: sum.overshadowed.saturating_add(notes.overshadowed),
        })
    }
}

/// Every namespace that an object is in.
fn namespaces<'a>(lists: impl Iterator<Item = (&'a Source, &'a [Object])>) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    for (_, mut objects) in lists {
        while let Some(first) = objects.first() {
            let namespace = &first.name().namespace;
            let end = objects.partition_point(|object| object.name().namespace <= *namespace);
            names.insert(namespace.clone());
            objects = objects.get(end..).unwrap_or_default();
        }
    }
    names
}

fn within<'a>(objects: &'a [Object], namespace: &Name) -> &'a [Object] {
    let start = objects.partition_point(|object| object.name().namespace < *namespace);
    let end = objects.partition_point(|object| object.name().namespace <= *namespace);
    objects.get(start..end).unwrap_or_default()
}

/// Where the rows of a namespace stand, or would.
fn place(rows: &[Row], namespace: &Name) -> Range<usize> {
    let before = |wanted: Ordering| {
        let is_before = |row: &Row| row.of.namespace.cmp_before_slash(namespace) < wanted;
        rows.partition_point(is_before)
    };
    before(Ordering::Equal)..before(Ordering::Greater)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{hpa_of, lists, service, workload};
    use super::*;
    use proptest::prelude::*;

    /// An object of one of three kinds, in one of few namespaces, of one of few names.
    fn object() -> impl Strategy<Value = (usize, Object)> {
        let namespace = prop::sample::select(vec!["a", "a-b", "a.b", "b", "ab"]);
        let pair = prop::sample::select(vec!["app=x", "app=y", "app=x,tier=z", ""]);
        (0..3usize, namespace, 0..4u8, 0..4u8, pair, prop::option::of(0..5u32)).prop_map(
            |(kind, namespace, name, target, pair, current)| {
                let name = format!("{namespace}/n{name}");
                let object = match kind {
                    0 => hpa_of("Deployment", &name, &format!("n{target}"), current, 9),
                    1 => service(&name, pair),
                    _ => workload(&name, pair),
                };
                (kind, object)
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_kept_up_to_date_is_what_a_fresh_join_shows(
            changes in proptest::collection::vec((object(), any::<bool>(), any::<bool>()), 1..60),
        ) {
            let percent = Percent::new(80).unwrap();
            let mut lists = lists(Vec::new(), Vec::new(), Vec::new());
            let labelled = |source: &mut Source| source.labels = true;
            lists.iter_mut().for_each(|(source, _)| labelled(source));
            let mut joined = Joined::new(percent);
            let mut touched = Touched::Nothing;
            for ((kind, object), stays, looked_at) in changes {
                touched.add(Touched::namespace(object.name().namespace.clone()));
                let objects = &mut lists[kind].1;
                objects.retain(|kept| kept.name() != object.name());
                if stays {
                    objects.push(object);
                    objects.sort_by(|a, b| a.name().cmp(b.name()));
                }
                if looked_at {
                    let borrowed = lists.iter().map(|(source, objects)| (source, objects.as_slice()));
                    joined.renew(&borrowed, std::mem::take(&mut touched));
                    let (table, notes) = join(borrowed, percent);
                    prop_assert_eq!((joined.table(), joined.notes()), (&table, notes));
                }
            }
        }
    }

    #[test]
    fn a_change_leaves_other_namespaces_alone() {
        let namespaces = ["a", "b"];
        let hpas = namespaces.map(|ns| hpa_of("Deployment", &format!("{ns}/h"), "w", Some(1), 9));
        let services = namespaces.map(|ns| service(&format!("{ns}/s"), "app=x"));
        let workloads = namespaces.map(|ns| workload(&format!("{ns}/w"), "app=x"));
        let full = lists(hpas.into(), services.into(), workloads.into());
        let mut joined = Joined::new(Percent::new(80).unwrap());
        joined.renew(
            &full.iter().map(|(source, objects)| (source, &objects[..])),
            Touched::Everything,
        );
        // What is not looked at again is not seen to be gone.
        let emptied = lists(Vec::new(), Vec::new(), Vec::new());
        let touched = Touched::namespace(Name::parse("b").unwrap());
        joined.renew(&emptied.iter().map(|(source, objects)| (source, &objects[..])), touched);
        let left: Vec<_> = joined.table()["services"]
            .iter()
            .map(|row| row.of.to_string())
            .collect();
        assert_eq!(left, ["a/s"]);
    }
}
