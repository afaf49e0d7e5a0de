//! The bytes in shared data: sections of sorted rows that every thread reads in place, without parsing.
//!
//! Little-endian throughout; offsets count from the first byte.
//!
//! ```text
//! header    magic 8 · generation u64 · length of all u32 · sections u32
//! section   name (offset u32, length u32) · first row u32 · rows u32 · labels u32
//! row       of (offset, length) · label (offset, length) · current, target, max      u32 each
//! labels    (offset, length) for each row, from where its section says; 0 where no row has any
//! heap      the texts
//! ```
//!
//! The format's version is part of the magic and of every key in shared data ([`FORMAT`]): during a drain an old and
//! a new binary run side by side.

mod read;
mod write;

pub use read::{Damaged, Entry, Section, Snapshot};
pub use write::write;

/// Raised whenever the bytes change their meaning.
pub const FORMAT: u32 = 3;

const MAGIC: [u8; 8] = *b"burst\0\x03\0";
const HEADER: usize = 24;
const SECTION: usize = 20;
const ROW: usize = 28;
const TEXT: usize = 8;

#[cfg(test)]
mod tests;
