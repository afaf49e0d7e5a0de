//! The real HPA controller scales on the requests of single pods.
//!
//! No kubelet runs the pods, so the test writes their EndpointSlice. kube-apiserver refuses loopback addresses there, so the
//! addresses are those of a network namespace.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::Command,
    thread,
};

use burst_testkit::{
    ControlPlane, Controllers, Version,
    metrics_apis::{
        Example, SOON, Stage, shop,
        workers::{Worker, wait_for_replicas_while},
    },
    network_namespace, wait,
};
use serde_json::{Value, json};

use crate::scaling::average;

/// The alias of the example.
const ALIAS: &str = "http_requests_per_second";

/// The addresses of pods, all of which are addresses of the loopback interface.
const NETWORK: &str = "10.1.0.1/24";

fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 1, 0, number)
}

/// Answers every request at an address. Returns the port.
fn serve(address: Ipv4Addr) -> u16 {
    let listener = TcpListener::bind((address, 0)).expect("an address of the namespace");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || answer(connection));
        }
    });
    port
}

/// Envoy sends a request without a body, and the next one after the answer.
fn answer(mut connection: TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while connection.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            let sent = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
            if sent.is_err() {
                return;
            }
        }
    }
}

/// The example, with the first two pods as the endpoints.
fn example() -> Example {
    let endpoint = |number| {
        let (address, port) = (address(number), serve(address(number)));
        format!("{{endpoint: {{address: {{socket_address: {{address: {address}, port_value: {port}}}}}}}}}")
    };
    // The rest of the line is a comment.
    let endpoints = format!("{{lb_endpoints: [{}, {}]}} # ", endpoint(1), endpoint(2));
    Example {
        file: "22-pods.yaml",
        changes: vec![
            (
                "{lb_endpoints: [{endpoint: {address: {socket_address: {address: web.shop.svc.cluster.local,",
                endpoints,
            ),
            (
                r#""requests": {"pods": true}"#,
                r#""requests": {"pods": true, "window": "10s", "report_interval": "1s"}"#.to_owned(),
            ),
        ],
        ..Example::unchanged()
    }
}

/// The pods that have an address, by name, with the last number of it.
#[derive(Default)]
struct Addresses(RefCell<BTreeMap<String, u8>>);

impl Addresses {
    /// Gives each pod an address that no other pod ever had, and writes the EndpointSlice.
    fn tend(&self, cluster: &ControlPlane) {
        let pods = cluster.kubectl(&[
            "get",
            "pods",
            "--namespace",
            shop::NAMESPACE,
            "--output=jsonpath={.items[*].metadata.name}",
        ]);
        let mut numbers = self.0.borrow_mut();
        for pod in pods.split_whitespace() {
            let next = u8::try_from(numbers.len() + 1).expect("fewer pods than addresses");
            numbers.entry(pod.to_owned()).or_insert(next);
        }
        let endpoint = |pod: &str| {
            json!({
                "addresses": [address(numbers[pod])],
                "conditions": {"ready": true},
                "targetRef": {"kind": "Pod", "namespace": shop::NAMESPACE, "name": pod},
            })
        };
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "web", "namespace": shop::NAMESPACE,
                "labels": {"kubernetes.io/service-name": "web"},
            },
            "addressType": "IPv4",
            "ports": [{"port": 8080}],
            "endpoints": pods.split_whitespace().map(endpoint).collect::<Vec<_>>(),
        });
        cluster.apply(&slice.to_string());
    }
}

/// The values of the pods of `web`.
fn values(stage: &Stage) -> Result<Vec<String>, String> {
    let path = format!(
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/{}/pods/*/{ALIAS}?labelSelector=app%3Dweb",
        shop::NAMESPACE
    );
    let list: Value = serde_json::from_str(&stage.raw(&path)?).map_err(|error| error.to_string())?;
    let items = list["items"].as_array().into_iter().flatten();
    Ok(items
        .map(|item| item["value"].as_str().unwrap_or_default().to_owned())
        .collect())
}

/// All requests go to the first two pods, and the HPA looks at the average of all.
#[test]
fn an_hpa_of_type_pods_scales_up_and_down() {
    network_namespace::run("pods::an_hpa_of_type_pods_scales_up_and_down", || {
        let added = Command::new("ip")
            .args(["address", "add", NETWORK, "dev", "lo"])
            .status()
            .expect("ip, of iproute2");
        assert!(added.success(), "{added}");
        let stage = Stage::of(Version::Tested, Controllers::All, "", |_| example());
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shop::NAMESPACE}});
        // Without a selector, so that no controller writes an EndpointSlice of it.
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "namespace": shop::NAMESPACE},
            "spec": {"clusterIP": "None", "ports": [{"port": 8080}]},
        });
        stage.cluster.apply(&format!("{namespace}\n---\n{service}"));
        let metric = json!({"type": "Pods", "pods": {"metric": {"name": ALIAS}, "target": average(2)}});
        let web = [Worker::new("web", metric)];
        web[0].create(&stage.cluster);
        let addresses = Addresses::default();
        let wait_for = |replicas| {
            wait_for_replicas_while(&stage.cluster, &web, replicas, || addresses.tend(&stage.cluster));
        };
        wait_for(2);
        wait::for_ok(SOON, "both pods at zero", || match values(&stage)? {
            values if values == ["0", "0"] => Ok(()),
            values => Err(format!("{values:?}")),
        });
        let traffic = stage.proxy.traffic(&["/"]);
        wait_for(10);
        wait::for_ok(SOON, "two busy pods and eight others", || match values(&stage)? {
            values if values.len() == 10 && values.iter().filter(|value| *value == "0").count() == 8 => Ok(()),
            values => Err(format!("{values:?}")),
        });
        traffic.stop();
        wait_for(2);
    });
}
