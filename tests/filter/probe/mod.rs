//! Tests of the fake host itself, with a small filter that logs its callbacks. Each test has one rule of Envoy that may
//! surprise you. The rules were observed on a real Envoy.

mod callouts;
mod contexts;
mod properties;
mod shared;
mod streams;
mod traps;
mod upstream_filter;

use crate::host::{FakeEnvoy, Module, Vm};
use log::{info, warn};
use proxy_wasm::hostcalls::{self, get_map_value_bytes, get_property, send_http_response};
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType, LogLevel, MapType, MetricType};
use std::time::Duration;

/// A proxy with the probe and a cluster `kube`.
fn envoy(configuration: &str) -> FakeEnvoy {
    FakeEnvoy::new(Module::sdk_only(initialize))
        .config(configuration)
        .cluster("kube")
}

/// The logged lines, in order.
fn logged(envoy: &FakeEnvoy) -> Vec<String> {
    envoy.log().into_iter().map(|line| line.text).collect()
}

fn counted(envoy: &FakeEnvoy, text: &str) -> usize {
    logged(envoy).iter().filter(|line| line.contains(text)).count()
}

/// The last line with this beginning, without the beginning.
fn last(envoy: &FakeEnvoy, beginning: &str) -> Option<String> {
    logged(envoy)
        .iter()
        .rev()
        .find_map(|line| Some(line.strip_prefix(beginning)?.to_owned()))
}

/// The callouts of a VM, by path.
fn paths(vm: &Vm) -> Vec<String> {
    vm.callouts().iter().map(|callout| callout.path().to_owned()).collect()
}

extern "C" fn initialize() {
    proxy_wasm::set_log_level(LogLevel::Info);
    proxy_wasm::set_root_context(|_| Box::new(Probe::default()));
}

/// A filter that acts on the words of its configuration.
#[derive(Default)]
struct Probe {
    words: Vec<String>,
    ticks: u64,
}

impl Probe {
    fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|other| other == word)
    }

    fn call(&self, path: &str) {
        let headers = vec![(":method", "GET"), (":path", path), (":authority", "kube.test")];
        let timeout = Duration::from_secs(10);
        if let Err(status) = hostcalls::dispatch_http_call("kube", headers, None, vec![], timeout) {
            warn!("call: {status:?}");
        }
    }
}

impl Context for Probe {
    fn on_http_call_response(&mut self, _: u32, headers: usize, body_size: usize, trailers: usize) {
        let read = |name| {
            get_map_value_bytes(MapType::HttpCallResponseHeaders, name)
                .ok()
                .flatten()
        };
        // Reading a missing header returns BadArgument, and then the SDK panics.
        let status = if headers > 0 || self.has_word("reads-missing-header") {
            read(":status")
        } else {
            None
        };
        let body = self.get_http_call_response_body(0, usize::MAX >> 1);
        let (code, message) = self.get_grpc_status();
        info!(
            "answer: {headers} headers, {body_size} bytes, {trailers} trailers, {:?}",
            status.map(text)
        );
        info!("answer body: {}", body.map(text).unwrap_or_default());
        info!("answer status: {code} {}", message.unwrap_or_default());
        if self.has_word("calls-again") {
            self.call("/again");
        }
    }

    fn on_done(&mut self) -> bool {
        info!("done");
        !self.has_word("linger")
    }
}

impl RootContext for Probe {
    fn on_vm_start(&mut self, _: usize) -> bool {
        info!("vm start");
        true
    }

    fn on_configure(&mut self, size: usize) -> bool {
        let configuration = self.get_plugin_configuration().map(text).unwrap_or_default();
        info!("configure {size}: {configuration}");
        self.words = configuration.split_whitespace().map(str::to_owned).collect();
        for word in &self.words {
            if let Some(period) = word.strip_prefix("tick=") {
                self.set_tick_period(Duration::from_millis(period.parse().unwrap()));
            }
        }
        if self.has_word("call-in-configure") {
            self.call("/configure");
        }
        if self.has_word("count") {
            let id = hostcalls::define_metric(MetricType::Counter, "configured").unwrap();
            hostcalls::increment_metric(id, 1).unwrap();
        }
        if self.has_word("queue") {
            let queue = self.register_shared_queue("probe");
            info!("queue {queue}");
        }
        assert!(!self.has_word("panic-in-configure"), "told to panic");
        !self.has_word("refuse")
    }

    fn on_tick(&mut self) {
        self.ticks += 1;
        info!("tick {}", self.ticks);
        if self.has_word("call") {
            self.call(&format!("/{}", self.ticks));
        }
        if self.has_word("write") {
            self.set_shared_data("first", Some(b"1"), None).unwrap();
            self.set_shared_data("second", Some(b"2"), None).unwrap();
        }
        assert!(!self.has_word("panic-in-tick"), "told to panic");
        if self.has_word("linger") && self.ticks > 1 {
            self.done();
        }
    }

    fn on_queue_ready(&mut self, queue: u32) {
        let value = self.dequeue_shared_queue(queue).unwrap();
        info!("queue {queue} ready: {}", value.map(text).unwrap_or_default());
    }

    fn create_http_context(&self, _: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Stream {
            configuration: self.words.join(" "),
        }))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

/// A stream that acts on the path of its request.
struct Stream {
    configuration: String,
}

impl Context for Stream {
    fn on_done(&mut self) -> bool {
        info!("stream done");
        true
    }
}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, count: usize, end_of_stream: bool) -> Action {
        log_properties("request");
        info!("request headers {count} {end_of_stream}");
        let reply = |headers, body: &[u8]| send_http_response(200, headers, Some(body)).unwrap();
        match get_map_value_bytes(MapType::HttpRequestHeaders, ":path")
            .unwrap()
            .as_deref()
        {
            Some(b"/reply") => reply(vec![("x-from", "filter")], b"hello"),
            Some(b"/reply/typed") => reply(vec![("content-type", "application/json")], b"{}"),
            Some(b"/reply/empty") => reply(vec![("content-type", "application/json")], b""),
            Some(b"/trap") => panic!("told to panic"),
            Some(b"/pause") => return Action::Pause,
            _ => {}
        }
        Action::Continue
    }

    fn on_http_response_headers(&mut self, _: usize, _: bool) -> Action {
        log_properties("response");
        info!("passed {}", self.configuration);
        hostcalls::set_map_value_bytes(MapType::HttpResponseHeaders, "x-probe", Some(b"seen")).unwrap();
        if get_map_value_bytes(MapType::HttpResponseHeaders, "x-trap")
            .unwrap()
            .is_some()
        {
            panic!("told to panic");
        }
        if get_map_value_bytes(MapType::HttpResponseHeaders, "x-replace")
            .unwrap()
            .is_some()
        {
            send_http_response(418, vec![], None).unwrap();
        }
        Action::Continue
    }

    fn on_http_response_body(&mut self, size: usize, _: bool) -> Action {
        info!("response body {size}");
        Action::Continue
    }

    fn on_log(&mut self) {
        log_properties("log");
    }
}

/// Logs the properties that a phase can read.
fn log_properties(phase: &str) {
    for path in [
        &["xds", "cluster_name"][..],
        &["cluster_name"],
        &["xds", "route_name"],
        &["request", "path"],
        &["response", "code_details"],
        &["upstream", "address"],
        &["xds", "upstream_host_locality_metadata"],
        &[
            "xds",
            "cluster_metadata",
            "filter_metadata",
            "istio",
            "services",
            "1",
            "namespace",
        ],
    ] {
        match get_property(path.to_vec()) {
            Ok(None) => info!("{phase} {}: none", path.join(".")),
            Ok(Some(value)) => info!("{phase} {}: {}", path.join("."), text(value)),
            Err(status) => info!("{phase} {}: {status:?}", path.join(".")),
        }
    }
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(bytes.as_ref()).into_owned()
}
