//! Oversized policies in the shipped CRD: only their own namespace is affected.

use burst_testkit::{
    Controllers, Version,
    metrics_apis::{SOON, Stage, shop},
    wait,
};
use serde_json::{Value, json};

use crate::policies::{OBJECTS, apply, define};
use crate::scaling::RATES;

/// The number of answers that shows that the proxy still serves.
const ENOUGH: usize = 20;

const ATTACKERS: [&str; 6] = ["a1", "a2", "a3", "a4", "a5", "a6"];

/// 116 KB of patterns, the largest that the schema allows.
fn large() -> Value {
    // A class of every other character, repeated 900 times.
    let class = r"[acegikmoqsuwy02468_@=:,/\!\#\%\'\)]{900}";
    let metric = |number: usize| format!("{class}|a_metric_of_mine_{number:03}_of_many");
    json!({"rules": (0..1000).map(|number| json!({"metric": metric(number), "deny": true})).collect::<Vec<_>>()})
}

/// As many rules with a pattern that is slow for one name.
fn slow() -> Value {
    json!({"rules": vec![json!({"metric": "(?:.{0,30}){30}x", "deny": true}); 1000]})
}

fn load(namespace: &str) -> String {
    format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/burst_max_load")
}

fn wait_for_refusal(stage: &Stage, namespace: &str, words: &str) {
    wait::for_ok(SOON, words, || match stage.raw(&load(namespace)) {
        Err(said) if said.contains(words) => Ok(()),
        other => Err(format!("{namespace}: {other:?}")),
    });
}

#[test]
fn six_oversized_policies_fail_no_request_and_disable_no_other_namespaces_policies() {
    let stage = Stage::with_apis(Version::Tested, Controllers::None, RATES, OBJECTS);
    define(&stage);
    shop::create(&stage.cluster);
    shop::observe(&stage.cluster);
    wait::for_ok(SOON, "a metric", || stage.raw(&load(shop::NAMESPACE)).map(drop));
    let traffic = stage.proxy.traffic(&["/"]);
    let denied = json!({"rules": [{"metric": "burst_max_load", "deny": true}]});

    for namespace in ATTACKERS {
        stage.cluster.kubectl(&["create", "namespace", namespace]);
    }
    for (namespace, spec) in ATTACKERS
        .iter()
        .zip([large(), large(), large(), large(), slow(), slow()])
    {
        let length = spec.to_string().len();
        assert!((40_000..=119_000).contains(&length), "{length} bytes");
        apply(&stage, "attack", namespace, &spec);
    }
    apply(&stage, "own", shop::NAMESPACE, &denied);
    for namespace in ATTACKERS {
        let refused = format!("the ExternalMetricPolicies of namespace {namespace} are refused");
        wait::for_ok(SOON, "a line", || match stage.proxy.envoy.log() {
            log if log.contains(&refused) && log.contains(&format!("{namespace}/attack: spec.rules[0]")) => Ok(()),
            log => Err(log),
        });
        wait_for_refusal(&stage, namespace, &refused);
        // Matching this name against the slow patterns would take seconds.
        let long = format!(
            "/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{}",
            "a".repeat(511)
        );
        assert!(stage.raw(&long).is_err());
    }
    wait_for_refusal(&stage, shop::NAMESPACE, "\"shop/own\" rule 1 denies it");
    let stat = "wasmcustom.burst_refused_policy_namespaces";
    assert_eq!(stage.proxy.envoy.stat(stat), Some(6));
    traffic.wait_for_more(ENOUGH);
    assert_eq!(traffic.failed(), 0);

    for namespace in ATTACKERS {
        stage
            .cluster
            .kubectl(&["delete", "externalmetricpolicy", "attack", "--namespace", namespace]);
    }
    for namespace in ATTACKERS {
        wait::for_ok(SOON, "that nothing is refused any more", || {
            stage.raw(&load(namespace)).map(drop)
        });
    }
    wait_for_refusal(&stage, shop::NAMESPACE, "\"shop/own\" rule 1 denies it");
    assert_eq!(stage.proxy.envoy.stat(stat), Some(0));
    traffic.wait_for_more(ENOUGH);
    traffic.stop();
    let log = stage.proxy.envoy.log();
    assert!(
        !log.contains("Plugin configured to fail closed") && !log.contains("Uncaught RuntimeError"),
        "{log}"
    );
}
