//! Requests with bytes that are not UTF-8: they trap no VM.

use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, Proxy},
    http::{self, Request},
};
use serde_json::json;

/// The default number of workers of a proxy.
const WORKERS: usize = 2;

on_each_envoy!(bytes_that_are_not_utf8_trap_no_vm);

fn bytes_that_are_not_utf8_trap_no_vm(version: Version) {
    let backend = Backend::sample();
    // Every setting that makes the filter read a part of the request.
    let keys = json!({
        "header": {"when": {"request_header": "user-agent", "prefix": "HealthCheck"}},
        "endpoints": {"hosts": ["burst.test"]},
    });
    let (proxy, mut main) = Proxy::start(version, &backend, keys);
    let probe = Request::to(NGSA_1_CLUSTER).header("user-agent", "HealthCheck/1.0");
    main.wait_for_header(&probe, Some(NGSA_1));
    let own = |path: &str| Request::get(path).host("burst.test");
    for (request, statuses) in [
        (
            Request::to(NGSA_1_CLUSTER).header("user-agent", b"\xff\xfe\x80"),
            200..=200,
        ),
        (
            Request::to(NGSA_1_CLUSTER).header("user-agent", b"HealthCheck\xff"),
            200..=200,
        ),
        (own("/burstmetrics/services/%ff/%fe"), 400..=400),
        (
            own("/burstmetrics/services").header("if-none-match", b"\xff"),
            200..=200,
        ),
        // Envoy itself may refuse these or forward them.
        (Request::get("/burstmetrics/services").host(b"\xff.test"), 200..=503),
        (
            Request::get("/burstmetrics/services").host(b"burst.test:\xff"),
            200..=503,
        ),
    ] {
        for answer in main.ask_each(&request) {
            assert!(statuses.contains(&answer.status), "{request:?}: {answer:?}");
        }
        assert_eq!(main.ask(&probe).header("x-burst"), Some(NGSA_1), "after {request:?}");
    }
    // The HTTP library writes no path that is not UTF-8. Envoy itself may refuse it or forward it.
    let paths: [&[u8]; 3] = [
        b"/burstmetrics/services/\xff/\xfe",
        b"/burstmetrics/\xc3\x28",
        b"/\xff\xfe",
    ];
    for path in paths {
        let head = format!(" HTTP/1.1\r\nhost: burst.test\r\nx-to: {NGSA_1_CLUSTER}\r\nconnection: close\r\n\r\n");
        let request = [b"GET ", path, head.as_bytes()].concat();
        for answer in http::raw_at_once(proxy.envoy.listener("main"), &request, WORKERS).expect("answers") {
            let answer = String::from_utf8_lossy(&answer);
            let status: Option<u16> = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
            assert!(
                status.is_some_and(|status| (200..=499).contains(&status)),
                "{path:?}: {answer}"
            );
        }
        assert_eq!(main.ask(&probe).header("x-burst"), Some(NGSA_1), "after {path:?}");
    }
    assert_eq!(proxy.envoy.log().matches("Uncaught").count(), 0, "a VM died");
}
