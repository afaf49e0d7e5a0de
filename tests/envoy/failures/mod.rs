//! Failures of the Kubernetes API: the filter serves the last values, logs one line with advice, and recovers with the
//! first good answer. `burst-model` tests what each failure means; these tests show what Envoy makes of it.

mod answers;
mod connections;
mod objects;

use burst_lab::api::Fault;
use burst_testkit::{
    Version,
    filter::{Backend, Client, NGSA_1, NGSA_1_CLUSTER, PATIENCE, Proxy, listing},
    http::Request,
    wait,
};
use serde_json::{Value, json};

/// A failure to read one resource.
struct Failure {
    resource: &'static str,
    fault: Fault,
    outcome: &'static str,
    says: &'static str,
    advice: &'static str,
}

/// Waits until a list has failed twice, so that a second log line would be visible.
fn failed_twice(backend: &Backend, resource: &str) {
    let failures = || {
        backend
            .api
            .requests
            .count(|seen| seen.resource == resource && seen.fault.is_some())
    };
    wait::until(PATIENCE, &format!("two failures of {resource}"), || failures() >= 2);
}

/// The log line about a resource that cannot be listed. Each thread that polled logs it once.
fn failure_line(proxy: &Proxy, resource: &str) -> String {
    let lines = proxy.log_lines(&format!("cannot list {resource}: "));
    let [line, others @ ..] = &lines[..] else {
        panic!("no line for {resource}")
    };
    assert!(line.contains("[warning]"), "{line}");
    assert!(others.len() < proxy.leader_changes(), "{lines:#?}");
    line.clone()
}

/// The same, for a poll that stayed with one thread.
fn only_failure_line(proxy: &Proxy, resource: &str) -> String {
    let lines = proxy.log_lines(&format!("cannot list {resource}: "));
    assert_eq!(lines.len(), 1, "one line for {resource}: {lines:#?}");
    failure_line(proxy, resource)
}

/// Waits for new values, and for the log lines about the recovery.
fn works_again(backend: &Backend, proxy: &Proxy, main: &mut Client, resources: &[&str]) {
    backend.scale_ngsa_1(3);
    let scaled = NGSA_1.replace("current-load=1", "current-load=3");
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(&scaled));
    for resource in resources {
        let words = format!("listing {resource} works again");
        wait::until(PATIENCE, &words, || proxy.log_lines(&words).len() == 1);
        only_failure_line(proxy, resource);
    }
}

fn check_survival(version: Version, failures: &[Failure]) {
    check_survival_with(version, json!({}), failures);
}

/// The same, with additional configuration keys.
fn check_survival_with(version: Version, keys: Value, failures: &[Failure]) {
    let backend = Backend::sample();
    let (proxy, mut main) = Proxy::start(version, &backend, listing(keys));
    main.wait_for_header(&Request::to(NGSA_1_CLUSTER), Some(NGSA_1));
    proxy.wait_for_main_thread();
    for Failure { resource, fault, .. } in failures {
        backend.api.faults.inject(resource, fault.clone());
    }
    for Failure {
        resource,
        outcome,
        says,
        advice,
        ..
    } in failures
    {
        failed_twice(&backend, resource);
        proxy.wait_for_stat(&format!("burst_poll_{outcome}_total"), |count| count >= 2);
        let line = only_failure_line(&proxy, resource);
        assert!(line.contains(says) && line.ends_with(&format!("; {advice}")), "{line}");
    }
    assert_eq!(
        main.ask(&Request::to(NGSA_1_CLUSTER)).header("x-burst"),
        Some(NGSA_1),
        "the last value"
    );
    assert_eq!(
        main.ask(&Request::get("/burstmetrics/services")).status,
        200,
        "the last values"
    );
    backend.api.faults.clear();
    let resources: Vec<_> = failures.iter().map(|failure| failure.resource).collect();
    works_again(&backend, &proxy, &mut main, &resources);
}
