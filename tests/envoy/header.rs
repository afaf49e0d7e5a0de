//! The settings of the header: the upstream's own header, the gate, the name and the value.

use burst_testkit::{
    Version,
    filter::{Backend, ITS_OWN, NGSA_1, NGSA_1_CLUSTER, Proxy, WITH_BURST},
    http::{Answer, Request},
};
use serde_json::json;

on_each_envoy!(
    the_upstreams_own_header_is_replaced_or_removed_unless_it_is_kept,
    a_gate_limits_the_header_to_requests_that_ask_for_it,
    name_value_and_extra_keys_are_configurable,
);

fn values<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    let named = answer.headers.iter().filter(|(header, _)| header == name);
    named.map(|(_, value)| value.as_str()).collect()
}

fn the_upstreams_own_header_is_replaced_or_removed_unless_it_is_kept(version: Version) {
    let backend = Backend::sample();
    let proxy = Proxy::of(version)
        .listener("main", json!({}))
        .listener("kept", json!({"header": {"upstream": "keep"}}))
        .start(&backend);
    let asked = |listener: &str, rows: [(&str, &str, &[&str]); 3]| {
        let mut client = proxy.client(listener);
        client.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
        for (path, cluster, found) in rows {
            let answer = client.ask(&Request::get(path).through(cluster));
            assert_eq!(values(&answer, "x-burst"), found, "{listener}: {path} of {cluster}");
        }
    };
    asked(
        "main",
        [
            ("/", NGSA_1_CLUSTER, &[NGSA_1]),
            (WITH_BURST, NGSA_1_CLUSTER, &[NGSA_1]),
            (WITH_BURST, "elsewhere", &[]),
        ],
    );
    asked(
        "kept",
        [
            ("/", NGSA_1_CLUSTER, &[NGSA_1]),
            (WITH_BURST, NGSA_1_CLUSTER, &[ITS_OWN]),
            (WITH_BURST, "elsewhere", &[ITS_OWN]),
        ],
    );
    proxy.wait_for_stat("burst_header_upstream_kept_total", |count| count == 4);
}

fn a_gate_limits_the_header_to_requests_that_ask_for_it(version: Version) {
    let backend = Backend::sample();
    let prober = json!({"header": {"when": {"request_header": "User-Agent", "prefix": "HealthCheck"}}});
    let proxy = Proxy::of(version)
        .listener("prober", prober)
        .listener("asked", json!({"header": {"when": {"request_header": "x-want-burst"}}}))
        .start(&backend);
    let (mut prober, mut asked) = (proxy.client("prober"), proxy.client("asked"));
    let request = |path| Request::get(path).through(NGSA_1_CLUSTER);
    let probe = request("/").header("user-agent", "HealthCheck/1.0");
    prober.wait_for_header(&probe, Some(NGSA_1));
    asked.wait_for_header(&request("/").header("x-want-burst", ""), Some(NGSA_1));
    let gated = "burst_header_gated_total";
    assert_eq!(proxy.stat(gated), 0);
    for others in [
        request("/"),
        request("/").header("user-agent", "curl/8 HealthCheck"),
        request("/").header("user-agent", "healthcheck"),
        request("/").header("user-agent", b"\xff\xfeHealthCheck"),
        request(WITH_BURST),
    ] {
        let answer = prober.ask(&others);
        assert_eq!((answer.status, answer.header("x-burst")), (200, None), "{others:?}");
    }
    assert_eq!(asked.ask(&probe).header("x-burst"), None, "another gate");
    proxy.wait_for_stat(gated, |count| count == 12);
    let any = request("/").header("x-want-burst", b"\xff");
    assert_eq!(
        asked.ask(&any).header("x-burst"),
        Some(NGSA_1),
        "present, whatever its bytes"
    );
}

fn name_value_and_extra_keys_are_configurable(version: Version) {
    const CONSTANT: &str = "service=x, current-load=1, target-load=2, max-load=3";
    let backend = Backend::sample();
    let proxy = Proxy::of(version)
        .listener("named", json!({"header": {"name": "X-Load-Feedback"}}))
        .listener("constant", json!({"header": {"value": CONSTANT}}))
        .listener("dated", json!({"header": {"extra_keys": ["as-of", "stale"]}}))
        .start(&backend);
    let mut named = proxy.client("named");
    let request = Request::to(NGSA_1_CLUSTER);
    named.wait(&request, "the header of another name", |answer| {
        answer.header("x-load-feedback") == Some(NGSA_1)
    });
    let answer = named.ask(&Request::get(WITH_BURST).through(NGSA_1_CLUSTER));
    assert_eq!(values(&answer, "x-load-feedback"), [NGSA_1]);
    assert_eq!(values(&answer, "x-burst"), [ITS_OWN], "no header of ours any more");

    let mut constant = proxy.client("constant");
    constant.wait_for_header(&request, Some(CONSTANT));
    assert_eq!(
        constant.ask(&Request::to("elsewhere")).header("x-burst"),
        None,
        "only where there is a Service"
    );

    let mut dated = proxy.client("dated");
    dated.wait(&request, "the time of the read", |answer| {
        answer.header("x-burst").is_some_and(is_recent)
    });
}

/// Whether a value with `as-of` and `stale` is from the last minute.
fn is_recent(value: &str) -> bool {
    let rest = value
        .strip_prefix(NGSA_1)
        .and_then(|rest| rest.strip_prefix(", as-of="));
    let as_of = rest.and_then(|rest| rest.strip_suffix(", stale=false")?.parse::<u64>().ok());
    let now = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970").as_secs();
    as_of.is_some_and(|as_of| now.abs_diff(as_of) < 60)
}
