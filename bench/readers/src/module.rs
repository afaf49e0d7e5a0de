//! What the modules have in common: a body goes into their memory, and a number of objects comes out.

use burst_model::kube::{Failure, Payload, Source, Verb};

use crate::{count, sources};

/// Memory for a body of that size, until [`body`] takes it back.
#[must_use]
pub fn allocate(size: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; size].into_boxed_slice()).cast()
}

/// The body that was put there.
///
/// # Safety
/// The place is one that [`allocate`] gave for that size, and was not taken back before.
#[must_use]
pub unsafe fn body(place: *mut u8, size: usize) -> Vec<u8> {
    // SAFETY: a boxed slice and a vector of the same length and capacity are the same memory.
    unsafe { Vec::from_raw_parts(place, size, size) }
}

/// The number of objects that are read from a list, or a watch, of a source of that number; -1 where it cannot be read.
pub fn run(source: usize, watch: bool, read: impl FnOnce(&Source, Verb) -> Result<Payload, Failure>) -> i32 {
    let verb = if watch { Verb::Watch } else { Verb::List };
    let read = sources().get(source).map(|source| read(source, verb));
    let number = read.and_then(Result::ok).map(|answer| count(&answer));
    number.and_then(|number| i32::try_from(number).ok()).unwrap_or(-1)
}
