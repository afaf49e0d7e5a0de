use super::super::cache::tests::{T0, config, confirmed, serving_cache};
use super::*;
use crate::records::Confirmed;
use proptest::prelude::*;
use std::rc::Rc;
use std::time::Duration;

mod formats;
mod page;
mod path_variants;
mod waiting;

fn get<'a>(path: &'a str) -> BurstRequest<'a> {
    BurstRequest {
        method: b"GET",
        path: path.as_bytes(),
        host: b"localhost:8080",
        accept: None,
        if_none_match: None,
        now: T0.after(Duration::from_secs(2)),
    }
}

fn reply(config: &Config, cache: &mut ServingCache, request: BurstRequest<'_>) -> Option<LocalReply> {
    match answer(config, config.endpoints.as_ref().unwrap(), cache, request)? {
        BurstReply::Now(reply) => Some(reply),
        BurstReply::Waiting(waiting) => panic!("{waiting:?}"),
    }
}

/// The answer of a fresh cache with the default configuration: status and body.
fn plain(request: BurstRequest<'_>) -> (u16, String) {
    let config = config("");
    let answer = reply(&config, &mut serving_cache(&config), request).unwrap();
    (answer.status, String::from_utf8(answer.body.to_vec()).unwrap())
}

fn header<'a>(answer: &'a LocalReply, name: &str) -> Option<&'a str> {
    answer
        .headers
        .iter()
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.as_str())
}

const VALUE: &str = "service=shop/web-1, current-load=1, target-load=4, max-load=5";

#[test]
fn bulk_and_single_replies_have_their_type_and_body() {
    let config = config("");
    let mut cache = serving_cache(&config);
    for path in ["/burstmetrics/services", "/burstmetrics/services/"] {
        let bulk = reply(&config, &mut cache, get(path)).unwrap();
        assert_eq!(
            (bulk.status, header(&bulk, "content-type")),
            (200, Some("application/json; charset=utf-8"))
        );
        assert_eq!(
            *bulk.body,
            *format!("{{\n    \"shop/web\": \"{VALUE}\"\n}}\n").as_bytes(),
            "{path}"
        );
    }
    let single = reply(&config, &mut cache, get("/burstmetrics/services/shop/web")).unwrap();
    assert_eq!(
        (single.status, header(&single, "content-type")),
        (200, Some("text/plain; charset=utf-8"))
    );
    assert_eq!(*single.body, *VALUE.as_bytes());
}

#[test]
fn a_bulk_reply_is_json() {
    let (_, body) = plain(get("/burstmetrics/services"));
    let parsed: std::collections::BTreeMap<String, String> = serde_json::from_str(&body).unwrap();
    assert_eq!(parsed.get("shop/web").map(String::as_str), Some(VALUE));
}

#[test]
fn an_absent_row_is_no_content_and_an_unknown_path_is_not_found() {
    for (path, status) in [
        ("/burstmetrics/hpas", 204),
        ("/burstmetrics/deployments/", 204),
        ("/burstmetrics/statefulsets", 204),
        ("/burstmetrics/services/shop/none", 204),
        ("/burstmetrics/services/NOT/a%0aname", 204),
        ("/burstmetrics", 404),
        ("/burstmetrics/", 404),
        ("/burstmetrics/pods", 404),
        ("/burstmetrics/pods/a/b", 404),
        ("/burstmetrics/services/shop", 404),
        ("/burstmetrics/services/%ff/web", 400),
    ] {
        assert_eq!(plain(get(path)).0, status, "{path}");
    }
    assert_eq!(
        plain(get("/burstmetrics/pods")).1,
        "ask for /burstmetrics/KIND or /burstmetrics/KIND/NAMESPACE/NAME, \
         where KIND is one of deployments, hpas, services, statefulsets\n"
    );
}

#[test]
fn a_row_that_may_be_in_an_unread_list_is_a_503() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let lists = vec![Some(T0), Some(T0), Some(T0), None];
    cache.refresh(&config, Some(&Confirmed { generation: 1, lists }), T0);
    for (path, status) in [
        ("/burstmetrics/services", 200),
        ("/burstmetrics/services/shop/web", 200),
        ("/burstmetrics/services/shop/other", 503),
        ("/burstmetrics/statefulsets", 503),
        ("/burstmetrics/statefulsets/shop/other", 503),
        ("/burstmetrics/deployments/shop/other", 204),
        ("/burstmetrics/hpas", 204),
    ] {
        let answer = reply(&config, &mut cache, get(path)).unwrap();
        assert_eq!(answer.status, status, "{path}");
        if status == 503 {
            let message = b"not readable: the Kubernetes API does not list statefulsets.apps\n";
            assert_eq!(*answer.body, *message, "{path}");
            assert_eq!(header(&answer, "retry-after"), Some("5"));
        }
    }
}

#[test]
fn methods_other_than_get_and_head_get_the_allowed_ones() {
    let config = config("");
    for (method, status) in [
        ("GET", 200),
        ("HEAD", 200),
        ("POST", 405),
        ("DELETE", 405),
        ("get", 405),
        ("", 405),
    ] {
        let request = BurstRequest {
            method: method.as_bytes(),
            ..get("/burstmetrics/services")
        };
        let answer = reply(&config, &mut serving_cache(&config), request).unwrap();
        assert_eq!(answer.status, status, "{method}");
        assert_eq!(header(&answer, "allow"), (status == 405).then_some("GET, HEAD"));
    }
}

#[test]
fn other_paths_and_other_hosts_continue_to_the_upstream() {
    let config = config(r#","endpoints":{"prefix":"/load/","hosts":["burst.internal"]}"#);
    let mut cache = serving_cache(&config);
    let mut status = |path, host: &str| {
        reply(
            &config,
            &mut cache,
            BurstRequest {
                host: host.as_bytes(),
                ..get(path)
            },
        )
        .map(|answer| answer.status)
    };
    assert_eq!(status("/load/services", "burst.internal"), Some(200));
    assert_eq!(status("/load/services", "BURST.internal:8080"), Some(200));
    assert_eq!(status("/load/services", "shop.example.org"), None);
    assert_eq!(status("/load/services", ""), None);
    assert_eq!(status("/loads", "burst.internal"), None);
    assert_eq!(status("/burstmetrics/services", "burst.internal"), None);
}

#[test]
fn an_entity_tag_saves_the_body_until_the_content_changes() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let with = |cache: &mut ServingCache, tags: &str| {
        let request = BurstRequest {
            if_none_match: Some(tags.as_bytes()),
            ..get("/burstmetrics/services")
        };
        reply(&config, cache, request).unwrap()
    };
    let etag = header(&with(&mut cache, ""), "etag").unwrap().to_owned();
    for tags in [etag.clone(), format!("W/{etag}"), format!("\"x\", {etag}"), "*".into()] {
        let answer = with(&mut cache, &tags);
        assert_eq!(
            (answer.status, &*answer.body, header(&answer, "etag")),
            (304, &[][..], Some(&*etag)),
            "{tags}"
        );
    }
    assert_eq!(with(&mut cache, "\"x\"").status, 200);
    cache
        .take(crate::snapshot::write(&super::super::cache::tests::table(2), 2))
        .unwrap();
    assert_eq!(with(&mut cache, &etag).status, 200);
}

#[test]
fn every_reply_about_the_cluster_says_when_it_was_read() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let confirmed = |answer: &LocalReply| header(answer, confirmation::CONFIRMED_HEADER).map(str::to_owned);
    let bulk = reply(&config, &mut cache, get("/burstmetrics/services")).unwrap();
    let unchanged = BurstRequest {
        if_none_match: header(&bulk, "etag").map(str::as_bytes),
        ..get("/burstmetrics/services")
    };
    let read = Some("at=1700000000000, age=2000".to_owned());
    for (request, status) in [
        (get("/burstmetrics/services"), 200),
        (unchanged, 304),
        (get("/burstmetrics/services/shop/web"), 200),
        (get("/burstmetrics/hpas"), 204),
    ] {
        let answer = reply(&config, &mut cache, request).unwrap();
        assert_eq!((answer.status, confirmed(&answer)), (status, read.clone()));
    }
    let unsynced = reply(&config, &mut ServingCache::default(), get("/burstmetrics/services")).unwrap();
    assert_eq!(confirmed(&unsynced).as_deref(), Some("never"));
    let elsewhere = reply(&config, &mut cache, get("/burstmetrics/pods")).unwrap();
    assert_eq!(confirmed(&elsewhere), None);
}

#[test]
fn a_bulk_body_is_rendered_once_per_snapshot() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let mut body = || reply(&config, &mut cache, get("/burstmetrics/services")).unwrap().body;
    assert!(Rc::ptr_eq(&body(), &body()));
}

#[test]
fn never_synced_and_too_stale_are_told_apart() {
    let config = config("");
    let unsynced = reply(&config, &mut ServingCache::default(), get("/burstmetrics/services")).unwrap();
    assert_eq!((unsynced.status, header(&unsynced, "retry-after")), (503, Some("5")));
    assert!(unsynced.body.starts_with(b"not synced yet"));
    let mut old = serving_cache(&config);
    old.refresh(&config, Some(&confirmed(T0)), T0.after(Duration::from_secs(75)));
    let request = BurstRequest {
        now: T0.after(Duration::from_secs(76)),
        ..get("/burstmetrics/services/shop/web")
    };
    let stale = reply(&config, &mut old, request).unwrap();
    assert_eq!(
        (stale.status, header(&stale, confirmation::CONFIRMED_HEADER)),
        (503, Some("at=1700000000000, age=76000"))
    );
    assert_eq!(
        *stale.body,
        *b"too stale: the Kubernetes API was last read 75 s ago, and 60 s are allowed\n"
    );
}

#[test]
fn a_spoke_serves_only_services_and_says_so() {
    let config = config(r#","source":"hub""#);
    let mut cache = serving_cache(&config);
    let mut reply = |path: &str| {
        let answer = reply(&config, &mut cache, get(path)).unwrap();
        (answer.status, String::from_utf8(answer.body.to_vec()).unwrap())
    };
    assert_eq!(reply("/burstmetrics/services/shop/web"), (200, VALUE.into()));
    for kind in ["hpas", "deployments", "statefulsets", "pods"] {
        let message = "ask for /burstmetrics/KIND or /burstmetrics/KIND/NAMESPACE/NAME, \
             where KIND is services: this proxy reads a hub, which serves nothing else\n";
        assert_eq!(reply(&format!("/burstmetrics/{kind}")), (404, message.into()));
    }
}

#[test]
fn a_stale_reply_of_a_spoke_names_the_hub() {
    let config = config(r#","source":"hub""#);
    let unsynced = reply(&config, &mut ServingCache::default(), get("/burstmetrics/services")).unwrap();
    assert_eq!(*unsynced.body, *b"not synced yet: the hub was never read in full\n");
    let mut old = serving_cache(&config);
    old.refresh(&config, Some(&confirmed(T0)), T0.after(Duration::from_secs(75)));
    let stale = reply(&config, &mut old, get("/burstmetrics/services")).unwrap();
    assert_eq!(
        *stale.body,
        *b"too stale: the Kubernetes API was last read by the hub 75 s ago, and 60 s are allowed\n"
    );
}

proptest! {
    #[test]
    fn arbitrary_requests_do_not_panic(
        path in proptest::collection::vec(any::<u8>(), 0..64),
        host in proptest::collection::vec(any::<u8>(), 0..16),
        tags in proptest::collection::vec(any::<u8>(), 0..16),
    ) {
        let config = config("");
        let mut cache = serving_cache(&config);
        let path = [b"/burstmetrics/", &path[..]].concat();
        let request = BurstRequest { method: b"GET", path: &path, host: &host, accept: Some(&tags), if_none_match: Some(&tags), now: T0 };
        prop_assert!(reply(&config, &mut cache, request).is_some());
    }
}
