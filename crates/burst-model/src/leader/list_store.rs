//! One list as it stands: its objects, and what was wrong with it.

use super::Readable;
use crate::index::Delta;
use crate::kube::{Change, Object, PollOutcome, Resource, Verb};
use crate::name::ObjectName;
use crate::order::sort_by;
use crate::records::CheckpointedList;
use crate::sync::excluded::ExcludedObjects;
use crate::sync::limits::ByteAccount;
use crate::sync::reflector::ListedObjects;
use crate::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// How often a list is read anew of which objects are left out that no window brings again.
const RELIST: Duration = Duration::from_secs(300);

/// One list as it stands.
#[derive(Debug, Default)]
pub(super) struct ListStore {
    /// Sorted by their names.
    pub(super) objects: Vec<Rc<Object>>,
    /// When it was read last.
    pub(super) read_at: Option<Time>,
    /// What they take.
    account: ByteAccount,
    /// The objects that are left out.
    pub(super) excluded: ExcludedObjects,
    /// The names of those that were not read the last time, and are as they were before.
    retained: Vec<String>,
    /// Whether it is to be read whole: windows do not bring again what was not parsed, or had no room.
    pub(super) relist_due: bool,
    /// When all of it was read last, and not only what happened since.
    listed_at: Option<Time>,
    /// What failed last and does not work again yet.
    pub(super) reported_failure: Option<(Verb, PollOutcome)>,
    /// It failed since it was read.
    pub(super) failing: bool,
    /// Since when that is a fault of this list alone.
    pub(super) failing_alone_since: Option<Time>,
    /// It may be missing from the picture: the API's last word is that it may not be read, or is not there; or it failed
    /// alone for so long that it was left out.
    pub(super) unreadable: bool,
    shown_readable: Option<Readable>,
    /// Whether it was told that the list is not watched any more.
    pub(super) unwatched: bool,
}

impl ListStore {
    /// What somebody else left, as it was read then, or by another read of the same.
    pub(super) fn restored(left: CheckpointedList, read: Option<Time>) -> Self {
        let mut list = Self {
            objects: left.objects,
            excluded: ExcludedObjects::restored(left.bad),
            read_at: read,
            ..Self::default()
        };
        list.sort();
        list.objects.iter().for_each(|object| list.account.add(object));
        list
    }

    /// Forgets what was read of it.
    pub(super) fn forget(&mut self) -> Vec<Delta> {
        self.excluded = ExcludedObjects::default();
        self.account = ByteAccount::default();
        self.retained.clear();
        (self.read_at, self.failing_alone_since) = (None, None);
        let before = std::mem::take(&mut self.objects);
        self.deltas_from(before)
    }

    fn sort(&mut self) {
        sort_by(&mut self.objects, |a, b| a.name().cmp(b.name()));
        // A list that changed between two pages may have an object twice: what came last counts.
        self.objects.dedup_by(|later, kept| {
            let is_twice = later.name() == kept.name();
            if is_twice {
                std::mem::swap(later, kept);
            }
            is_twice
        });
    }

    /// What its objects take.
    pub(super) fn bytes(&self) -> usize {
        self.account.bytes()
    }

    /// Whether it is to be read anew, though its windows bring what happens.
    pub(super) fn is_to_be_listed(&self, now: Time) -> bool {
        let is_old = |listed: Time| now < listed || now.since(listed) >= RELIST;
        self.excluded.is_partial() && self.listed_at.is_none_or(is_old)
    }

    /// The object of that name, as it is kept.
    fn find_by_name(&self, name: &str) -> Option<Rc<Object>> {
        let place = self.find(&ObjectName::parse(name).ok()?).ok()?;
        self.objects.get(place).cloned()
    }

    /// Whether an object is as it was before its last change.
    pub(super) fn retains_any(&self) -> bool {
        !self.retained.is_empty()
    }

    /// Has the list read whole where objects of it were not parsed: they may be now, or may not be any more.
    pub(super) fn requeue_skipped(&mut self) {
        self.relist_due |= self.retains_any() || !self.excluded.is_empty();
    }

    /// Takes the whole list anew, as far as there is room for it; what that moves, and a line for each object that is left
    /// out or held and was not before.
    pub(super) fn replace(
        &mut self,
        resource: &Resource,
        listed: ListedObjects,
        room: usize,
        now: Time,
    ) -> (Vec<Delta>, Vec<String>) {
        self.listed_at = Some(now);
        let held: Vec<_> = listed
            .retained
            .iter()
            .filter_map(|name| self.find_by_name(name))
            .collect();
        let before = std::mem::replace(&mut self.objects, listed.objects);
        self.excluded = listed.excluded.after(&self.excluded);
        self.account = listed.account;
        held.iter().for_each(|object| self.account.add(object));
        self.objects.extend(held);
        self.account.look_again();
        self.sort();
        self.fit(resource, room);
        let mut lines = self.excluded.news();
        let is_new = |name: &&String| !self.retained.contains(name);
        lines.extend(
            listed
                .retained
                .iter()
                .filter(is_new)
                .map(|name| retained_line(resource, name)),
        );
        self.retained = listed.retained;
        (self.deltas_from(before), lines)
    }

    /// Leaves out what there is no room for.
    fn fit(&mut self, resource: &Resource, room: usize) -> Vec<Rc<Object>> {
        let over = self.account.fit(&mut self.objects, room);
        self.excluded.put_over(resource, &over, &self.account);
        over
    }

    /// What became of the objects of before.
    fn deltas_from(&mut self, before: Vec<Rc<Object>>) -> Vec<Delta> {
        let mut before = before.into_iter().peekable();
        let mut moved = Vec::new();
        for kept in &mut self.objects {
            while let Some(gone) = before.next_if(|gone| gone.name() < kept.name()) {
                moved.push(Delta::new(Some(gone), None));
            }
            match before.next_if(|was| was.name() == kept.name()) {
                // The one that is joined already stays.
                Some(was) if was == *kept => *kept = was,
                was => moved.push(Delta::new(was, Some(kept.clone()))),
            }
        }
        moved.extend(before.map(|gone| Delta::new(Some(gone), None)));
        moved
    }

    /// Takes what happened since; what that moves, and the lines as above.
    pub(super) fn apply(
        &mut self,
        resource: &Resource,
        changes: Vec<Change>,
        room: usize,
    ) -> (Vec<Delta>, Vec<String>) {
        let (mut moved, mut lines) = (Vec::new(), Vec::new());
        for change in changes {
            moved.extend(match change {
                Change::Apply(object) => {
                    self.retained.retain(|held| *held != object.name().to_string());
                    self.put(object)
                }
                Change::Delete(name) => {
                    self.excluded.forget(&name.to_string());
                    self.retained.retain(|held| *held != name.to_string());
                    self.remove(&name)
                }
                Change::Retained(name) => {
                    if !self.retained.contains(&name) {
                        lines.push(retained_line(resource, &name));
                        self.retained.push(name);
                    }
                    None
                }
                Change::Invalid(bad) => {
                    self.retained.retain(|held| *held != bad.name);
                    // A name that cannot be an object's was never kept.
                    let moved = ObjectName::parse(&bad.name).ok().and_then(|name| self.remove(&name));
                    self.excluded.put_bad(resource, bad);
                    moved
                }
            });
        }
        let over = self.fit(resource, room);
        moved.extend(over.into_iter().map(|over| Delta::new(Some(over), None)));
        let objects = &self.objects;
        let is_kept = |name| objects.binary_search_by(|kept| kept.name().cmp(&name)).is_ok();
        self.excluded
            .forget_kept(|name| ObjectName::parse(name).is_ok_and(is_kept));
        lines.extend(self.excluded.news());
        (moved, lines)
    }

    fn put(&mut self, object: Object) -> Option<Delta> {
        let found = self.find(object.name());
        let object = Rc::new(object);
        let before = match found {
            Ok(place) => {
                let kept = self.objects.get_mut(place).filter(|kept| **kept != object)?;
                self.account.remove(kept);
                Some(std::mem::replace(kept, object.clone()))
            }
            Err(place) => {
                self.objects.insert(place, object.clone());
                None
            }
        };
        self.account.add(&object);
        Some(Delta::new(before, Some(object)))
    }

    fn remove(&mut self, name: &ObjectName) -> Option<Delta> {
        let gone = self.objects.remove(self.find(name).ok()?);
        self.account.remove(&gone);
        Some(Delta::new(Some(gone), None))
    }

    /// Where an object stands, or would.
    fn find(&self, name: &ObjectName) -> Result<usize, usize> {
        self.objects.binary_search_by(|kept| kept.name().cmp(name))
    }

    /// Whether it was read, and does not fail since.
    pub(super) fn answers(&self) -> bool {
        self.read_at.is_some() && !self.failing && !self.unreadable
    }

    /// Notes what the operator is shown; whether that is news.
    pub(super) fn shows(&mut self, readable: Readable) -> bool {
        self.shown_readable.replace(readable) != Some(readable)
    }

    /// Notes a failure; whether it is another one than before.
    pub(super) fn fails(&mut self, verb: Verb, outcome: PollOutcome) -> bool {
        let trouble = Some((verb, outcome));
        std::mem::replace(&mut self.reported_failure, trouble) != trouble
    }

    /// Notes that the list is read instead of being watched; whether that was not told yet.
    pub(super) fn falls_back(&mut self) -> bool {
        !std::mem::replace(&mut self.unwatched, true)
    }

    /// Notes that something worked; whether just that did not before.
    pub(super) fn works(&mut self, verb: Verb) -> bool {
        self.unwatched &= verb != Verb::Watch;
        self.reported_failure.take_if(|(failed, _)| *failed == verb).is_some()
    }
}

fn retained_line(resource: &Resource, name: &str) -> String {
    let kind = &resource.kind;
    format!("{kind} {name} stays as it was: a proxy thread stopped while it parsed its new bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::page::InvalidItem;
    use crate::kube::{ListPage, ObjectKind};
    use crate::sync::limits::MOST_OF_LIST;

    fn service(name: &str, app: &str) -> Object {
        let json =
            format!(r#"{{"metadata":{{"namespace":"shop","name":"{name}"}},"spec":{{"selector":{{"app":"{app}"}}}}}}"#);
        Object::read(ObjectKind::Services, &json, false).unwrap()
    }

    fn bad(name: &str) -> InvalidItem {
        InvalidItem {
            name: format!("shop/{name}"),
            reason: "spec: no such thing".into(),
        }
    }

    fn replace(list: &mut ListStore, objects: Vec<Object>, bad: Vec<InvalidItem>) -> (Vec<Delta>, Vec<String>) {
        let mut listed = ListedObjects::default();
        let page = ListPage {
            objects,
            bad,
            ..ListPage::default()
        };
        listed.take(&Resource::services(), page);
        list.replace(&Resource::services(), listed, MOST_OF_LIST, Time::default())
    }

    fn apply(list: &mut ListStore, changes: Vec<Change>) -> (bool, usize) {
        let (moved, lines) = list.apply(&Resource::services(), changes, MOST_OF_LIST);
        (!moved.is_empty(), lines.len())
    }

    fn listed() -> ListStore {
        let mut list = ListStore::default();
        let (_, lines) = replace(&mut list, vec![service("c", "1"), service("a", "1")], vec![bad("x")]);
        assert_eq!(lines.len(), 1);
        list
    }

    #[test]
    fn changes_lead_to_what_a_list_would_show() {
        let mut list = listed();
        let gone = Change::Delete(ObjectName::parse("shop/a").unwrap());
        let changes = vec![Change::Apply(service("b", "1")), Change::Apply(service("c", "2")), gone];
        assert_eq!(apply(&mut list, changes), (true, 0));
        assert_eq!(list.objects, [service("b", "1"), service("c", "2")].map(Rc::new));
    }

    #[test]
    fn a_list_that_is_read_anew_moves_what_is_other_than_it_was() {
        let mut list = listed();
        let was = list.objects.clone();
        let objects = vec![service("d", "1"), service("c", "1"), service("b", "1")];
        let (moved, _) = replace(&mut list, objects, Vec::new());
        let names = |object: &Option<Rc<Object>>| object.as_ref().map(|object| object.name().to_string());
        let moved: Vec<_> = moved
            .iter()
            .map(|moved| (names(&moved.before), names(&moved.after)))
            .collect();
        let [a, b, d] = ["shop/a", "shop/b", "shop/d"].map(|name| Some(name.to_owned()));
        assert_eq!(moved, [(a, None), (None, b), (None, d)]);
        assert!(Rc::ptr_eq(&was[1], &list.objects[1]), "what is joined stays");
    }

    #[test]
    fn what_does_not_count_changes_nothing() {
        let mut list = listed();
        let absent = Change::Delete(ObjectName::parse("shop/q").unwrap());
        assert_eq!(
            apply(&mut list, vec![Change::Apply(service("a", "1")), absent]),
            (false, 0)
        );
    }

    #[test]
    fn an_object_that_becomes_unreadable_is_left_out_with_one_line_until_it_is_well_again() {
        let mut list = listed();
        assert_eq!(apply(&mut list, vec![Change::Invalid(bad("a"))]), (true, 1));
        assert_eq!(
            apply(&mut list, vec![Change::Invalid(bad("a"))]),
            (false, 0),
            "said once"
        );
        assert_eq!((list.objects.len(), list.excluded.len()), (1, 2));
        assert_eq!(apply(&mut list, vec![Change::Apply(service("a", "1"))]), (true, 0));
        assert_eq!((list.objects.len(), list.excluded.len()), (2, 1));
    }

    #[test]
    fn what_it_takes_is_what_its_objects_take_whatever_became_of_them() {
        let mut list = listed();
        let gone = Change::Delete(ObjectName::parse("shop/a").unwrap());
        let longer = service("c", &"long".repeat(9));
        apply(
            &mut list,
            vec![Change::Apply(service("b", "1")), Change::Apply(longer), gone],
        );
        let wanted: usize = list.objects.iter().map(|object| object.size()).sum();
        assert_eq!(list.bytes(), wanted);
        list.forget();
        assert_eq!((list.bytes(), list.objects.len()), (0, 0));
    }

    #[test]
    fn what_is_held_stays_as_it_was_in_a_window_and_in_a_list_with_one_line() {
        let mut list = listed();
        let was = list.objects.clone();
        assert_eq!(apply(&mut list, vec![Change::Retained("shop/a".into())]), (false, 1));
        assert!(list.retains_any());
        let mut read = ListedObjects::default();
        let page = ListPage {
            objects: vec![service("c", "1")],
            retained: vec!["shop/a".into(), "shop/new".into()],
            ..ListPage::default()
        };
        read.take(&Resource::services(), page);
        let (moved, lines) = list.replace(&Resource::services(), read, MOST_OF_LIST, Time::default());
        assert_eq!((moved.len(), list.objects.clone()), (0, was));
        assert_eq!(
            lines,
            ["Service shop/new stays as it was: a proxy thread stopped while it parsed its new bytes"]
        );
        list.requeue_skipped();
        assert!(list.relist_due);
        assert_eq!(
            apply(
                &mut list,
                vec![Change::Apply(service("a", "2")), Change::Invalid(bad("new"))]
            ),
            (true, 1)
        );
        assert!(!list.retains_any());
    }

    #[test]
    fn trouble_is_news_once_and_ends_with_what_failed() {
        let mut list = listed();
        assert!(list.fails(Verb::Watch, PollOutcome::Timeout));
        assert!(!list.fails(Verb::Watch, PollOutcome::Timeout));
        assert!(!list.works(Verb::List), "a list that works says nothing of the watch");
        assert!(list.works(Verb::Watch) && !list.works(Verb::Watch));
    }
}
