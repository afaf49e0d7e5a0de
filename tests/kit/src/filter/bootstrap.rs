//! Envoy's configuration, as JSON: no escapes within YAML to get wrong.

use serde_json::{Value, json};

use super::{Backend, SILENT, TlsIdentity};

/// The request header that names the Envoy cluster a request goes to.
pub(super) const TO: &str = "x-to";

/// A path that no cluster answers.
pub const DIRECT: &str = "/direct";

const TYPE: &str = "type.googleapis.com";

/// The cluster of the API server.
const KUBE_API: &str = "kube_api";

/// A module of the filter.
#[derive(Clone, Copy, Debug)]
pub enum Module {
    /// The module with everything.
    Full,
    /// The module that only sets the header.
    HeaderOnly,
    /// The full one, with traps on demand.
    Trap,
}

impl Module {
    /// The name of its file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Full => "burst-metrics.wasm",
            Self::HeaderOnly => "burst-metrics-header.wasm",
            Self::Trap => "burst-metrics-trap.wasm",
        }
    }
}

/// A listener with the filter in it.
#[derive(Clone, Debug)]
pub struct Plugin {
    pub(super) listener: String,
    pub(super) port: u16,
    filter_chain: &'static str,
    transport_socket: Value,
    module: Module,
    configuration: String,
    /// The protocol of the cluster that has the filter as an upstream filter.
    upstream: Option<UpstreamProtocol>,
    /// How often that cluster has it.
    upstream_filters: usize,
}

/// The protocol to an upstream.
#[derive(Clone, Copy, Debug)]
pub enum UpstreamProtocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 with prior knowledge.
    Http2,
    /// The same with the keepalive of the configurations that we ship. On a busy machine it may close a connection that works.
    Http2WithKeepalive,
}

impl UpstreamProtocol {
    /// Envoy's `ExplicitHttpConfig`.
    fn config(self) -> Value {
        match self {
            Self::Http1 => json!({"http_protocol_options": {}}),
            Self::Http2 => json!({"http2_protocol_options": {}}),
            Self::Http2WithKeepalive => {
                let keepalive = json!({"interval": "10s", "timeout": "5s"});
                json!({"http2_protocol_options": {"connection_keepalive": keepalive}})
            }
        }
    }
}

impl Plugin {
    /// The filter with these keys in its configuration. The defaults of the tests are the shortest watches and poll interval,
    /// a `max_staleness` and a `request_timeout` that no test reaches by chance, and a rule for clusters named
    /// `SERVICE.NAMESPACE`.
    pub fn new(listener: &str, keys: Value) -> Self {
        let mut all = json!({
            "cluster": "kube_api",
            "sync": {"window": "3s", "workload_window": "3s"},
            "poll_interval": "1s",
            "max_staleness": "10m",
            "request_timeout": "60s",
            "clusters": [{"name": "{service}.{namespace}"}],
        });
        match (&mut all, keys) {
            (Value::Object(all), Value::Object(keys)) => all.extend(keys),
            (_, keys) => panic!("{keys} are no keys"),
        }
        Self::written(listener, &all.to_string())
    }

    /// The filter with exactly this configuration.
    pub fn written(listener: &str, configuration: &str) -> Self {
        Self {
            listener: listener.to_owned(),
            port: 0,
            filter_chain: "",
            transport_socket: Value::Null,
            module: Module::Full,
            configuration: configuration.to_owned(),
            upstream: None,
            upstream_filters: 1,
        }
    }

    /// Another module than the full one.
    pub fn module(mut self, module: Module) -> Self {
        self.module = module;
        self
    }

    /// Makes the filter an upstream filter of the API server's cluster too, with the same configuration. The cluster is part of
    /// the bootstrap, so [`Proxy::replace_listeners`](super::Proxy::replace_listeners) does not change it. The first such plugin
    /// of a proxy counts.
    pub fn upstream_filter(mut self, protocol: UpstreamProtocol) -> Self {
        self.upstream = Some(protocol);
        self
    }

    /// Makes it an upstream filter so many times.
    pub fn upstream_filters(mut self, count: usize) -> Self {
        self.upstream_filters = count;
        self
    }

    /// A name for the listener's filter chain.
    pub fn filter_chain(mut self, name: &'static str) -> Self {
        self.filter_chain = name;
        self
    }

    /// Requires TLS with a client certificate of the same authority.
    pub fn mutual_tls(mut self, identity: &TlsIdentity) -> Self {
        self.transport_socket = identity.downstream(true);
        self
    }

    /// TLS, where a client certificate is optional.
    pub fn tls(mut self, identity: &TlsIdentity) -> Self {
        self.transport_socket = identity.downstream(false);
        self
    }

    /// A port that stays the same when the listener changes.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    fn filter(&self) -> Value {
        json!({
            "name": "burst-metrics",
            "typed_config": {
                "@type": format!("{TYPE}/envoy.extensions.filters.http.wasm.v3.Wasm"),
                "config": self.config(),
            },
        })
    }

    /// The options of a cluster that has the filter as an upstream filter. `None` if the plugin is no upstream filter.
    fn protocol_options(&self) -> Option<Value> {
        const OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
        let codec = format!("{TYPE}/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec");
        let codec = json!({"name": "envoy.filters.http.upstream_codec", "typed_config": {"@type": codec}});
        let protocol = self.upstream?.config();
        let filters = [vec![self.filter(); self.upstream_filters], vec![codec]].concat();
        Some(json!({OPTIONS: {
            "@type": format!("{TYPE}/{OPTIONS}"),
            "explicit_http_config": protocol,
            "http_filters": filters,
        }}))
    }

    /// The filter without a listener, once per proxy.
    fn singleton(&self) -> Value {
        json!({
            "name": "envoy.bootstrap.wasm",
            "typed_config": {
                "@type": format!("{TYPE}/envoy.extensions.wasm.v3.WasmService"),
                "singleton": true,
                "config": self.config(),
            },
        })
    }

    fn config(&self) -> Value {
        json!({
            "name": "burst-metrics",
            "failure_policy": "FAIL_RELOAD",
            "vm_config": {
                "vm_id": "burst-metrics",
                "runtime": "envoy.wasm.runtime.v8",
                "code": {"local": {"filename": crate::wasm(self.module.file())}},
            },
            "configuration": {
                "@type": format!("{TYPE}/google.protobuf.StringValue"),
                "value": self.configuration,
            },
        })
    }

    fn listener(&self) -> Value {
        let manager = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
        let router = format!("{TYPE}/envoy.extensions.filters.http.router.v3.Router");
        json!({
            "@type": format!("{TYPE}/envoy.config.listener.v3.Listener"),
            "name": self.listener,
            "address": {"socket_address": {"address": "127.0.0.1", "port_value": self.port}},
            // The connections held at one time are spread evenly over the workers, see `client`.
            "enable_reuse_port": false,
            "connection_balance_config": {"exact_balance": {}},
            "filter_chains": [{"name": self.filter_chain, "transport_socket": self.transport_socket, "filters": [{
                "name": "http",
                "typed_config": {
                    "@type": format!("{TYPE}/{manager}"),
                    "stat_prefix": self.listener,
                    "http_filters": [self.filter(), {"name": "router", "typed_config": {"@type": router}}],
                    "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes()}]},
                },
            }]}],
        })
    }
}

fn routes() -> Value {
    json!([
        {"match": {"path": DIRECT}, "direct_response": {"status": 200, "body": {"inline_string": "direct\n"}}},
        {"match": {"path": SILENT}, "route": {"cluster_header": TO, "timeout": "0s"}},
        {"match": {"prefix": "/"}, "route": {"cluster_header": TO}},
    ])
}

/// What Envoy reads its listeners from.
pub(super) fn listeners(plugins: &[Plugin]) -> String {
    json!({"resources": plugins.iter().map(Plugin::listener).collect::<Vec<_>>()}).to_string()
}

/// The file of the listeners, beside the bootstrap.
pub(super) const LISTENERS: &str = "listeners.json";

/// Everything but the listeners, of which these plugins are part. `buffer_limit` is the largest answer in bytes that Envoy keeps for a callout.
pub(super) fn bootstrap(
    backend: &Backend,
    plugins: &[Plugin],
    singletons: &[Plugin],
    more: &[Value],
    buffer_limit: u32,
) -> String {
    let path = format!("$FOLDER/{LISTENERS}");
    let mut clusters = [&clusters(backend)[..], more].concat();
    if let Some(options) = plugins.iter().find_map(Plugin::protocol_options) {
        let kube_api = clusters.iter_mut().find(|cluster| cluster["name"] == KUBE_API);
        let kube_api = kube_api.expect("the cluster of the API server");
        kube_api["typed_extension_protocol_options"] = options;
        // As in the configurations that we ship: how much of a response the filter gets in one call.
        kube_api["per_connection_buffer_limit_bytes"] = json!(32_768);
    }
    json!({
        "node": {"id": "tests", "cluster": "tests"},
        "dynamic_resources": {"lds_config": {"path_config_source": {"path": path}}},
        "static_resources": {"clusters": clusters},
        "bootstrap_extensions": singletons.iter().map(Plugin::singleton).collect::<Vec<_>>(),
        "layered_runtime": {"layers": [
            {"name": "tests", "static_layer": {"http.async_response_buffer_limit": buffer_limit}},
        ]},
    })
    .to_string()
}

fn clusters(backend: &Backend) -> Vec<Value> {
    let mut clusters = vec![
        cluster(KUBE_API, backend.kube_port()),
        // Nothing listens on port 9, which is `discard`.
        istio_service(cluster("down", 9), "default", "ngsa-svc-1"),
        istio_service(cluster("described", backend.upstream_port()), "default", "ngsa-svc-1"),
    ];
    let names = [
        "ngsa-svc-1.default",
        "ngsa-svc-2.ngsa",
        "queue.data",
        "checkout.shop",
        "idle.default",
        "elsewhere",
        "outbound|80||ngsa-svc-1.default.svc.cluster.local",
        "outbound|80|v1|ngsa-svc-1.default.svc.cluster.local",
        "outbound_.80_._.ngsa-svc-1.default.svc.cluster.local",
        "outbound|443||api.example.org",
        "PassthroughCluster",
        "inbound|8080||",
    ];
    clusters.extend(names.map(|name| cluster(name, backend.upstream_port())));
    clusters
}

/// A cluster of one host on this machine.
pub fn cluster(name: &str, port: u16) -> Value {
    let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": port}});
    json!({
        "name": name,
        "connect_timeout": "2s",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
        },
    })
}

/// The metadata that istiod puts on a cluster.
fn istio_service(mut cluster: Value, namespace: &str, name: &str) -> Value {
    let host = format!("{name}.{namespace}.svc.cluster.local");
    let service = json!({"host": host, "name": name, "namespace": namespace});
    cluster["metadata"] = json!({"filter_metadata": {"istio": {"services": [service]}}});
    cluster
}
