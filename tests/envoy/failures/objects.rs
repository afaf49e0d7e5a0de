//! Objects and kinds that are not what they should be.

use burst_lab::api::Fault;
use burst_lab::cluster::{HPAS, Resource};
use burst_testkit::Version;
use serde_json::json;

use super::{complaint, failed_twice};
use crate::stage::{NGSA_1, NGSA_1_CLUSTER, Proxy, Request, World, listing};

on_each_envoy!(
    a_malformed_object_costs_that_object,
    a_kind_that_the_cluster_lacks_costs_nothing,
);

fn a_malformed_object_costs_that_object(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, listing(json!({})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    let object = Some("ngsa/ngsa-hpa-2".to_owned());
    world.api.faults.inject(HPAS, Fault::MalformedObject { object });
    let its_own = Request::get("/burstmetrics/hpas/ngsa/ngsa-hpa-2");
    main.wait(&its_own, "the malformed HPA is gone", |answer| answer.status == 204);
    failed_twice(&world, HPAS);
    proxy.wait_for_stat("burst_bad_objects", |count| count == 1);
    let lines = proxy.log_lines("left out HorizontalPodAutoscaler ");
    let [line] = &lines[..] else {
        panic!("one line: {lines:#?}")
    };
    assert!(
        line.contains("ngsa/ngsa-hpa-2: invalid type: string \"not a spec\""),
        "{line}"
    );
    assert_eq!(proxy.stat("burst_poll_malformed_total"), 0, "the list itself is good");
    world.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
    world.api.faults.clear();
    main.wait(&its_own, "the HPA is back", |answer| answer.status == 200);
    proxy.wait_for_stat("burst_bad_objects", |count| count == 0);
}

fn a_kind_that_the_cluster_lacks_costs_nothing(version: Version) {
    let world = World::sample();
    let workloads = json!([
        {"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment"},
        {"group": "argoproj.io", "version": "v1alpha1", "resource": "rollouts", "kind": "Rollout"},
    ]);
    let (proxy, mut main) = Proxy::start(version, &world, listing(json!({"workloads": workloads})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    let rollouts = Request::get("/burstmetrics/rollouts");
    assert_eq!(main.ask(&rollouts).status, 204);
    let line = complaint(&proxy, "rollouts.argoproj.io");
    assert!(
        line.ends_with("; check that the cluster serves rollouts.argoproj.io v1alpha1"),
        "{line}"
    );

    world
        .cluster
        .register(Resource::custom("argoproj.io", "v1alpha1", "rollouts", "Rollout"));
    for object in [
        json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "metadata": {"name": "api", "namespace": "shop"}, "spec": {"template": {}},
        }),
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "api", "namespace": "shop"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "api"},
                "maxReplicas": 10,
            },
            "status": {"currentReplicas": 2, "desiredReplicas": 2},
        }),
    ] {
        world.cluster.apply(object).expect("an object");
    }
    main.wait(&rollouts, "a kind that came later", |answer| {
        answer.body.contains("\"shop/api\"")
    });
    complaint(&proxy, "rollouts.argoproj.io");
}
