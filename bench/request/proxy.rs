//! The Envoy, with a listener for each variant.

use std::net::SocketAddr;

use burst_bench_kit::proxy::{cluster, extension};
use burst_testkit::{Envoy, Version};
use serde_json::{Value, json};

use crate::{client::CONNECTIONS, services, variants::Variant};

/// An Envoy with a listener for each variant.
pub(crate) struct Proxy(Envoy);

impl Proxy {
    /// Starts it. `upstream` and `api` are ports.
    pub(crate) fn start(variants: &[Variant], upstream: u16, api: u16) -> Self {
        let services = (0..CONNECTIONS).map(|service| cluster(&cluster_name(service), upstream));
        let clusters: Vec<_> = services.chain([cluster("kube_api", api)]).collect();
        let listeners: Vec<_> = variants.iter().copied().map(listener).collect();
        let bootstrap = json!({"static_resources": {"listeners": listeners, "clusters": clusters}});
        let envoy = Envoy::of(Version::Tested).workers(1);
        Self(envoy.start(&bootstrap.to_string()))
    }

    pub(crate) fn address(&self, variant: Variant) -> SocketAddr {
        self.0.listener(variant.key)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

/// Returns the name of a cluster as Istio sets it.
fn cluster_name(service: usize) -> String {
    format!("outbound|80||{}", services::host(service))
}

fn listener(variant: Variant) -> Value {
    let hosts: Vec<_> = (0..CONNECTIONS).map(virtual_host).collect();
    let mut routes = json!({"virtual_hosts": hosts});
    if let Some(added) = variant.response_headers_to_add() {
        routes["response_headers_to_add"] = added;
    }
    let router = json!({
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": extension("filters.http.router.v3.Router")},
    });
    let filters: Vec<_> = variant.filter().into_iter().chain([router]).collect();
    json!({
        "name": variant.key,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": {
                "@type": extension("filters.network.http_connection_manager.v3.HttpConnectionManager"),
                "stat_prefix": variant.key,
                "route_config": routes,
                "http_filters": filters,
            },
        }]}],
    })
}

fn virtual_host(service: usize) -> Value {
    json!({
        "name": cluster_name(service),
        "domains": [services::host(service)],
        "routes": [{"match": {"prefix": "/"}, "route": {"cluster": cluster_name(service)}}],
    })
}
