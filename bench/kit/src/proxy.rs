//! An Envoy with one listener, and one filter in it or none.

use std::{
    net::SocketAddr,
    path::PathBuf,
};

use burst_testkit::{Envoy, Version};
use serde_json::{Value, json};

use crate::fixture_cluster as crowd;

/// What stands before the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    None,
    /// `bench/filters/examples/empty.rs`.
    Empty,
    Ours,
}

/// Where the proxy gets its answers from.
#[derive(Clone, Copy)]
pub struct Ports {
    pub api: u16,
    pub upstream: u16,
}

/// The name of the listener.
const LISTENER: &str = "main";

/// Starts it. Every request goes to the first Service of the crowd.
pub fn start(filter: Filter, workers: u32, ports: Ports) -> Envoy {
    let service = crowd::upstream(0);
    let clusters = [
        cluster("kube_api", ports.api),
        cluster(&service, ports.upstream),
    ];
    let bootstrap = json!({"static_resources": {"listeners": [listener(filter, &service)], "clusters": clusters}});
    let envoy = Envoy::of(Version::Tested).workers(workers);
    envoy
        .argument("--component-log-level")
        .argument("main:warning")
        .start(&bootstrap.to_string())
}

/// Where it listens.
pub fn address(envoy: &Envoy) -> SocketAddr {
    envoy.listener(LISTENER)
}

/// An Envoy that answers everything itself: an upstream that costs little.
pub fn upstream() -> Envoy {
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

/// A cluster of one endpoint on this machine.
#[must_use]
pub fn cluster(name: &str, port: u16) -> Value {
    let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": port}});
    json!({
        "name": name,
        "connect_timeout": "5s",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
        },
    })
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
    compiled("empty")
}

/// A filter of `bench/filters`, as `make bench` compiled it.
#[must_use]
pub fn compiled(name: &str) -> PathBuf {
    let ours = burst_testkit::wasm("burst-metrics.wasm");
    let target = ours.ancestors().nth(2).expect("the target folder");
    let module = target.join(format!("wasm32-unknown-unknown/release/examples/{name}.wasm"));
    assert!(module.exists(), "{} is not there: run `make bench`", module.display());
    module
}

/// The type of a message of Envoy's extensions.
fn of(message: &str) -> String {
    format!("type.googleapis.com/envoy.extensions.{message}")
}
