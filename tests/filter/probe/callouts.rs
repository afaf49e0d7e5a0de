//! HTTP callouts and their ends.

use super::{counted, envoy, last, logged, paths};
use crate::host::{Answer, FakeEnvoy, Response, Vm};
use proxy_wasm::hostcalls::{self, dispatch_http_call};
use proxy_wasm::types::{MapType, Status};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A worker whose tick calls `/1`, `/2` and so on, with a timeout of ten seconds.
fn caller() -> (FakeEnvoy, Vm) {
    let envoy = envoy("tick=60000 call");
    let worker = envoy.worker();
    (envoy, worker)
}

/// The log lines of the probe for the end of its callout: sizes, body, `get_grpc_status`.
fn ending(answer: impl Into<Answer>) -> [String; 3] {
    let (envoy, worker) = caller();
    worker.tick();
    worker.reply(&worker.callouts()[0], answer);
    ["answer: ", "answer body: ", "answer status: "].map(|beginning| last(&envoy, beginning).unwrap())
}

#[test]
fn a_callout_is_pending_until_it_is_answered() {
    let (envoy, worker) = caller();
    worker.tick();
    let callout = worker.callouts().remove(0);
    assert_eq!(
        (callout.method(), callout.path(), callout.authority()),
        ("GET", "/1", "kube.test")
    );
    assert_eq!((callout.cluster.as_str(), callout.timeout), ("kube", Some(10 * SECOND)));
    assert_eq!(
        callout.headers.first("x-envoy-expected-rq-timeout-ms"),
        Some(&b"10000"[..])
    );
    assert_eq!(callout.body, b"");
    worker.reply(&callout, Response::json("{}").trailer("x-end", "1"));
    assert_eq!(
        last(&envoy, "answer: ").unwrap(),
        r#"2 headers, 2 bytes, 1 trailers, Some("200")"#
    );
    assert!(worker.callouts().is_empty());
}

#[test]
fn failures_before_the_headers_arrive_as_synthetic_responses() {
    let reset = "upstream connect error or disconnect/reset before headers. reset reason:";
    let many = (0..100).fold(Response::ok(), |response, n| response.header(&format!("x-{n}"), ""));
    let rows = [
        (Answer::Unreachable, "503", format!("{reset} remote connection failure")),
        (Answer::ProtocolError, "502", format!("{reset} protocol error")),
        (many.into(), "502", format!("{reset} protocol error")),
        (Answer::Timeout, "504", "upstream request timeout".to_owned()),
    ];
    for (answer, status, body) in rows {
        let message = format!("{answer:?}");
        let sizes = format!("3 headers, {} bytes, 0 trailers, Some({status:?})", body.len());
        assert_eq!(ending(answer), [sizes, body, "0 ".to_owned()], "{message}");
    }
}

#[test]
fn failures_after_the_headers_arrive_as_an_empty_response_with_a_grpc_status() {
    assert_eq!(
        ending(Answer::Reset),
        ["0 headers, 0 bytes, 0 trailers, None", "", "11 reset"]
    );
}

#[test]
fn the_grpc_status_of_a_reset_callout_is_visible_in_the_next_one() {
    let (envoy, worker) = caller();
    worker.tick().reply(&worker.callouts()[0], Answer::Reset);
    worker.tick().reply(&worker.callouts()[0], Response::ok());
    assert_eq!(last(&envoy, "answer status: ").unwrap(), "11 ", "without its text");
}

#[test]
fn a_body_over_the_limit_is_dropped_entirely() {
    let envoy = envoy("tick=60000 call").body_limit(10);
    let worker = envoy.worker();
    worker
        .tick()
        .reply(&worker.callouts()[0], Response::ok().body("0123456789"));
    assert_eq!(last(&envoy, "answer body: ").unwrap(), "0123456789");
    worker
        .tick()
        .reply(&worker.callouts()[0], Response::ok().body("0123456789A"));
    assert_eq!(
        last(&envoy, "answer: ").unwrap(),
        "0 headers, 0 bytes, 0 trailers, None"
    );
}

#[test]
fn reading_a_header_of_an_empty_response_traps_in_the_sdk() {
    let envoy = envoy("tick=60000 call reads-missing-header");
    let worker = envoy.worker();
    worker.tick().reply(&worker.callouts()[0], Answer::Reset);
    assert!(!worker.alive());
    assert!(
        envoy.log().last().unwrap().text.contains("unexpected status: 2"),
        "{:?}",
        logged(&envoy)
    );
}

#[test]
fn an_answer_can_be_read_only_in_its_callback() {
    let (_envoy, worker) = caller();
    worker.tick().reply(&worker.callouts()[0], Response::json("{}"));
    assert_eq!(
        worker.inside(|| hostcalls::get_map_bytes(MapType::HttpCallResponseHeaders)),
        Ok(vec![])
    );
}

#[test]
fn a_callout_to_an_unknown_cluster_is_refused_at_once() {
    let envoy = envoy("").cluster_without_hosts("empty");
    let worker = envoy.worker();
    let whole = vec![(":method", "GET"), (":path", "/"), (":authority", "a")];
    let call = move |cluster, headers: Vec<(&'static str, &'static str)>, timeout| {
        move || dispatch_http_call(cluster, headers, None, vec![], timeout)
    };
    assert_eq!(
        worker.inside(call("unknown", whole.clone(), SECOND)),
        Err(Status::BadArgument)
    );
    assert_eq!(
        worker.inside(call("empty", whole.clone(), SECOND)),
        Err(Status::InternalFailure)
    );
    assert_eq!(
        worker.inside(call("kube", whole[1..].to_vec(), SECOND)),
        Err(Status::BadArgument),
        "no method"
    );
    let negative = Duration::from_millis(1 << 31);
    assert_eq!(
        worker.inside(call("kube", whole.clone(), negative)),
        Err(Status::BadArgument)
    );
    assert!(worker.callouts().is_empty());
    worker.inside(call("kube", whole, Duration::ZERO)).unwrap();
    envoy.advance(1000 * SECOND);
    assert_eq!(worker.callouts().len(), 1, "a timeout of zero never ends");
}

#[test]
fn a_callout_times_out_when_the_clock_passes_its_timeout() {
    let (envoy, worker) = caller();
    worker.tick();
    envoy.advance(9 * SECOND);
    assert_eq!(paths(&worker), ["/1"]);
    envoy.advance(SECOND);
    assert_eq!(last(&envoy, "answer body: ").unwrap(), "upstream request timeout");
    assert!(worker.callouts().is_empty());
}

#[test]
fn a_stub_answers_before_time_passes() {
    let envoy = envoy("tick=1000 call").kube(|callout| Response::ok().body(callout.path()));
    let worker = envoy.worker();
    worker.tick().answer();
    assert_eq!(last(&envoy, "answer body: ").unwrap(), "/1");
    envoy.advance(3 * SECOND);
    assert_eq!(last(&envoy, "answer body: ").unwrap(), "/4");
    worker.tick();
    assert_eq!(paths(&worker), ["/5"]);
    envoy.answer();
    assert!(worker.callouts().is_empty());

    let envoy = envoy.kube(|_| Answer::Never);
    worker.tick();
    envoy.advance(10 * SECOND);
    assert_eq!(last(&envoy, "answer body: ").unwrap(), "upstream request timeout");
}

#[test]
#[should_panic(expected = "with the next callout")]
fn a_filter_that_calls_out_in_a_loop_fails_the_test() {
    let envoy = envoy("tick=1000 call calls-again").kube(|_| Response::status(503));
    envoy.worker().tick().answer();
}

#[test]
fn callouts_of_a_killed_vm_are_dropped() {
    let (envoy, worker) = caller();
    worker.tick();
    let callout = worker.callouts().remove(0);
    worker.kill();
    worker.reply(&callout, Response::ok());
    envoy.advance(60 * SECOND);
    assert_eq!((worker.callouts().len(), counted(&envoy, "answer")), (0, 0));
}
