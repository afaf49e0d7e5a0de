//! From a table to bytes.

use super::{HEADER, MAGIC, ROW, SECTION, TEXT};
use crate::index::{Row, Table};
use crate::load::Load;

/// The bytes of a table. The same table and generation give the same bytes on every target.
#[must_use]
pub fn write(table: &Table, generation: u64) -> Vec<u8> {
    let rows = table.values().map(Vec::len).sum::<usize>();
    let labelled = table
        .values()
        .filter(|rows| is_labelled(rows))
        .map(Vec::len)
        .sum::<usize>();
    let labels_start = HEADER + table.len() * SECTION + rows * ROW;
    let mut heap = Heap {
        starts_at: labels_start + labelled * TEXT,
        bytes: Vec::new(),
    };
    let (mut sections, mut lines) = (Vec::new(), Vec::with_capacity(rows * ROW));
    let mut labels = Vec::with_capacity(labelled * TEXT);
    for (kind, rows) in table {
        let labels_at = if is_labelled(rows) {
            labels_start + labels.len()
        } else {
            0
        };
        heap.text(kind)
            .into_iter()
            .chain([lines.len() / ROW, rows.len(), labels_at].map(number))
            .for_each(put(&mut sections));
        for row in rows {
            line(row, &mut heap).for_each(put(&mut lines));
        }
        if labels_at > 0 {
            let texts = rows.iter().flat_map(|row| heap.text(&row.labels));
            texts.for_each(put(&mut labels));
        }
    }
    let length = heap.starts_at + heap.bytes.len();
    let header = [
        &MAGIC[..],
        &generation.to_le_bytes(),
        &number(length).to_le_bytes(),
        &number(table.len()).to_le_bytes(),
    ]
    .concat();
    [header, sections, lines, labels, heap.bytes].concat()
}

/// Whether labels are written of rows: where there are none, they cost nothing.
fn is_labelled(rows: &[Row]) -> bool {
    rows.iter().any(|row| !row.labels.is_empty())
}

fn line(row: &Row, heap: &mut Heap) -> impl Iterator<Item = u32> + use<> {
    let Load { current, target, max } = row.load;
    let (of, label) = (heap.text(&row.of.to_string()), heap.text(&row.label.to_string()));
    of.into_iter().chain(label).chain([current, target, max])
}

fn put(bytes: &mut Vec<u8>) -> impl FnMut(u32) {
    |number| bytes.extend(number.to_le_bytes())
}

/// Nothing that fits into a VM's 32-bit memory is larger than this counts.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The texts, one behind the other.
struct Heap {
    starts_at: usize,
    bytes: Vec<u8>,
}

impl Heap {
    /// Stores a text: its offset and length.
    fn text(&mut self, text: &str) -> [u32; 2] {
        let offset = number(self.starts_at + self.bytes.len());
        self.bytes.extend(text.as_bytes());
        [offset, number(text.len())]
    }
}
