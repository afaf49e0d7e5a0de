//! Reads a [`Checkpoint`] in parts, each as large as the caller allows.

use crate::records::{Checkpoint, CheckpointedList};
use crate::sync::limits::MAX_TOTAL_BYTES;
use serde::de::DeserializeOwned;

/// A [`Checkpoint`] that is being read.
#[derive(Debug)]
pub(super) struct CheckpointReader {
    bytes: Vec<u8>,
    /// The offset of the next value.
    offset: usize,
    /// The part that was read so far; `None` if the bytes are not a checkpoint.
    checkpoint: Option<Checkpoint>,
    /// Lists whose head is still to be read.
    lists_left: usize,
    /// Objects of the last list that are still to be read.
    objects_left: usize,
    /// The generation, which comes last, was read.
    is_complete: bool,
}

impl CheckpointReader {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let mut reader = Self {
            bytes,
            offset: 0,
            checkpoint: None,
            lists_left: 0,
            objects_left: 0,
            is_complete: false,
        };
        // A version of the filter without limits may have left more than a VM can hold.
        if reader.bytes.len() > MAX_TOTAL_BYTES {
            return reader;
        }
        if let Some((content_hash, list_count)) = reader.read_value() {
            reader.lists_left = list_count;
            reader.checkpoint = Some(Checkpoint {
                content_hash,
                lists: Vec::new(),
                generation: 0,
            });
        }
        reader
    }

    /// Reads at most that many objects, and subtracts those it read. Returns whether there are more.
    pub(super) fn advance(&mut self, max_objects: &mut usize) -> bool {
        while *max_objects > 0 && self.has_more() {
            *max_objects -= 1;
            if self.read_next().is_none() {
                (self.checkpoint, self.lists_left, self.objects_left) = (None, 0, 0);
            }
        }
        if !self.has_more() && !self.is_complete {
            self.is_complete = true;
            self.read_generation();
        }
        self.has_more()
    }

    /// Without a generation the bytes are of an older version, or cut off.
    fn read_generation(&mut self) {
        let generation = self.read_value();
        self.checkpoint = self.checkpoint.take().and_then(|checkpoint| {
            let generation = generation?;
            Some(Checkpoint {
                generation,
                ..checkpoint
            })
        });
    }

    /// The checkpoint, or `None` if the bytes were not one.
    pub(super) fn take_checkpoint(&mut self) -> Option<Checkpoint> {
        self.checkpoint.take()
    }

    fn has_more(&self) -> bool {
        self.lists_left > 0 || self.objects_left > 0
    }

    /// Reads an object of the current list, or else the head of the next list.
    fn read_next(&mut self) -> Option<()> {
        if let Some(objects_left) = self.objects_left.checked_sub(1) {
            let object = self.read_value()?;
            self.checkpoint.as_mut()?.lists.last_mut()?.objects.push(object);
            self.objects_left = objects_left;
            return Some(());
        }
        self.lists_left = self.lists_left.checked_sub(1)?;
        let (resource_version, read_at, excluded, object_count) = self.read_value()?;
        self.objects_left = object_count;
        self.checkpoint.as_mut()?.lists.push(CheckpointedList {
            resource_version,
            read_at,
            excluded,
            objects: Vec::new(),
        });
        Some(())
    }

    /// Reads the next value; for the format see [`super::checkpoint_writer`].
    fn read_value<T: DeserializeOwned>(&mut self) -> Option<T> {
        let (value, rest) = postcard::take_from_bytes(self.bytes.get(self.offset..)?).ok()?;
        self.offset = self.bytes.len().saturating_sub(rest.len());
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::{KeptFields, Object, ObjectKind};
    use crate::records::Record;
    use crate::time::Time;
    use proptest::prelude::*;
    use std::rc::Rc;

    fn read_in_parts(bytes: Vec<u8>, max_objects: usize) -> Option<Checkpoint> {
        let mut reader = CheckpointReader::new(bytes);
        while reader.advance(&mut max_objects.clone()) {}
        reader.checkpoint
    }

    fn record() -> impl Strategy<Value = Checkpoint> {
        let object = any::<u16>().prop_map(|n| {
            let json =
                format!(r#"{{"metadata":{{"namespace":"shop","name":"n{n}"}},"spec":{{"selector":{{"n":"{n}"}}}}}}"#);
            Rc::new(Object::parse(ObjectKind::Services, &json, KeptFields::default()).unwrap())
        });
        let objects = proptest::collection::vec(object, 0..40);
        let bad = proptest::collection::vec(("[a-z/]{0,9}", "[a-z/]{0,9}"), 0..3);
        let list = ("[0-9]{0,9}", any::<Option<u64>>(), bad, objects).prop_map(|(version, read, bad, objects)| {
            CheckpointedList {
                resource_version: version,
                read_at: read.map(Time::from_unix_millis),
                excluded: bad,
                objects,
            }
        });
        let lists = proptest::collection::vec(list, 0..5);
        (any::<[u64; 2]>(), lists).prop_map(|([content_hash, generation], lists)| Checkpoint {
            content_hash,
            lists,
            generation,
        })
    }

    proptest! {
        #[test]
        fn reading_in_parts_of_any_size_restores_the_checkpoint(record in record(), max_objects in 1..50usize) {
            prop_assert_eq!(read_in_parts(record.to_bytes(), max_objects), Some(record));
        }

        #[test]
        fn reading_in_parts_accepts_the_same_bytes_as_reading_at_once(
            record in record(),
            (cut, flips) in (any::<prop::sample::Index>(), proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3)),
            max_objects in 1..50usize,
        ) {
            let mut bytes = record.to_bytes();
            bytes.truncate(cut.index(bytes.len() + 1));
            for (at, byte) in flips {
                if !bytes.is_empty() {
                    let index = at.index(bytes.len());
                    bytes[index] = byte;
                }
            }
            prop_assert_eq!(read_in_parts(bytes.clone(), max_objects), Checkpoint::from_bytes(&bytes));
        }
    }

    #[test]
    fn each_call_reads_at_most_its_part() {
        let json = r#"{"metadata":{"namespace":"shop","name":"n"},"spec":{"selector":{}}}"#;
        let object = Rc::new(Object::parse(ObjectKind::Services, json, KeptFields::default()).unwrap());
        let list = CheckpointedList {
            objects: vec![object; 3],
            ..CheckpointedList::default()
        };
        let checkpoint = Checkpoint {
            content_hash: 0,
            lists: vec![list.clone(), list],
            generation: 0,
        };
        let mut reader = CheckpointReader::new(checkpoint.to_bytes());
        let count = |reader: &CheckpointReader| {
            reader
                .checkpoint
                .iter()
                .flat_map(|read| &read.lists)
                .map(|list| list.objects.len())
                .sum::<usize>()
        };
        for read in [1, 3, 4] {
            assert!(reader.advance(&mut 2));
            assert_eq!(count(&reader), read);
        }
        assert!(!reader.advance(&mut 2));
        assert_eq!(reader.checkpoint, Some(checkpoint));
    }
}
