//! Failures in each phase of reading a resource: the first page, a later page, a watch.

use super::kube::{Kube, ReadPhase, event, list};
use super::{SECOND, envoy, logged};
use crate::host::{Answer, FakeEnvoy, Jump, Response};
use std::time::Duration;

const HPAS: &str = "horizontalpodautoscalers";

/// Lists every second, one object per page. These stories never exclude a refused resource.
const LISTING: &str =
    r#"{"cluster":"kube_api","poll_interval":"1s","max_staleness":"10m","page_size":1,"sync":{"mode":"list"}}"#;
/// Watches.
const WATCHING: &str =
    r#"{"cluster":"kube_api","poll_interval":"5s","max_staleness":"10m","sync":{"mode":"watch","window":"3s"}}"#;

const MINUTE: Duration = Duration::from_secs(60);

/// A failure, and the counter that records it.
type Failure = (&'static str, fn() -> Answer);

const FAILURES: [Failure; 17] = [
    ("unreachable", || Answer::Unreachable),
    ("unreachable", || Answer::ProtocolError),
    ("timeout", || Answer::Timeout),
    ("cut", || Answer::Reset),
    ("unauthorized", || status(401).into()),
    ("forbidden", || status(403).into()),
    ("not_found", || status(404).into()),
    ("expired", || status(410).into()),
    ("throttled", || status(429).into()),
    ("throttled", || status(429).header("retry-after", "3").into()),
    // The `retry-after` is not a number, so the filter ignores it.
    ("throttled", || {
        status(429).header("retry-after", "99999999999999999999999").into()
    }),
    ("server_error", || status(500).into()),
    ("server_error", || status(503).into()),
    ("server_error", || status(504).into()),
    ("malformed", || status(302).into()),
    ("malformed", || Response::status(200).body("<html>\n").into()),
    ("malformed", || Response::json(b"{\"kind\":\"\xff\"}\n").into()),
];

fn status(code: u16) -> Response {
    let body = format!(r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","code":{code}}}"#);
    Response::status(code)
        .header("content-type", "application/json")
        .body(body)
}

/// Three applications, so that a list has later pages.
fn shop() -> Kube {
    Kube::new().with("shop/api", 1, 5).with("shop/cart", 1, 5)
}

fn current(envoy: &FakeEnvoy) -> String {
    let vms = envoy.vms();
    let response = vms.first().expect("a worker").response("web.shop");
    response.header("x-burst").unwrap_or("nothing").to_owned()
}

#[test]
fn the_filter_recovers_from_each_failure_at_each_phase() {
    for (phase, configuration) in [
        (ReadPhase::FirstPage, LISTING),
        (ReadPhase::LaterPage, LISTING),
        (ReadPhase::Watch, WATCHING),
    ] {
        for (place, (outcome, failure)) in FAILURES.into_iter().enumerate() {
            let case = format!("{phase:?}, {outcome} (row {place})");
            let kube = shop();
            let envoy = envoy(configuration, &kube);
            let _worker = envoy.worker();
            envoy.advance(SECOND * 3).answer();
            assert!(current(&envoy).contains("current-load=1,"), "{case}");
            kube.fail_at(HPAS, phase, failure);
            kube.take_requests();
            envoy.advance(MINUTE).answer();
            check_failing(&envoy, &kube, &case, outcome);
            let listed = logged(&envoy)
                .iter()
                .any(|line| line.ends_with("; listing it every 5s instead"));
            assert_eq!(
                listed,
                phase == ReadPhase::Watch && falls_back_to_lists(outcome),
                "{case}"
            );
            kube.heal();
            kube.scale("shop/web", 4);
            // The longest backoff, or the number of lists before the next attempt to watch.
            envoy.advance(SECOND * 40).answer();
            assert!(
                current(&envoy).contains("current-load=4,"),
                "{case}: {}",
                current(&envoy)
            );
            // A reflector that has fallen back to lists watches again after this many lists.
            let lists = if phase == ReadPhase::Watch { 80 } else { 0 };
            envoy.advance(SECOND * lists).answer();
            let lines = logged(&envoy);
            assert!(
                lines.iter().any(|line| line.ends_with("works again")),
                "{case}: {lines:?}"
            );
        }
    }
}

/// Returns whether the filter falls back to lists when a watch fails like this.
fn falls_back_to_lists(outcome: &str) -> bool {
    ["timeout", "cut", "forbidden", "not_found", "expired", "malformed"].contains(&outcome)
}

/// Checks a minute of failures: they are counted and logged once, and the requests neither stop nor come in a storm.
fn check_failing(envoy: &FakeEnvoy, kube: &Kube, case: &str, outcome: &str) {
    let counted = envoy.stat(&format!("burst_poll_{outcome}_total")).unwrap_or(0);
    assert!(counted > 0, "{case} is counted");
    let lines = logged(envoy);
    assert!((1..=2).contains(&lines.len()), "{case}: {lines:?}");
    assert!(lines[0].starts_with("cannot "), "{case}: {lines:?}");
    assert!(
        current(envoy).starts_with("service=shop/web, "),
        "{case}: the last values are served"
    );
    let asked = kube.take_requests().iter().filter(|path| path.contains(HPAS)).count();
    assert!((2..=40).contains(&asked), "{case}: {asked} requests in a minute");
}

#[test]
fn a_clock_jump_does_not_stop_polling() {
    let hour = Duration::from_secs(3_600);
    for configuration in [LISTING, WATCHING] {
        let kube = shop();
        let envoy = envoy(configuration, &kube);
        let _worker = envoy.worker();
        envoy.advance(SECOND * 3).answer();
        for (jump, replicas) in [
            (Jump::Ahead(hour), 2),
            (Jump::Back(hour * 2), 3),
            (Jump::Ahead(hour * 24 * 365), 4),
        ] {
            envoy.jump(jump);
            kube.scale("shop/web", replicas);
            envoy.advance(SECOND * 8).answer();
            let header = current(&envoy);
            assert!(
                header.contains(&format!("current-load={replicas},")),
                "{jump:?}: {header}"
            );
        }
        assert_eq!(logged(&envoy), Vec::<String>::new());
    }
}

#[test]
fn a_clock_jump_during_an_outage_leaves_no_stale_header() {
    let kube = shop();
    let configuration = r#"{"cluster":"kube_api","poll_interval":"1s","max_staleness":"10s"}"#;
    let envoy = envoy(configuration, &kube);
    let _worker = envoy.worker();
    envoy.advance(SECOND * 3).answer();
    kube.fail(HPAS, || Answer::Unreachable);
    envoy.jump(Jump::Ahead(Duration::from_secs(60)));
    envoy.advance(SECOND * 2).answer();
    assert_eq!(current(&envoy), "nothing", "the age follows the clock");
    kube.heal();
    envoy.advance(SECOND * 40).answer();
    assert!(current(&envoy).contains("current-load=1,"));
}

#[test]
fn a_clock_set_back_during_an_outage_leaves_no_stale_header() {
    for mode in ["list", "watch"] {
        let kube = shop();
        let envoy = envoy(
            &format!(
                r#"{{"cluster":"kube_api","poll_interval":"1s","max_staleness":"10s","sync":{{"mode":"{mode}","window":"3s","workload_window":"3s"}}}}"#
            ),
            &kube,
        );
        let _worker = envoy.worker();
        envoy.advance(SECOND * 5).answer();
        kube.fail(HPAS, || Answer::Unreachable);
        envoy.jump(Jump::Back(Duration::from_secs(3_600)));
        envoy.advance(SECOND * 7).answer();
        assert!(
            current(&envoy).contains("current-load=1,"),
            "{mode}: the snapshot is not stale yet"
        );
        envoy.advance(SECOND * 5).answer();
        assert_eq!(current(&envoy), "nothing", "{mode}");
        kube.heal();
        envoy.advance(SECOND * 40).answer();
        assert!(current(&envoy).contains("current-load=1,"), "{mode}");
    }
}

/// An invalid item, and whether a list and a watch that contain it are valid.
type InvalidObject = (&'static str, fn() -> Vec<u8>, [bool; 2]);

/// Objects that no API server sends. The filter reads the version of each object in a watch, so an object without one
/// invalidates the watch.
const INVALID_OBJECTS: [InvalidObject; 8] = [
    (
        "a name of 100,000 characters",
        || hpa(&"n".repeat(100_000), "5", "1", ""),
        [true; 2],
    ),
    (
        "an unknown field of 2,000 levels",
        || {
            hpa(
                "deep",
                "5",
                "1",
                &format!(r#","x":{}{}"#, "[".repeat(2_000), "]".repeat(2_000)),
            )
        },
        [true; 2],
    ),
    (
        "a number out of range",
        || hpa("huge", "99999999999999999999", "1e999", ""),
        [true; 2],
    ),
    ("a negative number", || hpa("less", "5", "-1", ""), [true; 2]),
    (
        "a duplicate key that is read",
        || hpa("twice", "5", "1", r#","spec":{"maxReplicas":1}"#),
        [true; 2],
    ),
    (
        "a duplicate key that is not read",
        || hpa("again", "5", "1", r#","x":1,"x":2"#),
        [true; 2],
    ),
    (
        "a name that is no UTF-8",
        || [b"{\"metadata\":{\"name\":\"\xff\xfe\"}}".as_slice()].concat(),
        [false; 2],
    ),
    (
        "a lone surrogate",
        || br#"{"metadata":{"name":"\ud800","namespace":"shop"}}"#.to_vec(),
        [true, false],
    ),
];

fn hpa(name: &str, max: &str, current: &str, more: &str) -> Vec<u8> {
    let target = r#"{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}"#;
    let metadata = format!(r#"{{"name":"{name}","namespace":"shop","resourceVersion":"10"}}"#);
    let spec = format!(r#"{{"scaleTargetRef":{target},"maxReplicas":{max}}}"#);
    format!(r#"{{"metadata":{metadata},"spec":{spec},"status":{{"currentReplicas":{current}}}{more}}}"#).into_bytes()
}

#[test]
fn invalid_objects_in_lists_and_watches_affect_no_other_object() {
    for (case, invalid, is_accepted) in INVALID_OBJECTS {
        for (phase, is_accepted) in [ReadPhase::FirstPage, ReadPhase::Watch].into_iter().zip(is_accepted) {
            let kube = shop();
            let configuration = if phase == ReadPhase::FirstPage {
                LISTING
            } else {
                WATCHING
            };
            let envoy = envoy(configuration, &kube);
            let _worker = envoy.worker();
            envoy.advance(SECOND * 3).answer();
            kube.fail_at(HPAS, phase, move || {
                Response::json(with_valid_object(phase, &invalid()))
            });
            envoy.advance(SECOND * 20).answer();
            let header = current(&envoy);
            // If two HPAs scale one workload, the first by name counts. `a` comes first here.
            let seen = if is_accepted {
                "current-load=7,"
            } else {
                "current-load=1,"
            };
            assert!(
                header.contains(seen),
                "{case} at {phase:?}: {header}; {:?}",
                logged(&envoy)
            );
            let longest = logged(&envoy).iter().map(String::len).max().unwrap_or_default();
            assert!(longest < 1_000, "{case} at {phase:?}: a line of {longest}");
            kube.heal();
            kube.scale("shop/web", 2);
            envoy.advance(MINUTE * 2).answer();
            let header = current(&envoy);
            let wanted = if phase == ReadPhase::FirstPage || !is_accepted {
                "current-load=2,"
            } else {
                "current-load=7,"
            };
            assert!(header.contains(wanted), "{case} at {phase:?}: {header}");
        }
    }
}

/// A list or a watch with the invalid item and a valid one.
fn with_valid_object(phase: ReadPhase, invalid: &[u8]) -> Vec<u8> {
    let valid = hpa("a", "9", "7", "");
    let marked = |text: String| {
        let (before, after) = text.split_once("INVALID").expect("a place");
        [before.as_bytes(), invalid, after.as_bytes()].concat()
    };
    let valid = String::from_utf8(valid).expect("text");
    match phase {
        ReadPhase::Watch => marked(event("MODIFIED", "INVALID") + &event("MODIFIED", &valid)),
        _ => marked(list(HPAS, "", &format!("INVALID,{valid},"))),
    }
}
