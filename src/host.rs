//! The host functions that the filter calls. They take and return bytes, and an `Option` or a `Result` if something may be
//! missing. The context methods of the SDK unwrap these results, and its text functions panic on bytes that are not UTF-8,
//! so the filter uses neither.

mod callout;
mod upstream_stream;

pub(crate) use callout::send as send_callout;
pub(crate) use upstream_stream::{reset_response, take_response_body};

use burst_model::cluster_reader::HttpResponse;
use burst_model::time::Time;
use proxy_wasm::hostcalls;
use proxy_wasm::types::{BufferType, MapType, MetricType};
use std::time::{Duration, UNIX_EPOCH};

/// The time by the host's clock.
pub(crate) fn now() -> Time {
    Time::from_unix_millis(u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX))
}

/// The time since the Unix epoch in nanoseconds, as precise as the host has it.
pub(crate) fn nanoseconds() -> u128 {
    since_epoch().as_nanos()
}

fn since_epoch() -> Duration {
    let now = hostcalls::get_current_time().ok();
    let since = now.and_then(|now| now.duration_since(UNIX_EPOCH).ok());
    since.unwrap_or_default()
}

/// Sets how often the root context ticks.
pub(crate) fn tick_every(period: Duration) {
    let _ = hostcalls::set_tick_period(period);
}

/// An attribute of the request, or of the plugin.
/// <https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/advanced/attributes>
pub(crate) fn property(path: &[&str]) -> Option<Vec<u8>> {
    hostcalls::get_property(path.to_vec()).ok().flatten()
}

/// An attribute that is text.
pub(crate) fn text_property(path: &[&str]) -> Option<String> {
    String::from_utf8(property(path)?).ok()
}

/// Whether the client of the current request showed a certificate.
pub(crate) fn is_mutual_tls() -> bool {
    property(&["connection", "mtls"]).as_deref() == Some(&[1])
}

/// The name of the Envoy cluster that a request goes to, or a response comes from.
pub(crate) fn cluster_name() -> Option<Vec<u8>> {
    request_path::property(b"xds\0cluster_name")
}

/// Whether the request has a header, also an empty one.
pub(crate) fn has_request_header(name: &str) -> bool {
    request_path::request_header(name).is_some()
}

/// Host calls of every request, without the SDK: its functions copy names, panic on an unexpected status, and take an empty
/// header for none.
mod request_path {
    use proxy_wasm::types::MapType;
    use std::ptr;

    const OK: u32 = 0;

    #[link(wasm_import_module = "env")]
    unsafe extern "C" {
        fn proxy_get_property(path: *const u8, path_size: usize, value: *mut *mut u8, value_size: *mut usize) -> u32;
        fn proxy_get_header_map_value(
            map: MapType,
            name: *const u8,
            name_size: usize,
            value: *mut *mut u8,
            value_size: *mut usize,
        ) -> u32;
    }

    /// An attribute. A NUL separates the parts of its path.
    pub(super) fn property(path: &[u8]) -> Option<Vec<u8>> {
        let (mut value, mut size) = (ptr::null_mut(), 0);
        // SAFETY: the host reads that many bytes of the path, and writes to both pointers before it returns.
        let status = unsafe { proxy_get_property(path.as_ptr(), path.len(), &raw mut value, &raw mut size) };
        if status != OK || value.is_null() {
            return None;
        }
        // SAFETY: the host has written both.
        Some(unsafe { owned(value, size) })
    }

    /// The first value of a header of the request.
    pub(super) fn request_header(name: &str) -> Option<Vec<u8>> {
        let (mut value, mut size) = (ptr::null_mut(), 0);
        let map = MapType::HttpRequestHeaders;
        // SAFETY: the host reads that many bytes of the name, and writes to both pointers if it returns `OK`.
        let status =
            unsafe { proxy_get_header_map_value(map, name.as_ptr(), name.len(), &raw mut value, &raw mut size) };
        // SAFETY: the host has written both.
        (status == OK).then(|| unsafe { owned(value, size) })
    }

    /// Takes bytes of the host. Null stands for none.
    ///
    /// # Safety
    /// The host allocated that many bytes by the SDK's `malloc`, which allocates as a `Vec` of that capacity does, wrote them
    /// all, and does not use them again.
    unsafe fn owned(value: *mut u8, size: usize) -> Vec<u8> {
        if value.is_null() {
            return Vec::new();
        }
        // SAFETY: as above.
        unsafe { Vec::from_raw_parts(value, size, size) }
    }
}

/// The configuration of the plugin. Empty if there is none.
pub(crate) fn configuration() -> Vec<u8> {
    hostcalls::get_buffer(BufferType::PluginConfiguration, 0, usize::MAX >> 1)
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// The answer to a callout. It can be read only in the callback that announces it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CalloutAnswer {
    pub(crate) has_headers: bool,
    pub(crate) body_size: usize,
}

impl HttpResponse for CalloutAnswer {
    fn status(&self) -> Option<u16> {
        std::str::from_utf8(&self.header(":status")?).ok()?.parse().ok()
    }

    fn header(&self, name: &str) -> Option<Vec<u8>> {
        // The SDK panics if it asks for a header of an answer that has none.
        let value = self
            .has_headers
            .then(|| hostcalls::get_map_value_bytes(MapType::HttpCallResponseHeaders, name));
        value?.ok().flatten()
    }

    fn body(&self, limit: usize) -> Vec<u8> {
        let size = self.body_size.min(limit);
        let body = (size > 0).then(|| hostcalls::get_buffer(BufferType::HttpCallResponseBody, 0, size));
        body.and_then(Result::ok).flatten().unwrap_or_default()
    }
}

/// A header of the response.
pub(crate) fn response_header(name: &str) -> Option<Vec<u8>> {
    hostcalls::get_map_value_bytes(MapType::HttpResponseHeaders, name)
        .ok()
        .flatten()
}

/// A header of the request.
pub(crate) fn request_header(name: &str) -> Option<Vec<u8>> {
    hostcalls::get_map_value_bytes(MapType::HttpRequestHeaders, name)
        .ok()
        .flatten()
}

/// Sets a header of the request.
pub(crate) fn set_request_header(name: &str, value: &str) {
    let _ = hostcalls::set_map_value_bytes(MapType::HttpRequestHeaders, name, Some(value.as_bytes()));
}

/// Sets a header of the request, or removes all its values with `None`, and makes Envoy choose the route again.
pub(crate) fn set_routing_header(name: &str, value: Option<&str>) {
    let _ = hostcalls::set_map_value_bytes(MapType::HttpRequestHeaders, name, value.map(str::as_bytes));
    // Envoy does that by itself for modules of ABI 0.2.1, and not for newer ones.
    let _ = hostcalls::call_foreign_function("clear_route_cache", None);
}

/// The address of the client, with its port.
pub(crate) fn source_address() -> Option<Vec<u8>> {
    request_path::property(b"source\0address")
}

/// Continues a request that was paused.
pub(crate) fn resume() {
    let _ = hostcalls::resume_http_request();
}

/// All headers of the request; a header with several values appears once for each. Envoy allows ASCII names only.
pub(crate) fn request_headers() -> Vec<(String, Vec<u8>)> {
    hostcalls::get_map_bytes(MapType::HttpRequestHeaders).unwrap_or_default()
}

/// Makes the host apply all further calls of this callback to another context. Returns whether that context exists.
pub(crate) fn set_effective_context(stream: u32) -> bool {
    hostcalls::set_effective_context(stream).is_ok()
}

/// Registers a shared queue. When it has an item, the host calls `on_queue_ready` of this root context on this thread.
pub(crate) fn register_shared_queue(name: &str) -> Option<u32> {
    hostcalls::register_shared_queue(name).ok()
}

/// Wakes the root context of a queue as soon as this callback is over.
pub(crate) fn wake(queue: u32) {
    let _ = hostcalls::enqueue_shared_queue(queue, Some(b"!"));
}

/// Empties a queue, so that the next item wakes its root context again.
pub(crate) fn drain_wake_queue(queue: u32) {
    while let Ok(Some(_)) = hostcalls::dequeue_shared_queue(queue) {}
}

/// Whether the response has a header.
pub(crate) fn has_response_header(name: &str) -> bool {
    response_header(name).is_some()
}

/// Sets a header of the response. `None` removes it.
pub(crate) fn set_response_header(name: &str, value: Option<&str>) {
    let _ = hostcalls::set_map_value_bytes(MapType::HttpResponseHeaders, name, value.map(str::as_bytes));
}

/// Answers the request from the proxy.
pub(crate) fn reply(status: u16, headers: &[(&'static str, String)], body: &[u8]) {
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let _ = hostcalls::send_http_response(u32::from(status), headers, Some(body).filter(|body| !body.is_empty()));
}

/// A stat of Envoy. If it cannot be defined, its methods do nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostMetric(Option<u32>);

impl HostMetric {
    pub(crate) fn counter(name: &str) -> Self {
        Self(hostcalls::define_metric(MetricType::Counter, name).ok())
    }

    pub(crate) fn gauge(name: &str) -> Self {
        Self(hostcalls::define_metric(MetricType::Gauge, name).ok())
    }

    pub(crate) fn histogram(name: &str) -> Self {
        Self(hostcalls::define_metric(MetricType::Histogram, name).ok())
    }

    pub(crate) fn add(self, count: i64) {
        if let Some(id) = self.0 {
            let _ = hostcalls::increment_metric(id, count);
        }
    }

    /// Sets a gauge, or adds a value to a histogram.
    pub(crate) fn set(self, value: u64) {
        if let Some(id) = self.0 {
            let _ = hostcalls::record_metric(id, value);
        }
    }
}

/// Traps, as a bug would.
#[cfg(feature = "test-trap")]
pub(crate) fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    std::process::abort()
}
