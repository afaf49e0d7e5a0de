//! The host's functions as the filter needs them: on bytes, with an `Option` or a `Result` for everything that may not
//! be there. The context methods of the SDK unwrap what these give back, and its text variants panic on bytes that are
//! not UTF-8; neither is used.

mod callout;

use burst_model::records::Record;
use burst_model::time::Time;
use proxy_wasm::hostcalls;
use proxy_wasm::types::{BufferType, MapType, MetricType};
use std::time::{Duration, UNIX_EPOCH};

/// A CAS number that Envoy does not hand out: it counts up from 1. Envoy creates an absent key whatever the number,
/// but overwrites with none; with this one, of two first writers only one wins.
const NEVER_HANDED_OUT: u32 = u32::MAX;

/// The time, by the host's wall clock.
pub(crate) fn now() -> Time {
    Time::from_unix_millis(u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX))
}

/// The same, as finely as the host has it.
pub(crate) fn nanoseconds() -> u128 {
    since_epoch().as_nanos()
}

fn since_epoch() -> Duration {
    let now = hostcalls::get_current_time().ok();
    let since = now.and_then(|now| now.duration_since(UNIX_EPOCH).ok());
    since.unwrap_or_default()
}

/// Has the root context tick every so often.
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

/// What every request asks of the host. The SDK's functions make two copies of the name first, and panic on a status
/// that they do not expect.
mod request_path {
    use std::ptr;

    const OK: u32 = 0;

    #[link(wasm_import_module = "env")]
    unsafe extern "C" {
        fn proxy_get_property(path: *const u8, path_size: usize, value: *mut *mut u8, value_size: *mut usize) -> u32;
    }

    /// An attribute by its path, as the host wants it written: with a NUL between its parts.
    pub(super) fn property(path: &[u8]) -> Option<Vec<u8>> {
        let (mut value, mut size) = (ptr::null_mut(), 0);
        // SAFETY: the host reads that many bytes of the path, and writes to both places before it comes back.
        let status = unsafe { proxy_get_property(path.as_ptr(), path.len(), &raw mut value, &raw mut size) };
        if status != OK || value.is_null() {
            return None;
        }
        // SAFETY: the host took that many bytes from the SDK's `malloc`, which gives what a `Vec` of that capacity has,
        // filled them, and leaves them to us.
        Some(unsafe { Vec::from_raw_parts(value, size, size) })
    }
}

/// The configuration of the plugin; nothing where none is given.
pub(crate) fn configuration() -> Vec<u8> {
    hostcalls::get_buffer(BufferType::PluginConfiguration, 0, usize::MAX >> 1)
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// A value in the map that all threads of a proxy share.
#[derive(Debug, Default)]
pub(crate) struct SharedValue {
    /// The bytes; empty where the key is absent or was emptied.
    pub(crate) bytes: Vec<u8>,
    /// What a write must carry so that it replaces these bytes and no others.
    pub(crate) cas: Cas,
}

/// A compare-and-swap number. The default one only creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cas(u32);

impl Default for Cas {
    fn default() -> Self {
        Self(NEVER_HANDED_OUT)
    }
}

/// Somebody else wrote in between.
#[derive(Debug)]
pub(crate) struct CasConflict;

impl SharedValue {
    pub(crate) fn read(key: &str) -> Self {
        let (bytes, cas) = hostcalls::get_shared_data(key).unwrap_or_default();
        Self {
            bytes: bytes.unwrap_or_default(),
            cas: cas.map_or_else(Cas::default, Cas),
        }
    }

    /// The record in it, if it is one.
    pub(crate) fn record<R: Record>(&self) -> Option<R> {
        R::from_bytes(&self.bytes)
    }
}

/// Replaces what was read with `cas`.
pub(crate) fn compare_and_set(key: &str, bytes: &[u8], Cas(cas): Cas) -> Result<(), CasConflict> {
    hostcalls::set_shared_data(key, Some(bytes), Some(cas)).map_err(|_| CasConflict)
}

/// Replaces whatever is there.
pub(crate) fn overwrite(key: &str, bytes: &[u8]) {
    let _ = hostcalls::set_shared_data(key, Some(bytes), None);
}

const USER_AGENT: (&str, &str) = ("user-agent", concat!("burst-metrics/", env!("CARGO_PKG_VERSION")));

const ACCEPT: (&str, &str) = ("accept", "application/json");

/// Sends a GET; its token. Fails at once where the cluster is not there or has no hosts.
pub(crate) fn get(
    cluster: &str,
    authority: &str,
    path: &str,
    if_none_match: Option<&str>,
    timeout: Duration,
) -> Result<u32, &'static str> {
    let own = [ACCEPT].into_iter();
    let own = own.chain(if_none_match.map(|tag| ("if-none-match", tag)));
    send(cluster, authority, ("GET", path), own, None, timeout)
}

/// How the filter names itself to who believes an API server's front proxy. Who may discover is who has a name.
pub(crate) const OWN_USER: [(&str, &str); 2] = [
    ("x-remote-user", "system:burst-metrics"),
    ("x-remote-group", "system:authenticated"),
];

/// The same as [`get`], as a user; to who believes it.
pub(crate) fn get_as(
    user: [(&str, &str); 2],
    cluster: &str,
    authority: &str,
    path: &str,
    timeout: Duration,
) -> Result<u32, &'static str> {
    let own = [ACCEPT].into_iter().chain(user);
    send(cluster, authority, ("GET", path), own, None, timeout)
}

/// Sends a POST that is nothing but this header; its token. Fails like [`get`].
pub(crate) fn report(
    cluster: &str,
    authority: &str,
    path: &str,
    header: (&str, &str),
    timeout: Duration,
) -> Result<u32, &'static str> {
    send(cluster, authority, ("POST", path), [header], None, timeout)
}

/// Sends a POST of JSON; its token. Fails like [`get`].
pub(crate) fn post(
    cluster: &str,
    authority: &str,
    path: &str,
    body: &[u8],
    timeout: Duration,
) -> Result<u32, &'static str> {
    let own = [ACCEPT, ("content-type", "application/json")];
    send(cluster, authority, ("POST", path), own, Some(body), timeout)
}

/// Sends a request with headers of its own besides those that all have.
fn send<'a>(
    cluster: &str,
    authority: &'a str,
    (method, path): (&'a str, &'a str),
    own: impl IntoIterator<Item = (&'a str, &'a str)>,
    body: Option<&[u8]>,
    timeout: Duration,
) -> Result<u32, &'static str> {
    let mut headers = vec![
        (":method", method),
        (":scheme", "https"),
        (":authority", authority),
        (":path", path),
        USER_AGENT,
    ];
    headers.extend(own);
    callout::send(cluster, &headers, body, timeout)
}

/// The status of the answer to a callout; `None` where it has none.
pub(crate) fn callout_status(has_headers: bool) -> Option<u16> {
    // Without headers the host panics the SDK that asks for one.
    let status = has_headers.then(|| callout_header(":status")).flatten()?;
    std::str::from_utf8(&status).ok()?.parse().ok()
}

/// A header of the answer to a callout. Must not be called where the answer has none.
pub(crate) fn callout_header(name: &str) -> Option<Vec<u8>> {
    hostcalls::get_map_value_bytes(MapType::HttpCallResponseHeaders, name)
        .ok()
        .flatten()
}

/// The body of the answer to a callout.
pub(crate) fn callout_body(size: usize) -> Vec<u8> {
    let body = (size > 0).then(|| hostcalls::get_buffer(BufferType::HttpCallResponseBody, 0, size));
    body.and_then(Result::ok).flatten().unwrap_or_default()
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

/// Lets the request go on that was held up.
pub(crate) fn resume() {
    let _ = hostcalls::resume_http_request();
}

/// All headers of the request, each value of its own; Envoy lets no name be anything but ASCII.
pub(crate) fn request_headers() -> Vec<(String, Vec<u8>)> {
    hostcalls::get_map_bytes(MapType::HttpRequestHeaders).unwrap_or_default()
}

/// From here on the host takes what this callback does for that stream's; whether it is there.
pub(crate) fn set_effective_context(stream: u32) -> bool {
    hostcalls::set_effective_context(stream).is_ok()
}

/// A bell with that name, which calls the `on_queue_ready` of this context's root on this thread.
pub(crate) fn wake_queue(name: &str) -> Option<u32> {
    hostcalls::register_shared_queue(name).ok()
}

/// Rings a bell: its root context is called as soon as this callback is over.
pub(crate) fn wake(bell: u32) {
    let _ = hostcalls::enqueue_shared_queue(bell, Some(b"!"));
}

/// Takes note of a bell that rang.
pub(crate) fn drain_wake_queue(bell: u32) {
    while let Ok(Some(_)) = hostcalls::dequeue_shared_queue(bell) {}
}

/// Whether the response has a header.
pub(crate) fn has_response_header(name: &str) -> bool {
    response_header(name).is_some()
}

/// Sets a header of the response, or removes it.
pub(crate) fn set_response_header(name: &str, value: Option<&str>) {
    let _ = hostcalls::set_map_value_bytes(MapType::HttpResponseHeaders, name, value.map(str::as_bytes));
}

/// Answers the request from the proxy.
pub(crate) fn reply(status: u16, headers: &[(&'static str, String)], body: &[u8]) {
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let _ = hostcalls::send_http_response(u32::from(status), headers, Some(body).filter(|body| !body.is_empty()));
}

/// A stat of Envoy. One that could not be defined does nothing, and the filter goes on.
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

/// Ends this VM as a bug of its own would.
#[cfg(feature = "test-trap")]
pub(crate) fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    std::process::abort()
}
