//! Shared data, queues and stats of all threads.

use super::envoy;
use crate::host::ThreadName;
use proxy_wasm::hostcalls::{self, define_metric, get_shared_data, increment_metric, record_metric, set_shared_data};
use proxy_wasm::types::{MetricType, Status};

/// A CAS that the host never hands out in the life of a test.
const UNSEEN: Option<u32> = Some(u32::MAX);

#[test]
fn a_write_with_an_unused_cas_only_creates_an_absent_key() {
    let envoy = envoy("");
    let (one, other) = (envoy.worker(), envoy.worker());
    assert_eq!(one.inside(|| set_shared_data("lease", Some(b"one"), UNSEEN)), Ok(()));
    assert_eq!(
        other.inside(|| set_shared_data("lease", Some(b"other"), UNSEEN)),
        Err(Status::CasMismatch)
    );
    assert_eq!(envoy.shared_data("lea")["lease"], b"one");
}

#[test]
fn a_write_without_a_cas_always_succeeds() {
    let envoy = envoy("");
    let (one, other) = (envoy.worker(), envoy.worker());
    assert_eq!(one.inside(|| set_shared_data("lease", Some(b"one"), None)), Ok(()));
    assert_eq!(other.inside(|| set_shared_data("lease", Some(b"other"), None)), Ok(()));
    assert_eq!(envoy.shared_data("")["lease"], b"other");
}

#[test]
fn a_cas_is_valid_until_its_key_is_written_and_rises_with_every_write() {
    let envoy = envoy("");
    let worker = envoy.worker();
    worker.inside(|| {
        set_shared_data("a", Some(b"1"), None).unwrap();
        let (_, first) = get_shared_data("a").unwrap();
        set_shared_data("b", Some(b"1"), None).unwrap();
        let (_, other) = get_shared_data("b").unwrap();
        assert!(first < other, "{first:?} {other:?}");
        assert_eq!(set_shared_data("a", Some(b"2"), first), Ok(()));
        assert_eq!(set_shared_data("a", Some(b"3"), first), Err(Status::CasMismatch));
    });
}

#[test]
fn a_removed_key_is_an_empty_value_that_keeps_a_cas() {
    let worker = envoy("").worker();
    worker.inside(|| {
        assert_eq!(get_shared_data("a").unwrap(), (None, None));
        set_shared_data("a", Some(b"1"), None).unwrap();
        set_shared_data("a", None, None).unwrap();
        let (value, cas) = get_shared_data("a").unwrap();
        assert!(value.is_none() && cas.is_some(), "{value:?} {cas:?}");
        assert_eq!(set_shared_data("a", Some(b"2"), UNSEEN), Err(Status::CasMismatch));
    });
}

#[test]
fn another_vm_id_shares_no_data() {
    let envoy = envoy("");
    envoy
        .worker()
        .inside(|| set_shared_data("a", Some(b"1"), None).unwrap());
    let other = envoy.clone().vm_id("other");
    assert_eq!(other.worker().inside(|| get_shared_data("a").unwrap()), (None, None));
    assert_eq!(other.shared_data("").len(), 0);
}

#[test]
fn another_thread_can_write_between_a_read_and_a_write() {
    let envoy = envoy("");
    let (one, other) = (envoy.worker(), envoy.worker());
    let rival = other.clone();
    one.before_write("lease", move || {
        rival.inside(|| set_shared_data("lease", Some(b"rival"), UNSEEN).unwrap());
    });
    let won = one.inside(|| {
        set_shared_data("other", Some(b"1"), None).unwrap();
        assert_eq!(get_shared_data("lease").unwrap(), (None, None));
        set_shared_data("lease", Some(b"one"), UNSEEN)
    });
    assert_eq!(won, Err(Status::CasMismatch));
    assert_eq!(
        one.inside(|| set_shared_data("lease", Some(b"one"), None)),
        Ok(()),
        "the interrupt runs once"
    );
}

#[test]
fn each_write_of_a_key_runs_one_of_its_interrupts() {
    let envoy = envoy("");
    let (one, other) = (envoy.worker(), envoy.worker());
    for value in ["a", "b"] {
        let rival = other.clone();
        one.before_write("k", move || {
            rival.inside(move || set_shared_data(&format!("rival {value}"), Some(b"1"), None).unwrap());
        });
    }
    for expected in [1, 2, 2] {
        one.inside(|| set_shared_data("k", Some(b"1"), None).unwrap());
        assert_eq!(envoy.shared_data("rival").len(), expected);
    }
}

#[test]
fn another_thread_can_write_between_a_write_and_the_read_of_its_cas() {
    let envoy = envoy("");
    let (one, other) = (envoy.worker(), envoy.worker());
    one.before_read("k", move || {
        other.inside(|| set_shared_data("k", Some(b"rival"), None).unwrap());
    });
    let read = one.inside(|| {
        set_shared_data("k", Some(b"one"), None).unwrap();
        [(); 2].map(|()| get_shared_data("k").unwrap())
    });
    assert_eq!(read, [(); 2].map(|()| (Some(b"rival".to_vec()), Some(2))));
}

#[test]
fn a_counter_is_shared_by_name_and_refuses_an_increment_of_zero() {
    let envoy = envoy("");
    let count = |by| {
        move || {
            let id = define_metric(MetricType::Counter, "polls").unwrap();
            increment_metric(id, by)
        }
    };
    assert_eq!(envoy.worker().inside(count(2)), Ok(()));
    assert_eq!(envoy.main_thread().inside(count(3)), Ok(()));
    assert_eq!(envoy.stat("polls"), Some(5));
    assert_eq!(envoy.worker().inside(count(0)), Err(Status::BadArgument));
    assert_eq!(envoy.stat("pols"), None);
}

#[test]
fn recording_sets_a_gauge_but_adds_to_a_counter() {
    let envoy = envoy("");
    envoy.worker().inside(|| {
        for kind in [MetricType::Counter, MetricType::Gauge, MetricType::Histogram] {
            let id = define_metric(kind, &format!("{kind:?}")).unwrap();
            record_metric(id, 4).unwrap();
            record_metric(id, 3).unwrap();
        }
    });
    assert_eq!((envoy.stat("Counter"), envoy.stat("Gauge")), (Some(7), Some(3)));
    assert_eq!(envoy.histogram("Histogram"), Some(vec![4, 3]));
}

#[test]
fn a_metric_defined_twice_has_two_ids() {
    let worker = envoy("").worker();
    worker.inside(|| {
        let define = || define_metric(MetricType::Gauge, "age").unwrap();
        let (first, second) = (define(), define());
        assert_ne!(first, second);
        record_metric(first, 1).unwrap();
        assert_eq!(hostcalls::get_metric(second), Ok(1));
        assert_eq!(increment_metric(second + 4, 1), Err(Status::NotFound));
    });
}

#[test]
fn a_queue_notifies_the_last_context_that_registered_its_name() {
    let envoy = envoy("queue");
    let (first, second) = (envoy.worker(), envoy.worker());
    first.inside(|| hostcalls::enqueue_shared_queue(1, Some(b"hello")).unwrap());
    let line = envoy.log().pop().unwrap();
    assert_eq!(
        (line.text.as_str(), line.thread),
        ("queue 1 ready: hello", second.thread())
    );
}

#[test]
fn a_queue_that_a_canary_registered_notifies_the_live_context_with_its_number() {
    let envoy = envoy("");
    let main = envoy.main_thread();
    envoy
        .clone()
        .config("queue")
        .worker()
        .inside(|| hostcalls::register_shared_queue("other").unwrap());
    let refused = envoy.clone().config("queue refuse").try_worker();
    assert!(refused.is_err());
    main.inside(|| hostcalls::enqueue_shared_queue(1, Some(b"hello")).unwrap());
    let line = envoy.log().pop().unwrap();
    assert_eq!(
        (line.text.as_str(), line.thread),
        ("queue 1 ready: hello", ThreadName::Main)
    );
}

#[test]
fn dequeueing_from_an_unknown_or_an_empty_queue_has_its_own_status() {
    let envoy = envoy("");
    let (worker, other) = (envoy.worker(), envoy.clone().vm_id("other").worker());
    let queue = worker.inside(|| hostcalls::register_shared_queue("q").unwrap());
    assert_eq!(worker.inside(move || hostcalls::dequeue_shared_queue(queue)), Ok(None));
    assert_eq!(worker.inside(|| hostcalls::resolve_shared_queue("", "p")), Ok(None));
    assert_eq!(
        worker.inside(|| hostcalls::enqueue_shared_queue(99, None)),
        Err(Status::NotFound)
    );
    assert_eq!(other.inside(|| hostcalls::resolve_shared_queue("", "q")), Ok(None));
}
