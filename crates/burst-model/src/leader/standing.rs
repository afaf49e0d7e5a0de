//! One list as it stands: its objects, and what was wrong with it.

use super::Readable;
use crate::index::Moved;
use crate::kube::page::Bad;
use crate::kube::{Change, Object, Outcome, Resource, Verb};
use crate::name::ObjectName;
use crate::order::sort_by;
use crate::records::Resumed;
use crate::sync::life::Listed;
use crate::time::Time;
use std::collections::BTreeMap;
use std::rc::Rc;

/// One list as it stands.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// Sorted by their names.
    pub(super) objects: Vec<Rc<Object>>,
    /// When it was read last.
    pub(super) read: Option<Time>,
    /// The objects that are left out, with the line that says why.
    bad: BTreeMap<String, String>,
    /// What failed last and does not work again yet.
    pub(super) trouble: Option<(Verb, Outcome)>,
    /// It failed since it was read.
    pub(super) failing: bool,
    /// Since when that is a fault of this list alone.
    pub(super) alone: Option<Time>,
    /// It may be missing from the picture: the API's last word is that it may not be read, or is not there; or it failed
    /// alone for so long that it was left out.
    pub(super) unreadable: bool,
    shown: Option<Readable>,
    /// Whether it was told that the list is not watched any more.
    pub(super) unwatched: bool,
}

impl Standing {
    /// What somebody else left, as it was read then, or by another read of the same.
    pub(super) fn left(left: Resumed, read: Option<Time>) -> Self {
        let mut list = Self {
            objects: left.objects,
            read,
            ..Self::default()
        };
        list.bad.extend(left.bad);
        list.sort();
        list
    }

    /// Forgets what was read of it.
    pub(super) fn forget(&mut self) -> Vec<Moved> {
        self.bad.clear();
        (self.read, self.alone) = (None, None);
        self.put_all(Vec::new())
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

    /// The names of those that are left out, with the line that says why.
    pub(super) fn bad(&self) -> impl Iterator<Item = (&str, &str)> {
        self.bad.iter().map(|(name, line)| (name.as_str(), line.as_str()))
    }

    pub(super) fn bad_objects(&self) -> usize {
        self.bad.len()
    }

    /// Takes the whole list anew; what that moves, and a line for each object that is left out and was not before.
    pub(super) fn replace(&mut self, resource: &Resource, listed: Listed) -> (Vec<Moved>, Vec<String>) {
        let moved = self.put_all(listed.objects.into_iter().map(Rc::new).collect());
        let before = std::mem::take(&mut self.bad);
        self.bad.extend(listed.bad.into_iter().map(|bad| line(resource, bad)));
        let is_new = |(name, line): &(&String, &String)| before.get(*name) != Some(*line);
        let lines = self.bad.iter().filter(is_new).map(|(_, line)| line.clone()).collect();
        (moved, lines)
    }

    fn put_all(&mut self, objects: Vec<Rc<Object>>) -> Vec<Moved> {
        let mut before = std::mem::replace(&mut self.objects, objects).into_iter().peekable();
        self.sort();
        let mut moved = Vec::new();
        for kept in &mut self.objects {
            while let Some(gone) = before.next_if(|gone| gone.name() < kept.name()) {
                moved.push(Moved::from(Some(gone), None));
            }
            match before.next_if(|was| was.name() == kept.name()) {
                // The one that is joined already stays.
                Some(was) if was == *kept => *kept = was,
                was => moved.push(Moved::from(was, Some(kept.clone()))),
            }
        }
        moved.extend(before.map(|gone| Moved::from(Some(gone), None)));
        moved
    }

    /// Takes what happened since; what that moves, and the lines as above.
    pub(super) fn apply(&mut self, resource: &Resource, changes: Vec<Change>) -> (Vec<Moved>, Vec<String>) {
        let (mut moved, mut lines) = (Vec::new(), Vec::new());
        for change in changes {
            moved.extend(match change {
                Change::Put(object) => {
                    self.bad.remove(&object.name().to_string());
                    self.put(object)
                }
                Change::Gone(name) => {
                    self.bad.remove(&name.to_string());
                    self.remove(&name)
                }
                Change::Spoiled(bad) => {
                    let (name, line) = line(resource, bad);
                    // A name that cannot be an object's was never kept.
                    let moved = ObjectName::parse(&name).ok().and_then(|name| self.remove(&name));
                    if self.bad.insert(name, line.clone()).as_ref() != Some(&line) {
                        lines.push(line);
                    }
                    moved
                }
            });
        }
        (moved, lines)
    }

    fn put(&mut self, object: Object) -> Option<Moved> {
        let found = self.find(object.name());
        let object = Rc::new(object);
        let before = match found {
            Ok(place) => {
                let kept = self.objects.get_mut(place).filter(|kept| **kept != object)?;
                Some(std::mem::replace(kept, object.clone()))
            }
            Err(place) => {
                self.objects.insert(place, object.clone());
                None
            }
        };
        Some(Moved::from(before, Some(object)))
    }

    fn remove(&mut self, name: &ObjectName) -> Option<Moved> {
        let gone = self.objects.remove(self.find(name).ok()?);
        Some(Moved::from(Some(gone), None))
    }

    /// Where an object stands, or would.
    fn find(&self, name: &ObjectName) -> Result<usize, usize> {
        self.objects.binary_search_by(|kept| kept.name().cmp(name))
    }

    /// Whether it was read, and does not fail since.
    pub(super) fn answers(&self) -> bool {
        self.read.is_some() && !self.failing && !self.unreadable
    }

    /// Notes what the operator is shown; whether that is news.
    pub(super) fn shows(&mut self, readable: Readable) -> bool {
        self.shown.replace(readable) != Some(readable)
    }

    /// Notes a failure; whether it is another one than before.
    pub(super) fn fails(&mut self, verb: Verb, outcome: Outcome) -> bool {
        let trouble = Some((verb, outcome));
        std::mem::replace(&mut self.trouble, trouble) != trouble
    }

    /// Notes that the list is read instead of being watched; whether that was not told yet.
    pub(super) fn falls_back(&mut self) -> bool {
        !std::mem::replace(&mut self.unwatched, true)
    }

    /// Notes that something worked; whether just that did not before.
    pub(super) fn works(&mut self, verb: Verb) -> bool {
        self.unwatched &= verb != Verb::Watch;
        self.trouble.take_if(|(failed, _)| *failed == verb).is_some()
    }
}

fn line(resource: &Resource, Bad { name, reason }: Bad) -> (String, String) {
    let line = format!("left out {} {name}: {reason}", resource.kind);
    (name, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::Reads;

    fn service(name: &str, app: &str) -> Object {
        let json =
            format!(r#"{{"metadata":{{"namespace":"shop","name":"{name}"}},"spec":{{"selector":{{"app":"{app}"}}}}}}"#);
        Object::read(Reads::Services, &json, false).unwrap()
    }

    fn bad(name: &str) -> Bad {
        Bad {
            name: format!("shop/{name}"),
            reason: "spec: no such thing".into(),
        }
    }

    fn apply(list: &mut Standing, changes: Vec<Change>) -> (bool, usize) {
        let (moved, lines) = list.apply(&Resource::services(), changes);
        (!moved.is_empty(), lines.len())
    }

    fn listed() -> Standing {
        let mut list = Standing::default();
        let objects = vec![service("c", "1"), service("a", "1")];
        let version = "7".into();
        let bad = vec![bad("x")];
        assert_eq!(
            list.replace(&Resource::services(), Listed { objects, bad, version })
                .1
                .len(),
            1
        );
        list
    }

    #[test]
    fn changes_lead_to_what_a_list_would_show() {
        let mut list = listed();
        let gone = Change::Gone(ObjectName::parse("shop/a").unwrap());
        let changes = vec![Change::Put(service("b", "1")), Change::Put(service("c", "2")), gone];
        assert_eq!(apply(&mut list, changes), (true, 0));
        assert_eq!(list.objects, [service("b", "1"), service("c", "2")].map(Rc::new));
    }

    #[test]
    fn a_list_that_is_read_anew_moves_what_is_other_than_it_was() {
        let mut list = listed();
        let was = list.objects.clone();
        let objects = vec![service("d", "1"), service("c", "1"), service("b", "1")];
        let (bad, version) = (Vec::new(), "8".into());
        let (moved, _) = list.replace(&Resource::services(), Listed { objects, bad, version });
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
        let absent = Change::Gone(ObjectName::parse("shop/q").unwrap());
        assert_eq!(
            apply(&mut list, vec![Change::Put(service("a", "1")), absent]),
            (false, 0)
        );
    }

    #[test]
    fn an_object_that_becomes_unreadable_is_left_out_with_one_line_until_it_is_well_again() {
        let mut list = listed();
        assert_eq!(apply(&mut list, vec![Change::Spoiled(bad("a"))]), (true, 1));
        assert_eq!(
            apply(&mut list, vec![Change::Spoiled(bad("a"))]),
            (false, 0),
            "said once"
        );
        assert_eq!((list.objects.len(), list.bad_objects()), (1, 2));
        assert_eq!(apply(&mut list, vec![Change::Put(service("a", "1"))]), (true, 0));
        assert_eq!((list.objects.len(), list.bad_objects()), (2, 1));
    }

    #[test]
    fn trouble_is_news_once_and_ends_with_what_failed() {
        let mut list = listed();
        assert!(list.fails(Verb::Watch, Outcome::Timeout));
        assert!(!list.fails(Verb::Watch, Outcome::Timeout));
        assert!(!list.works(Verb::List), "a list that works says nothing of the watch");
        assert!(list.works(Verb::Watch) && !list.works(Verb::Watch));
    }
}
