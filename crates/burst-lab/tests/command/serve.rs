//! `burst-lab serve`.

use std::net::SocketAddr;

use burst_testkit::{http, wait};
use serde_json::Value;

use crate::process::{LIMIT, Process};

const HPA: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/ngsa-hpa-1";

fn addr(line: &str) -> SocketAddr {
    let (_, rest) = line.split_once("http://").unwrap();
    rest.split([',', '/']).next().unwrap().parse().unwrap()
}

fn serve(more: &[&str]) -> (Process, SocketAddr, SocketAddr) {
    let mut process =
        Process::burst_lab(&[&["serve", "--api", "127.0.0.1:0", "--services", "127.0.0.1:0"], more].concat());
    let api = addr(&process.wait_for_line("Kubernetes API"));
    let services = addr(&process.wait_for_line("sample services"));
    (process, api, services)
}

fn get(api: SocketAddr, path: &str) -> String {
    http::get(&format!("http://{api}{path}")).body
}

fn version(api: SocketAddr) -> u64 {
    let list: Value = serde_json::from_str(&get(api, "/api/v1/services")).unwrap();
    list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

#[test]
fn it_serves_the_api_and_the_services_until_terminated() {
    let (process, api, services) = serve(&[]);
    let hpa: Value = serde_json::from_str(&get(api, HPA)).unwrap();
    assert_eq!(hpa["spec"]["maxReplicas"], 5);
    let service = http::send(
        "GET",
        &format!("http://{services}/"),
        &[("host", "ngsa-svc-1.default.svc.cluster.local")],
    );
    assert_eq!(service.body, "hello from default/ngsa-svc-1\n");
    assert!(get(api, "/lab/").contains("PUT    /lab/fault"));
    process.terminate();
    assert!(process.end().0.success());
}

#[test]
fn the_load_varies_unless_still_is_set() {
    let (_moving, moving, _) = serve(&[]);
    let (_still, still, _) = serve(&["--still"]);
    let (before, at_rest) = (version(moving), version(still));
    wait::until(LIMIT, "the load moves", || version(moving) > before);
    assert_eq!(version(still), at_rest);
}

#[test]
fn watch_lists_are_refused_while_their_feature_gate_is_off() {
    let (_process, api, _) = serve(&["--no-watch-list"]);
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let answer = get(api, &format!("/api/v1/services?{query}"));
    assert!(
        answer.contains("unless the WatchList feature gate is enabled"),
        "{answer}"
    );
}

#[test]
fn an_address_in_use_is_named() {
    let (_first, api, _) = serve(&[]);
    let (status, output) = Process::burst_lab(&["serve", "--api", &api.to_string(), "--services", "127.0.0.1:0"]).end();
    assert_eq!(status.code(), Some(1));
    assert!(
        output.concat().contains(&format!("cannot listen on {api}: ")),
        "{output:?}"
    );
}
