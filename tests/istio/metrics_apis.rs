//! The set `metrics-apis`: kube-apiserver's aggregator reaches an ingress gateway. The gateway's listener, certificate
//! and trusted authority come from istiod.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use burst_testkit::{Authority, ControlPlane, Envoy, Node, Part, Version, port, repository, wait, wasm};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    gateway::PUBLIC,
    mesh::{Ingress, Mesh, SOON, open_gateway},
    routes, shipped,
    shop::WEB,
};

const NAMESPACE: &str = "istio-system";

/// The role that Istio's charts add to the gateway's account.
const READS_SECRETS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: istio-ingressgateway-sds, namespace: istio-system}
rules: [{apiGroups: [''], resources: [secrets], verbs: [get, watch, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: istio-ingressgateway-sds, namespace: istio-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: istio-ingressgateway-sds}
subjects: [{kind: ServiceAccount, name: istio-ingressgateway}]
";

#[test]
fn the_gateway_serves_the_metrics_apis_and_follows_the_api_servers_authority() {
    let mesh = Mesh::on(ControlPlane::start_aggregating(), &[]);
    let pod = mesh.ingress_pod();
    let ingress = gateway_that_shows_its_token(&mesh);
    mesh.cluster.apply(routes::VIRTUAL_SERVICE);
    let _ = shipped::apply(&mesh.cluster, "metrics-apis", &wasm("burst-metrics.wasm"), &pod);
    let shell = Shell::new();
    let copier = copier(&mesh.cluster, shell.folder.path());
    shell.run("certificate.sh", &mesh.cluster.kubeconfig());
    shell.run("copy-ca.sh", &copier);
    api_servers_pass_the_network_policy(&mesh.cluster, &shell, &copier);
    wait_until_available(&mesh, "True");
    ingress.wait_for_header(PUBLIC, "/", Some(WEB));
    wait_for_headroom(&mesh, "4");
    other_listeners_remove_user_headers(&ingress);

    let next = Authority::new("next-front-proxy-ca");
    mesh.cluster.renew_front_proxy(&next, &[&next]);
    wait_until_available(&mesh, "False");
    shell.run("copy-ca.sh", &copier);
    wait_until_available(&mesh, "True");
    wait_for_headroom(&mesh, "4");
}

/// An ingress gateway that gets Secrets from istiod. Its account exists.
fn gateway_that_shows_its_token(mesh: &Mesh) -> Ingress {
    let account = "istio-ingressgateway";
    mesh.cluster.apply(READS_SECRETS);
    let public = port::free();
    mesh.cluster.apply(&open_gateway("ingressgateway", NAMESPACE, public));
    let token = [
        "create",
        "token",
        account,
        "--namespace",
        NAMESPACE,
        "--audience=istio-ca",
    ];
    let token = mesh.cluster.kubectl(&token);
    let node = Node::gateway("ingressgateway", NAMESPACE, &json!({"istio": "ingressgateway"}));
    let node = node.with("SERVICE_ACCOUNT", &json!(account));
    let bootstrap = mesh.istiod.bootstrap_with_token(&node, token.trim_end());
    Ingress {
        envoy: Envoy::of(Version::Tested).start(&bootstrap),
        url: format!("http://127.0.0.1:{public}"),
    }
}

/// Runs the set's scripts with the tests' kubectl.
struct Shell {
    folder: TempDir,
}

impl Shell {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        symlink(Part::Kubectl.path(), folder.path().join("kubectl")).expect("a link");
        Self { folder }
    }

    fn run(&self, script: &str, kubeconfig: &Path) {
        let script = repository().join("istio/metrics-apis").join(script);
        let path = env::var("PATH").expect("PATH");
        let output = Command::new(script)
            .env("PATH", format!("{}:{path}", self.folder.path().display()))
            .env("KUBECONFIG", kubeconfig)
            .output()
            .expect("a script that starts");
        assert!(output.status.success(), "{output:?}");
    }
}

/// The kubeconfig of the account that the set creates for the copy job. The job has no other credentials.
fn copier(cluster: &ControlPlane, folder: &Path) -> PathBuf {
    let token = cluster.kubectl(&["create", "token", "burst-metrics-copy-ca", "--namespace", NAMESPACE]);
    let server = format!("https://127.0.0.1:{}", cluster.port());
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "copier",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": cluster.ca_file()}}],
        "users": [{"name": "copier", "user": {"token": token.trim_end()}}],
        "contexts": [{"name": "copier", "context": {"cluster": "test", "user": "copier"}}],
    });
    let path = folder.join("copier.kubeconfig");
    fs::write(&path, config.to_string()).expect("a kubeconfig");
    path
}

/// Waits until the aggregator reports this status for all of the APIs. It checks them when an APIService changes, and
/// every 30 s.
fn wait_until_available(mesh: &Mesh, status: &str) {
    let touched = format!("looked-for={status}");
    mesh.cluster
        .kubectl(&["annotate", "apiservice", "--all", "--overwrite", &touched]);
    wait::for_ok(SOON, &format!("Available={status}"), || {
        let conditions =
            "jsonpath={range .items[?(@.spec.service)]}{.status.conditions[?(@.type=='Available')].status} {end}";
        let found = mesh.cluster.kubectl(&["get", "apiservice", "--output", conditions]);
        let all = format!("{status} ").repeat(3);
        if found == all { Ok(()) } else { Err(found) }
    });
}

fn wait_for_headroom(mesh: &Mesh, value: &str) {
    let path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/deployments.apps/web/burst_headroom";
    wait::for_ok(SOON, path, || {
        let answer = mesh.cluster.try_kubectl(&["get", "--raw", path], "")?;
        let list: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        if list["items"][0]["value"] == value {
            Ok(())
        } else {
            Err(answer)
        }
    });
}

/// The EndpointSlices that a real kube-apiserver publishes about itself, which the API servers of the tests do not. No
/// network plugin enforces the policy here; the test reads only its content.
pub(crate) const API_SERVERS: &str = "
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.10]}, {addresses: [192.0.2.11]}]
ports: [{name: https, port: 6443}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kubernetes-v6, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}
addressType: IPv6
endpoints: [{addresses: ['2001:db8::10']}]
ports: [{name: https, port: 6443}]
";

fn api_servers_pass_the_network_policy(cluster: &ControlPlane, shell: &Shell, copier: &Path) {
    cluster.apply(API_SERVERS);
    // The second run replaces what the first one wrote.
    for _ in 0..2 {
        shell.run("network-policy.sh", copier);
    }
    let blocks = "jsonpath={.spec.ingress[0].from[*].ipBlock.cidr} {.spec.ingress[0].from[0].podSelector.matchLabels}";
    let get = [
        "get",
        "networkpolicy",
        "burst-metrics-apis",
        "--namespace",
        NAMESPACE,
        "--output",
        blocks,
    ];
    assert_eq!(
        cluster.kubectl(&get),
        r#"192.0.2.10/32 192.0.2.11/32 2001:db8::10/128 {"k8s-app":"konnectivity-agent"}"#
    );
}

/// The shop's programs do not echo their request headers, so this test checks that the configuration removes the
/// header. `tests/metrics` checks the effect.
fn other_listeners_remove_user_headers(ingress: &Ingress) {
    let listeners = ingress.envoy.admin("/config_dump?resource=dynamic_listeners").body;
    let listeners: Value = serde_json::from_str(&listeners).expect("JSON");
    let listeners = listeners["configs"].as_array().expect("listeners");
    for listener in listeners {
        let first = listener
            .to_string()
            .contains(r#""http_filters":[{"name":"burst-metrics-no-remote-user""#);
        assert_eq!(first, listener["name"] != "burst-metrics-apis", "{listener}");
    }
    assert_eq!(listeners.len(), 2);
}
