//! A module that reads protobuf.
#![allow(missing_docs, reason = "what the benchmark calls")]

use burst_bench_readers::{module, protobuf};

#[unsafe(no_mangle)]
pub extern "C" fn allocate(size: usize) -> *mut u8 {
    module::allocate(size)
}

/// # Safety
/// See [`module::body`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read_protobuf(source: usize, watch: bool, body: *mut u8, size: usize) -> i32 {
    // SAFETY: the caller's.
    let body = unsafe { module::body(body, size) };
    module::run(source, watch, |source, verb| protobuf::read(source, verb, &body.into()))
}
