//! Services in Envoy Gateway's configuration, in a real Envoy: one cluster for a route rule, and the Service in the
//! metadata of each locality.
//! <https://gateway.envoyproxy.io/docs/tasks/observability/gateway-api-metadata>

use burst_testkit::{ControlPlane, Envoy, Istiod, Version, port, wasm};
use serde_json::{Value, json};

use crate::{
    mesh::{Ingress, SOON},
    shipped::{self, Pod},
    shop::{self, API, WEB},
};

const CLUSTER: &str = "httproute/shop/front/rule/0";

#[test]
fn the_header_names_the_service_whose_endpoint_answered() {
    let cluster = ControlPlane::start();
    // Some of the shop's objects are of Istio's kinds.
    Istiod::create_crds(&cluster);
    let programs = shop::start();
    shop::create(&cluster, &programs);
    let pod = Pod::new(&cluster, "istio-ingressgateway", "istio-system");
    let _ = shipped::apply(&cluster, "base", &wasm("burst-metrics.wasm"), &pod);

    for version in Version::ALL {
        let port = port::free();
        let front = json!({"static_resources": {
            "listeners": [listener(port)],
            "clusters": [kube_api(&cluster, &pod), backends(&programs)],
        }});
        let envoy = Envoy::of(version).workers(1).start(&front.to_string());
        let front = Ingress {
            envoy,
            url: format!("http://127.0.0.1:{port}"),
        };
        for (program, value) in [("web-v1", WEB), ("api-v1", API)] {
            front.wait_for("front.example.com", "/", value, |answer| {
                answer.body == program && answer.header("x-burst") == Some(value)
            });
        }
        front.envoy.wait_for_log(SOON, "reading the Kubernetes API by streams");
    }
}

/// The shipped cluster, as it is without Istio: its upstream filter is the filter itself.
fn kube_api(cluster: &ControlPlane, pod: &Pod) -> Value {
    const OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    let set = shipped::set(cluster, "base");
    let filter = set.iter().find(|object| object["kind"] == "EnvoyFilter");
    let mut kube_api = filter.expect("an EnvoyFilter")["spec"]["configPatches"][0]["patch"]["value"].clone();
    let filters = kube_api["typed_extension_protocol_options"][OPTIONS]["http_filters"].as_array_mut();
    let filters = filters.expect("upstream filters");
    filters.retain(|filter| filter.get("config_discovery").is_none());
    filters.insert(0, plugin());
    shipped::adapt(&mut kube_api, &wasm("burst-metrics.wasm"), pod);
    kube_api
}

fn backends(programs: &Envoy) -> Value {
    let locality = |program: &str| {
        let (service, _) = program.split_once('-').expect("a Service and its version");
        let address = json!({"address": "127.0.0.1", "port_value": programs.listener(program).port()});
        let resource = json!({"kind": "Service", "namespace": "shop", "name": service, "sectionName": "80"});
        json!({
            "locality": {"region": format!("{CLUSTER}/backend/{service}")},
            "load_balancing_weight": 1,
            "lb_endpoints": [{"endpoint": {"address": {"socket_address": address}}}],
            "metadata": {"filter_metadata": {"envoy-gateway": {"resources": [resource]}}},
        })
    };
    json!({
        "name": CLUSTER,
        "common_lb_config": {"locality_weighted_lb_config": {}},
        "load_assignment": {"cluster_name": CLUSTER, "endpoints": [locality("web-v1"), locality("api-v1")]},
    })
}

/// The type of an extension is this and a suffix.
const FILTERS: &str = "type.googleapis.com/envoy.extensions.filters";

fn plugin() -> Value {
    let config = json!({
        "vm_config": {
            "runtime": "envoy.wasm.runtime.v8",
            "code": {"local": {"filename": wasm("burst-metrics.wasm")}},
        },
        "configuration": {
            "@type": "type.googleapis.com/google.protobuf.StringValue",
            "value": r#"{"cluster": "burst_kube_api"}"#,
        },
    });
    let typed_config = json!({"@type": format!("{FILTERS}.http.wasm.v3.Wasm"), "config": config});
    json!({"name": "burst-metrics", "typed_config": typed_config})
}

fn listener(port: u16) -> Value {
    let manager = json!({
        "@type": format!("{FILTERS}.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "front",
        "http_filters": [
            plugin(),
            {"name": "router", "typed_config": {"@type": format!("{FILTERS}.http.router.v3.Router")}},
        ],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
            {"match": {"prefix": "/"}, "route": {"cluster": CLUSTER}},
        ]}]},
    });
    json!({
        "name": "front",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    })
}
