//! Shared data of configurations that were removed.

use super::kube::Kube;
use super::{SECOND, envoy};
use crate::host::{FakeEnvoy, ThreadName};

/// A configuration that reads the same resources whatever the target.
fn named(target: u32, more: &str) -> String {
    format!(
        r#"{{"cluster":"kube_api","sync":{{"mode":"list"}},"poll_interval":"60s","target_percent":{target}{more}}}"#
    )
}

/// The number of keys with this suffix that have a value.
fn held(envoy: &FakeEnvoy, part: &str) -> usize {
    let all = envoy.shared_data("burst-metrics/").into_iter();
    all.filter(|(key, bytes)| key.ends_with(part) && !bytes.is_empty())
        .count()
}

#[test]
fn shared_data_of_a_removed_configuration_is_deleted_an_hour_after_its_last_use() {
    let kube = Kube::new();
    let envoy = envoy(&named(80, r#","namespaces":["shop"]"#), &kube);
    let worker = envoy.worker();
    let old = worker.root();
    let minutes = |minutes: u32| {
        envoy.advance(SECOND * 60 * minutes).answer();
    };
    minutes(2);
    worker.configure(named(70, "")).unwrap();
    let drained = worker.configure(named(60, "")).unwrap();
    minutes(70);
    let all = ["/snapshot", "/confirmed", "/resume"].map(|part| held(&envoy, part));
    assert_eq!(
        all,
        [3, 3, 2],
        "a draining configuration keeps its data; two configurations share a checkpoint"
    );
    worker.retire(old).retire(drained);
    minutes(50);
    assert_eq!(
        ["/snapshot", "/confirmed", "/resume"].map(|part| held(&envoy, part)),
        [3, 3, 2]
    );
    minutes(20);
    assert_eq!(
        ["/snapshot", "/confirmed", "/resume"].map(|part| held(&envoy, part)),
        [1, 1, 1]
    );
    assert!(worker.response("web.shop").header("x-burst").is_some());
    let back = worker.configure(named(80, r#","namespaces":["shop"]"#)).unwrap();
    minutes(1);
    worker.retire(back);
    assert_eq!(
        held(&envoy, "/snapshot"),
        2,
        "the configuration may return within the hour"
    );
}

#[test]
fn a_configuration_that_returns_just_before_the_deletion_keeps_its_data() {
    let kube = Kube::new();
    let envoy = envoy(&named(80, ""), &kube);
    let (one, two) = (envoy.worker(), envoy.worker());
    let old = one.root();
    envoy.advance(SECOND * 120).answer();
    let snapshot = envoy.shared_data("").into_keys().find(|key| key.ends_with("/snapshot"));
    one.configure(named(70, "")).unwrap();
    envoy.advance(SECOND * 120).answer();
    one.retire(old);
    let again = two.clone();
    two.retire(two.root());
    // The configuration returns after the last check has read the values.
    one.before_read(&snapshot.unwrap(), move || {
        again.configure(named(80, "")).unwrap();
        again.tick().answer();
    });
    envoy.advance(SECOND * 60 * 70).answer();
    assert_eq!(held(&envoy, "/snapshot"), 2);
    let terms = envoy
        .log()
        .into_iter()
        .filter(|line| line.thread == ThreadName::Worker(1) && line.text.starts_with("this thread polls"));
    assert_eq!(terms.count(), 1, "a deposed leader begins a new term");
    assert!(two.response("web.shop").header("x-burst").is_some());
}
