//! Sends an HTTP callout. The SDK's function also remembers the token for the SDK's own callbacks. The filter replaces
//! those (`src/dispatch.rs`), so the SDK would never forget a token.

use std::ptr;
use std::time::Duration;

const OK: u32 = 0;
const BAD_ARGUMENT: u32 = 2;

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_http_call(
        cluster: *const u8,
        cluster_size: usize,
        headers: *const u8,
        headers_size: usize,
        body: *const u8,
        body_size: usize,
        trailers: *const u8,
        trailers_size: usize,
        timeout_millis: u32,
        token: *mut u32,
    ) -> u32;
}

/// Sends a callout and returns its token. Fails at once if the cluster does not exist or has no host.
pub(crate) fn send(
    cluster: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
    timeout: Duration,
) -> Result<u32, &'static str> {
    let (headers, trailers) = (encode(headers), encode(&[]));
    let timeout = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    let mut token = 0;
    // SAFETY: the host reads that many bytes of each argument, and writes the token, before it returns.
    let status = unsafe {
        proxy_http_call(
            cluster.as_ptr(),
            cluster.len(),
            headers.as_ptr(),
            headers.len(),
            body.map_or_else(ptr::null, <[u8]>::as_ptr),
            body.map_or(0, <[u8]>::len),
            trailers.as_ptr(),
            trailers.len(),
            timeout,
            &raw mut token,
        )
    };
    match status {
        OK => Ok(token),
        BAD_ARGUMENT => Err("Envoy has no cluster of that name"),
        _ => Err("the cluster has no host that can be reached"),
    }
}

/// A map in the encoding of the ABI: the number of pairs, all lengths, then all names and values, each with a NUL after it.
/// <https://github.com/proxy-wasm/spec/tree/main/abi-versions/v0.2.1#serialization>
fn encode(pairs: &[(&str, &str)]) -> Vec<u8> {
    let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut map = Vec::from(number(pairs.len()));
    for (name, value) in pairs {
        map.extend(number(name.len()));
        map.extend(number(value.len()));
    }
    for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
        map.extend(text.as_bytes());
        map.push(0);
    }
    map
}
