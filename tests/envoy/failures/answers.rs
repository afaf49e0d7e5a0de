//! Answers that are no list: refusals, an overloaded server, something else altogether.

use std::time::Duration;

use burst_lab::api::Fault;
use burst_lab::cluster::{DEPLOYMENTS, HPAS, SERVICES, STATEFULSETS};
use burst_testkit::{Version, wait};
use serde_json::json;

use super::{Failure, outlived};
use crate::stage::{NGSA_1, NGSA_1_CLUSTER, PATIENCE, Proxy, Request, World, listing};

on_each_envoy!(
    refusals_are_outlived,
    an_overloaded_server_is_outlived,
    a_server_that_throttles_is_left_alone_as_long_as_it_asks,
    answers_of_something_else_are_outlived,
    a_list_that_does_not_end_is_outlived,
);

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

fn an_overloaded_server_is_outlived(version: Version) {
    let asking_later = |resource, fault, outcome, says| Failure {
        resource,
        fault,
        outcome,
        says,
        advice: "asking again later",
    };
    let throttled = Fault::TooManyRequests { retry_after: 1 };
    outlived(
        version,
        &[
            asking_later(HPAS, throttled, "throttled", "429 Too Many Requests"),
            asking_later(SERVICES, Fault::InternalError, "server_error", "500: "),
            asking_later(DEPLOYMENTS, Fault::Unavailable, "server_error", "503: "),
        ],
    );
}

fn a_server_that_throttles_is_left_alone_as_long_as_it_asks(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, listing(json!({})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    world
        .api
        .faults
        .inject_times(HPAS, Fault::TooManyRequests { retry_after: 6 }, 1);
    let of_hpas = || {
        let seen = world.api.requests.entries();
        seen.into_iter().filter(|seen| seen.resource == HPAS)
    };
    wait::until(PATIENCE, "a request after the one it throttles", || {
        of_hpas().skip_while(|seen| seen.fault.is_none()).count() > 1
    });
    let throttled = of_hpas().position(|seen| seen.fault.is_some()).expect("it was there");
    let arrivals = world.arrivals("/horizontalpodautoscalers");
    let pause = arrivals[throttled + 1] - arrivals[throttled];
    // One of the filter's own choice would be over after a second; and a tick may come early.
    assert!(pause >= Duration::from_secs(5), "{pause:?}");
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
                "the answer is not JSON as the API has it: EOF while parsing",
            ),
            elsewhere(
                SERVICES,
                Fault::NotJson,
                "the answer is not JSON as the API has it: expected value at line 1",
            ),
            elsewhere(
                DEPLOYMENTS,
                Fault::OtherKind,
                r#"the answer is of kind "APIGroupList", not "DeploymentList""#,
            ),
        ],
    );
}

fn a_list_that_does_not_end_is_outlived(version: Version) {
    outlived(
        version,
        &[Failure {
            resource: SERVICES,
            fault: Fault::Endless,
            outcome: "malformed",
            says: "cannot list services: the list does not end: its page 1000 leads to another one; ",
            advice: "check that `cluster` is the Kubernetes API and nothing stands in between",
        }],
    );
}
