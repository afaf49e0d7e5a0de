//! The order of events when the filter is an upstream filter of the cluster that it calls.
//!
//! Measured on Envoy 1.36.2 and 1.40.0. The SDK's dispatcher cannot be called again within a callback, so this probe has
//! exports of its own.

use super::{counted, logged};
use crate::host::{Answer, ChunkedBody, FakeEnvoy, Module, Response, UpstreamFilter, Vm};
use log::info;
use proxy_wasm::hostcalls::{self, get_map_value_bytes};
use proxy_wasm::types::{Action, BufferType, LogLevel, MapType};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

const PROBE: Module = Module {
    initialize,
    context_create,
    vm_start: None,
    configure,
    tick,
    queue_ready,
    http_call_response,
    request_headers: Some(request_headers),
    response_headers,
    response_body: Some(response_body),
    delete: Some(delete),
    has_sdk_callbacks: false,
    check_line: |_| {},
};

thread_local! {
    /// The open streams, with the paths of their requests.
    static STREAMS: RefCell<Vec<(u32, String)>> = const { RefCell::new(Vec::new()) };
}

extern "C" fn initialize() {
    proxy_wasm::set_log_level(LogLevel::Info);
}

extern "C" fn context_create(context: u32, root: u32) {
    if root == 0 {
        return info!("root {context}");
    }
    STREAMS.with_borrow_mut(|streams| streams.push((context, String::new())));
    info!("stream {context} of root {root}");
}

extern "C" fn configure(_: u32, _: usize) -> bool {
    hostcalls::set_tick_period(60 * SECOND).is_ok()
}

extern "C" fn tick(root: u32) {
    info!("tick of root {root}");
}

extern "C" fn queue_ready(_: u32, _: u32) {}

extern "C" fn request_headers(stream: u32, _: usize, _: bool) -> Action {
    let path = header(MapType::HttpRequestHeaders, ":path");
    info!("{stream}: request {path}");
    hostcalls::set_map_value_bytes(
        MapType::HttpRequestHeaders,
        ":path",
        Some(format!("{path}/changed").as_bytes()),
    )
    .unwrap();
    if path == "/close-at-once" {
        hostcalls::reset_http_response().unwrap();
    }
    STREAMS.with_borrow_mut(|streams| streams.last_mut().unwrap().1 = path);
    Action::Continue
}

extern "C" fn response_headers(stream: u32, _: usize, end_of_stream: bool) -> Action {
    let status = header(MapType::HttpResponseHeaders, ":status");
    info!("{stream}: headers {status}{}", the_end(end_of_stream));
    Action::Continue
}

extern "C" fn response_body(stream: u32, size: usize, end_of_stream: bool) -> Action {
    let body = hostcalls::get_buffer(BufferType::HttpResponseBody, 0, size).unwrap();
    let text = String::from_utf8(body.unwrap_or_default()).unwrap();
    info!("{stream}: body {size} {text:?}{}", the_end(end_of_stream));
    if path_of(stream) != "/keep" {
        hostcalls::set_buffer(BufferType::HttpResponseBody, 0, size, b"").unwrap();
    }
    if path_of(stream) == "/close" {
        close(stream, stream);
        info!("{stream}: closed");
    }
    Action::Continue
}

extern "C" fn http_call_response(root: u32, _: u32, headers: usize, size: usize, _: usize) {
    let body = hostcalls::get_buffer(BufferType::HttpCallResponseBody, 0, size);
    let body = body.ok().flatten().unwrap_or_default();
    info!(
        "root {root}: answer, {headers} headers, {:?}",
        String::from_utf8(body).unwrap()
    );
}

extern "C" fn delete(context: u32) {
    STREAMS.with_borrow_mut(|streams| streams.retain(|(stream, _)| *stream != context));
    info!("deleted {context}");
}

fn header(map: MapType, name: &str) -> String {
    super::text(get_map_value_bytes(map, name).unwrap().unwrap())
}

fn the_end(end_of_stream: bool) -> &'static str {
    if end_of_stream { ", end" } else { "" }
}

fn path_of(stream: u32) -> String {
    STREAMS.with_borrow(|streams| streams.iter().find(|(id, _)| *id == stream).unwrap().1.clone())
}

fn call(path: &str) {
    let headers = vec![(":method", "GET"), (":path", path), (":authority", "kube.test")];
    hostcalls::dispatch_http_call("kube", headers, None, vec![], 10 * SECOND).unwrap();
    info!("called");
}

/// Resets a stream from the callback of another context.
fn close(stream: u32, current: u32) {
    hostcalls::set_effective_context(stream).unwrap();
    hostcalls::reset_http_response().unwrap();
    hostcalls::set_effective_context(current).unwrap();
}

/// Runs code in the root context. Returns whether the VM is gone then.
fn hang(worker: &Vm, code: impl FnOnce() + Send + 'static) -> bool {
    catch_unwind(AssertUnwindSafe(|| worker.inside(code))).is_err()
}

fn envoy(filter: UpstreamFilter) -> (FakeEnvoy, Vm) {
    let envoy = FakeEnvoy::new(PROBE).cluster("kube").upstream_filter("kube", filter);
    let worker = envoy.worker();
    (envoy, worker)
}

/// A worker that has sent a callout: root context 1, stream 2.
fn called(path: &'static str) -> (FakeEnvoy, Vm) {
    let (envoy, worker) = envoy(UpstreamFilter::SharedRoot);
    worker.inside(move || call(path));
    (envoy, worker)
}

/// What was logged since the last callout was sent.
fn since_call(envoy: &FakeEnvoy) -> Vec<String> {
    let lines = logged(envoy);
    let call = lines.iter().rposition(|line| line == "called").unwrap();
    lines[call + 1..].to_vec()
}

/// Answers the oldest callout with headers, and with a body that the test sends.
fn respond(worker: &Vm) -> ChunkedBody {
    let body = ChunkedBody::default();
    worker.reply(&worker.callouts()[0], Answer::Chunked(Response::ok(), body.clone()));
    body
}

#[test]
fn the_request_passes_inside_the_call_and_reaches_the_server_as_changed() {
    let (envoy, worker) = called("/keep");
    let lines = logged(&envoy);
    assert_eq!(
        lines[lines.len() - 3..],
        ["stream 2 of root 1", "2: request /keep", "called"]
    );
    assert_eq!(worker.callouts()[0].path(), "/keep/changed");
}

#[test]
fn after_the_call_the_caller_is_the_effective_context_again() {
    let (envoy, worker) = envoy(UpstreamFilter::SharedRoot);
    worker.inside(|| {
        call("/keep");
        hostcalls::set_tick_period(7 * SECOND).unwrap();
        assert_eq!(hostcalls::get_map_bytes(MapType::HttpRequestHeaders), Ok(vec![]));
    });
    assert_eq!(worker.tick_period(worker.root()), Some(7 * SECOND));
    assert!(worker.alive(), "{:?}", logged(&envoy));
}

#[test]
fn each_chunk_is_seen_as_it_comes_and_the_caller_gets_what_is_left() {
    for (path, left) in [("/keep", "onetwo"), ("/empty", "")] {
        let (envoy, worker) = called(path);
        let body = respond(&worker);
        body.send("one");
        worker.receive();
        assert_eq!(since_call(&envoy), ["2: headers 200", r#"2: body 3 "one""#]);
        body.send("two").end();
        worker.receive();
        assert_eq!(
            since_call(&envoy)[2..],
            [
                r#"2: body 3 "two""#,
                r#"2: body 0 "", end"#,
                "deleted 2",
                &format!("root 1: answer, 1 headers, {left:?}"),
            ]
        );
        assert!(!body.is_received());
    }
}

#[test]
fn a_whole_body_is_followed_by_an_empty_end_and_no_body_is_an_end_of_the_headers() {
    let rows = [
        (
            "{}",
            vec!["2: headers 200", r#"2: body 2 "{}""#, r#"2: body 0 "", end"#],
        ),
        ("", vec!["2: headers 200, end"]),
    ];
    for (body, seen) in rows {
        let (envoy, worker) = called("/keep");
        worker.reply(&worker.callouts()[0], Response::ok().body(body));
        let answer = format!("root 1: answer, 1 headers, {body:?}");
        assert_eq!(since_call(&envoy), [&seen[..], &["deleted 2", &answer]].concat());
    }
}

#[test]
fn a_stream_that_the_filter_closes_ends_after_the_callback_and_after_its_answer() {
    let (envoy, worker) = called("/close");
    let body = respond(&worker);
    body.send("one").send("two");
    worker.receive();
    assert_eq!(
        since_call(&envoy)[1..],
        [
            r#"2: body 3 "one""#,
            "2: closed",
            r#"root 1: answer, 0 headers, """#,
            "deleted 2"
        ]
    );
    assert!(!body.is_received() && worker.callouts().is_empty());
}

#[test]
fn streams_closed_in_one_callback_are_deleted_after_all_answers() {
    let (envoy, worker) = called("/keep");
    worker.inside(|| call("/keep"));
    worker.inside(|| {
        close(2, 1);
        close(3, 1);
        info!("closed");
    });
    assert_eq!(
        since_call(&envoy),
        [
            "closed",
            r#"root 1: answer, 0 headers, """#,
            r#"root 1: answer, 0 headers, """#,
            "deleted 3",
            "deleted 2"
        ]
    );
}

#[test]
fn a_stream_that_the_server_or_envoy_ends_is_deleted_before_its_answer() {
    type Ending = fn(&FakeEnvoy, &Vm);
    let endings: [(Ending, &str); 5] = [
        (
            |_, worker| {
                respond(worker).send("one").reset();
                worker.receive();
            },
            r#"0 headers, """#,
        ),
        (
            |envoy, worker| {
                respond(worker);
                envoy.advance(10 * SECOND);
            },
            r#"0 headers, """#,
        ),
        (
            |envoy, _| {
                envoy.advance(10 * SECOND);
            },
            r#"3 headers, "upstream request timeout""#,
        ),
        (
            |_, worker| {
                worker.reply(&worker.callouts()[0], Answer::Unreachable);
            },
            r#"3 headers, "upstream connect error or disconnect/reset before headers. reset reason: remote connection failure""#,
        ),
        (
            |_, worker| {
                worker.reply(&worker.callouts()[0], Response::ok().body(vec![b'x'; 33 << 20]));
            },
            r#"0 headers, """#,
        ),
    ];
    for (end, answer) in endings {
        let (envoy, worker) = called("/keep");
        end(&envoy, &worker);
        let lines = logged(&envoy);
        assert_eq!(
            lines[lines.len() - 2..],
            ["deleted 2", &format!("root 1: answer, {answer}")]
        );
    }
}

#[test]
fn a_callout_after_a_close_hangs_envoy_and_one_before_does_not() {
    let (envoy, worker) = called("/keep");
    worker.inside(|| {
        call("/keep");
        close(2, 1);
    });
    assert_eq!((worker.alive(), worker.callouts().len()), (true, 1));
    let (hung, other) = called("/keep");
    let has_hung = hang(&other, || {
        close(2, 1);
        call("/keep");
    });
    assert!(has_hung && !other.alive());
    assert_eq!((counted(&hung, "Envoy hangs"), counted(&envoy, "Envoy hangs")), (1, 0));
}

#[test]
fn a_close_inside_the_call_hangs_envoy() {
    let (envoy, worker) = envoy(UpstreamFilter::SharedRoot);
    assert!(hang(&worker, || call("/close-at-once")) && !worker.alive());
    assert_eq!(counted(&envoy, "Envoy hangs"), 1);
}

#[test]
fn the_filter_of_the_cluster_may_have_a_root_context_of_its_own_or_another_vm() {
    let rows = [
        (UpstreamFilter::SharedRoot, 1, Some("stream 2 of root 1")),
        (UpstreamFilter::OwnRootFirst, 2, Some("stream 3 of root 1")),
        (UpstreamFilter::OwnRootLast, 2, Some("stream 3 of root 2")),
        (UpstreamFilter::OtherVm, 1, None),
    ];
    for (filter, roots, stream) in rows {
        let (envoy, worker) = envoy(filter);
        worker.tick().inside(|| call("/keep"));
        assert_eq!(counted(&envoy, "tick of root"), roots, "{filter:?}");
        let lines = logged(&envoy);
        let created = lines.iter().find(|line| line.starts_with("stream"));
        assert_eq!(created.map(String::as_str), stream, "{filter:?}");
        worker.reply(&worker.callouts()[0], Response::ok().body("x"));
        assert_eq!(counted(&envoy, r#"answer, 1 headers, "x""#), 1, "{filter:?}");
    }
}

#[test]
fn an_open_stream_keeps_the_root_context_of_a_replaced_configuration() {
    let (envoy, worker) = called("/keep");
    let body = respond(&worker);
    let old = worker.root();
    worker.configure("new").unwrap();
    worker.retire(old).tick();
    assert_eq!((counted(&envoy, "deleted"), counted(&envoy, "tick of root 1")), (0, 1));
    body.end();
    worker.receive();
    let lines = logged(&envoy);
    assert_eq!(
        lines[lines.len() - 3..],
        ["deleted 2", r#"root 1: answer, 1 headers, """#, "deleted 1"]
    );
}

#[test]
fn a_chunked_body_without_the_filter_is_answered_as_a_whole() {
    let envoy = FakeEnvoy::new(PROBE).cluster("kube");
    let worker = envoy.worker();
    worker.inside(|| call("/keep"));
    let body = respond(&worker);
    body.send("one").send("two");
    worker.receive();
    assert_eq!(since_call(&envoy), [""; 0]);
    body.end();
    worker.receive();
    assert_eq!(since_call(&envoy), [r#"root 1: answer, 1 headers, "onetwo""#]);
}
