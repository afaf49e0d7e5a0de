//! Answers that do not come, or not whole.

use burst_lab::api::Fault;
use burst_lab::cluster::{DEPLOYMENTS, HPAS, SERVICES, STATEFULSETS};
use burst_testkit::Version;
use serde_json::json;

use super::{Failure, complaint, only_complaint, outlived_with, works_again};
use crate::stage::{NGSA_1, NGSA_1_CLUSTER, Proxy, Request, World, listing};

on_each_envoy!(
    broken_connections_are_outlived,
    an_answer_that_comes_drop_by_drop_in_time_is_taken,
    an_answer_that_comes_drop_by_drop_is_not_waited_for_after_its_time,
    a_server_that_is_away_is_outlived,
    an_answer_over_the_buffer_limit_is_asked_for_in_smaller_pages,
    a_request_that_cannot_be_sent_says_so,
);

/// Short enough to be waited for twice, and long enough for whatever answers on a machine with much else to do.
const IN_TIME: &str = "10s";

fn broken_connections_are_outlived(version: Version) {
    let cut = "the answer was cut off, or is larger than Envoy buffers";
    let smaller = "smaller pages are tried; a smaller `page_size` saves that";
    outlived_with(
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

fn an_answer_that_comes_drop_by_drop_in_time_is_taken(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, listing(json!({})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    world.api.faults.inject(HPAS, Fault::Trickle { seconds: 1 });
    world.scale_ngsa_1(2);
    let risen = NGSA_1.replace("current-load=1", "current-load=2");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&risen));
    assert_eq!(proxy.stat("burst_poll_cut_total"), 0);
}

fn an_answer_that_comes_drop_by_drop_is_not_waited_for_after_its_time(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, listing(json!({"request_timeout": IN_TIME})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    // Every drop comes in time, and the answer does not.
    world.api.faults.inject(HPAS, Fault::Trickle { seconds: 60 });
    proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 2);
    only_complaint(&proxy, HPAS);
    assert_eq!(main.ask(&Request::to(NGSA_1_CLUSTER)).header("x-burst"), Some(NGSA_1));
    world.api.faults.clear();
    works_again(&world, &proxy, &mut main, &[HPAS]);
}

fn a_server_that_is_away_is_outlived(version: Version) {
    let mut world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, listing(json!({})));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    world.refuse_connections();
    let all = [HPAS, SERVICES, DEPLOYMENTS, STATEFULSETS];
    proxy.wait_for_stat("burst_poll_unreachable_total", |count| count >= 2 * all.len() as u64);
    for resource in all {
        let line = only_complaint(&proxy, resource);
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
        .listener("main", listing(json!({"page_size": 8})));
    let proxy = setup.start(&world);
    let mut main = proxy.client("main");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    // Five HPAs: more than fits in one page or in four of them, but not in two.
    world.api.faults.inject(HPAS, Fault::Padding { bytes: 20_000 });
    works_again(&world, &proxy, &mut main, &[HPAS]);
    assert!(only_complaint(&proxy, HPAS).ends_with("; smaller pages are tried; a smaller `page_size` saves that"));
    assert_eq!(proxy.wait_for_stat("burst_poll_cut_total", |count| count >= 2), 2);
    let asked = world.api.requests.entries();
    let last = asked.iter().rfind(|seen| seen.resource == HPAS).expect("a request");
    assert!(last.query.starts_with("limit=2"), "{last:?}");
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
