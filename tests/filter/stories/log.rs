//! Log lines have a bounded length and a bounded number per minute, whatever the API server and the configuration
//! contain.

use super::kube::{Kube, event, list};
use super::{EVERY_SECOND, SECOND, envoy};
use crate::host::{FakeEnvoy, Response};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const MIB: usize = 1 << 20;

/// The limit in `src/log.rs`, and room for the note that says how much was cut.
const LONGEST_LINE: usize = 4 * 1024 + 40;

/// Per minute: the lines about bad objects, one that counts the rest, and one about the thread that polls.
const MOST_LINES: usize = 12;

const ESCAPES: &str = r"\u001b[31m\r\nforged: all is well\u202e";

/// The HPA of the cluster's only application.
const WEB: &str = r#"{"metadata":{"name":"web","namespace":"shop"},"status":{"currentReplicas":1},
    "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":5}}"#;

/// HPAs named `bad-N`, ten per namespace, whose `maxReplicas` is a string of this length that differs in each read.
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

/// A proxy for a cluster with these objects and a valid HPA. In watch mode, each watch changes them.
fn with_bad_objects(configuration: &str, bad: impl Fn(usize) -> Vec<String> + Send + 'static) -> FakeEnvoy {
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

/// Checks that no log line is too long or has characters that a terminal would interpret.
fn assert_short_and_printable(envoy: &FakeEnvoy) {
    for line in envoy.log() {
        assert!(line.text.len() <= LONGEST_LINE, "{} bytes", line.text.len());
        let unprintable = line.text.chars().find(|c| c.is_control() || *c == '\u{202e}');
        assert_eq!(unprintable, None, "{:?}", line.text);
    }
}

#[test]
fn ten_large_invalid_objects_that_change_all_the_time_write_few_log_lines_a_minute() {
    let watched = r#"{"cluster":"kube_api","poll_interval":"5s","sync":{"mode":"watch","window":"3s"}}"#;
    for configuration in [EVERY_SECOND, watched] {
        let envoy = with_bad_objects(configuration, |read| bad_objects(10, MIB, read));
        let worker = envoy.worker();
        envoy.advance(Duration::from_secs(30)).answer();
        assert_short_and_printable(&envoy);
        let lines = envoy.log();
        assert!((10..=MOST_LINES).contains(&lines.len()), "{} lines", lines.len());
        for n in 0..10 {
            let name = format!("excluded HorizontalPodAutoscaler shop/bad-{n}: invalid type: string ");
            assert!(lines.iter().any(|line| line.text.starts_with(&name)), "{name}");
        }
        assert_eq!(envoy.stat("burst_bad_objects"), Some(10));
        assert!(
            worker.response("web.shop").header("x-burst").is_some(),
            "the valid HPA is served"
        );
    }
}

#[test]
fn a_hundred_invalid_objects_write_ten_log_lines_and_one_that_counts_the_rest() {
    let envoy = with_bad_objects(EVERY_SECOND, |read| bad_objects(100, 20, read));
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
fn a_short_reason_is_logged_in_full() {
    let envoy = with_bad_objects(EVERY_SECOND, |_| {
        vec![r#"{"metadata":{"name":"bad","namespace":"shop"},"spec":"é"}"#.to_owned()]
    });
    envoy.worker();
    envoy.advance(SECOND * 3).answer();
    let lines: Vec<_> = envoy.log().into_iter().map(|line| line.text).collect();
    let reason = "invalid type: string \"é\", expected struct HpaSpec at line 1 column 57";
    assert!(
        lines.contains(&format!("excluded HorizontalPodAutoscaler shop/bad: {reason}")),
        "{lines:?}"
    );
}

#[test]
fn configuration_text_in_the_log_is_truncated_and_printable() {
    let envoy = FakeEnvoy::new(super::FULL).config(format!(
        "{{\"cluster\":\"kube_api\",\"{ESCAPES}{}\":1}}",
        "x".repeat(MIB)
    ));
    assert!(envoy.try_worker().is_err());
    assert_short_and_printable(&envoy);
    assert!(
        envoy
            .log()
            .iter()
            .any(|line| line.text.starts_with("the configuration is refused: "))
    );
}

#[test]
fn api_server_text_in_the_log_is_truncated_and_printable() {
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
    assert_short_and_printable(&envoy);
}
