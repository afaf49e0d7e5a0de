//! The one Envoy, with a listener for each variant.

use std::net::SocketAddr;

use burst_testkit::{Envoy, Version};
use serde_json::{Value, json};

use crate::{client::CONNECTIONS, cluster, variants::Variant};

/// It.
pub(crate) struct Proxy(Envoy);

impl Proxy {
    /// Starts it, with its upstream and Kubernetes API on these ports.
    pub(crate) fn start(variants: &[Variant], upstream: u16, api: u16) -> Self {
        let services = (0..CONNECTIONS).map(|service| destination(&name(service), upstream));
        let clusters: Vec<_> = services.chain([destination("kube_api", api)]).collect();
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

/// The type of a message of Envoy's extensions.
pub(crate) fn of(message: &str) -> String {
    format!("type.googleapis.com/envoy.extensions.{message}")
}

/// As Istio names its clusters.
fn name(service: usize) -> String {
    format!("outbound|80||{}", cluster::host(service))
}

fn listener(variant: Variant) -> Value {
    let hosts: Vec<_> = (0..CONNECTIONS).map(virtual_host).collect();
    let mut routes = json!({"virtual_hosts": hosts});
    if let Some(added) = variant.added() {
        routes["response_headers_to_add"] = added;
    }
    let router = json!({
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": of("filters.http.router.v3.Router")},
    });
    let filters: Vec<_> = variant.filter().into_iter().chain([router]).collect();
    json!({
        "name": variant.key,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": {
                "@type": of("filters.network.http_connection_manager.v3.HttpConnectionManager"),
                "stat_prefix": variant.key,
                "route_config": routes,
                "http_filters": filters,
            },
        }]}],
    })
}

fn virtual_host(service: usize) -> Value {
    json!({
        "name": name(service),
        "domains": [cluster::host(service)],
        "routes": [{"match": {"prefix": "/"}, "route": {"cluster": name(service)}}],
    })
}

fn destination(name: &str, port: u16) -> Value {
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
