//! An Envoy with one listener, and one filter or none in it.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use burst_testkit::{Envoy, Version};
use serde_json::{Value, json};

use crate::fixture_cluster;

/// How long the filter may take to read 10,000 Services on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The filter before the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterUnderTest {
    /// No filter.
    None,
    /// `bench/filters/examples/empty.rs`.
    Empty,
    /// The full module of this project.
    BurstMetrics,
}

impl FilterUnderTest {
    /// All of them, with the names of their rows.
    pub const ALL: [(&str, Self); 3] = [
        ("Envoy alone", Self::None),
        ("the empty filter", Self::Empty),
        ("this filter", Self::BurstMetrics),
    ];

    fn config(self) -> Option<Value> {
        let (module, configuration) = match self {
            Self::None => return None,
            Self::Empty => (compiled_filter("empty"), json!({})),
            Self::BurstMetrics => (
                burst_testkit::wasm("burst-metrics.wasm"),
                json!({"cluster": "kube_api", "sync": {"mode": "watch"}, "clusters": [{"name": "{service}.{namespace}"}]}),
            ),
        };
        Some(json!({
            "name": "wasm",
            "typed_config": {"@type": extension("filters.http.wasm.v3.Wasm"), "config": {
                "vm_config": {"runtime": "envoy.wasm.runtime.v8", "code": {"local": {"filename": module}}},
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": configuration.to_string(),
                },
            }},
        }))
    }
}

/// The ports of the servers behind the proxy.
#[derive(Clone, Copy)]
pub struct Ports {
    /// Of the API server.
    pub api: u16,
    /// Of the upstream.
    pub upstream: u16,
}

const LISTENER: &str = "main";

/// Starts a proxy that routes every request to the first Service of a [`fixture_cluster`].
#[must_use]
pub fn start(filter: FilterUnderTest, workers: u32, ports: Ports) -> Envoy {
    let service = fixture_cluster::envoy_cluster(0);
    let clusters = [cluster("kube_api", ports.api), cluster(&service, ports.upstream)];
    let routes = json!([{"match": {"prefix": "/"}, "route": {"cluster": service}}]);
    let filters: Vec<_> = filter.config().into_iter().collect();
    let listener = listener(&filters, &routes);
    let bootstrap = json!({"static_resources": {"listeners": [listener], "clusters": clusters}});
    let envoy = Envoy::of(Version::Tested).workers(workers);
    envoy
        .argument("--component-log-level")
        .argument("main:warning")
        .start(&bootstrap.to_string())
}

/// Returns the address that an Envoy of this module listens on.
#[must_use]
pub fn address(envoy: &Envoy) -> SocketAddr {
    envoy.listener(LISTENER)
}

/// Starts an Envoy that answers every request itself: an upstream that costs little.
#[must_use]
pub fn start_upstream() -> Envoy {
    let routes = json!([{
        "match": {"prefix": "/"},
        "direct_response": {"status": 200, "body": {"inline_string": "hello\n"}},
    }]);
    let bootstrap = json!({"static_resources": {"listeners": [listener(&[], &routes)]}});
    Envoy::of(Version::Tested).workers(1).start(&bootstrap.to_string())
}

/// Returns the configuration of an Envoy cluster with one endpoint on this machine.
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

/// Returns the module of a filter in `bench/filters`.
///
/// # Panics
/// If `make bench` has not compiled it.
#[must_use]
pub fn compiled_filter(name: &str) -> PathBuf {
    let module = burst_testkit::wasm("burst-metrics.wasm");
    let target = module.ancestors().nth(2).expect("the target folder");
    let module = target.join(format!("wasm32-unknown-unknown/release/examples/{name}.wasm"));
    assert!(module.exists(), "{} is missing: run `make bench`", module.display());
    module
}

/// Returns the type URL of a message of Envoy's extensions.
#[must_use]
pub fn extension(message: &str) -> String {
    format!("type.googleapis.com/envoy.extensions.{message}")
}

fn listener(filters: &[Value], routes: &Value) -> Value {
    let router = json!({"name": "router", "typed_config": {"@type": extension("filters.http.router.v3.Router")}});
    let filters = [filters, &[router]].concat();
    json!({
        "name": LISTENER,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        // Spreads simultaneous connections over all workers.
        "enable_reuse_port": false,
        "connection_balance_config": {"exact_balance": {}},
        "filter_chains": [{"filters": [{
            "name": "http",
            "typed_config": {
                "@type": extension("filters.network.http_connection_manager.v3.HttpConnectionManager"),
                "stat_prefix": LISTENER,
                "http_filters": filters,
                "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
            },
        }]}],
    })
}
