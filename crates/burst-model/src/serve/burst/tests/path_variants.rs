//! Ways to write a path or a host so that a lock and the filter might read different things: none of them gets what the
//! plain path would not get.

use super::*;

/// What becomes of a path that begins so, whatever stands behind it.
#[derive(Clone, Copy, Debug)]
enum Beginning {
    /// It is the prefix.
    Plain,
    /// It is the prefix, with something behind it that nothing is below.
    Below,
    /// It is the upstream's.
    Elsewhere,
}

use Beginning::{Below, Elsewhere, Plain};

const BEGINNINGS: [(&str, Beginning); 18] = [
    ("/burstmetrics", Plain),
    ("/burstmetrics/.", Below),
    ("/burstmetrics/..", Below),
    ("/burstmetrics/%2e%2e/burstmetrics", Below),
    ("/burstmetrics/", Below),
    ("/burstmetrics?", Below),
    ("//burstmetrics", Elsewhere),
    ("/./burstmetrics", Elsewhere),
    ("/x/../burstmetrics", Elsewhere),
    ("/BurstMetrics", Elsewhere),
    ("/%62urstmetrics", Elsewhere),
    ("/burstmetrics%2f", Elsewhere),
    ("%2fburstmetrics", Elsewhere),
    ("/burstmetrics;a=b", Elsewhere),
    ("/burstmetrics%00", Elsewhere),
    ("\\burstmetrics", Elsewhere),
    ("/%c0%afburstmetrics", Elsewhere),
    ("http://localhost/burstmetrics", Elsewhere),
];

/// With the status behind the plain prefix: 200 is an answer with data, and 204 one of a name that nothing has.
const ENDS: [(&str, u16); 18] = [
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

/// What `istio/lock/policy.yaml` locks.
fn is_locked(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap();
    path == "/burstmetrics" || path.starts_with("/burstmetrics/")
}

#[test]
fn each_path_is_answered_as_it_is_written_or_continues_to_the_upstream() {
    let config = config("");
    let mut cache = serving_cache(&config);
    let mut seen = 0;
    for (beginning, of) in BEGINNINGS {
        for (end, status) in ENDS {
            let path = format!("{beginning}{end}");
            let status_of_end = Some(status).filter(|status| *status > 0);
            let answered = ask(&config, &mut cache, get(&path)).map(|answer| answer.status);
            match of {
                Plain => assert_eq!(answered, status_of_end, "{path}"),
                Below => assert!(matches!(answered, Some(400 | 404)), "{path}: {answered:?}"),
                Elsewhere => assert_eq!(answered, None, "{path}"),
            }
            let tells = matches!(answered, Some(200 | 204 | 304));
            assert!(!tells || is_locked(&path), "{path} goes by the lock");
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
        let answered = ask(&config, &mut cache, request).is_some();
        assert_eq!(answered, is_own, "{host:?}");
    }
}

proptest! {
    /// Of any bytes, those that a lock on the prefix does not cover learn nothing.
    #[test]
    fn a_path_that_the_policy_does_not_lock_is_not_answered(path in "[/.%;?#\\\\a-z0-9]{0,12}(burstmetrics)?[/.%;?#\\\\2fF]{0,4}(services)?[/.%;?#a-z]{0,6}") {
        let config = config("");
        let answered = ask(&config, &mut serving_cache(&config), get(&path));
        prop_assert!(is_locked(&path) || answered.is_none_or(|answer| answer.status == 404), "{}", path);
    }
}
