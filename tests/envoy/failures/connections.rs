//! Answers that do not arrive, or arrive only in part.

use burst_lab::api::Fault;
use burst_lab::cluster::{DEPLOYMENTS, HPAS, SERVICES, STATEFULSETS};
use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, Proxy, listing},
    http::Request,
};
use serde_json::json;

use super::{Failure, check_survival_with, failure_line, only_failure_line, works_again};

on_each_envoy!(
    values_survive_broken_connections,
    a_slow_answer_within_the_timeout_is_accepted,
    a_slow_answer_is_abandoned_at_the_timeout,
    values_survive_an_api_server_that_is_down,
    an_answer_over_the_buffer_limit_is_requested_in_smaller_pages,
    a_request_that_cannot_be_sent_is_logged,
);

/// Short enough to expire twice in a test, and long enough for a good answer on a busy machine.
const IN_TIME: &str = "10s";

fn values_survive_broken_connections(version: Version) {
    let cut = "the answer was cut off, or is larger than Envoy buffers";
    let smaller = "smaller pages are tried; a smaller `page_size` saves that";
    check_survival_with(
        version,
        json!({"request_timeout": IN_TIME}),
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

fn a_slow_answer_within_the_timeout_is_accepted(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, listing(json!({})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    backend.api.faults.inject(HPAS, Fault::Trickle { seconds: 1 });
    backend.scale_ngsa_1(2);
    let risen = NGSA_1.replace("current-load=1", "current-load=2");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
    assert_eq!(proxy.stat("burst_poll_cut_total"), 0);
}

fn a_slow_answer_is_abandoned_at_the_timeout(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, listing(json!({"request_timeout": IN_TIME})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    // Every byte arrives in time, but the whole answer does not.
    backend.api.faults.inject(HPAS, Fault::Trickle { seconds: 60 });
    proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 2);
    only_failure_line(&proxy, HPAS);
    assert_eq!(main.ask(&Request::to(NGSA_1_CLUSTER)).header("x-burst"), Some(NGSA_1));
    backend.api.faults.clear();
    works_again(&backend, &proxy, &mut main, &[HPAS]);
}

fn values_survive_an_api_server_that_is_down(version: Version) {
    let mut backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, listing(json!({})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    backend.refuse_connections();
    let all = [HPAS, SERVICES, DEPLOYMENTS, STATEFULSETS];
    proxy.wait_for_stat("burst_poll_unreachable_total", |count| count >= 2 * all.len() as u64);
    for resource in all {
        let line = only_failure_line(&proxy, resource);
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
    backend.accept_connections();
    works_again(&backend, &proxy, &mut main, &all);
}

fn an_answer_over_the_buffer_limit_is_requested_in_smaller_pages(version: Version) {
    let backend = Backend::sample();
    let setup = Proxy::of(version)
        .buffer_limit(50_000)
        .listener("main", listing(json!({"page_size": 8})));
    let proxy = setup.start(&backend);
    let mut main = proxy.client("main");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    // Five of these HPAs exceed the buffer limit, as do four. Two fit.
    backend.api.faults.inject(HPAS, Fault::Padding { bytes: 20_000 });
    works_again(&backend, &proxy, &mut main, &[HPAS]);
    assert!(only_failure_line(&proxy, HPAS).ends_with("; smaller pages are tried; a smaller `page_size` saves that"));
    assert_eq!(proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 2), 2);
    let asked = backend.api.requests.entries();
    let last = asked.iter().rfind(|seen| seen.resource == HPAS).expect("a request");
    assert!(last.query.starts_with("limit=2"), "{last:?}");
}

fn a_request_that_cannot_be_sent_is_logged(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, json!({"cluster": "nowhere"}));
    proxy.wait_for_stat("burst_poll_not_sent_total", |count| count >= 8);
    let line = failure_line(&proxy, HPAS);
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
