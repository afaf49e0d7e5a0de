//! The live page, at the prefix itself.

use super::*;

/// What a browser sends.
const BROWSER: &[u8] = b"text/html,application/xhtml+xml,*/*;q=0.8";

fn browse<'a>(path: &'a str) -> BurstRequest<'a> {
    BurstRequest {
        accept: Some(BROWSER),
        ..get(path)
    }
}

fn with_page() -> (Config, ServingCache) {
    let config = config(r#","endpoints":{"page":true}"#);
    let cache = serving_cache(&config);
    (config, cache)
}

#[test]
fn a_browser_gets_the_page_with_its_policy() {
    let (config, mut cache) = with_page();
    for path in ["/burstmetrics/", "/burstmetrics", "/burstmetrics/?x=1"] {
        let page = reply(&config, &mut cache, browse(path)).unwrap();
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(header(&page, "content-type"), Some("text/html; charset=utf-8"));
        assert!(page.body.starts_with(b"<!DOCTYPE html>"));
        let policy = header(&page, "content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'sha256-"),
            "{policy}"
        );
        assert_eq!(header(&page, "x-content-type-options"), Some("nosniff"));
        assert_eq!(header(&page, "cache-control"), Some("no-cache"));
        assert_eq!(header(&page, "vary"), Some("accept"));
    }
}

#[test]
fn a_browser_that_has_the_page_gets_no_body() {
    let (config, mut cache) = with_page();
    let page = reply(&config, &mut cache, browse("/burstmetrics/")).unwrap();
    let again = BurstRequest {
        if_none_match: header(&page, "etag").map(str::as_bytes),
        ..browse("/burstmetrics/")
    };
    let again = reply(&config, &mut cache, again).unwrap();
    assert_eq!((again.status, again.body.len()), (304, 0));
}

#[test]
fn the_page_needs_no_snapshot() {
    let (config, _) = with_page();
    let page = reply(&config, &mut ServingCache::default(), browse("/burstmetrics/")).unwrap();
    assert_eq!(page.status, 200);
}

/// Every answer that is not the page is the same as without the key.
#[test]
fn all_other_answers_stay_as_they_are() {
    let (with, mut cache) = with_page();
    let without = config("");
    let own = |path| browse(path);
    let requests = [
        get("/burstmetrics/"),
        get("/burstmetrics"),
        BurstRequest {
            accept: Some(b"*/*"),
            ..get("/burstmetrics/")
        },
        BurstRequest {
            method: b"POST",
            ..own("/burstmetrics/")
        },
        own("/burstmetrics/services"),
        own("/burstmetrics/services/shop/web"),
        own("/burstmetrics//"),
        own("/burstmetrics/nothing"),
        own("/burstmetricsx"),
    ];
    for request in requests {
        let answers = [&with, &without].map(|config| reply(config, &mut cache, request));
        assert_eq!(answers[0], answers[1], "{request:?}");
    }
    let off = reply(&without, &mut cache, browse("/burstmetrics/")).unwrap();
    assert_eq!(off.status, 404, "the page is off by default");
}

#[test]
fn the_page_has_the_prefix_and_the_hosts_of_the_endpoints() {
    let config = config(r#","endpoints":{"page":true,"prefix":"/load","hosts":["burst.internal"]}"#);
    let mut cache = serving_cache(&config);
    let mut status = |path, host: &str| {
        let request = BurstRequest {
            host: host.as_bytes(),
            ..browse(path)
        };
        reply(&config, &mut cache, request).map(|answer| answer.status)
    };
    assert_eq!(status("/load/", "burst.internal:8080"), Some(200));
    assert_eq!(status("/load/", "shop.example.com"), None);
    assert_eq!(status("/burstmetrics/", "burst.internal"), None);
}
