//! Reads a snapshot in place. [`Snapshot::open`] checks the length and the positions of the sections; a row is checked
//! when it is read. Every worker opens every snapshot between two requests, and checking all rows of a large cluster would
//! delay requests. A look-up is a binary search.

use super::row_signals;
use super::{CONTENT, GENERATION, HEADER, LENGTH, MAGIC, ROW, SECTION, SECTIONS, SIGNALS, TEXT};
use crate::hash;
use crate::index::SERIES;
use crate::label_text::LabelText;
use crate::load::Load;
use crate::signals::{SignalSet, Signals};

/// A snapshot whose sections are valid.
#[derive(Debug)]
pub struct Snapshot {
    bytes: Vec<u8>,
}

/// The bytes are not a complete snapshot of this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the snapshot is damaged: {0}")]
pub struct InvalidSnapshot(&'static str);

/// The rows of one kind, sorted by `namespace/name`.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    snapshot: &'a Snapshot,
    first: usize,
    rows: usize,
    labels: usize,
    signals: usize,
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// `namespace/name` of the object whose load this is.
    pub name: &'a str,
    /// `namespace/name` in the header.
    pub label: &'a str,
    /// The numbers.
    pub load: Load,
    /// Its signals.
    pub signals: Signals,
    /// Its labels.
    pub labels: LabelText<'a>,
}

impl Snapshot {
    /// Opens a snapshot in a time that does not depend on its size. A damaged row is not found later.
    ///
    /// # Errors
    /// The bytes have another format, are cut short, or do not contain all rows.
    pub fn open(bytes: Vec<u8>) -> Result<Self, InvalidSnapshot> {
        if !bytes.starts_with(&MAGIC) {
            return Err(InvalidSnapshot("it is of another format"));
        }
        let snapshot = Self { bytes };
        let count = snapshot
            .section_count()
            .ok_or(InvalidSnapshot("its header is cut short"))?;
        if snapshot.number(LENGTH) != Some(snapshot.bytes.len()) {
            return Err(InvalidSnapshot("it is cut short"));
        }
        let names = (0..count).map(|index| snapshot.section_at(index).map(|(name, _)| name));
        ascending(names).ok_or(InvalidSnapshot("its sections are cut short or out of order"))?;
        for index in 0..count {
            let (_, section) = snapshot
                .section_at(index)
                .ok_or(InvalidSnapshot("a section is cut short"))?;
            section.end().ok_or(InvalidSnapshot("its rows are somewhere else"))?;
        }
        Ok(snapshot)
    }

    /// Opens a snapshot and checks its content hash too, which reads all bytes. The generation is not part of the hash.
    ///
    /// # Errors
    /// The bytes are not those that were written.
    pub fn open_verified(bytes: Vec<u8>) -> Result<Self, InvalidSnapshot> {
        let snapshot = Self::open(bytes)?;
        if hash::of_words(snapshot.bytes.get(LENGTH..).unwrap_or_default()) != snapshot.content_hash() {
            return Err(InvalidSnapshot("its content does not match its hash"));
        }
        Ok(snapshot)
    }

    /// The bytes of the snapshot.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Increases with every snapshot that is written.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.u64(GENERATION)
    }

    /// The hash of everything but the generation. Equal tables have equal hashes.
    #[must_use]
    pub fn content_hash(&self) -> u64 {
        self.u64(CONTENT)
    }

    /// Returns whether it has the labels of the objects, and the series of HPAs that the external metrics API sums up.
    #[must_use]
    pub fn has_labels(&self) -> bool {
        self.section(SERIES).is_some()
    }

    /// The section of a kind, by its plural name.
    #[must_use]
    pub fn section(&self, kind: &str) -> Option<Section<'_>> {
        let count = self.section_count()?;
        (0..count)
            .filter_map(|index| self.section_at(index))
            .find(|(name, _)| *name == kind)
            .map(|(_, section)| section)
    }

    fn section_count(&self) -> Option<usize> {
        self.number(SECTIONS)
    }

    fn section_at(&self, index: usize) -> Option<(&str, Section<'_>)> {
        let at = index.checked_mul(SECTION)?.checked_add(HEADER)?;
        let section = Section {
            snapshot: self,
            first: self.number(at + 8)?,
            rows: self.number(at + 12)?,
            labels: self.number(at + 16)?,
            signals: self.number(at + 20)?,
        };
        Some((self.text(at)?, section))
    }

    fn number(&self, at: usize) -> Option<usize> {
        usize::try_from(self.u32(at)?).ok()
    }

    fn u64(&self, at: usize) -> u64 {
        let bytes = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        bytes.copied().map(u64::from_le_bytes).unwrap_or_default()
    }

    fn u16(&self, at: usize) -> Option<u16> {
        self.bytes.get(at..)?.first_chunk().copied().map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
    }

    /// The text whose offset and length are at `at`.
    fn text(&self, at: usize) -> Option<&str> {
        self.text_of(self.number(at)?, self.number(at.checked_add(4)?)?)
    }

    fn text_of(&self, offset: usize, length: usize) -> Option<&str> {
        let bytes = self.bytes.get(offset..offset.checked_add(length)?)?;
        std::str::from_utf8(bytes).ok()
    }
}

/// Returns `Some` if all texts are present and strictly ascending.
fn ascending<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Option<()> {
    let mut last = None;
    for text in texts {
        let text = Some(text?);
        if last >= text {
            return None;
        }
        last = text;
    }
    Some(())
}

impl<'a> Section<'a> {
    /// How many rows there are.
    #[must_use]
    pub fn len(self) -> usize {
        self.rows
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.rows == 0
    }

    /// All rows, sorted.
    pub fn rows(self) -> impl Iterator<Item = Entry<'a>> {
        (0..self.rows).filter_map(move |row| self.row(row))
    }

    /// A hash of what its rows say: names, numbers and those signals, without labels. Equal rows have equal hashes in every
    /// snapshot.
    #[must_use]
    pub fn content_hash(self, shown: SignalSet) -> u64 {
        let rows = self.rows().map(|row| {
            let row_hash = hash::of(&(row.name, row.label, row.load));
            if shown.is_empty() {
                row_hash
            } else {
                hash::of(&(row_hash, row.signals.only(shown)))
            }
        });
        rows.fold(0, |sum, row| hash::of(&(sum, row)))
    }

    /// The row of `namespace/name`.
    #[must_use]
    pub fn find(self, name: &str) -> Option<Entry<'a>> {
        self.row(self.first_from(name)).filter(|entry| entry.name == name)
    }

    /// The rows of a namespace, sorted, with their names in it.
    pub fn namespace(self, namespace: &str) -> impl Iterator<Item = (&'a str, Entry<'a>)> + use<'a> {
        let prefix = format!("{namespace}/");
        let rows = (self.first_from(&prefix)..self.rows).filter_map(move |row| self.row(row));
        rows.map_while(move |entry| Some((entry.name.strip_prefix(&prefix)?, entry)))
    }

    /// The first row that is not sorted before a text.
    fn first_from(self, name: &str) -> usize {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.row(middle).is_some_and(|entry| entry.name < name) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The end of its rows, their labels and their signals, if all of them are within the bytes.
    fn end(self) -> Option<usize> {
        let rows = self.row_at(self.rows)?;
        let end = |first: usize, size: usize| match first {
            0 => Some(0),
            first => self.rows.checked_mul(size)?.checked_add(first),
        };
        let (labels, signals) = (end(self.labels, TEXT)?, end(self.signals, SIGNALS)?);
        Some(rows.max(labels).max(signals)).filter(|end| *end <= self.snapshot.bytes.len())
    }

    /// The offset of a row.
    fn row_at(self, row: usize) -> Option<usize> {
        let sections = self
            .snapshot
            .section_count()?
            .checked_mul(SECTION)?
            .checked_add(HEADER)?;
        self.first.checked_add(row)?.checked_mul(ROW)?.checked_add(sections)
    }

    fn labels(self, row: usize) -> Option<&'a str> {
        match self.labels {
            0 => Some(""),
            first => self.snapshot.text(row.checked_mul(TEXT)?.checked_add(first)?),
        }
    }

    fn signals(self, row: usize) -> Option<Signals> {
        let at = match self.signals {
            0 => return Some(Signals::default()),
            first => row.checked_mul(SIGNALS)?.checked_add(first)?,
        };
        let number = |field: usize| self.snapshot.u32(at.checked_add(field)?);
        Some(row_signals::decode([number(0)?, number(4)?, number(8)?]))
    }

    fn row(self, row: usize) -> Option<Entry<'a>> {
        if row >= self.rows {
            return None;
        }
        let (snapshot, at) = (self.snapshot, self.row_at(row)?);
        let (offset, name_length) = (snapshot.number(at)?, usize::from(snapshot.u16(at.checked_add(4)?)?));
        let label = usize::from(snapshot.u16(at.checked_add(6)?)?);
        let number = |field: usize| snapshot.u32(at.checked_add(field)?);
        let load = Load {
            current: number(8)?,
            target: number(12)?,
            max: number(16)?,
        };
        let name = snapshot.text_of(offset, name_length)?;
        Some(Entry {
            name,
            label: match label {
                0 => name,
                length => snapshot.text_of(offset.checked_add(name_length)?, length)?,
            },
            load,
            signals: self.signals(row)?,
            labels: LabelText(self.labels(row)?),
        })
    }
}
