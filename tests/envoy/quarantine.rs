//! A value in shared data that traps each VM that reads it: it ends one VM, requests are answered, and the proxy
//! recovers once the cause is gone.

use burst_lab::cluster::{HPAS, Resource, SERVICES};
use burst_testkit::{
    Version,
    filter::{Backend, Client, Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, listing},
    http::Request,
    wait,
};
use serde_json::{Value, json};

on_each_envoy!(
    a_snapshot_that_traps_each_vm_that_reads_it_is_quarantined,
    policies_that_trap_each_vm_that_reads_them_are_quarantined,
    a_checkpoint_that_traps_the_next_leader_is_quarantined,
);

/// The host's log line for a trap.
const TRAP: &str = "Uncaught RuntimeError: unreachable";

fn start(version: Version, backend: &Backend, keys: Value) -> (Proxy, Client) {
    let plugin = Plugin::new("main", listing(keys)).module(Module::Trap);
    let proxy = Proxy::of(version).plugin(plugin).start(backend);
    let mut main = proxy.client("main");
    main.wait_for_header(&request(), Some(NGSA_1));
    proxy.wait_for_main_thread();
    (proxy, main)
}

fn request() -> Request {
    Request::to(NGSA_1_CLUSTER)
}

/// Traps the VMs of both workers, and lets Envoy rebuild them. Data that traps a VM at its start would trap each of
/// them.
fn rebuild(proxy: &Proxy, main: &mut Client) {
    let before = proxy.log_lines(TRAP).len();
    for answer in main.ask_each(&request().header("x-burst-test-trap", "1")) {
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    assert_eq!(proxy.log_lines(TRAP).len(), before + 2);
    main.wait(&request(), "rebuilt workers", |answer| answer.status == 200);
    assert_eq!(proxy.log_lines(TRAP).len(), before + 2, "{}", proxy.envoy.log());
}

fn wait_for_a_trap(proxy: &Proxy) {
    wait::until(PATIENCE, "a thread dies", || proxy.log_lines(TRAP).len() == 1);
}

fn replicas(count: u32) -> String {
    NGSA_1.replace("current-load=1", &format!("current-load={count}"))
}

fn a_snapshot_that_traps_each_vm_that_reads_it_is_quarantined(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = start(version, &backend, json!({}));
    let mut hpa = Value::clone(&backend.cluster.object(HPAS, "ngsa/ngsa-hpa-2").expect("the HPA"));
    hpa["metadata"] = json!({"name": "burst-test-trap-snapshot", "namespace": "ngsa"});
    backend.cluster.apply(hpa).expect("an HPA");
    wait_for_a_trap(&proxy);
    main.wait(&request(), "the last values", |answer| {
        (answer.status, answer.header("x-burst")) == (200, Some(NGSA_1))
    });
    rebuild(&proxy, &mut main);
    wait::until(PATIENCE, "that it is left alone is told", || {
        !proxy.log_lines("the snapshot is in quarantine: ").is_empty()
    });
    assert!(backend.cluster.delete(HPAS, "ngsa/burst-test-trap-snapshot"));
    backend.scale_ngsa_1(3);
    main.wait_for_header(&request(), Some(&replicas(3)));
    assert_eq!(proxy.log_lines(TRAP).len(), 3);
}

fn policies_that_trap_each_vm_that_reads_them_are_quarantined(version: Version) {
    const ID: &str = "externalmetricpolicies.burstmetrics.dev";
    let backend = Backend::sample();
    let (group, kind) = ("burstmetrics.dev", "ExternalMetricPolicy");
    let policies = Resource::custom(group, "v1alpha1", "externalmetricpolicies", kind);
    backend.cluster.register(policies);
    let policies = json!({"root_namespace": "istio-system"});
    let keys = json!({"metrics_apis": {"filter_chain": "metrics-apis", "policies": policies}});
    let (proxy, mut main) = start(version, &backend, keys);
    let policy = json!({
        "apiVersion": "burstmetrics.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "trap", "namespace": "ngsa"},
        "spec": {"rules": [{"metric": "burst-test-trap-policies", "deny": true}]},
    });
    backend.cluster.apply(policy).expect("a policy");
    wait_for_a_trap(&proxy);
    rebuild(&proxy, &mut main);
    main.wait_for_header(&request(), Some(NGSA_1));
    wait::until(PATIENCE, "that they are left alone is told", || {
        !proxy
            .log_lines("the set of ExternalMetricPolicies is in quarantine: ")
            .is_empty()
    });
    assert!(backend.cluster.delete(ID, "ngsa/trap"));
    backend.scale_ngsa_1(3);
    main.wait_for_header(&request(), Some(&replicas(3)));
    rebuild(&proxy, &mut main);
    assert_eq!(proxy.log_lines(TRAP).len(), 5);
}

fn a_checkpoint_that_traps_the_next_leader_is_quarantined(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = start(version, &backend, json!({}));
    let mut service = Value::clone(
        &backend
            .cluster
            .object(SERVICES, "default/ngsa-svc-1")
            .expect("the Service"),
    );
    service["metadata"] = json!({"name": "burst-test-trap-checkpoint", "namespace": "ngsa"});
    service["spec"] = json!({"selector": {"app": "none"}});
    backend.cluster.apply(service).expect("a Service");
    // The new checkpoint is as recent as the last snapshot.
    backend.scale_ngsa_1(2);
    main.wait_for_header(&request(), Some(&replicas(2)));
    let patch = json!({"metadata": {"annotations": {"burst-metrics.test/trap": "1"}}});
    backend.cluster.patch(HPAS, "ngsa/ngsa-hpa-2", &patch).expect("the HPA");
    wait_for_a_trap(&proxy);
    wait::until(PATIENCE, "the next leader dies", || proxy.log_lines(TRAP).len() == 2);
    backend.scale_ngsa_1(3);
    main.wait_for_header(&request(), Some(&replicas(3)));
    let words = "the checkpoint of the last leader is in quarantine: ";
    assert_eq!(proxy.log_lines(words).len(), 1, "{}", proxy.envoy.log());
    rebuild(&proxy, &mut main);
    main.wait_for_header(&request(), Some(&replicas(3)));
    assert_eq!(proxy.log_lines(TRAP).len(), 4);
}
