//! The identity that a proxy sends to istiod, which decides the configuration it gets.
//! <https://istio.io/latest/docs/reference/commands/pilot-agent/> (the agent writes the same into a real bootstrap)

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use crate::authority::Authority;

/// A proxy as it introduces itself to istiod.
#[derive(Clone, Debug)]
pub struct Node {
    kind: &'static str,
    address: Ipv4Addr,
    name: String,
    namespace: String,
    metadata: Value,
    agent: Option<u16>,
    ads: &'static str,
}

impl Node {
    /// A gateway whose pod has those labels, as `{"istio": "ingressgateway"}`.
    ///
    /// # Panics
    /// When the labels are no object.
    #[must_use]
    pub fn gateway(name: &str, namespace: &str, labels: &Value) -> Self {
        Self::of("router", name, namespace, labels)
    }

    /// The sidecar of a pod that has those labels, in front of which something redirects all traffic to two ports of
    /// the proxy: [`crate::Istiod::inbound`] is the one for what comes in.
    ///
    /// # Panics
    /// When the labels are no object.
    #[must_use]
    pub fn intercepting_sidecar(name: &str, namespace: &str, labels: &Value) -> Self {
        Self::of("sidecar", name, namespace, labels).with("INTERCEPTION_MODE", &json!("REDIRECT"))
    }

    /// The sidecar of a pod that has those labels, where nothing redirects traffic: a `Sidecar` resource says where it
    /// listens.
    ///
    /// # Panics
    /// When the labels are no object.
    #[must_use]
    pub fn sidecar(name: &str, namespace: &str, labels: &Value) -> Self {
        Self::of("sidecar", name, namespace, labels).with("INTERCEPTION_MODE", &json!("NONE"))
    }

    /// The waypoint that serves a `Gateway` of that name.
    #[must_use]
    pub fn waypoint(gateway: &str, namespace: &str) -> Self {
        let labels = json!({
            "gateway.networking.k8s.io/gateway-name": gateway,
            "gateway.istio.io/managed": "istio.io-mesh-controller",
        });
        Self::of("waypoint", gateway, namespace, &labels)
    }

    fn of(kind: &'static str, name: &str, namespace: &str, labels: &Value) -> Self {
        assert!(labels.is_object(), "labels of a pod: {labels}");
        let metadata = json!({
            "NAMESPACE": namespace,
            "LABELS": labels,
            "ISTIO_VERSION": "1.31.0",
            "CLUSTER_ID": "Kubernetes",
        });
        Self {
            kind,
            address: Ipv4Addr::LOCALHOST,
            name: name.into(),
            namespace: namespace.into(),
            metadata,
            agent: None,
            ads: "GRPC",
        }
    }

    /// The address of its pod, by which istiod finds the Services it is an endpoint of; 127.0.0.1 by default.
    #[must_use]
    pub fn at(mut self, address: Ipv4Addr) -> Self {
        self.address = address;
        self
    }

    /// One more entry of the metadata, as `OWNER`.
    #[must_use]
    pub fn with(mut self, key: &str, value: &Value) -> Self {
        self.metadata[key] = value.clone();
        self
    }

    /// The port of 127.0.0.1 from which it fetches its certificates by SDS; by default it has none.
    #[must_use]
    pub fn with_agent(mut self, port: u16) -> Self {
        self.agent = Some(port);
        self
    }

    /// Incremental ADS, which Istio's agent uses by default.
    #[must_use]
    pub fn incremental(mut self) -> Self {
        self.ads = "DELTA_GRPC";
        self
    }

    fn id(&self) -> String {
        let Self {
            kind,
            address,
            name,
            namespace,
            ..
        } = self;
        format!("{kind}~{address}~{name}.{namespace}~{namespace}.svc.cluster.local")
    }
}

/// Everything but certificates comes by ADS from istiod's plain port. JSON is YAML enough.
pub(super) fn bootstrap(node: &Node, port: u16) -> String {
    everything_by_ads(node, port).to_string()
}

/// The same from its port with TLS, with a token.
pub(super) fn secure_bootstrap(node: &Node, port: u16, authority: &Authority, token: &str) -> String {
    let mut bootstrap = everything_by_ads(node, port);
    bootstrap["dynamic_resources"]["ads_config"]["grpc_services"][0]["initial_metadata"] =
        json!([{"key": "authorization", "value": format!("Bearer {token}")}]);
    bootstrap["static_resources"]["clusters"][0]["transport_socket"] = json!({
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "common_tls_context": {
                "alpn_protocols": ["h2"],
                "validation_context": {"trusted_ca": {"inline_string": authority.pem()}},
            },
        },
    });
    bootstrap.to_string()
}

fn everything_by_ads(node: &Node, port: u16) -> Value {
    let xds = json!({"ads": {}, "resource_api_version": "V3"});
    let internal_listener = "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener";
    let mut clusters = vec![cluster("xds-grpc", port)];
    clusters.extend(node.agent.map(|port| cluster("sds-grpc", port)));
    json!({
        "node": {"id": node.id(), "cluster": node.name, "metadata": node.metadata},
        "bootstrap_extensions": [{
            "name": "envoy.bootstrap.internal_listener",
            "typed_config": {"@type": internal_listener},
        }],
        "dynamic_resources": {
            "cds_config": xds,
            "lds_config": xds,
            "ads_config": {
                "api_type": node.ads,
                "transport_api_version": "V3",
                "set_node_on_first_message_only": true,
                "grpc_services": [{"envoy_grpc": {"cluster_name": "xds-grpc"}}],
            },
        },
        "static_resources": {"clusters": clusters},
    })
}

/// A server on 127.0.0.1 that speaks gRPC.
fn cluster(name: &str, port: u16) -> Value {
    let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": port}});
    let http2 = json!({
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    });
    json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "5s",
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2,
        },
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
        },
    })
}
