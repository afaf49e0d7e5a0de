//! What comes from the cluster by way of shared data, and traps whoever takes it: a VM dies of it once, requests are
//! answered, and the proxy is well again when the cause is gone.

use burst_lab::cluster::{HPAS, Resource, SERVICES};
use burst_testkit::{Version, wait};
use serde_json::{Value, json};

use crate::stage::{Client, Module, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Plugin, Proxy, Request, World, listing};

on_each_envoy!(
    a_snapshot_that_traps_whoever_takes_it,
    policies_that_trap_whoever_takes_them,
    a_checkpoint_that_traps_the_next_leader,
);

/// What the host writes when a module traps.
const TRAP: &str = "Uncaught RuntimeError: unreachable";

fn start(version: Version, world: &World, keys: Value) -> (Proxy, Client) {
    let plugin = Plugin::new("main", listing(keys)).module(Module::Trap);
    let proxy = Proxy::of(version).plugin(plugin).start(world);
    let mut main = proxy.client("main");
    main.wait_for_header(&request(), Some(NGSA_1));
    proxy.wait_for_main_thread();
    (proxy, main)
}

fn request() -> Request {
    Request::to(NGSA_1_CLUSTER)
}

/// Ends the VMs of both workers, which Envoy makes again: whatever traps in their configuration traps each of them.
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

fn a_snapshot_that_traps_whoever_takes_it(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = start(version, &world, json!({}));
    let mut hpa = Value::clone(&world.cluster.object(HPAS, "ngsa/ngsa-hpa-2").expect("the HPA"));
    hpa["metadata"] = json!({"name": "burst-test-trap-snapshot", "namespace": "ngsa"});
    world.cluster.apply(hpa).expect("an HPA");
    wait_for_a_trap(&proxy);
    main.wait(&request(), "the last values", |answer| {
        (answer.status, answer.header("x-burst")) == (200, Some(NGSA_1))
    });
    rebuild(&proxy, &mut main);
    wait::until(PATIENCE, "that it is left alone is told", || {
        !proxy.log_lines("the snapshot is in quarantine: ").is_empty()
    });
    assert!(world.cluster.delete(HPAS, "ngsa/burst-test-trap-snapshot"));
    world.scale_ngsa_1(3);
    main.wait_for_header(&request(), Some(&replicas(3)));
    assert_eq!(proxy.log_lines(TRAP).len(), 3);
}

fn policies_that_trap_whoever_takes_them(version: Version) {
    const ID: &str = "externalmetricpolicies.burstmetrics.dev";
    let world = World::sample();
    let (group, kind) = ("burstmetrics.dev", "ExternalMetricPolicy");
    let policies = Resource::custom(group, "v1alpha1", "externalmetricpolicies", kind);
    world.cluster.register(policies);
    let policies = json!({"root_namespace": "istio-system"});
    let keys = json!({"metrics_apis": {"filter_chain": "metrics-apis", "policies": policies}});
    let (proxy, mut main) = start(version, &world, keys);
    let policy = json!({
        "apiVersion": "burstmetrics.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "trap", "namespace": "ngsa"},
        "spec": {"rules": [{"metric": "burst-test-trap-policies", "deny": true}]},
    });
    world.cluster.apply(policy).expect("a policy");
    wait_for_a_trap(&proxy);
    rebuild(&proxy, &mut main);
    main.wait_for_header(&request(), Some(NGSA_1));
    wait::until(PATIENCE, "that they are left alone is told", || {
        !proxy
            .log_lines("the set of ExternalMetricPolicies is in quarantine: ")
            .is_empty()
    });
    assert!(world.cluster.delete(ID, "ngsa/trap"));
    world.scale_ngsa_1(3);
    main.wait_for_header(&request(), Some(&replicas(3)));
    rebuild(&proxy, &mut main);
    assert_eq!(proxy.log_lines(TRAP).len(), 5);
}

fn a_checkpoint_that_traps_the_next_leader(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = start(version, &world, json!({}));
    let mut service = Value::clone(
        &world
            .cluster
            .object(SERVICES, "default/ngsa-svc-1")
            .expect("the Service"),
    );
    service["metadata"] = json!({"name": "burst-test-trap-checkpoint", "namespace": "ngsa"});
    service["spec"] = json!({"selector": {"app": "none"}});
    world.cluster.apply(service).expect("a Service");
    // What is left is as new as the last snapshot.
    world.scale_ngsa_1(2);
    main.wait_for_header(&request(), Some(&replicas(2)));
    let patch = json!({"metadata": {"annotations": {"burst-metrics.test/trap": "1"}}});
    world.cluster.patch(HPAS, "ngsa/ngsa-hpa-2", &patch).expect("the HPA");
    wait_for_a_trap(&proxy);
    wait::until(PATIENCE, "the next leader dies", || proxy.log_lines(TRAP).len() == 2);
    world.scale_ngsa_1(3);
    main.wait_for_header(&request(), Some(&replicas(3)));
    let words = "the checkpoint of the last leader is in quarantine: ";
    assert_eq!(proxy.log_lines(words).len(), 1, "{}", proxy.envoy.log());
    rebuild(&proxy, &mut main);
    main.wait_for_header(&request(), Some(&replicas(3)));
    assert_eq!(proxy.log_lines(TRAP).len(), 4);
}
