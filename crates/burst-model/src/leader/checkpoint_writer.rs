//! What a successor goes on with, written part by part: the objects of a large cluster take a thread longer than others
//! can wait. In the end the bytes are those of a [`Checkpoint`](crate::records::Checkpoint).

use super::list_store::ListStore;
use crate::kube::Object;
use crate::sync::reflector::Reflector;
use serde::Serialize;
use std::rc::Rc;
use std::vec;

/// One that is being written. Each list is as it stands when it is begun: what a successor is told of it next is what
/// happened since, whatever the others were then.
#[derive(Debug)]
pub(super) struct CheckpointWriter {
    bytes: Vec<u8>,
    /// Lists that were begun.
    begun: usize,
    /// What is left of the last of them.
    objects: vec::IntoIter<Rc<Object>>,
}

impl CheckpointWriter {
    /// Of so many lists, and what was served with them. There will be some `length` bytes.
    pub(super) fn new(content: u64, lists: usize, length: usize) -> Self {
        let mut bequest = Self {
            bytes: Vec::with_capacity(length),
            begun: 0,
            objects: Vec::new().into_iter(),
        };
        bequest.put(&(content, lists));
        bequest
    }

    /// Writes at most so many objects; whether all of them are written.
    pub(super) fn advance<'a>(
        &mut self,
        most: &mut usize,
        lists: impl Iterator<Item = (&'a ListStore, &'a Reflector)>,
    ) -> bool {
        let mut lists = lists.skip(self.begun);
        loop {
            let before = self.objects.len();
            for object in self.objects.by_ref().take(*most) {
                put(&*object, &mut self.bytes);
            }
            *most -= before - self.objects.len();
            if self.objects.len() > 0 {
                return false;
            }
            let Some((list, kept)) = lists.next() else { return true };
            self.begun += 1;
            // Where a window would not tell of all objects that are left out, the successor reads the list.
            let version = kept.resource_version().filter(|_| !list.excluded.is_partial());
            let version = version.unwrap_or_default();
            let bad: Vec<_> = list.excluded.messages().collect();
            self.put(&(version, list.read_at, bad, list.objects.len()));
            self.objects = list.objects.clone().into_iter();
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn put(&mut self, piece: &impl Serialize) {
        put(piece, &mut self.bytes);
    }
}

/// In this format a value is the values in it, one after the other; and a number is as long as its digits, whatever its
/// type. <https://postcard.jamesmunns.com/wire-format>
fn put(piece: &impl Serialize, bytes: &mut Vec<u8>) {
    // Into a vector nothing can fail.
    *bytes = postcard::to_extend(piece, std::mem::take(bytes)).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::{ObjectKind, Resource, Source};
    use crate::records::{Checkpoint, CheckpointedList, Record};
    use crate::sync::reflector::Schedule;
    use crate::time::Time;
    use proptest::prelude::*;
    use std::time::Duration;

    const T0: Time = Time::from_unix_millis(1_700_000_000_000);

    fn service(n: usize) -> Rc<Object> {
        let json =
            format!(r#"{{"metadata":{{"namespace":"shop","name":"n{n:05}"}},"spec":{{"selector":{{"n":"{n}"}}}}}}"#);
        Rc::new(Object::parse(ObjectKind::Services, &json, false).unwrap())
    }

    /// A list with so many objects, and so many that are left out.
    fn standing(objects: usize, bad: usize, read: Option<Time>) -> ListStore {
        let left = CheckpointedList {
            excluded: (0..bad).map(|n| (format!("shop/b{n}"), "left out".into())).collect(),
            objects: (0..objects).map(service).collect(),
            ..CheckpointedList::default()
        };
        ListStore::restored(left, read)
    }

    fn kept(version: Option<usize>) -> Reflector {
        let source = Source {
            kind: ObjectKind::Services,
            resource: Resource::services(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            keep_labels: false,
        };
        let pace = Schedule {
            interval: Duration::from_secs(15),
            window: Some(Duration::from_secs(5)),
        };
        let version = version.map(|version| version.to_string()).unwrap_or_default();
        Reflector::new(source, pace, 500, T0).resuming_from(&version, T0)
    }

    proptest! {
        #[test]
        fn in_parts_of_any_size_the_bytes_are_those_of_a_record(
            content: u64,
            lists in proptest::collection::vec((0..300usize, 0..3usize, any::<bool>(), any::<Option<usize>>()), 0..5),
            parts in proptest::collection::vec(0..200usize, 1..20),
        ) {
            let standing = |&(objects, bad, is_read, version): &(usize, usize, bool, Option<usize>)| {
                (standing(objects, bad, is_read.then_some(T0)), kept(version))
            };
            let lists: Vec<_> = lists.iter().map(standing).collect();
            let resumed = |(list, kept): &(ListStore, Reflector)| CheckpointedList {
                resource_version: kept.resource_version().unwrap_or_default().into(),
                read_at: list.read_at,
                excluded: list.excluded.messages().map(|(name, line)| (name.into(), line.into())).collect(),
                objects: list.objects.clone(),
            };
            let whole = Checkpoint { content_hash: content, lists: lists.iter().map(resumed).collect() };

            let mut bequest = CheckpointWriter::new(content, lists.len(), 0);
            let all = || lists.iter().map(|(list, kept)| (list, kept));
            // One that is not nothing, or it would never end.
            let mut parts = parts.into_iter().chain([50]).cycle();
            loop {
                let most = parts.next().unwrap();
                let (mut left, before) = (most, bequest.bytes.len());
                let is_whole = bequest.advance(&mut left, all());
                prop_assert!(is_whole || left == 0, "as much as may be");
                prop_assert!(most > left || bequest.bytes.len() - before < 100, "and no more");
                if is_whole {
                    break;
                }
            }
            prop_assert_eq!(bequest.into_bytes(), whole.to_bytes());
        }
    }

    #[test]
    fn what_changes_meanwhile_is_of_the_next_one() {
        let list = standing(10, 0, Some(T0));
        let kept = kept(Some(7));
        let mut bequest = CheckpointWriter::new(1, 1, 0);
        assert!(!bequest.advance(&mut 5, [(&list, &kept)].into_iter()));
        let later = standing(0, 0, Some(T0.after(Duration::from_secs(5))));
        assert!(bequest.advance(&mut 5, [(&later, &kept)].into_iter()));
        let left = Checkpoint::from_bytes(&bequest.into_bytes()).unwrap();
        assert_eq!((left.lists[0].read_at, left.lists[0].objects.len()), (Some(T0), 10));
    }
}
