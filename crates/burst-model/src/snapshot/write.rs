//! Writes a table as a snapshot. The buffer is allocated once, at its largest size, because the memory of a VM never
//! shrinks. The names of a large cluster are scattered over the heap, so each is read once, and the caller limits how many
//! rows are written at a time.

use super::row_signals;
use super::{CONTENT, HEADER, LENGTH, MAGIC, ROW, SECTION, SECTIONS, SIGNALS, TEXT};
use crate::hash;
use crate::index::{Row, Table};
use crate::load::Load;
use crate::name::ObjectName;
use crate::signals::Signals;

/// Writes a table at once. The same table and generation give the same bytes on every target.
#[must_use]
pub fn write(table: &Table, generation: u64) -> Vec<u8> {
    let mut writer = SnapshotWriter::begin(table, generation);
    let mut unlimited = usize::MAX;
    writer.advance(table, &mut unlimited);
    writer.finish()
}

/// Writes a table row by row. The table must not change in between.
#[derive(Debug)]
pub struct SnapshotWriter {
    bytes: Vec<u8>,
    /// How many rows are written, and how many rows' labels and signals.
    rows: usize,
    labelled: usize,
    signalled: usize,
    /// The offsets of the next row, of the next labels' position and of the next signals.
    next_row: usize,
    next_labels: usize,
    next_signals: usize,
}

impl SnapshotWriter {
    /// Writes everything before the rows.
    #[must_use]
    pub fn begin(table: &Table, generation: u64) -> Self {
        let lines = HEADER + table.len() * SECTION;
        let labels = lines + rows(table).count() * ROW;
        let signals = labels + labelled(table).count() * TEXT;
        let names = signals + signalled(table).count() * SIGNALS;
        let texts = names + table.keys().map(String::len).sum::<usize>();
        // This is an upper bound: a label that equals its name is not written.
        let max_texts = rows(table).map(|row| length(&row.name) + length(&row.label) + row.labels.len());

        let mut bytes = Vec::with_capacity(texts + max_texts.sum::<usize>());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&generation.to_le_bytes());
        bytes.extend_from_slice(&[0; SECTIONS - CONTENT]);
        put(&mut bytes, [to_u32(table.len())]);
        let first = FirstSection { names, labels, signals };
        sections(table, first, &mut bytes);
        bytes.resize(names, 0);
        table.keys().for_each(|kind| bytes.extend_from_slice(kind.as_bytes()));
        Self {
            bytes,
            rows: 0,
            labelled: 0,
            signalled: 0,
            next_row: lines,
            next_labels: labels,
            next_signals: signals,
        }
    }

    /// Writes at most `budget` rows and subtracts them from `budget`. Returns whether all rows are written.
    pub fn advance(&mut self, table: &Table, budget: &mut usize) -> bool {
        for row in rows(table).skip(self.rows).take(*budget) {
            self.row(row);
            *budget -= 1;
        }
        for row in labelled(table).skip(self.labelled).take(*budget) {
            self.labels(row);
            *budget -= 1;
        }
        for row in signalled(table).skip(self.signalled).take(*budget) {
            self.signals(row);
            *budget -= 1;
        }
        *budget > 0
    }

    /// Completes the bytes. Call this when all rows are written.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = self.bytes;
        bytes.shrink_to_fit();
        let length = to_u32(bytes.len());
        overwrite(&mut bytes, LENGTH, &length.to_le_bytes());
        let content = hash::of_words(bytes.get(LENGTH..).unwrap_or_default());
        overwrite(&mut bytes, CONTENT, &content.to_le_bytes());
        bytes
    }

    fn row(&mut self, row: &Row) {
        let text = self.bytes.len();
        name(&row.name, &mut self.bytes);
        let label = if row.label == row.name { 0 } else { length(&row.label) };
        if label > 0 {
            name(&row.label, &mut self.bytes);
        }
        let Load { current, target, max } = row.load;
        let lengths = u32::from(to_u16(length(&row.name))) | u32::from(to_u16(label)) << 16;
        let line = [to_u32(text), lengths, current, target, max].map(u32::to_le_bytes);
        self.next_row = overwrite(&mut self.bytes, self.next_row, line.as_flattened());
        self.rows += 1;
    }

    fn labels(&mut self, row: &Row) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(row.labels.as_bytes());
        let labels = [at, row.labels.len()].map(|count| to_u32(count).to_le_bytes());
        self.next_labels = overwrite(&mut self.bytes, self.next_labels, labels.as_flattened());
        self.labelled += 1;
    }

    fn signals(&mut self, row: &Row) {
        let signals = row_signals::encode(row.signals).map(u32::to_le_bytes);
        self.next_signals = overwrite(&mut self.bytes, self.next_signals, signals.as_flattened());
        self.signalled += 1;
    }
}

fn signalled(table: &Table) -> impl Iterator<Item = &Row> {
    table.values().filter(|rows| is_signalled(rows)).flatten()
}

fn rows(table: &Table) -> impl Iterator<Item = &Row> {
    table.values().flatten()
}

fn labelled(table: &Table) -> impl Iterator<Item = &Row> {
    table.values().filter(|rows| is_labelled(rows)).flatten()
}

/// Where the parts of the first section begin.
#[derive(Clone, Copy)]
struct FirstSection {
    names: usize,
    labels: usize,
    signals: usize,
}

fn sections(table: &Table, first: FirstSection, bytes: &mut Vec<u8>) {
    let FirstSection {
        names: mut name,
        mut labels,
        mut signals,
    } = first;
    let mut row = 0;
    for (kind, rows) in table {
        let labels_at = if is_labelled(rows) { labels } else { 0 };
        let signals_at = if is_signalled(rows) { signals } else { 0 };
        put(
            bytes,
            [name, kind.len(), row, rows.len(), labels_at, signals_at].map(to_u32),
        );
        name += kind.len();
        row += rows.len();
        labels += if labels_at > 0 { rows.len() * TEXT } else { 0 };
        signals += if signals_at > 0 { rows.len() * SIGNALS } else { 0 };
    }
}

/// Returns whether the labels of a section are written. A section without labels takes no space for them.
fn is_labelled(rows: &[Row]) -> bool {
    rows.iter().any(|row| !row.labels.is_empty())
}

/// Returns whether the signals of a section are written. A section without signals takes no space for them.
fn is_signalled(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.signals != Signals::default())
}

/// The length of `namespace/name`.
fn length(name: &ObjectName) -> usize {
    name.namespace.as_str().len() + "/".len() + name.name.as_str().len()
}

fn name(name: &ObjectName, bytes: &mut Vec<u8>) {
    for part in [name.namespace.as_str(), "/", name.name.as_str()] {
        bytes.extend_from_slice(part.as_bytes());
    }
}

fn put<const NUMBERS: usize>(bytes: &mut Vec<u8>, numbers: [u32; NUMBERS]) {
    // Writing a row at a time is several times faster than writing number by number.
    bytes.extend_from_slice(numbers.map(u32::to_le_bytes).as_flattened());
}

/// Overwrites the bytes at an offset. Returns the offset after them.
fn overwrite(bytes: &mut [u8], at: usize, value: &[u8]) -> usize {
    let end = at + value.len();
    if let Some(target) = bytes.get_mut(at..end) {
        target.copy_from_slice(value);
    }
    end
}

/// Sizes fit because a VM has 32-bit memory.
fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Lengths fit because two names of at most 253 bytes and a slash are shorter than 64 KiB.
fn to_u16(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}
