//! From a table to bytes.

use super::{HEADER, MAGIC, ROW, SECTION};
use crate::index::{Row, Table};
use crate::load::Load;

/// The bytes of a table. The same table and generation give the same bytes on every target.
#[must_use]
pub fn write(table: &Table, generation: u64) -> Vec<u8> {
    let rows = table.values().map(Vec::len).sum::<usize>();
    let mut heap = Heap {
        starts_at: HEADER + table.len() * SECTION + rows * ROW,
        bytes: Vec::new(),
    };
    let (mut sections, mut lines) = (Vec::new(), Vec::with_capacity(rows * ROW));
    for (kind, rows) in table {
        heap.text(kind)
            .into_iter()
            .chain([number(lines.len() / ROW), number(rows.len())])
            .for_each(put(&mut sections));
        for Row {
            of,
            label,
            load: Load { current, target, max },
        } in rows
        {
            let numbers = [*current, *target, *max];
            let texts = heap
                .text(&of.to_string())
                .into_iter()
                .chain(heap.text(&label.to_string()));
            texts.chain(numbers).for_each(put(&mut lines));
        }
    }
    let header = [
        &MAGIC[..],
        &generation.to_le_bytes(),
        &number(table.len()).to_le_bytes(),
    ]
    .concat();
    [header, sections, lines, heap.bytes].concat()
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
