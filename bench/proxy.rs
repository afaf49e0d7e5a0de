//! An Envoy with one listener, and one filter in it or none.
#![allow(dead_code, reason = "a benchmark needs a part")]

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use burst_testkit::{Envoy, Version};
use serde_json::{Value, json};

use crate::crowd;

/// What stands before the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    None,
    /// `bench/filters/examples/empty.rs`.
    Empty,
    Ours,
}

/// Where the proxy gets its answers from.
#[derive(Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) api: u16,
    pub(crate) upstream: u16,
}

/// The name of the listener.
const LISTENER: &str = "main";

/// Starts it. Every request goes to the first Service of the crowd.
pub(crate) fn start(filter: Filter, workers: u32, ports: Ports) -> Envoy {
    let service = crowd::upstream(0);
    let clusters = [
        burst_testkit::filter::cluster("kube_api", ports.api),
        burst_testkit::filter::cluster(&service, ports.upstream),
    ];
    let bootstrap = json!({"static_resources": {"listeners": [listener(filter, &service)], "clusters": clusters}});
    let envoy = Envoy::of(Version::Tested).workers(workers);
    envoy
        .argument("--component-log-level")
        .argument("main:warning")
        .start(&bootstrap.to_string())
}

/// Where it listens.
pub(crate) fn address(envoy: &Envoy) -> SocketAddr {
    envoy.listener(LISTENER)
}

/// An Envoy that answers everything itself: an upstream that costs little.
pub(crate) fn upstream() -> Envoy {
    let routes = json!([{
        "match": {"prefix": "/"},
        "direct_response": {"status": 200, "body": {"inline_string": "hello\n"}},
    }]);
    let bootstrap = json!({"static_resources": {"listeners": [with(&[], &routes)]}});
    Envoy::of(Version::Tested).workers(1).start(&bootstrap.to_string())
}

fn listener(filter: Filter, service: &str) -> Value {
    let routes = json!([{"match": {"prefix": "/"}, "route": {"cluster": service}}]);
    let filters: Vec<_> = filter.filter().into_iter().collect();
    with(&filters, &routes)
}

fn with(filters: &[Value], routes: &Value) -> Value {
    let router = json!({"name": "router", "typed_config": {"@type": of("filters.http.router.v3.Router")}});
    let filters = [filters, &[router]].concat();
    json!({
        "name": LISTENER,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        // Connections that are held at the same time are on as many workers as there can be.
        "enable_reuse_port": false,
        "connection_balance_config": {"exact_balance": {}},
        "filter_chains": [{"filters": [{
            "name": "http",
            "typed_config": {
                "@type": of("filters.network.http_connection_manager.v3.HttpConnectionManager"),
                "stat_prefix": LISTENER,
                "http_filters": filters,
                "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
            },
        }]}],
    })
}

impl Filter {
    fn filter(self) -> Option<Value> {
        let (module, keys) = match self {
            Self::None => return None,
            Self::Empty => (empty(), json!({})),
            Self::Ours => (
                burst_testkit::wasm("burst-metrics.wasm"),
                json!({"cluster": "kube_api", "sync": {"mode": "watch"}, "clusters": [{"name": "{service}.{namespace}"}]}),
            ),
        };
        Some(json!({
            "name": "wasm",
            "typed_config": {"@type": of("filters.http.wasm.v3.Wasm"), "config": {
                "vm_config": {"runtime": "envoy.wasm.runtime.v8", "code": {"local": {"filename": module}}},
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": keys.to_string(),
                },
            }},
        }))
    }
}

fn empty() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("a target folder");
    let module = target.join("wasm32-unknown-unknown/release/examples/empty.wasm");
    assert!(module.exists(), "{} is not there: run `make bench`", module.display());
    module
}

/// The type of a message of Envoy's extensions.
fn of(message: &str) -> String {
    format!("type.googleapis.com/envoy.extensions.{message}")
}
