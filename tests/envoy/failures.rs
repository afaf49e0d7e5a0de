//! What goes wrong with the Kubernetes API: the last values are served, one line says what to do, and the first good
//! answer ends it. What a failure means is tested in `burst-model`; here it is what Envoy makes of it.

use burst_lab::api::Fault;
use burst_lab::cluster::{DEPLOYMENTS, HPAS, Resource, SERVICES, STATEFULSETS};
use burst_testkit::{Version, wait};
use serde_json::json;

use crate::stage::{Client, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Proxy, Request, World};

on_each_envoy!(
    refusals_are_outlived,
    an_overloaded_server_is_outlived_and_left_alone_as_long_as_it_wants,
    broken_connections_are_outlived,
    a_server_that_is_away_is_outlived,
    answers_of_something_else_are_outlived,
    an_answer_over_the_buffer_limit_is_asked_for_in_smaller_pages,
    a_malformed_object_costs_that_object,
    a_kind_that_the_cluster_lacks_costs_nothing,
    a_request_that_cannot_be_sent_says_so,
);

/// How reading one resource fails.
struct Failure {
    resource: &'static str,
    fault: Fault,
    outcome: &'static str,
    says: &'static str,
    advice: &'static str,
}

/// Waits until a list has failed twice, so that a second line would be there.
fn failed_twice(world: &World, resource: &str) {
    let failures = || {
        world
            .api
            .requests
            .count(|seen| seen.resource == resource && seen.fault.is_some())
    };
    wait::until(PATIENCE, &format!("two failures of {resource}"), || failures() >= 2);
}

/// The one line that says that a resource cannot be listed.
fn complaint(proxy: &Proxy, resource: &str) -> String {
    let lines = proxy.log_lines(&format!("cannot list {resource}: "));
    let [line] = &lines[..] else {
        panic!("one line for {resource}: {lines:#?}")
    };
    assert!(line.contains("[warning]"), "{line}");
    line.clone()
}

/// Waits for new values, and for the words that say so.
fn works_again(world: &World, proxy: &Proxy, main: &mut Client, resources: &[&str]) {
    world.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
    for resource in resources {
        let words = format!("listing {resource} works again");
        wait::until(PATIENCE, &words, || proxy.log_lines(&words).len() == 1);
        complaint(proxy, resource);
    }
}

fn outlived(version: Version, failures: &[Failure]) {
    let world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, json!({"request_timeout": "500ms"}));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    for Failure { resource, fault, .. } in failures {
        world.api.faults.inject(resource, fault.clone());
    }
    for Failure {
        resource,
        outcome,
        says,
        advice,
        ..
    } in failures
    {
        failed_twice(&world, resource);
        proxy.wait_for_stat(&format!("burst_poll_{outcome}_total"), |count| count >= 2);
        let line = complaint(&proxy, resource);
        assert!(line.contains(says) && line.ends_with(&format!("; {advice}")), "{line}");
    }
    assert_eq!(
        main.ask(&Request::to(NGSA_1_CLUSTER)).header("x-burst"),
        Some(NGSA_1),
        "the last value"
    );
    assert_eq!(
        main.ask(&Request::get("/burstmetrics/services")).status,
        200,
        "the last values"
    );
    world.api.faults.clear();
    let resources: Vec<_> = failures.iter().map(|failure| failure.resource).collect();
    works_again(&world, &proxy, &mut main, &resources);
}

fn refusals_are_outlived(version: Version) {
    outlived(
        version,
        &[
            Failure {
                resource: SERVICES,
                fault: Fault::Unauthorized,
                outcome: "unauthorized",
                says: "401 Unauthorized: ",
                advice: "check the token that Envoy puts on the callout",
            },
            Failure {
                resource: HPAS,
                fault: Fault::Forbidden,
                outcome: "forbidden",
                says: "403 Forbidden: horizontalpodautoscalers.autoscaling is forbidden: ",
                advice: "give the proxy's ServiceAccount a ClusterRole with the verb list on \
                         horizontalpodautoscalers.autoscaling",
            },
            Failure {
                resource: DEPLOYMENTS,
                fault: Fault::NotFound,
                outcome: "not_found",
                says: "404 Not Found: ",
                advice: "check that the cluster serves deployments.apps v1",
            },
            Failure {
                resource: STATEFULSETS,
                fault: Fault::Gone,
                outcome: "expired",
                says: "410 Gone: ",
                advice: "the list is read again from its start",
            },
        ],
    );
}

fn an_overloaded_server_is_outlived_and_left_alone_as_long_as_it_wants(version: Version) {
    let asking_later = |resource, fault, outcome, says| Failure {
        resource,
        fault,
        outcome,
        says,
        advice: "asking again later",
    };
    let throttled = Fault::TooManyRequests { retry_after: 2 };
    outlived(
        version,
        &[
            asking_later(HPAS, throttled, "throttled", "429 Too Many Requests"),
            asking_later(SERVICES, Fault::InternalError, "server_error", "500: "),
            asking_later(DEPLOYMENTS, Fault::Unavailable, "server_error", "503: "),
        ],
    );
}

fn broken_connections_are_outlived(version: Version) {
    let cut = "the answer was cut off, or is larger than Envoy buffers";
    let smaller = "smaller pages are tried; a smaller `page_size` saves that";
    outlived(
        version,
        &[
            Failure {
                resource: HPAS,
                fault: Fault::Hang,
                outcome: "timeout",
                says: "the Kubernetes API did not answer in time",
                advice: "check the API server's load, or raise `request_timeout`",
            },
            Failure {
                resource: SERVICES,
                fault: Fault::Reset,
                outcome: "unreachable",
                says: "the Kubernetes API cannot be reached: upstream connect error or disconnect/reset before headers",
                advice: "check the cluster's address, its CA and the subject name it expects",
            },
            Failure {
                resource: DEPLOYMENTS,
                fault: Fault::Stall,
                outcome: "cut",
                says: cut,
                advice: smaller,
            },
            Failure {
                resource: STATEFULSETS,
                fault: Fault::ResetMidway,
                outcome: "cut",
                says: cut,
                advice: smaller,
            },
        ],
    );
}

fn answers_of_something_else_are_outlived(version: Version) {
    let elsewhere = |resource, fault, says| Failure {
        resource,
        fault,
        outcome: "malformed",
        says,
        advice: "check that `cluster` is the Kubernetes API and nothing stands in between",
    };
    outlived(
        version,
        &[
            elsewhere(
                HPAS,
                Fault::Truncate,
                "the answer is not JSON as a list has it: EOF while parsing",
            ),
            elsewhere(
                SERVICES,
                Fault::NotJson,
                "the answer is not JSON as a list has it: expected value at line 1",
            ),
            elsewhere(
                DEPLOYMENTS,
                Fault::OtherKind,
                r#"the answer is of kind "APIGroupList", not "DeploymentList""#,
            ),
        ],
    );
}

fn a_server_that_is_away_is_outlived(version: Version) {
    let mut world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, json!({}));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    world.refuse_connections();
    let all = [HPAS, SERVICES, DEPLOYMENTS, STATEFULSETS];
    proxy.wait_for_stat("burst_poll_unreachable_total", |count| count >= 2 * all.len() as u64);
    for resource in all {
        let line = complaint(&proxy, resource);
        assert!(
            line.contains("cannot be reached: ") && line.contains("; check the cluster's address"),
            "{line}"
        );
    }
    assert_eq!(
        main.ask(&Request::to(NGSA_1_CLUSTER)).header("x-burst"),
        Some(NGSA_1),
        "the last value"
    );
    world.accept_connections();
    works_again(&world, &proxy, &mut main, &all);
}

fn an_answer_over_the_buffer_limit_is_asked_for_in_smaller_pages(version: Version) {
    let world = World::sample();
    let setup = Proxy::of(version)
        .buffer_limit(50_000)
        .listener("main", json!({"page_size": 8}));
    let proxy = setup.start(&world);
    let mut main = proxy.client("main");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    // Five HPAs: more than fits in one page or in four of them, but not in two.
    world.api.faults.inject(HPAS, Fault::Padding { bytes: 20_000 });
    works_again(&world, &proxy, &mut main, &[HPAS]);
    assert!(complaint(&proxy, HPAS).ends_with("; smaller pages are tried; a smaller `page_size` saves that"));
    assert_eq!(proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 2), 2);
    let asked = world.api.requests.seen();
    let last = asked.iter().rfind(|seen| seen.resource == HPAS).expect("a request");
    assert!(last.query.starts_with("limit=2"), "{last:?}");
}

fn a_malformed_object_costs_that_object(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, json!({}));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
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
    let (proxy, mut main) = Proxy::start(version, &world, json!({"workloads": workloads}));
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

fn a_request_that_cannot_be_sent_says_so(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, json!({"cluster": "nowhere"}));
    proxy.wait_for_stat("burst_poll_not_sent_total", |count| count >= 8);
    let line = complaint(&proxy, HPAS);
    assert!(
        line.contains("the request was not sent: Envoy has no cluster of that name (nowhere)"),
        "{line}"
    );
    assert!(
        line.ends_with("; check that `cluster` names an Envoy cluster that has a host"),
        "{line}"
    );
    assert_eq!(main.ask(&Request::get("/burstmetrics/services")).status, 503);
    assert_eq!(
        main.ask(&Request::to(NGSA_1_CLUSTER)).status,
        200,
        "requests do not mind"
    );
}
