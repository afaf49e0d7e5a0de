//! From a table to bytes. How many there will be is known beforehand, so that they are written once and in one place:
//! the memory of a VM never shrinks.

use super::{CONTENT, HEADER, LENGTH, MAGIC, ROW, SECTION, TEXT};
use crate::hash;
use crate::index::{Row, Table};
use crate::load::Load;
use crate::name::ObjectName;

/// The bytes of a table. The same table and generation give the same bytes on every target.
#[must_use]
pub fn write(table: &Table, generation: u64) -> Vec<u8> {
    let all = || table.values().flatten();
    let rows = all().count();
    let labelled = || table.values().filter(|rows| is_labelled(rows));
    let first_labels = HEADER + table.len() * SECTION + rows * ROW;
    let first_name = first_labels + labelled().map(Vec::len).sum::<usize>() * TEXT;
    let first_text = first_name + table.keys().map(String::len).sum::<usize>();
    let first_label = first_text + all().map(texts).sum::<usize>();
    let length = first_label + all().map(|row| row.labels.len()).sum::<usize>();

    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&generation.to_le_bytes());
    bytes.extend_from_slice(&[0; LENGTH - CONTENT]);
    put(&mut bytes, [length, table.len()].map(number));
    sections(table, first_name, first_labels, &mut bytes);
    lines(all(), first_text, &mut bytes);
    labels(labelled().flatten(), first_label, &mut bytes);
    table.keys().for_each(|kind| bytes.extend_from_slice(kind.as_bytes()));
    for row in all() {
        name(&row.of, &mut bytes);
        if has_label(row) {
            name(&row.label, &mut bytes);
        }
    }
    all().for_each(|row| bytes.extend_from_slice(row.labels.as_bytes()));

    let content = hash::of_words(bytes.get(LENGTH..).unwrap_or_default());
    if let Some(place) = bytes.get_mut(CONTENT..LENGTH) {
        place.copy_from_slice(&content.to_le_bytes());
    }
    bytes
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

fn lines<'a>(rows: impl Iterator<Item = &'a Row>, mut text: usize, bytes: &mut Vec<u8>) {
    for row in rows {
        let Load { current, target, max } = row.load;
        let label = if has_label(row) { length(&row.label) } else { 0 };
        let lengths = u32::from(short(length(&row.of))) | u32::from(short(label)) << 16;
        put(bytes, [number(text), lengths, current, target, max]);
        text += texts(row);
    }
}

fn labels<'a>(rows: impl Iterator<Item = &'a Row>, mut text: usize, bytes: &mut Vec<u8>) {
    for row in rows {
        put(bytes, [text, row.labels.len()].map(number));
        text += row.labels.len();
    }
}

/// Whether labels are written of rows: where there are none, they cost nothing.
fn is_labelled(rows: &[Row]) -> bool {
    rows.iter().any(|row| !row.labels.is_empty())
}

fn has_label(row: &Row) -> bool {
    row.label != row.of
}

/// What the texts of a row come to.
fn texts(row: &Row) -> usize {
    length(&row.of) + if has_label(row) { length(&row.label) } else { 0 }
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

/// Nothing that fits into a VM's 32-bit memory is larger than this counts.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Two names of at most 253 bytes, and a slash, are not longer than this counts.
fn short(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}
