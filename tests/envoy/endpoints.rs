//! `/burstmetrics`, as seed 000 has it, answered by the proxy.

use burst_testkit::{Version, http::Answer};
use serde_json::json;

use crate::stage::{NGSA_1, NGSA_1_CLUSTER, Proxy, Request, World};

on_each_envoy!(
    the_seeds_examples_are_answered,
    methods_and_paths_that_are_not_answered_are_told_why,
    a_bulk_answer_has_a_tag_that_spares_its_body,
    hosts_prefix_and_the_switch_are_configuration,
    what_was_never_read_is_unavailable,
);

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";

const NGSA_2: &str = "service=ngsa/ngsa-2, current-load=2, target-load=4, max-load=6";
const QUEUE: &str = "service=data/queue, current-load=6, target-load=7, max-load=9";
const CHECKOUT: &str = "service=shop/checkout, current-load=6, target-load=10, max-load=13";

/// Waits until every worker answers with rows.
fn synced(client: &mut crate::stage::Client) {
    client.wait(&Request::get("/burstmetrics/services"), "the first read", |answer| {
        answer.status == 200
    });
}

/// Status, content type and body; and never a burst header.
fn essence(answer: &Answer) -> (u16, Option<&str>, &str) {
    assert_eq!(answer.header("x-burst"), None, "{answer:?}");
    (answer.status, answer.header("content-type"), &answer.body)
}

/// The bulk answer with these rows.
fn bulk(rows: &[(&str, &str)]) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(|(of, value)| format!("    \"{of}\": \"{value}\""))
        .collect();
    format!("{{\n{}\n}}\n", rows.join(",\n"))
}

fn the_seeds_examples_are_answered(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, json!({}));
    synced(&mut main);
    let services = [
        ("data/queue", QUEUE),
        ("default/ngsa-svc-1", NGSA_1),
        ("ngsa/ngsa-svc-2", NGSA_2),
        ("shop/checkout", CHECKOUT),
    ];
    let checkout = |track, numbers| format!("service=shop/checkout-{track}, {numbers}");
    let canary = checkout("canary", "current-load=2, target-load=2, max-load=3");
    let stable = checkout("stable", "current-load=4, target-load=8, max-load=10");
    let deployments = [
        ("default/ngsa-1", NGSA_1),
        ("ngsa/ngsa-2", NGSA_2),
        ("shop/checkout-canary", &canary),
        ("shop/checkout-stable", &stable),
    ];
    let hpas = [
        ("data/queue", QUEUE),
        ("default/ngsa-hpa-1", NGSA_1),
        ("ngsa/ngsa-hpa-2", NGSA_2),
        ("shop/checkout-canary", &canary),
        ("shop/checkout-stable", &stable),
    ];
    let text = |value: &str| (200, Some(TEXT), value.to_owned());
    let json = |rows: &[(&str, &str)]| (200, Some(JSON), bulk(rows));
    let nothing = || (204, None, String::new());
    for (path, expected) in [
        ("deployments/default/ngsa-1", text(NGSA_1)),
        ("services/default/ngsa-svc-1", text(NGSA_1)),
        ("services/ngsa/ngsa-svc-2", text(NGSA_2)),
        ("hpas/ngsa/ngsa-hpa-2", text(NGSA_2)),
        ("statefulsets/data/queue", text(QUEUE)),
        ("services", json(&services)),
        ("deployments", json(&deployments)),
        ("statefulsets", json(&[("data/queue", QUEUE)])),
        ("hpas", json(&hpas)),
        ("services/default/ngsa-non-existing", nothing()),
        ("deployments/data/queue", nothing()),
    ] {
        for path in [format!("/burstmetrics/{path}"), format!("/burstmetrics/{path}/")] {
            // Routed to a mapped service, were it not for the filter.
            let answer = main.ask(&Request::get(&path).through(NGSA_1_CLUSTER));
            let (status, content_type, body) = &expected;
            assert_eq!(essence(&answer), (*status, *content_type, body.as_str()), "{path}");
        }
    }
    for (hpa, _) in hpas {
        assert!(world.cluster.delete(burst_lab::cluster::HPAS, hpa));
    }
    main.wait(&Request::get("/burstmetrics/services"), "204 without HPAs", |answer| {
        answer.status == 204
    });
    proxy.wait_for_stat("burst_reply_200_total", |count| count >= 18);
    proxy.wait_for_stat("burst_reply_204_total", |count| count >= 4);
}

fn methods_and_paths_that_are_not_answered_are_told_why(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, json!({}));
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
    // An escaped slash is no border, and so there is no such name.
    let escaped = main.ask(&Request::get("/burstmetrics/services/default/ngsa-svc-1%2F"));
    assert_eq!(essence(&escaped), (204, None, ""));
    let beside = main.ask(&Request::get("/burstmetricsx").through(NGSA_1_CLUSTER));
    assert_eq!(
        (beside.body.as_str(), beside.header("x-burst")),
        ("hello\n", Some(NGSA_1)),
        "not our path"
    );

    for path in ["/burstmetrics/services", "/burstmetrics/services/default/ngsa-svc-1"] {
        let (get, head) = (main.ask(&Request::get(path)), main.ask(&Request::of("HEAD", path)));
        assert_eq!(head.body, "");
        assert_eq!((head.status, &head.headers), (get.status, &get.headers), "{path}");
    }
}

fn a_bulk_answer_has_a_tag_that_spares_its_body(version: Version) {
    let world = World::sample();
    let (proxy, mut main) = Proxy::start(version, &world, json!({}));
    synced(&mut main);
    let bulk = Request::get("/burstmetrics/services");
    let whole = main.ask(&bulk);
    let tag = whole.header("etag").expect("an ETag").to_owned();
    let asking = |tags: String| bulk.clone().header("if-none-match", tags);
    for tags in [
        tag.clone(),
        format!("W/{tag}"),
        format!("\"other\", {tag}"),
        "*".to_owned(),
    ] {
        let answer = main.ask(&asking(tags.clone()));
        assert_eq!(essence(&answer), (304, None, ""), "{tags}");
        assert_eq!(answer.header("etag"), Some(tag.as_str()), "{tags}");
    }
    assert_eq!(main.ask(&asking("\"other\"".to_owned())).body, whole.body);
    world.scale_ngsa_1(3);
    main.wait(&asking(tag.clone()), "another tag for other numbers", |answer| {
        answer.status == 200 && answer.header("etag") != Some(&tag) && answer.body.contains("current-load=3")
    });
    world.scale_ngsa_1(1);
    main.wait(&asking(tag.clone()), "the same tag for the same numbers", |answer| {
        answer.status == 304
    });
    proxy.wait_for_stat("burst_reply_304_total", |count| count >= 10);
}

fn hosts_prefix_and_the_switch_are_configuration(version: Version) {
    let world = World::sample();
    let proxy = Proxy::of(version)
        .listener("main", json!({}))
        .listener("host", json!({"endpoints": {"hosts": ["Burst.test"]}}))
        .listener("prefix", json!({"endpoints": {"prefix": "/load/now/"}}))
        .listener("off", json!({"endpoints": {"enabled": false}}))
        .start(&world);
    synced(&mut proxy.client("main"));
    let own = |path| Request::get(path).through(NGSA_1_CLUSTER);
    let services = || own("/burstmetrics/services/default/ngsa-svc-1");
    for (listener, request, answered) in [
        ("host", services(), false),
        ("host", services().host("burst.test"), true),
        ("host", services().host("BURST.TEST:8080"), true),
        ("host", services().host("burst.test.evil"), false),
        ("host", own("/burstmetrics/nothing").host("other.test"), false),
        ("prefix", own("/load/now/services/default/ngsa-svc-1"), true),
        ("prefix", own("/load/now?x").host("any"), true),
        ("prefix", services(), false),
        ("prefix", own("/load/nowhere"), false),
        ("off", services(), false),
    ] {
        let mut client = proxy.client(listener);
        client.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
        let answer = client.ask(&request);
        // What is not answered goes on to the upstream, and is a response like any other.
        let passed = (answer.body == "hello\n", answer.header("x-burst"));
        let expected = if answered { (false, None) } else { (true, Some(NGSA_1)) };
        assert_eq!(passed, expected, "{listener}: {request:?}");
    }
}

fn what_was_never_read_is_unavailable(version: Version) {
    let mut world = World::sample();
    world.refuse_connections();
    let (proxy, mut main) = Proxy::start(version, &world, json!({}));
    for path in ["/burstmetrics/services", "/burstmetrics/services/default/ngsa-svc-1"] {
        let answer = main.ask(&Request::get(path).through(NGSA_1_CLUSTER));
        let body = "not synced yet: the Kubernetes API was never read in full\n";
        assert_eq!(essence(&answer), (503, Some(TEXT), body), "{path}");
        assert_eq!(answer.header("retry-after"), Some("1"), "{path}");
    }
    let response = main.ask(&Request::to(NGSA_1_CLUSTER));
    assert_eq!((response.status, response.header("x-burst")), (200, None));
    proxy.wait_for_stat("burst_reply_503_total", |count| count == 4);
    proxy.wait_for_stat("burst_header_absent_unsynced_total", |count| count == 2);
    world.accept_connections();
    synced(&mut main);
}
