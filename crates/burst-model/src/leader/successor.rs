//! Who is about to lead: it reads what the one before it left part by part, for the objects of a large cluster take a
//! thread longer than others can wait.

use super::{Handover, Leader};
use crate::config::Config;
use crate::records::{Checkpoint, CheckpointedList};
use crate::sync::limits::MAX_TOTAL_BYTES;
use crate::time::Time;
use serde::de::DeserializeOwned;
use std::rc::Rc;

/// Objects that are read at a time: two or three milliseconds of a thread that has other things to do.
const MOST_OBJECTS: usize = 2_000;

/// Who is about to lead.
#[derive(Debug)]
pub struct Successor {
    config: Rc<Config>,
    handover: Handover,
    reader: CheckpointReader,
}

impl Successor {
    /// Takes over, with the bytes of the [`Checkpoint`] that was left, or of none.
    #[must_use]
    pub fn new(config: Rc<Config>, estate: Handover, resume: Vec<u8>) -> Self {
        Self {
            config,
            handover: estate,
            reader: CheckpointReader::open(resume),
        }
    }

    /// Reads a part; the leader, when nothing is left to read and there is time to begin.
    pub fn advance(&mut self, now: Time) -> Option<Leader> {
        let mut most = MOST_OBJECTS;
        if self.reader.advance(&mut most) || most < MOST_OBJECTS / 2 {
            return None;
        }
        let mut estate = std::mem::take(&mut self.handover);
        estate.checkpoint = self.reader.read.take();
        Some(Leader::new(self.config.clone(), estate, now))
    }
}

/// A [`Checkpoint`] that is being read.
#[derive(Debug)]
struct CheckpointReader {
    bytes: Vec<u8>,
    /// Where what is not read yet begins.
    at: usize,
    /// What was read; `None` where the bytes are no such record.
    read: Option<Checkpoint>,
    /// Lists that are not begun.
    lists: usize,
    /// Objects that are left of the last list.
    objects: usize,
}

impl CheckpointReader {
    fn open(bytes: Vec<u8>) -> Self {
        let mut will = Self {
            bytes,
            at: 0,
            read: None,
            lists: 0,
            objects: 0,
        };
        // A filter that kept without limits may have left more than a thread can hold.
        if will.bytes.len() > MAX_TOTAL_BYTES {
            return will;
        }
        if let Some((content, lists)) = will.take() {
            will.lists = lists;
            will.read = Some(Checkpoint {
                content_hash: content,
                lists: Vec::new(),
            });
        }
        will
    }

    /// Reads at most so many objects; whether there are more.
    fn advance(&mut self, most: &mut usize) -> bool {
        while *most > 0 && (self.lists > 0 || self.objects > 0) {
            *most -= 1;
            if self.step().is_none() {
                (self.read, self.lists, self.objects) = (None, 0, 0);
            }
        }
        self.lists > 0 || self.objects > 0
    }

    /// Reads an object, or where there is none the head of the next list.
    fn step(&mut self) -> Option<()> {
        if let Some(objects) = self.objects.checked_sub(1) {
            let object = self.take()?;
            self.read.as_mut()?.lists.last_mut()?.objects.push(object);
            self.objects = objects;
            return Some(());
        }
        self.lists = self.lists.checked_sub(1)?;
        let (version, read, bad, objects) = self.take()?;
        self.objects = objects;
        self.read.as_mut()?.lists.push(CheckpointedList {
            resource_version: version,
            read_at: read,
            excluded: bad,
            objects: Vec::new(),
        });
        Some(())
    }

    /// The next value, see [`super::bequest`].
    fn take<T: DeserializeOwned>(&mut self) -> Option<T> {
        let (value, rest) = postcard::take_from_bytes(self.bytes.get(self.at..)?).ok()?;
        self.at = self.bytes.len().saturating_sub(rest.len());
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::{Object, ObjectKind};
    use crate::records::Record;
    use proptest::prelude::*;

    fn in_parts(bytes: Vec<u8>, most: usize) -> Option<Checkpoint> {
        let mut will = CheckpointReader::open(bytes);
        while will.advance(&mut most.clone()) {}
        will.read
    }

    fn record() -> impl Strategy<Value = Checkpoint> {
        let object = any::<u16>().prop_map(|n| {
            let json =
                format!(r#"{{"metadata":{{"namespace":"shop","name":"n{n}"}},"spec":{{"selector":{{"n":"{n}"}}}}}}"#);
            Rc::new(Object::parse(ObjectKind::Services, &json, false).unwrap())
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
        (any::<u64>(), lists).prop_map(|(content, lists)| Checkpoint {
            content_hash: content,
            lists,
        })
    }

    proptest! {
        #[test]
        fn in_parts_of_any_size_it_is_what_was_left(record in record(), most in 1..50usize) {
            prop_assert_eq!(in_parts(record.to_bytes(), most), Some(record));
        }

        #[test]
        fn bytes_that_are_no_record_at_once_are_none_in_parts(
            record in record(),
            (cut, flips) in (any::<prop::sample::Index>(), proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3)),
            most in 1..50usize,
        ) {
            let mut bytes = record.to_bytes();
            bytes.truncate(cut.index(bytes.len() + 1));
            for (at, byte) in flips {
                if !bytes.is_empty() {
                    let place = at.index(bytes.len());
                    bytes[place] = byte;
                }
            }
            prop_assert_eq!(in_parts(bytes.clone(), most), Checkpoint::from_bytes(&bytes));
        }
    }

    #[test]
    fn no_call_reads_more_than_its_part() {
        let json = r#"{"metadata":{"namespace":"shop","name":"n"},"spec":{"selector":{}}}"#;
        let object = Rc::new(Object::parse(ObjectKind::Services, json, false).unwrap());
        let list = CheckpointedList {
            objects: vec![object; 3],
            ..CheckpointedList::default()
        };
        let left = Checkpoint {
            content_hash: 0,
            lists: vec![list.clone(), list],
        };
        let mut will = CheckpointReader::open(left.to_bytes());
        let count = |will: &CheckpointReader| {
            will.read
                .iter()
                .flat_map(|read| &read.lists)
                .map(|list| list.objects.len())
                .sum::<usize>()
        };
        for read in [1, 3, 4] {
            assert!(will.advance(&mut 2));
            assert_eq!(count(&will), read);
        }
        assert!(!will.advance(&mut 2));
        assert_eq!(will.read, Some(left));
    }
}
