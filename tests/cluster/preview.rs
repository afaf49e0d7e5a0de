//! The output of `burstctl preview`, compared with the headers of a proxy for the same cluster.

use std::collections::BTreeMap;

use burst_model::index::{LoadFinding, NoLoadReason};
use burst_testkit::ControlPlane;
use burstctl::preview::{NoHeader, Preview};

use crate::{account::apply_shipped_role, custom_kind, expected, gateway::Gateway, sample};

/// A cluster with every reason for a missing header.
const ODDITIES: &str = include_str!("../../crates/burstctl/tests/data/oddities.yaml");

/// Pages of two, a `target_percent`, and a workload kind that the cluster does not have.
const MORE: &str = r#""page_size": 2, "target_percent": 60, "workloads": [
    {"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment"},
    {"group": "apps", "version": "v1", "resource": "statefulsets", "kind": "StatefulSet"},
    {"group": "argoproj.io", "version": "v1alpha1", "resource": "rollouts", "kind": "Rollout"}]"#;

#[test]
fn a_preview_prints_the_headers_that_a_proxy_then_sends() {
    let cluster = ControlPlane::start();
    let mount = apply_shipped_role(&cluster).mount(&cluster);
    cluster.apply(custom_kind::ROLE);
    sample::create_with_status(&cluster);
    cluster.kubectl(&["create", "namespace", "stock"]);
    cluster.apply(ODDITIES);
    sample::apply_status(&cluster, ODDITIES);

    let predicted = expected::preview(&cluster, MORE);
    let headers = expected::headers(&predicted);
    assert_eq!(headers.len(), sample::SERVICES.len() + 3);

    let gateway = Gateway::new(&cluster, &mount, MORE);
    let body = gateway.wait_for_burst("services", 200);
    let said: BTreeMap<String, String> = serde_json::from_str(&body).expect("a map");
    assert_eq!(headers, said);
    for service in sample::SERVICES {
        let (name, namespace) = service.split_once('.').expect("a name with a namespace");
        let predicted = headers.get(&format!("{namespace}/{name}"));
        assert_eq!(gateway.header(service).as_ref(), predicted, "{service}");
    }

    let reasons = reasons(&predicted);
    let count = |word| {
        reasons
            .iter()
            .filter(|service_preview| **service_preview == word)
            .count() as u64
    };
    for (stat, predicted) in [
        ("burst_services", headers.len() as u64),
        ("burst_unobserved_hpas", count("unobserved-hpa")),
        ("burst_overshadowed_hpas", count("two-hpas")),
        ("burst_bad_objects", predicted.bad.len() as u64),
    ] {
        gateway.wait_for_gauge(stat, predicted);
    }
}

/// The reasons for missing headers, and the remarks on Services.
fn reasons(preview: &Preview) -> Vec<&'static str> {
    let of = preview.services.iter().flat_map(|service_preview| {
        let why = service_preview.value.as_ref().err().map(|why| match why {
            NoHeader::NoLoad(why) => NoLoadReason::as_str(why),
            NoHeader::Filter(_) => "filter",
        });
        why.into_iter()
            .chain(service_preview.remarks.iter().map(LoadFinding::as_str))
    });
    of.collect()
}
