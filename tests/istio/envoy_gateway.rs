//! Services in Envoy Gateway's configuration, in a real Envoy: one cluster for a route rule, and the Service in the
//! metadata of each locality.
//! <https://gateway.envoyproxy.io/docs/tasks/observability/gateway-api-metadata>

use burst_testkit::{ControlPlane, Envoy, Istiod, Version, port, wasm};
use serde_json::{Value, json};

use crate::{
    mesh::Ingress,
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
    }
}

/// The shipped cluster, as it is without Istio.
fn kube_api(cluster: &ControlPlane, pod: &Pod) -> Value {
    let set = shipped::set(cluster, "base");
    let filter = set.iter().find(|object| object["kind"] == "EnvoyFilter");
    let mut kube_api = filter.expect("an EnvoyFilter")["spec"]["configPatches"][0]["patch"]["value"].clone();
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

fn listener(port: u16) -> Value {
    let filters = "type.googleapis.com/envoy.extensions.filters";
    let plugin = json!({
        "@type": format!("{filters}.http.wasm.v3.Wasm"),
        "config": {
            "vm_config": {
                "runtime": "envoy.wasm.runtime.v8",
                "code": {"local": {"filename": wasm("burst-metrics.wasm")}},
            },
            "configuration": {
                "@type": "type.googleapis.com/google.protobuf.StringValue",
                "value": r#"{"cluster": "burst_kube_api"}"#,
            },
        },
    });
    let manager = json!({
        "@type": format!("{filters}.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "front",
        "http_filters": [
            {"name": "burst-metrics", "typed_config": plugin},
            {"name": "router", "typed_config": {"@type": format!("{filters}.http.router.v3.Router")}},
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
