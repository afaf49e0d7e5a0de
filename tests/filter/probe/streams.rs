//! Requests and responses.

use super::{counted, envoy, last, logged};
use crate::host::{By, Request, Response, Route};
use proxy_wasm::hostcalls;
use proxy_wasm::types::{MapType, Status};

#[test]
fn an_upstream_response_passes_the_filter() {
    let envoy = envoy("");
    let upstream = Response::status(201)
        .header("x-probe", "upstream's")
        .header("x-probe", "twice")
        .body("made");
    let seen = envoy
        .worker()
        .request(Request::get("/"), Route::to("web").answering(upstream));
    assert_eq!((seen.by, seen.status(), seen.text()), (By::Upstream, 201, "made"));
    assert_eq!(
        seen.headers().all("x-probe").collect::<Vec<_>>(),
        [b"seen"],
        "replaced, both of them"
    );
    let phases = logged(&envoy)
        .split_off(2 * 2)
        .into_iter()
        .filter(|line| !line.contains(':'))
        .collect::<Vec<_>>();
    assert_eq!(
        phases,
        ["request headers 4 true", "passed ", "response body 4", "stream done"]
    );
}

#[test]
fn a_local_reply_of_the_filter_passes_the_filter_itself() {
    let envoy = envoy("");
    let seen = envoy
        .worker()
        .request(Request::get("/reply"), Route::istio("web", "shop"));
    assert_eq!((seen.by, seen.status(), seen.text()), (By::Filter, 200, "hello"));
    assert_eq!(seen.header("x-probe"), Some("seen"));
    assert_eq!(seen.header("x-from"), Some("filter"));
    assert_eq!(
        last(&envoy, "response xds.cluster_name: ").unwrap(),
        "outbound|80||web.shop.svc.cluster.local"
    );
    assert_eq!(counted(&envoy, "passed "), 1, "and the upstream is not asked");
}

#[test]
fn a_local_reply_gets_a_length_and_a_type_and_loses_both_when_empty() {
    let worker = envoy("").worker();
    let reply = |path| worker.request(Request::get(path), Route::to("web"));
    let about = |path| {
        let seen = reply(path);
        ["content-length", "content-type"].map(|name| seen.header(name).map(str::to_owned))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(about("/reply"), [some("5"), some("text/plain")]);
    assert_eq!(about("/reply/typed"), [some("2"), some("application/json")]);
    assert_eq!(about("/reply/empty"), [None, None]);
}

#[test]
fn a_local_reply_to_head_has_the_length_of_the_omitted_body() {
    let seen = envoy("")
        .worker()
        .request(Request::new("HEAD", "/reply"), Route::to("web"));
    assert_eq!((seen.body(), seen.header("content-length")), (&b""[..], Some("5")));
}

#[test]
fn a_local_reply_in_the_response_phase_replaces_the_response() {
    let envoy = envoy("");
    let upstream = Response::ok().header("x-replace", "1").body("lost");
    let seen = envoy
        .worker()
        .request(Request::get("/"), Route::to("web").answering(upstream));
    assert_eq!((seen.by, seen.status(), seen.body()), (By::Filter, 418, &b""[..]));
    assert_eq!(counted(&envoy, "passed "), 1, "without passing the filter again");
}

#[test]
fn envoys_own_replies_pass_the_filter() {
    let worker = envoy("").worker();
    let rows = [
        (Route::unknown_cluster(), 503, ""),
        (Route::istio("web", "shop").without_hosts(), 503, "no healthy upstream"),
        (Route::direct_response(Response::status(404).body("gone")), 404, "gone"),
    ];
    for (route, status, body) in rows {
        let message = format!("{route:?}");
        let seen = worker.request(Request::get("/"), route);
        assert_eq!(
            (seen.by, seen.status(), seen.text()),
            (By::Envoy, status, body),
            "{message}"
        );
        assert_eq!(seen.header("x-probe"), Some("seen"), "{message}");
    }
}

#[test]
fn header_values_are_bytes() {
    let envoy = envoy("");
    let worker = envoy.worker();
    let request = Request::get(b"/\xff").host(b"\xfe").header("user-agent", b"\xfd");
    let seen = worker.request(
        request,
        Route::to("web").answering(Response::ok().header("x-odd", b"\xfc")),
    );
    assert_eq!(seen.header_bytes("x-odd"), Some(&b"\xfc"[..]));
    assert!(worker.alive());
}

#[test]
fn a_stream_may_wait_between_its_request_and_its_response() {
    let envoy = envoy("tick=1000");
    let worker = envoy.worker();
    let stream = worker.open(Request::new("POST", "/").body("data"), Route::to("web"));
    worker.tick();
    assert_eq!(stream.finish().header("x-probe"), Some("seen"));
    let order = logged(&envoy);
    let position = |text: &str| order.iter().position(|line| line.starts_with(text)).unwrap();
    assert!(position("request headers 4 false") < position("tick 1"));
    assert!(position("tick 1") < position("passed"));
}

#[test]
#[should_panic(expected = "holds the stream up")]
fn a_stream_that_the_filter_never_resumes_fails_the_test() {
    envoy("").worker().request(Request::get("/pause"), Route::to("web"));
}

#[test]
fn a_root_context_has_no_stream_to_read() {
    envoy("").worker().inside(|| {
        assert_eq!(hostcalls::get_map_bytes(MapType::HttpRequestHeaders), Ok(vec![]));
        assert_eq!(hostcalls::get_property(vec!["xds", "cluster_name"]), Ok(None));
        assert_eq!(hostcalls::call_foreign_function("clear_route_cache", None), Ok(None));
        assert_eq!(hostcalls::call_foreign_function("no_such", None), Err(Status::NotFound));
    });
}
