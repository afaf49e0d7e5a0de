//! The host functions for the upstream stream of a callout. Those of the SDK panic on a status that they do not expect.

use proxy_wasm::hostcalls;
use proxy_wasm::types::BufferType;
use std::ptr;

const HTTP_RESPONSE_BODY: u32 = 1;
const HTTP_RESPONSE: u32 = 1;

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_set_buffer_bytes(buffer: u32, start: usize, size: usize, bytes: *const u8, length: usize) -> u32;
    safe fn proxy_close_stream(stream: u32) -> u32;
}

/// Takes the current part of the response's body away from the host.
pub(crate) fn take_response_body(size: usize) -> Vec<u8> {
    if size == 0 {
        return Vec::new();
    }
    let part = hostcalls::get_buffer(BufferType::HttpResponseBody, 0, size);
    // SAFETY: no bytes are read.
    unsafe { proxy_set_buffer_bytes(HTTP_RESPONSE_BODY, 0, size, ptr::null(), 0) };
    part.ok().flatten().unwrap_or_default()
}

/// Resets the current stream.
pub(crate) fn reset_response() {
    // The host refuses it only for a stream that has ended.
    let _ = proxy_close_stream(HTTP_RESPONSE);
}
