//! The shipped NetworkPolicies: they close the ports of the metrics APIs and of the reports, and no other port.

use std::fs;

use burst_testkit::repository;
use burstctl::yaml;
use serde_json::Value;

/// The only object of a file of `istio/`.
fn shipped(file: &str) -> Value {
    let text = fs::read_to_string(repository().join("istio").join(file)).expect("a file");
    let mut documents = yaml::documents(&text).into_iter();
    let document = documents.next().expect("a document").content.expect("YAML");
    assert!(documents.next().is_none(), "{file} has more than one object");
    document.to_json()
}

/// Whether an ingress rule applies to a port.
fn applies(rule: &Value, protocol: &str, port: u64) -> bool {
    let ports = rule["ports"].as_array().expect("ports");
    ports.iter().any(|range| {
        let first = range["port"].as_u64().expect("a number");
        let last = range["endPort"].as_u64().unwrap_or(first);
        range["protocol"] == protocol && (first..=last).contains(&port)
    })
}

/// Whether every client may reach a port of the pods.
fn is_open(policy: &Value, protocol: &str, port: u64) -> bool {
    let mut rules = policy["spec"]["ingress"].as_array().expect("rules").iter();
    rules.any(|rule| rule.get("from").is_none() && applies(rule, protocol, port))
}

#[test]
fn the_policy_of_the_metrics_apis_closes_their_port_and_leaves_all_others_open() {
    let policy = shipped("metrics-apis/network-policy.yaml");
    for protocol in ["TCP", "UDP", "SCTP"] {
        for port in 1..=65535 {
            let is_closed = protocol == "TCP" && port == 6443;
            assert_eq!(is_open(&policy, protocol, port), !is_closed, "{protocol} {port}");
        }
    }
    assert_eq!(listener_port(), 6443);
    let first = &policy["spec"]["ingress"][0];
    assert!(
        applies(first, "TCP", 6443) && first["from"].is_array(),
        "network-policy.sh replaces this one"
    );
}

/// The port of the set's listener.
fn listener_port() -> u64 {
    let filter = shipped("metrics-apis/listener.yaml");
    let patches = filter["spec"]["configPatches"].as_array().expect("patches");
    let listener = patches
        .iter()
        .find(|patch| patch["applyTo"] == "LISTENER")
        .expect("a listener");
    let port = &listener["patch"]["value"]["address"]["socket_address"]["port_value"];
    port.as_u64().expect("a port")
}

#[test]
fn the_policy_of_the_reports_lets_only_gateways_in() {
    let policy = shipped("report-network-policy.yaml");
    let rules = policy["spec"]["ingress"].as_array().expect("rules");
    assert_eq!(rules.len(), 1);
    assert!(applies(&rules[0], "TCP", 8443) && !is_open(&policy, "TCP", 8443));
    assert_eq!(
        rules[0]["from"][0]["podSelector"]["matchLabels"]["istio"],
        "ingressgateway"
    );
}
