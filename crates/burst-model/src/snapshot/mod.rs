//! The snapshot format in shared data: sections of sorted rows, which every thread reads in place without parsing.
//!
//! Numbers are little-endian. Offsets count from the first byte.
//!
//! ```text
//! header    magic 8 · generation u64 · content u64 · length of all u32 · sections u32
//! section   name (offset u32, length u32) · first row u32 · rows u32 · labels u32 · signals u32
//! row       texts (offset u32, length of `of` u16, of `label` u16) · current, target, max      u32 each
//! labels    (offset, length) for each row, from the index in its section; the index is 0 if no row has labels
//! signals   ready, demand, flags   u32 each for each row, likewise
//! heap      the texts
//! ```
//!
//! The text of a row's `label` follows the text of its `of`. If both are equal, the text is stored once and the length of
//! `label` is 0. Every thread copies every snapshot, so a small format matters.
//!
//! The flags of the signals say which of them are known: bit 0 the ready replicas, bit 1 the demand, and from bit 8 the number of
//! the state, which is 0 if there is none.
//!
//! `content` is a hash of everything after it. The writer computes it once. A new leader verifies it, and readers trust it.
//!
//! The version of the format ([`FORMAT`]) is part of the magic and of every key in shared data, because an old and a new
//! binary run side by side during a drain.

mod read;
mod row_signals;
mod write;

pub use read::{Entry, InvalidSnapshot, Section, Snapshot};
pub use write::{SnapshotWriter, write};

/// The version of the format. Increase it whenever the format changes.
pub const FORMAT: u32 = 7;

const MAGIC: [u8; 8] = *b"burst\0\x07\0";
/// The offset of the generation.
const GENERATION: usize = 8;
/// The offset of the content hash.
const CONTENT: usize = 16;
/// The offset of the total length. The hash covers everything from here.
const LENGTH: usize = 24;
/// The offset of the number of sections.
const SECTIONS: usize = 28;
const HEADER: usize = 32;
const SECTION: usize = 24;
const ROW: usize = 20;
const TEXT: usize = 8;
const SIGNALS: usize = 12;

#[cfg(test)]
mod tests;
