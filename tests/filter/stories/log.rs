//! The log: whatever comes from outside, a line has a bounded length, and a minute a bounded number of lines.

use super::kube::{Kube, event, list};
use super::{EVERY_SECOND, SECOND, envoy};
use crate::host::{FakeEnvoy, Response};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const MIB: usize = 1 << 20;

/// What `src/log.rs` lets through, and as much again for the word that says how much was left out.
const LONGEST_LINE: usize = 4 * 1024 + 40;

/// Lines about bad objects in a minute, one that says that there are more, and one about who polls.
const MOST_LINES: usize = 12;

const ESCAPES: &str = r"\u001b[31m\r\nforged: all is well\u202e";

/// The HPA of the one application that the cluster has.
const WEB: &str = r#"{"metadata":{"name":"web","namespace":"shop"},"status":{"currentReplicas":1},
    "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":5}}"#;

/// So many HPAs `bad-N`, ten in a namespace, whose `maxReplicas` are a text of that length, another one in each read.
fn bad_objects(count: usize, length: usize, read: usize) -> Vec<String> {
    let value = format!("{read}{ESCAPES}{}", "x".repeat(length));
    let bad = |n| {
        let namespace = match n / 10 {
            0 => "shop".to_owned(),
            other => format!("shop-{other}"),
        };
        let metadata = format!(r#"{{"name":"bad-{n}","namespace":"{namespace}","resourceVersion":"{read}"}}"#);
        let target = r#"{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}"#;
        format!(r#"{{"metadata":{metadata},"spec":{{"scaleTargetRef":{target},"maxReplicas":"{value}"}}}}"#)
    };
    (0..count).map(bad).collect()
}

/// A proxy in front of a cluster that has these besides its own HPA. Where they are watched, each window changes them.
fn beside(configuration: &str, bad: impl Fn(usize) -> Vec<String> + Send + 'static) -> FakeEnvoy {
    let (kube, reads) = (Kube::new(), AtomicUsize::new(0));
    let is_watched = configuration.contains("watch");
    kube.fail("horizontalpodautoscalers", move || {
        let read = reads.fetch_add(1, Ordering::Relaxed);
        let bad = bad(read);
        if is_watched && read > 0 {
            return Response::json(bad.iter().map(|bad| event("MODIFIED", bad)).collect::<String>());
        }
        let items = format!("{WEB},{}", bad.join(","));
        Response::json(list("horizontalpodautoscalers", "", &items))
    });
    envoy(configuration, &kube).body_limit(64 * MIB)
}

fn is_fit_to_print(envoy: &FakeEnvoy) {
    for line in envoy.log() {
        assert!(line.text.len() <= LONGEST_LINE, "{} bytes", line.text.len());
        let odd = line.text.chars().find(|c| c.is_control() || *c == '\u{202e}');
        assert_eq!(odd, None, "{:?}", line.text);
    }
}

#[test]
fn ten_bad_objects_of_a_megabyte_that_change_all_the_time_cost_some_lines_a_minute() {
    let watched = r#"{"cluster":"kube_api","poll_interval":"5s","sync":{"mode":"watch","window":"3s"}}"#;
    for configuration in [EVERY_SECOND, watched] {
        let envoy = beside(configuration, |read| bad_objects(10, MIB, read));
        let worker = envoy.worker();
        envoy.advance(Duration::from_secs(30)).answer();
        is_fit_to_print(&envoy);
        let lines = envoy.log();
        assert!((10..=MOST_LINES).contains(&lines.len()), "{} lines", lines.len());
        for n in 0..10 {
            let name = format!("left out HorizontalPodAutoscaler shop/bad-{n}: invalid type: string ");
            assert!(lines.iter().any(|line| line.text.starts_with(&name)), "{name}");
        }
        assert_eq!(envoy.stat("burst_bad_objects"), Some(10));
        assert!(
            worker.response("web.shop").header("x-burst").is_some(),
            "the rest is served"
        );
    }
}

#[test]
fn a_hundred_bad_objects_are_ten_lines_and_the_word_that_there_are_more() {
    let envoy = beside(EVERY_SECOND, |read| bad_objects(100, 20, read));
    envoy.worker();
    envoy.advance(Duration::from_secs(30)).answer();
    let lines = envoy.log();
    assert!(lines.len() <= MOST_LINES, "{} lines", lines.len());
    let more = "90 more lines of this kind are suppressed for a minute; `burst_bad_objects` counts the objects";
    assert_eq!(lines.iter().filter(|line| line.text == more).count(), 1, "{lines:?}");
    assert_eq!(envoy.stat("burst_bad_objects"), Some(100));
    envoy.advance(Duration::from_secs(60)).answer();
    let later = envoy.log().len() - lines.len();
    assert!(
        (10..=2 * MOST_LINES).contains(&later),
        "{later} lines in the next minute"
    );
}

#[test]
fn a_short_reason_is_said_in_full() {
    let envoy = beside(EVERY_SECOND, |_| {
        vec![r#"{"metadata":{"name":"bad","namespace":"shop"},"spec":"é"}"#.to_owned()]
    });
    envoy.worker();
    envoy.advance(SECOND * 3).answer();
    let lines: Vec<_> = envoy.log().into_iter().map(|line| line.text).collect();
    let reason = "invalid type: string \"é\", expected struct HpaSpec at line 1 column 57";
    assert!(
        lines.contains(&format!("left out HorizontalPodAutoscaler shop/bad: {reason}")),
        "{lines:?}"
    );
}

#[test]
fn what_the_configuration_says_is_cut_and_printable_too() {
    let envoy = FakeEnvoy::new(super::FULL).config(format!(
        "{{\"cluster\":\"kube_api\",\"{ESCAPES}{}\":1}}",
        "x".repeat(MIB)
    ));
    assert!(envoy.try_worker().is_err());
    is_fit_to_print(&envoy);
    assert!(
        envoy
            .log()
            .iter()
            .any(|line| line.text.starts_with("the configuration is refused: "))
    );
}

#[test]
fn what_an_api_server_that_fails_says_is_cut_and_printable_too() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    envoy.worker();
    envoy.advance(SECOND * 2).answer();
    kube.fail("services", || {
        let message = format!("{ESCAPES}{}", "x".repeat(MIB));
        Response::status(403)
            .header("content-type", "application/json")
            .body(format!(r#"{{"kind":"Status","message":"{message}"}}"#))
    });
    envoy.advance(SECOND * 20).answer();
    is_fit_to_print(&envoy);
}
