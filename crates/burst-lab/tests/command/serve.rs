//! `burst-lab serve`.

use std::net::SocketAddr;

use serde_json::Value;

use crate::process::{Process, get, wait_for};

const HPA: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/ngsa-hpa-1";

fn addr(line: &str) -> SocketAddr {
    let (_, rest) = line.split_once("http://").unwrap();
    rest.split([',', '/']).next().unwrap().parse().unwrap()
}

fn serve(more: &[&str]) -> (Process, SocketAddr, SocketAddr) {
    let mut process =
        Process::burst_lab(&[&["serve", "--api", "127.0.0.1:0", "--services", "127.0.0.1:0"], more].concat());
    let api = addr(&process.says("Kubernetes API"));
    let services = addr(&process.says("sample services"));
    (process, api, services)
}

fn version(api: SocketAddr) -> u64 {
    let list: Value = serde_json::from_str(&get(api, "kube", "/api/v1/services")).unwrap();
    list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

#[test]
fn it_serves_the_api_and_the_services_until_terminated() {
    let (process, api, services) = serve(&[]);
    let hpa: Value = serde_json::from_str(&get(api, "kube", HPA)).unwrap();
    assert_eq!(hpa["spec"]["maxReplicas"], 5);
    let body = get(services, "ngsa-svc-1.default.svc.cluster.local", "/");
    assert_eq!(body, "default/ngsa-svc-1 answers request 1\n");
    assert!(get(api, "kube", "/lab/").contains("PUT    /lab/fault"));
    process.terminate();
    assert!(process.end().0.success());
}

#[test]
fn its_load_moves_unless_it_is_told_to_keep_still() {
    let (_moving, moving, _) = serve(&[]);
    let (_still, still, _) = serve(&["--still"]);
    let (before, at_rest) = (version(moving), version(still));
    wait_for("the load to move", || (version(moving) > before).then_some(()));
    assert_eq!(version(still), at_rest);
}

#[test]
fn a_taken_address_is_named() {
    let (_first, api, _) = serve(&[]);
    let (status, said) = Process::burst_lab(&["serve", "--api", &api.to_string(), "--services", "127.0.0.1:0"]).end();
    assert_eq!(status.code(), Some(1));
    assert!(said.concat().contains(&format!("cannot listen on {api}: ")), "{said:?}");
}
