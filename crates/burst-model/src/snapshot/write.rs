//! From a table to bytes. How many there will be at most is known beforehand, so that they are written once and in one
//! place: the memory of a VM never shrinks. The names of a large cluster lie all over it, so each is looked at once, and
//! as many at a time as the caller has time for.

use super::{CONTENT, HEADER, LENGTH, MAGIC, ROW, SECTION, SECTIONS, TEXT};
use crate::hash;
use crate::index::{Row, Table};
use crate::load::Load;
use crate::name::ObjectName;

/// The bytes of a table. The same table and generation give the same bytes on every target.
#[must_use]
pub fn write(table: &Table, generation: u64) -> Vec<u8> {
    let mut writing = SnapshotWriter::begin(table, generation);
    let mut all = usize::MAX;
    writing.advance(table, &mut all);
    writing.end()
}

/// The bytes of a table, row by row; of one that does not change meanwhile.
#[derive(Debug)]
pub struct SnapshotWriter {
    bytes: Vec<u8>,
    /// Rows that are written, and rows whose labels are.
    rows: usize,
    labelled: usize,
    /// Where the next line goes, and where the next labels are said to be.
    line: usize,
    labels: usize,
}

impl SnapshotWriter {
    /// Writes what stands before the rows.
    #[must_use]
    pub fn begin(table: &Table, generation: u64) -> Self {
        let lines = HEADER + table.len() * SECTION;
        let labels = lines + all(table).count() * ROW;
        let names = labels + labelled(table).count() * TEXT;
        let texts = names + table.keys().map(String::len).sum::<usize>();
        // No more than that: most labels are none of their own.
        let most = all(table).map(|row| length(&row.of) + length(&row.label) + row.labels.len());

        let mut bytes = Vec::with_capacity(texts + most.sum::<usize>());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&generation.to_le_bytes());
        bytes.extend_from_slice(&[0; SECTIONS - CONTENT]);
        put(&mut bytes, [number(table.len())]);
        sections(table, names, labels, &mut bytes);
        bytes.resize(names, 0);
        table.keys().for_each(|kind| bytes.extend_from_slice(kind.as_bytes()));
        Self {
            bytes,
            rows: 0,
            labelled: 0,
            line: lines,
            labels,
        }
    }

    /// Writes at most so many rows, and counts them down; whether none is left.
    pub fn advance(&mut self, table: &Table, most: &mut usize) -> bool {
        for row in all(table).skip(self.rows).take(*most) {
            self.row(row);
            *most -= 1;
        }
        for row in labelled(table).skip(self.labelled).take(*most) {
            self.labels(row);
            *most -= 1;
        }
        *most > 0
    }

    /// The bytes, when no row is left.
    #[must_use]
    pub fn end(self) -> Vec<u8> {
        let mut bytes = self.bytes;
        bytes.shrink_to_fit();
        let length = number(bytes.len());
        place(&mut bytes, LENGTH, &length.to_le_bytes());
        let content = hash::of_words(bytes.get(LENGTH..).unwrap_or_default());
        place(&mut bytes, CONTENT, &content.to_le_bytes());
        bytes
    }

    fn row(&mut self, row: &Row) {
        let text = self.bytes.len();
        name(&row.of, &mut self.bytes);
        let label = if row.label == row.of { 0 } else { length(&row.label) };
        if label > 0 {
            name(&row.label, &mut self.bytes);
        }
        let Load { current, target, max } = row.load;
        let lengths = u32::from(short(length(&row.of))) | u32::from(short(label)) << 16;
        let line = [number(text), lengths, current, target, max].map(u32::to_le_bytes);
        self.line = place(&mut self.bytes, self.line, line.as_flattened());
        self.rows += 1;
    }

    fn labels(&mut self, row: &Row) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(row.labels.as_bytes());
        let labels = [at, row.labels.len()].map(|count| number(count).to_le_bytes());
        self.labels = place(&mut self.bytes, self.labels, labels.as_flattened());
        self.labelled += 1;
    }
}

fn all(table: &Table) -> impl Iterator<Item = &Row> {
    table.values().flatten()
}

fn labelled(table: &Table) -> impl Iterator<Item = &Row> {
    table.values().filter(|rows| is_labelled(rows)).flatten()
}

fn sections(table: &Table, mut name: usize, mut labels: usize, bytes: &mut Vec<u8>) {
    let mut row = 0;
    for (kind, rows) in table {
        let labels_at = if is_labelled(rows) { labels } else { 0 };
        put(bytes, [name, kind.len(), row, rows.len(), labels_at].map(number));
        name += kind.len();
        row += rows.len();
        labels += if labels_at > 0 { rows.len() * TEXT } else { 0 };
    }
}

/// Whether labels are written of rows: where there are none, they cost nothing.
fn is_labelled(rows: &[Row]) -> bool {
    rows.iter().any(|row| !row.labels.is_empty())
}

/// Of `namespace/name`.
fn length(name: &ObjectName) -> usize {
    name.namespace.as_str().len() + "/".len() + name.name.as_str().len()
}

fn name(name: &ObjectName, bytes: &mut Vec<u8>) {
    for part in [name.namespace.as_str(), "/", name.name.as_str()] {
        bytes.extend_from_slice(part.as_bytes());
    }
}

fn put<const NUMBERS: usize>(bytes: &mut Vec<u8>, numbers: [u32; NUMBERS]) {
    // One piece of memory for all of them: a row at a time is several times faster than a number.
    bytes.extend_from_slice(numbers.map(u32::to_le_bytes).as_flattened());
}

/// Overwrites what is there; where that ends.
fn place(bytes: &mut [u8], at: usize, value: &[u8]) -> usize {
    let end = at + value.len();
    if let Some(place) = bytes.get_mut(at..end) {
        place.copy_from_slice(value);
    }
    end
}

/// Nothing that fits into a VM's 32-bit memory is larger than this counts.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Two names of at most 253 bytes, and a slash, are not longer than this counts.
fn short(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}
