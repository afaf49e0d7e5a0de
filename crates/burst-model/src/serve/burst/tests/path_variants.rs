//! Paths and hosts that an AuthorizationPolicy and the filter might read differently. None of them gets data that the
//! policy locks.

use super::*;

/// How a path with a prefix is answered.
#[derive(Clone, Copy, Debug)]
enum PrefixForm {
    /// The configured prefix: the rest of the path decides.
    Exact,
    /// The configured prefix with an unknown path below it: an error.
    NothingBelow,
    /// Another path: it continues to the upstream.
    Upstream,
}

use PrefixForm::{Exact, NothingBelow, Upstream};

const PREFIXES: [(&str, PrefixForm); 18] = [
    ("/burstmetrics", Exact),
    ("/burstmetrics/.", NothingBelow),
    ("/burstmetrics/..", NothingBelow),
    ("/burstmetrics/%2e%2e/burstmetrics", NothingBelow),
    ("/burstmetrics/", NothingBelow),
    ("/burstmetrics?", NothingBelow),
    ("//burstmetrics", Upstream),
    ("/./burstmetrics", Upstream),
    ("/x/../burstmetrics", Upstream),
    ("/BurstMetrics", Upstream),
    ("/%62urstmetrics", Upstream),
    ("/burstmetrics%2f", Upstream),
    ("%2fburstmetrics", Upstream),
    ("/burstmetrics;a=b", Upstream),
    ("/burstmetrics%00", Upstream),
    ("\\burstmetrics", Upstream),
    ("/%c0%afburstmetrics", Upstream),
    ("http://localhost/burstmetrics", Upstream),
];

/// With the status of the path with the configured prefix. 200 is an answer with data, 204 is that of an unknown name, and
/// 0 means that the path continues to the upstream.
const SUFFIXES: [(&str, u16); 18] = [
    ("/services", 200),
    ("/services/", 200),
    ("/serv%69ces", 200),
    ("/services?/../../x", 200),
    ("/services#/x", 200),
    ("/services/shop/web", 200),
    ("/services/shop/web/", 200),
    ("//services", 404),
    ("/services//", 404),
    ("/./services", 404),
    ("/x/../services", 404),
    ("/SERVICES", 404),
    ("/services;x", 404),
    ("/services%00", 404),
    ("%2fservices", 0),
    ("/services/shop%2fweb", 404),
    ("/services/shop/web%00", 204),
    ("/services/%c1%9c/web", 400),
];

/// Returns whether `istio/lock/policy.yaml` locks a path.
fn is_locked(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap();
    path == "/burstmetrics" || path.starts_with("/burstmetrics/")
}

#[test]
fn each_path_is_answered_as_it_is_written_or_continues_to_the_upstream() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let mut seen = 0;
    for (prefix, form) in PREFIXES {
        for (suffix, status) in SUFFIXES {
            let path = format!("{prefix}{suffix}");
            let status_of_suffix = Some(status).filter(|status| *status > 0);
            let answered = reply(&config, &mut cache, get(&path)).map(|answer| answer.status);
            match form {
                Exact => assert_eq!(answered, status_of_suffix, "{path}"),
                NothingBelow => assert!(matches!(answered, Some(400 | 404)), "{path}: {answered:?}"),
                Upstream => assert_eq!(answered, None, "{path}"),
            }
            let has_data = matches!(answered, Some(200 | 204 | 304));
            assert!(
                !has_data || is_locked(&path),
                "{path} has data and the policy does not lock it"
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 324);
}

#[test]
fn only_configured_hosts_are_answered() {
    let config = config(r#","endpoints":{"hosts":["burst.internal"]}"#);
    let mut cache = serving_cache(&config);
    for (host, is_own) in [
        ("burst.internal", true),
        ("BURST.Internal:8080", true),
        ("burst.internal:", true),
        ("burst.internal.", false),
        ("burst.internal:80:80", false),
        ("burst.internal:80x", false),
        ("a.burst.internal", false),
        ("burst.internal.a", false),
        ("burst.internal@a", false),
        ("a@burst.internal", false),
        ("burst.internal,a", false),
        (" burst.internal", false),
        ("burst.internal\0", false),
        ("burst.internal/", false),
        ("http://burst.internal", false),
        ("[burst.internal]", false),
        (":80", false),
        ("", false),
    ] {
        let request = BurstRequest {
            host: host.as_bytes(),
            ..get("/burstmetrics/services")
        };
        let answered = reply(&config, &mut cache, request).is_some();
        assert_eq!(answered, is_own, "{host:?}");
    }
}

proptest! {
    /// Checks arbitrary paths.
    #[test]
    fn a_path_that_the_policy_does_not_lock_is_not_answered(path in "[/.%;?#\\\\a-z0-9]{0,12}(burstmetrics)?[/.%;?#\\\\2fF]{0,4}(services)?[/.%;?#a-z]{0,6}") {
        let config = config("");
        let answered = reply(&config, &mut serving_cache(&config), get(&path));
        prop_assert!(is_locked(&path) || answered.is_none_or(|answer| answer.status == 404), "{}", path);
        let page = BurstRequest { accept: Some(b"text/html"), ..get(&path) };
        let config = self::config(r#","endpoints":{"page":true}"#);
        let answered = reply(&config, &mut serving_cache(&config), page);
        prop_assert!(is_locked(&path) || answered.is_none_or(|answer| answer.status == 404), "{}", path);
    }
}
