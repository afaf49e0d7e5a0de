//! A set that `burstctl istio render` wrote for a custom gateway: istiod configures an Envoy with it, and permission to
//! read one namespace is enough.

use burst_testkit::{ControlPlane, Version, http::Answer, wait, wasm};
use burstctl::{
    input::{Input, SourceFile},
    istio, yaml,
};
use serde_json::Value;

use crate::{
    gateway::PUBLIC,
    mesh::{Ingress, Mesh, SOON, open_gateway},
    routes,
    shipped::{self, Pod},
    shop::WEB,
    streaming::wait_for_streams,
};

/// Values for everything except the module, which the test builds.
const VALUES: &str = "
name: edge
namespace: edge
labels: {istio: edge}
serviceAccount: edge
namespaces: [shop]
workloads: [{group: apps, version: v1, resource: deployments, kind: Deployment}]
config: {poll_interval: 1s, target_percent: 40}
";

/// The only roles in a set for one namespace.
const ROLES: [&str; 2] = ["Role edge", "RoleBinding edge"];

#[test]
fn a_set_rendered_with_custom_values_reaches_the_gateway_in_every_form() {
    let mesh = Mesh::start();
    let pod = Pod::new(&mesh.cluster, "edge", "edge");
    let edge = mesh.gateway(Version::Tested, "edge", "edge", open_gateway);
    let route = routes::VIRTUAL_SERVICE.replace("[istio-system/public]", "[edge/public]");
    mesh.cluster.apply(&route);
    let halved = WEB.replace("target-load=4", "target-load=2");
    // The first form has no other beside it that still drains and reads.
    for form in ["envoyfilter", "wasmplugin", "trafficextension"] {
        let objects = rendered(form);
        assert_eq!(roles(&objects), ROLES, "{form}");
        let applied = shipped::apply_objects(&mesh.cluster, objects, &wasm("burst-metrics.wasm"), &pod);
        edge.wait_for_header(PUBLIC, "/", Some(&halved));
        let single = edge.get("edge.edge.svc", "/burstmetrics/services/shop/web");
        let single = single.map(|Answer { status, body, .. }| (status, body));
        assert_eq!(single, Ok((200, halved.clone())), "{form}");
        if form == "envoyfilter" {
            wait_for_streams(&mesh, &edge, PUBLIC, &halved);
            every_resource_is_streamed(&edge);
        } else {
            every_list_is_granted(&edge);
        }
        applied.delete(&mesh.cluster);
        edge.wait_for_header(PUBLIC, "/", None);
    }
    assert!(!cluster_roles(&mesh.cluster).contains("/edge"));
}

/// Checks two rounds of the three lists. Earlier, the filter may have started before its role, or the role may have
/// been deleted.
fn every_list_is_granted(edge: &Ingress) {
    let stat = |name: &str| edge.envoy.stat(&format!("wasmcustom.{name}")).unwrap_or(0);
    let (read, forbidden) = (stat("burst_poll_ok_total"), stat("burst_poll_forbidden_total"));
    wait::until(SOON, "two more rounds", || stat("burst_poll_ok_total") >= read + 6);
    assert_eq!(stat("burst_poll_forbidden_total"), forbidden);
}

/// Waits for an open stream of each of the three resources. The API server refuses a resource that the role does not have.
fn every_resource_is_streamed(edge: &Ingress) {
    wait::until(SOON, "a stream of each resource", || {
        edge.envoy.stat("cluster.burst_kube_api.upstream_rq_active") == Some(3)
    });
}

fn rendered(form: &str) -> Vec<Value> {
    let module = wasm("burst-metrics.wasm");
    let text = format!("{VALUES}form: {form}\nmodule: {{url: 'file://{}'}}\n", module.display());
    let name = "values.yaml".to_owned();
    let input = Input::from_sources([SourceFile { name, text }]);
    let values = istio::only_document(&input).expect("one document");
    let documents = istio::render(values).expect("a set").join("---\n");
    let trees = yaml::documents(&documents).into_iter();
    trees
        .map(|document| document.content.expect("YAML").to_json())
        .collect()
}

fn roles(objects: &[Value]) -> Vec<String> {
    let of_rbac = |object: &&Value| object["apiVersion"] == "rbac.authorization.k8s.io/v1";
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |object: &Value| format!("{} {}", word(&object["kind"]), word(&object["metadata"]["name"]));
    objects.iter().filter(of_rbac).map(name).collect()
}

fn cluster_roles(cluster: &ControlPlane) -> String {
    cluster.kubectl(&["get", "clusterroles,clusterrolebindings", "--output=name"])
}
