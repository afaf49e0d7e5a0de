//! The neighbours of a waypoint on its node, both run by one Envoy. The agent provides the waypoint's certificate, and
//! the ztunnel sends it requests through Istio's tunnel, HTTP/2 CONNECT over mutual TLS.
//! <https://istio.io/latest/docs/ambient/architecture/hbone/>

use burst_testkit::{Envoy, Version};
use serde_json::{Value, json};

use crate::{
    certificates::Authority,
    sds::{self, Secret},
};

const HTTP_OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
const FILTERS: &str = "type.googleapis.com/envoy.extensions.filters";

/// The agent and the ztunnel.
pub(crate) struct Neighbours {
    envoy: Envoy,
    // The certificate files exist as long as the authority does.
    _authority: Authority,
}

impl Neighbours {
    /// Starts them for a waypoint of that namespace and name that will listen on that port. All requests that the
    /// ztunnel receives were sent to `destination`, the address of a Service.
    pub(crate) fn start(namespace: &str, waypoint: &str, port: u16, destination: &str) -> Self {
        let authority = Authority::new();
        let own = authority.certify(namespace, waypoint);
        let answers = sds::serve(&[
            Secret::certificate("default", &own.chain, &own.key),
            Secret::root("ROOTCA", &authority.root()),
        ]);
        let tls = authority.tls(&authority.certify(namespace, "client"), "h2");
        let bootstrap = json!({"static_resources": {
            "listeners": [agent(), tunnel(destination)],
            "clusters": [cluster("answers", answers.port()), encrypted(cluster("waypoint", port), &tls)],
        }});
        let envoy = Envoy::of(Version::Tested).workers(1).start(&bootstrap.to_string());
        Self {
            envoy,
            _authority: authority,
        }
    }

    /// The port of the agent.
    pub(crate) fn agent(&self) -> u16 {
        self.envoy.listener("agent").port()
    }

    /// The URL where the ztunnel accepts requests.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.envoy.listener("tunnel"))
    }
}

/// A listener that turns the agent's answers into gRPC.
fn agent() -> Value {
    let route = json!({"match": {"prefix": "/"}, "route": {"cluster": "answers", "timeout": "0s"}});
    let manager = json!({
        "@type": format!("{FILTERS}.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "agent",
        "http_filters": [{"name": "router", "typed_config": {"@type": format!("{FILTERS}.http.router.v3.Router")}}],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
    });
    listener("agent", &manager)
}

fn tunnel(destination: &str) -> Value {
    let proxy = json!({
        "@type": format!("{FILTERS}.network.tcp_proxy.v3.TcpProxy"),
        "stat_prefix": "tunnel",
        "cluster": "waypoint",
        "tunneling_config": {"hostname": destination},
    });
    listener("tunnel", &proxy)
}

fn listener(name: &str, filter: &Value) -> Value {
    json!({
        "name": name,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{"name": "filter", "typed_config": filter}]}],
    })
}

fn cluster(name: &str, port: u16) -> Value {
    let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": port}});
    json!({
        "name": name,
        "type": "STATIC",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}]},
    })
}

/// Adds HTTP/2 over TLS.
fn encrypted(mut cluster: Value, tls: &Value) -> Value {
    let http2 = json!({
        "@type": format!("type.googleapis.com/{HTTP_OPTIONS}"),
        "explicit_http_config": {"http2_protocol_options": {}},
    });
    let socket = json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        "common_tls_context": tls,
    });
    cluster["typed_extension_protocol_options"] = json!({HTTP_OPTIONS: http2});
    cluster["transport_socket"] = json!({"name": "envoy.transport_sockets.tls", "typed_config": socket});
    cluster
}
