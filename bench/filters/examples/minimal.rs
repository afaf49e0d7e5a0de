//! The two calls that a header per cluster takes, its name and the header, in one callback, and nothing else: no SDK, no
//! memory of its own, and nobody tells it of streams that begin and end. No filter that asks for the cluster costs less.
#![allow(missing_docs, reason = "the ABI of proxy-wasm")]

mod raw_abi;

#[unsafe(no_mangle)]
pub extern "C" fn proxy_on_response_headers(_context: u32, _headers: usize, _end_of_stream: bool) -> u32 {
    raw_abi::mark_response();
    0
}
