//! Bytes that are no text, where one would expect text: no VM may die of them.

use burst_testkit::Version;
use serde_json::json;

use burst_testkit::filter::{NGSA_1, NGSA_1_CLUSTER, Proxy, Request, World};

on_each_envoy!(bytes_that_are_no_text_are_harmless);

fn bytes_that_are_no_text_are_harmless(version: Version) {
    let world = World::sample();
    // Every setting that makes the filter read something of the request.
    let keys = json!({
        "header": {"when": {"request_header": "user-agent", "prefix": "HealthCheck"}},
        "endpoints": {"hosts": ["burst.test"]},
    });
    let (proxy, mut main) = Proxy::start(version, &world, keys);
    let probe = Request::to(NGSA_1_CLUSTER).header("user-agent", "HealthCheck/1.0");
    main.wait_for_header(&probe, Some(NGSA_1));
    let own = |path: &'static [u8]| Request::get(path).host("burst.test");
    for (request, statuses) in [
        (
            Request::to(NGSA_1_CLUSTER).header("user-agent", b"\xff\xfe\x80"),
            200..=200,
        ),
        (
            Request::to(NGSA_1_CLUSTER).header("user-agent", b"HealthCheck\xff"),
            200..=200,
        ),
        (own(b"/burstmetrics/services/%ff/%fe"), 400..=400),
        (
            own(b"/burstmetrics/services").header("if-none-match", b"\xff"),
            200..=200,
        ),
        // Envoy itself may refuse these, or hand them on.
        (own(b"/burstmetrics/services/\xff/\xfe"), 200..=499),
        (own(b"/burstmetrics/\xc3\x28"), 200..=499),
        (Request::get(b"/\xff\xfe").through(NGSA_1_CLUSTER), 200..=499),
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
    assert_eq!(proxy.envoy.log().matches("Uncaught").count(), 0, "a VM died");
}
