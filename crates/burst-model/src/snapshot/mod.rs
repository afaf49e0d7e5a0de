//! The bytes in shared data: sections of sorted rows that every thread reads in place, without parsing.
//!
//! Little-endian throughout; offsets count from the first byte.
//!
//! ```text
//! header    magic 8 · generation u64 · content u64 · length of all u32 · sections u32
//! section   name (offset u32, length u32) · first row u32 · rows u32 · labels u32
//! row       texts (offset u32, length of `of` u16, of `label` u16) · current, target, max      u32 each
//! labels    (offset, length) for each row, from where its section says; 0 where no row has any
//! heap      the texts
//! ```
//!
//! The text of a row's `label` stands behind that of its `of`; where both are the same it is there once, and the second
//! length is 0. Every thread copies every snapshot, so that it is small counts.
//!
//! `content` is a hash of what stands behind it: who wrote the bytes has worked it out, and nobody does so again.
//!
//! The format's version is part of the magic and of every key in shared data ([`FORMAT`]): during a drain an old and
//! a new binary run side by side.

mod read;
mod write;

pub use read::{Entry, InvalidSnapshot, Section, Snapshot};
pub use write::{SnapshotWriter, write};

/// Raised whenever the bytes change their meaning.
pub const FORMAT: u32 = 6;

const MAGIC: [u8; 8] = *b"burst\0\x06\0";
/// Where the generation stands.
const GENERATION: usize = 8;
/// Where the hash of the content stands.
const CONTENT: usize = 16;
/// Where the number of bytes stands; the content begins here.
const LENGTH: usize = 24;
/// Where the number of sections stands.
const SECTIONS: usize = 28;
const HEADER: usize = 32;
const SECTION: usize = 20;
const ROW: usize = 20;
const TEXT: usize = 8;

#[cfg(test)]
mod tests;
