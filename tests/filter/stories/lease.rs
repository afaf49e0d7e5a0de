//! A proxy has one leader at any time.

use super::kube::Kube;
use super::{EVERY_SECOND, SECOND, envoy};
use crate::host::{FakeEnvoy, Jump, Request, Route, ThreadName, Vm};
use std::time::Duration;

/// The threads that started to poll, in order.
fn pollers(envoy: &FakeEnvoy) -> Vec<ThreadName> {
    let lines = envoy
        .log()
        .into_iter()
        .filter(|line| line.text.starts_with("this thread polls"));
    lines.map(|line| line.thread).collect()
}

fn serve(vm: &Vm) {
    vm.response("web.shop");
}

#[test]
fn many_threads_poll_no_more_often_than_one() {
    let asked = |workers: usize| {
        let kube = Kube::new();
        let envoy = envoy(EVERY_SECOND, &kube);
        let _main = envoy.main_thread();
        let _workers: Vec<_> = (0..workers).map(|_| envoy.worker()).collect();
        envoy.advance(Duration::from_secs(10)).answer();
        kube.take_requests().len()
    };
    assert_eq!(asked(1), asked(8));
}

#[test]
fn only_one_of_two_threads_that_claim_the_lease_at_once_polls() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let (one, two) = (envoy.worker(), envoy.worker());
    let other = two.clone();
    one.before_write("lease", move || {
        other.tick();
    });
    one.tick();
    assert!(one.callouts().is_empty());
    assert_eq!(two.callouts().len(), 4);
}

#[test]
fn the_lease_moves_to_the_thread_that_serves_no_requests() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let (worker, main) = (envoy.worker(), envoy.main_thread());
    worker.tick().answer();
    main.tick().answer();
    serve(&worker);
    envoy.advance(Duration::from_secs(5)).answer();
    serve(&worker);
    envoy.advance(Duration::from_secs(20)).answer();
    assert_eq!(pollers(&envoy), [ThreadName::Worker(0), ThreadName::Main]);
}

#[test]
fn no_thread_takes_the_lease_in_the_middle_of_a_poll() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let (worker, main) = (envoy.worker(), envoy.main_thread());
    serve(&worker);
    worker.tick();
    main.tick();
    assert_eq!(pollers(&envoy), [ThreadName::Worker(0)], "the poll is still running");
    worker.answer();
    main.tick();
    assert_eq!(pollers(&envoy), [ThreadName::Worker(0), ThreadName::Main]);
}

#[test]
fn a_leader_that_dies_is_replaced_and_its_successor_resumes_without_a_list() {
    let kube = Kube::new();
    let envoy = envoy(
        r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"30s"}"#,
        &kube,
    );
    let (main, worker) = (envoy.main_thread(), envoy.worker());
    main.tick().answer();
    worker.tick();
    assert_eq!(kube.take_requests().len(), 4);
    main.kill();
    envoy.advance(Duration::from_secs(10)).answer();
    assert_eq!(pollers(&envoy).len(), 2);
    assert!(
        kube.take_requests().is_empty(),
        "no list is due before the 30 s are over"
    );
    envoy.advance(Duration::from_secs(25)).answer();
    assert_eq!(kube.take_requests().len(), 4);
    assert!(worker.response("web.shop").header("x-burst").is_some());
}

#[test]
fn a_deposed_leader_overwrites_no_shared_data() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let (old, new) = (envoy.worker(), envoy.worker());
    old.tick();
    let late = old.callouts();
    assert_eq!(late.len(), 4);
    // The old leader is delayed until another thread leads and publishes.
    for _ in 0..10 {
        new.tick().answer();
    }
    kube.scale("shop/web", 2);
    assert_eq!(pollers(&envoy).len(), 2);
    let published = envoy.shared_data("burst-metrics/");
    for callout in &late {
        old.reply(callout, kube.answer(callout));
    }
    let after = envoy.shared_data("burst-metrics/");
    for part in ["snapshot", "confirmed", "resume", "lease"] {
        let of = |data: &std::collections::BTreeMap<String, Vec<u8>>| {
            data.iter()
                .find(|(key, _)| key.ends_with(part))
                .map(|(_, bytes)| bytes.clone())
        };
        assert!(of(&published).is_some() && of(&published) == of(&after), "{part}");
    }
    old.tick();
    assert!(old.callouts().is_empty(), "the old leader has stopped");
}

#[test]
fn a_leader_deposed_between_a_write_and_reading_its_cas_number_stops_writing() {
    let kube = Kube::new();
    let envoy = envoy(r#"{"cluster":"kube_api"}"#, &kube);
    let (old, new) = (envoy.worker(), envoy.worker());
    envoy.advance(SECOND * 3).answer();
    envoy.jump(Jump::Ahead(SECOND));
    let late = old.tick().callouts();
    assert!(late.len() > 1 && late.iter().all(|callout| callout.path().contains("watch=1")));
    // At its next check, the other thread finds that the lease has not been renewed for too long.
    for _ in 0..5 {
        new.tick();
    }
    assert_eq!(pollers(&envoy), [ThreadName::Worker(0)]);
    let successor = new.clone();
    old.before_read("confirmed", move || {
        successor.tick();
    });
    let confirmed = || {
        let mut of = envoy.shared_data("burst-metrics/").into_iter();
        of.find(|(key, _)| key.ends_with("/confirmed")).map(|(_, bytes)| bytes)
    };
    let [first, rest @ ..] = &late[..] else { panic!() };
    old.reply(first, kube.answer(first));
    assert_eq!(pollers(&envoy), [ThreadName::Worker(0), ThreadName::Worker(1)]);
    let left = confirmed();
    envoy.jump(Jump::Ahead(SECOND));
    for callout in rest {
        old.reply(callout, kube.answer(callout));
    }
    assert_eq!(confirmed(), left);
}

#[test]
fn a_new_configuration_polls_while_the_old_one_serves_until_it_is_drained() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let worker = envoy.worker();
    let old = worker.root();
    envoy.advance(Duration::from_secs(3)).answer();
    let new = worker
        .configure(r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"1s","header":{"name":"x-new"}}"#)
        .unwrap();
    kube.take_requests();
    kube.scale("shop/web", 3);
    envoy.advance(Duration::from_secs(3)).answer();
    let rounds = kube.take_requests().len();
    assert!((8..=12).contains(&rounds), "one poller: {rounds} requests in 3 s");
    let seen = |root| {
        worker.request_through(
            root,
            crate::host::Request::get("/"),
            crate::host::Route::istio("web", "shop"),
        )
    };
    assert!(
        seen(old).header("x-burst").unwrap().contains("current-load=3"),
        "both configurations serve the same snapshot"
    );
    assert!(seen(new).header("x-new").unwrap().contains("current-load=3"));
    worker.retire(old);
    envoy.advance(Duration::from_secs(3)).answer();
    assert!(worker.alive());
}

#[test]
fn a_published_snapshot_is_served_before_the_first_tick() {
    let envoy = envoy(EVERY_SECOND, &Kube::new());
    let worker = envoy.worker();
    envoy.advance(SECOND).answer();
    let rebuilt = envoy.worker();
    assert!(
        rebuilt.response("web.shop").header("x-burst").is_some(),
        "a new VM serves the snapshot"
    );
    let renamed = r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"1s","header":{"name":"x-new"}}"#;
    let new = worker.configure(renamed).unwrap();
    let seen = worker.request_through(new, Request::get("/"), Route::istio("web", "shop"));
    assert!(
        seen.header("x-new").is_some(),
        "a new configuration serves the snapshot"
    );
}

#[test]
fn a_leader_that_is_retired_releases_the_lease_at_once() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let (one, two) = (envoy.worker(), envoy.worker());
    one.tick().answer();
    two.tick();
    one.retire(one.root());
    kube.take_requests();
    two.tick();
    assert_eq!(pollers(&envoy).len(), 2);
}

#[test]
fn a_configuration_that_only_a_canary_ran_leaves_no_shared_data() {
    let kube = Kube::new();
    let envoy = envoy(EVERY_SECOND, &kube);
    let _worker = envoy.worker();
    assert!(envoy.shared_data("").is_empty());
    assert_eq!(envoy.stat("burst_leader_changes_total"), None);
}

#[test]
fn a_reader_never_polls() {
    let kube = Kube::new();
    let envoy = envoy(r#"{"cluster":"kube_api","role":"reader"}"#, &kube);
    let _workers = [envoy.worker(), envoy.main_thread()];
    envoy.advance(Duration::from_secs(30)).answer();
    assert!(kube.take_requests().is_empty());
}

#[test]
fn the_poll_interval_is_respected() {
    let kube = Kube::new();
    let envoy = envoy(
        r#"{"cluster":"kube_api","sync":{"mode":"list"},"poll_interval":"5s"}"#,
        &kube,
    );
    let _worker = envoy.worker();
    envoy.advance(SECOND).answer();
    kube.take_requests();
    envoy.advance(Duration::from_secs(60)).answer();
    assert_eq!(kube.take_requests().len(), 12 * 4);
}
