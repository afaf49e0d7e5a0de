//! Writes a checkpoint in parts: serializing the objects of a large cluster in one call would block the thread for too
//! long. The bytes are those of a [`Checkpoint`](crate::records::Checkpoint).

use super::watched_list::WatchedList;
use crate::kube::Object;
use serde::Serialize;
use std::rc::Rc;
use std::vec;

/// A checkpoint that is being written. Each list is written as it is when its turn comes: a successor continues each list
/// from the list's own resource version.
#[derive(Debug)]
pub(super) struct CheckpointWriter {
    bytes: Vec<u8>,
    /// Lists whose head is written.
    lists_begun: usize,
    /// Objects of the last of them that are still to be written.
    objects: vec::IntoIter<Rc<Object>>,
    /// The generation of the snapshot, which comes last.
    generation: u64,
}

impl CheckpointWriter {
    /// Begins a checkpoint with the content hash and the generation of the snapshot that is served. `capacity` is the
    /// expected length.
    pub(super) fn new(content_hash: u64, generation: u64, list_count: usize, capacity: usize) -> Self {
        let mut writer = Self {
            bytes: Vec::with_capacity(capacity),
            lists_begun: 0,
            objects: Vec::new().into_iter(),
            generation,
        };
        append(&(content_hash, list_count), &mut writer.bytes);
        writer
    }

    /// Writes at most that many objects, and subtracts those it wrote. Returns whether the checkpoint is complete.
    pub(super) fn advance(&mut self, max_objects: &mut usize, lists: &[WatchedList]) -> bool {
        loop {
            let before = self.objects.len();
            for object in self.objects.by_ref().take(*max_objects) {
                append(&*object, &mut self.bytes);
            }
            *max_objects -= before - self.objects.len();
            if self.objects.len() > 0 {
                return false;
            }
            let Some(list) = lists.get(self.lists_begun) else {
                return true;
            };
            self.lists_begun += 1;
            self.begin_list(list);
        }
    }

    fn begin_list(&mut self, list: &WatchedList) {
        let store = &list.store;
        // If a watch would not report all excluded objects, the successor must list.
        let resource_version = match store.excluded.is_partial() {
            true => None,
            false => list.reflector.resource_version(),
        };
        let excluded: Vec<_> = store.excluded.messages().collect();
        let head = (
            resource_version.unwrap_or_default(),
            store.read_at,
            excluded,
            store.objects.len(),
        );
        append(&head, &mut self.bytes);
        self.objects = store.objects.clone().into_iter();
    }

    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        append(&self.generation, &mut self.bytes);
        self.bytes
    }
}

/// Appends a value. In postcard a composite value is its parts one after the other, and the length of an integer does not
/// depend on its type. <https://postcard.jamesmunns.com/wire-format>
fn append(value: &impl Serialize, bytes: &mut Vec<u8>) {
    // Writing into a vector cannot fail.
    *bytes = postcard::to_extend(value, std::mem::take(bytes)).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::super::health::Health;
    use super::super::store::Store;
    use super::*;
    use crate::kube::{KeptFields, ObjectKind, Resource, Source};
    use crate::records::{Checkpoint, CheckpointedList, Record};
    use crate::sync::reflector::{Backlog, Reflector, Schedule};
    use crate::time::Time;
    use proptest::prelude::*;
    use std::time::Duration;

    const T0: Time = Time::from_unix_millis(1_700_000_000_000);

    fn service(n: usize) -> Rc<Object> {
        let json =
            format!(r#"{{"metadata":{{"namespace":"shop","name":"n{n:05}"}},"spec":{{"selector":{{"n":"{n}"}}}}}}"#);
        Rc::new(Object::parse(ObjectKind::Services, &json, KeptFields::default()).unwrap())
    }

    /// A list with that many objects and that many excluded ones.
    fn list(objects: usize, excluded: usize, read_at: Option<Time>, version: Option<usize>) -> WatchedList {
        let checkpointed = CheckpointedList {
            excluded: (0..excluded)
                .map(|n| (format!("shop/b{n}"), "excluded".into()))
                .collect(),
            objects: (0..objects).map(service).collect(),
            ..CheckpointedList::default()
        };
        WatchedList {
            reflector: reflector(version),
            store: Store::restored(checkpointed, read_at),
            health: Health::default(),
        }
    }

    fn reflector(version: Option<usize>) -> Reflector {
        let source = Source::all_namespaces(ObjectKind::Services, Resource::services());
        let schedule = Schedule {
            interval: Duration::from_secs(15),
            window: Some(Duration::from_secs(5)),
        };
        let version = version.map(|version| version.to_string()).unwrap_or_default();
        Reflector::new(source, schedule, 500, T0).resuming_from(&version, Backlog::BeforeSnapshot, T0)
    }

    fn checkpointed(list: &WatchedList) -> CheckpointedList {
        let excluded = list.store.excluded.messages();
        CheckpointedList {
            resource_version: list.reflector.resource_version().unwrap_or_default().into(),
            read_at: list.store.read_at,
            excluded: excluded.map(|(name, message)| (name.into(), message.into())).collect(),
            objects: list.store.objects.clone(),
        }
    }

    proptest! {
        #[test]
        fn writing_in_parts_of_any_size_gives_the_bytes_of_the_record(
            (content_hash, generation) in any::<(u64, u64)>(),
            lists in proptest::collection::vec((0..300usize, 0..3usize, any::<bool>(), any::<Option<usize>>()), 0..5),
            parts in proptest::collection::vec(0..200usize, 1..20),
        ) {
            let lists: Vec<_> = lists
                .into_iter()
                .map(|(objects, excluded, is_read, version)| list(objects, excluded, is_read.then_some(T0), version))
                .collect();
            let whole = Checkpoint { content_hash, lists: lists.iter().map(checkpointed).collect(), generation };

            let mut writer = CheckpointWriter::new(content_hash, generation, lists.len(), 0);
            // One part must not be empty, or writing would never end.
            let mut parts = parts.into_iter().chain([50]).cycle();
            loop {
                let max_objects = parts.next().unwrap();
                let (mut left, before) = (max_objects, writer.bytes.len());
                let is_complete = writer.advance(&mut left, &lists);
                prop_assert!(is_complete || left == 0, "it writes as much as it may");
                prop_assert!(max_objects > left || writer.bytes.len() - before < 100, "and no more");
                if is_complete {
                    break;
                }
            }
            prop_assert_eq!(writer.into_bytes(), whole.to_bytes());
        }
    }

    #[test]
    fn a_change_during_the_writing_of_a_list_is_left_for_the_next_checkpoint() {
        let mut writer = CheckpointWriter::new(1, 1, 1, 0);
        assert!(!writer.advance(&mut 5, &[list(10, 0, Some(T0), Some(7))]));
        let later = list(0, 0, Some(T0.after(Duration::from_secs(5))), Some(7));
        assert!(writer.advance(&mut 5, &[later]));
        let checkpoint = Checkpoint::from_bytes(&writer.into_bytes()).unwrap();
        let [list] = &checkpoint.lists[..] else { panic!() };
        assert_eq!((list.read_at, list.objects.len()), (Some(T0), 10));
    }
}
