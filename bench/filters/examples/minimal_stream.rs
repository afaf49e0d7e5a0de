//! Does the same as `minimal`, and has the callbacks without which a filter cannot read streams as an upstream filter: for the
//! request, for each part of the body, and for the end. They do nothing for a stream that is none of its own.
#![allow(missing_docs, reason = "the ABI of proxy-wasm")]

mod raw_abi;

#[unsafe(no_mangle)]
pub extern "C" fn proxy_on_request_headers(_context: u32, _headers: usize, _end_of_stream: bool) -> u32 {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn proxy_on_response_headers(_context: u32, _headers: usize, _end_of_stream: bool) -> u32 {
    raw_abi::mark_response();
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn proxy_on_response_body(_context: u32, _size: usize, _end_of_stream: bool) -> u32 {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn proxy_on_delete(_context: u32) {}
