//! Does the same as `minimal`, and reads the path of each request, as a filter with its own endpoints does.
#![allow(missing_docs, reason = "the ABI of proxy-wasm")]

mod raw_abi;

#[unsafe(no_mangle)]
pub extern "C" fn proxy_on_request_headers(_context: u32, _headers: usize, _end_of_stream: bool) -> u32 {
    raw_abi::read_path();
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn proxy_on_response_headers(_context: u32, _headers: usize, _end_of_stream: bool) -> u32 {
    raw_abi::mark_response();
    0
}
