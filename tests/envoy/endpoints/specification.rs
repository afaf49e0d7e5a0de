//! The examples of the specification, and the ETag of bulk answers.

use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, Proxy},
    http::Request,
};
use serde_json::json;

use super::{JSON, TEXT, essence, synced};

on_each_envoy!(
    the_examples_of_the_specification_are_answered,
    a_bulk_answer_has_an_etag_and_an_unchanged_one_is_a_304,
);

const NGSA_2: &str = "service=ngsa/ngsa-2, current-load=2, target-load=4, max-load=6";
const QUEUE: &str = "service=data/queue, current-load=6, target-load=7, max-load=9";
const CHECKOUT: &str = "service=shop/checkout, current-load=6, target-load=10, max-load=13";

/// The bulk answer with these services.
fn bulk(rows: &[(&str, &str)]) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(|(of, value)| format!("    \"{of}\": \"{value}\""))
        .collect();
    format!("{{\n{}\n}}\n", rows.join(",\n"))
}

fn the_examples_of_the_specification_are_answered(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, json!({}));
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
            // Without the filter, the route leads to a mapped Service.
            let answer = main.ask(&Request::get(&path).through(NGSA_1_CLUSTER));
            let (status, content_type, body) = &expected;
            assert_eq!(essence(&answer), (*status, *content_type, body.as_str()), "{path}");
        }
    }
    for (hpa, _) in hpas {
        assert!(backend.cluster.delete(burst_lab::cluster::HPAS, hpa));
    }
    main.wait(&Request::get("/burstmetrics/services"), "204 without HPAs", |answer| {
        answer.status == 204
    });
    proxy.wait_for_stat("burst_reply_200_total", |count| count >= 18);
    proxy.wait_for_stat("burst_reply_204_total", |count| count >= 4);
}

fn a_bulk_answer_has_an_etag_and_an_unchanged_one_is_a_304(version: Version) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, json!({}));
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
    backend.scale_ngsa_1(3);
    main.wait(&asking(tag.clone()), "another tag for other numbers", |answer| {
        answer.status == 200 && answer.header("etag") != Some(&tag) && answer.body.contains("current-load=3")
    });
    backend.scale_ngsa_1(1);
    main.wait(&asking(tag.clone()), "the same tag for the same numbers", |answer| {
        answer.status == 304
    });
    proxy.wait_for_stat("burst_reply_304_total", |count| count >= 10);
}
