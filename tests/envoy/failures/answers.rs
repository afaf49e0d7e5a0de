//! Answers that are not a list: refusals, an overloaded server, unrelated content.

use std::time::Duration;

use burst_lab::api::Fault;
use burst_lab::cluster::{DEPLOYMENTS, HPAS, SERVICES, STATEFULSETS};
use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Proxy, listing},
    http::Request,
    wait,
};
use serde_json::json;

use super::{Failure, check_survival};

on_each_envoy!(
    values_survive_refusals_by_the_api_server,
    values_survive_an_overloaded_api_server,
    retry_after_is_respected,
    values_survive_answers_that_are_no_kubernetes_lists,
    values_survive_a_list_that_never_ends,
);

fn values_survive_refusals_by_the_api_server(version: Version) {
    check_survival(
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

fn values_survive_an_overloaded_api_server(version: Version) {
    let asking_later = |resource, fault, outcome, says| Failure {
        resource,
        fault,
        outcome,
        says,
        advice: "asking again later",
    };
    let throttled = Fault::TooManyRequests { retry_after: 1 };
    check_survival(
        version,
        &[
            asking_later(HPAS, throttled, "throttled", "429 Too Many Requests"),
            asking_later(SERVICES, Fault::InternalError, "server_error", "500: "),
            asking_later(DEPLOYMENTS, Fault::Unavailable, "server_error", "503: "),
        ],
    );
}

fn retry_after_is_respected(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, listing(json!({})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    backend
        .api
        .faults
        .inject_times(HPAS, Fault::TooManyRequests { retry_after: 6 }, 1);
    let of_hpas = || {
        let seen = backend.api.requests.entries();
        seen.into_iter().filter(|seen| seen.resource == HPAS)
    };
    wait::until(PATIENCE, "a request after the one it throttles", || {
        of_hpas().skip_while(|seen| seen.fault.is_none()).count() > 1
    });
    let throttled = of_hpas().position(|seen| seen.fault.is_some()).expect("it was there");
    let arrivals = backend.arrivals("/horizontalpodautoscalers");
    let pause = arrivals[throttled + 1] - arrivals[throttled];
    // The filter's own backoff would end after a second. A tick may come early.
    assert!(pause >= Duration::from_secs(5), "{pause:?}");
}

fn values_survive_answers_that_are_no_kubernetes_lists(version: Version) {
    let elsewhere = |resource, fault, says| Failure {
        resource,
        fault,
        outcome: "malformed",
        says,
        advice: "check that `cluster` is the Kubernetes API and nothing stands in between",
    };
    check_survival(
        version,
        &[
            elsewhere(
                HPAS,
                Fault::Truncate,
                "the answer is not JSON as the API has it: the list was cut off after byte ",
            ),
            elsewhere(
                SERVICES,
                Fault::NotJson,
                "the answer is not JSON as the API has it: expected `{` at byte 0",
            ),
            elsewhere(
                DEPLOYMENTS,
                Fault::OtherKind,
                r#"the answer is of kind "APIGroupList", not "DeploymentList""#,
            ),
        ],
    );
}

fn values_survive_a_list_that_never_ends(version: Version) {
    check_survival(
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
