//! Methods and paths outside the specification.

use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, Proxy},
    http::{Answer, Request},
};
use serde_json::json;

use super::{TEXT, essence, synced};

on_each_envoy!(
    refused_methods_and_paths_get_a_status_and_a_reason,
    head_is_get_without_a_body,
    no_path_encoding_reaches_what_the_plain_path_does_not,
);

fn refused_methods_and_paths_get_a_status_and_a_reason(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, json!({}));
    synced(&mut main);
    let long = format!("/burstmetrics/services/default/{}", "a".repeat(3000));
    for (method, path, status) in [
        ("GET", "/burstmetrics/pods", 404),
        ("POST", "/burstmetrics/pods", 404),
        ("GET", "/burstmetrics", 404),
        ("GET", "/burstmetrics/", 404),
        ("GET", "/burstmetrics//services", 404),
        ("GET", "/burstmetrics/services//", 404),
        ("GET", "/burstmetrics/services//ngsa-svc-1", 404),
        ("GET", "/burstmetrics/services/default", 404),
        ("GET", "/burstmetrics/services/default/ngsa-svc-1/x", 404),
        ("GET", "/burstmetrics/%ff", 400),
        ("GET", &long, 414),
        ("POST", "/burstmetrics/services", 405),
        ("PUT", "/burstmetrics/services/default/ngsa-svc-1", 405),
        ("DELETE", "/burstmetrics/services", 405),
        ("OPTIONS", "/burstmetrics/services", 405),
    ] {
        let answer = main.ask(&Request::of(method, path).through(NGSA_1_CLUSTER));
        let (found, content_type, body) = essence(&answer);
        assert_eq!((found, content_type), (status, Some(TEXT)), "{method} {path}");
        assert!(body.ends_with('\n'), "{method} {path}: {body:?}");
        assert_eq!(
            answer.header("allow"),
            (status == 405).then_some("GET, HEAD"),
            "{method} {path}"
        );
    }
    for (status, count) in [(404, 9 * 2), (400, 2), (414, 2), (405, 4 * 2)] {
        proxy.wait_for_stat(&format!("burst_reply_{status}_total"), |counted| counted == count);
    }
    for path in [
        "/burstmetrics/serv%69ces/defa%75lt/ngsa-svc-1",
        "/burstmetrics/services/default/ngsa-svc-1?watch=1&x=/a/b",
    ] {
        assert_eq!(
            essence(&main.ask(&Request::get(path))),
            (200, Some(TEXT), NGSA_1),
            "{path}"
        );
    }
    // An escaped slash does not separate segments, so no Service has this name.
    let escaped = main.ask(&Request::get("/burstmetrics/services/default/ngsa-svc-1%2F"));
    assert_eq!(essence(&escaped), (204, None, ""));
    let beside = main.ask(&Request::get("/burstmetricsx").through(NGSA_1_CLUSTER));
    assert_eq!(
        (beside.body.as_str(), beside.header("x-burst")),
        ("hello\n", Some(NGSA_1)),
        "not our path"
    );
}

fn head_is_get_without_a_body(version: Version) {
    let backend = Backend::sample();
    let (_proxy, mut main) = Proxy::start(version, &backend, json!({}));
    synced(&mut main);
    for path in [
        "/burstmetrics/services",
        "/burstmetrics/services/default/ngsa-svc-1",
        "/burstmetrics/services/default/nothing",
        "/burstmetrics/pods",
    ] {
        let (get, head) = (main.ask(&Request::get(path)), main.ask(&Request::of("HEAD", path)));
        assert_eq!(head.body, "", "{path}");
        assert_eq!((head.status, timeless(&head)), (get.status, timeless(&get)), "{path}");
    }
}

/// A sample of the table in `burst-model`, as Envoy forwards it: with and without Envoy's own path normalization.
fn no_path_encoding_reaches_what_the_plain_path_does_not(version: Version) {
    let backend = Backend::sample();
    let keys = json!({"endpoints": {"hosts": ["burst.test"]}});
    let (_proxy, mut main) = Proxy::start(version, &backend, keys);
    let own = |path: &str| Request::get(path).through(NGSA_1_CLUSTER).host("burst.test");
    main.wait(&own("/burstmetrics/services"), "the first read", |answer| {
        answer.status == 200
    });
    for path in [
        "//burstmetrics/services",
        "/./burstmetrics/services",
        "/x/../burstmetrics/services",
        "/BurstMetrics/services",
        "/%62urstmetrics/services",
        "/burstmetrics%2fservices",
        "/burstmetrics;a=b/services",
        "/burstmetrics%5cservices",
        "/%c0%afburstmetrics/services",
        "http://other.test/burstmetrics/services",
    ] {
        let answer = main.ask(&own(path));
        assert_eq!((answer.status, answer.body.as_str()), (200, "hello\n"), "{path}");
    }
    for path in [
        "/burstmetrics/./services",
        "/burstmetrics/x/../services",
        "/burstmetrics/%2e%2e/burstmetrics/services",
        "/burstmetrics//services",
        "/burstmetrics/services;x",
        "/burstmetrics/SERVICES",
        "/burstmetrics/services/default%2fngsa-svc-1",
        "/burstmetrics/services/%c1%9c/x",
        "http://burst.test/burstmetrics/./services",
    ] {
        let answer = main.ask(&own(path));
        let is_refused = matches!(answer.status, 400 | 404);
        assert!(is_refused && answer.header("x-burst").is_none(), "{path}: {answer:?}");
    }
    for (host, is_own) in [("BURST.test:80", true), ("burst.test.", false), ("a@burst.test", false)] {
        for answer in main.ask_each(&own("/burstmetrics/services").host(host)) {
            let rows = answer.body.contains("current-load=");
            assert_eq!(rows, is_own, "{host}: {answer:?}");
        }
    }
    let absolute = main.ask(&own("http://burst.test/burstmetrics/services").host("other.test"));
    assert_eq!(absolute.status, 200, "the host of the path counts, as in RFC 9112");
}

/// The headers, without the values of those that contain a time.
fn timeless(answer: &Answer) -> Vec<(&str, &str)> {
    let headers = answer
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    headers
        .map(|(name, value)| match name {
            "date" | "x-burst-confirmed" => (name, ""),
            _ => (name, value),
        })
        .collect()
}
