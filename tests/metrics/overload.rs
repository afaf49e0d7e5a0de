//! Policies that are too much for a proxy, through the kind that ships: what they cost is their namespace's.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use burst_testkit::{Controllers, Version, http, wait};
use serde_json::{Value, json};

use crate::policies::{OBJECTS, apply, define};
use crate::scaling::RATES;
use burst_testkit::metrics_apis::{SOON, Stage, shop};

const ATTACKERS: [&str; 6] = ["a1", "a2", "a3", "a4", "a5", "a6"];

/// Users' requests, and those that were not answered by 200.
#[derive(Debug)]
struct Users {
    stopped: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    failed: Arc<AtomicUsize>,
    client: Option<JoinHandle<()>>,
}

impl Users {
    fn of(address: SocketAddr) -> Self {
        let (stopped, answered, failed) = <(Arc<AtomicBool>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let seen = (stopped.clone(), answered.clone(), failed.clone());
        let client = thread::spawn(move || {
            let (stopped, answered, failed) = seen;
            while !stopped.load(Ordering::Relaxed) {
                let answer = http::try_send("GET", &format!("http://{address}/"), &[]);
                let counter = match answer {
                    Ok(answer) if answer.status == 200 => &answered,
                    _ => &failed,
                };
                counter.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
            }
        });
        Self {
            stopped,
            answered,
            failed,
            client: Some(client),
        }
    }

    /// Those that failed until now, of some.
    fn failed(&self) -> usize {
        let answered = self.answered.load(Ordering::Relaxed);
        wait::until(SOON, "more answers", || {
            self.answered.load(Ordering::Relaxed) > answered + 20
        });
        self.failed.load(Ordering::Relaxed)
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.client.take().into_iter().for_each(|client| drop(client.join()));
    }
}

/// 116 KB of patterns that are as large as the schema lets them be.
fn large() -> Value {
    // Every other character is a range of its own, 900 times.
    let class = r"[acegikmoqsuwy02468_@=:,/\!\#\%\'\)]{900}";
    let metric = |number: usize| format!("{class}|a_metric_of_mine_{number:03}_of_many");
    json!({"rules": (0..1000).map(|number| json!({"metric": metric(number), "deny": true})).collect::<Vec<_>>()})
}

/// As many that one name makes slow.
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
fn six_policies_that_are_too_much_cost_no_user_a_request_and_no_other_namespace_its_policies() {
    let stage = Stage::with_apis(Version::Tested, Controllers::None, RATES, OBJECTS);
    define(&stage);
    shop::create(&stage.cluster);
    shop::observe(&stage.cluster);
    wait::for_ok(SOON, "a metric", || stage.raw(&load(shop::NAMESPACE)).map(drop));
    let users = Users::of(stage.proxy.public());
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
        // Whose name the slow ones would be tried on for seconds.
        let long = format!(
            "/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{}",
            "a".repeat(511)
        );
        assert!(stage.raw(&long).is_err());
    }
    wait_for_refusal(&stage, shop::NAMESPACE, "\"shop/own\" rule 1 denies it");
    let stat = "wasmcustom.burst_refused_policy_namespaces";
    assert_eq!(stage.proxy.envoy.stat(stat), Some(6));
    assert_eq!(users.failed(), 0);

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
    assert_eq!((stage.proxy.envoy.stat(stat), users.failed()), (Some(0), 0));
    let log = stage.proxy.envoy.log();
    assert!(
        !log.contains("Plugin configured to fail closed") && !log.contains("Uncaught RuntimeError"),
        "{log}"
    );
}
