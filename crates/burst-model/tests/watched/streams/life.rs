//! The life of a stream, from its start to each of its ends.

use super::proxy::{Proxy, at, fresh};
use super::server::Fate;
use crate::api::{Api, KINDS};
use std::time::Duration;

fn api() -> Api {
    let mut api = Api::default();
    (0..5).for_each(|name| (0..KINDS.len()).for_each(|kind| api.put(kind, name, 1)));
    api
}

fn run(proxy: &mut Proxy, api: &Api, seconds: std::ops::Range<u64>) {
    seconds.for_each(|second| proxy.second(api, at(second)));
}

/// A proxy that has read the cluster, and that proxy's API.
fn streaming() -> (Api, Proxy) {
    let (api, mut proxy) = (api(), Proxy::new("auto"));
    run(&mut proxy, &api, 0..3);
    proxy.requests.clear();
    (api, proxy)
}

/// Messages of the log that are not about the mode.
fn count(lines: &[String], part: &str) -> usize {
    lines.iter().filter(|line| line.contains(part)).count()
}

#[test]
fn the_lists_arrive_as_events_and_their_changes_at_once() {
    let (mut api, mut proxy) = (api(), Proxy::new("auto"));
    run(&mut proxy, &api, 0..1);
    assert_eq!(proxy.content(), fresh(&api));
    assert_eq!(proxy.requests.len(), 4, "{:?}", proxy.requests);
    assert_eq!(count(&proxy.requests, "sendInitialEvents=true"), 4);
    assert_eq!(count(&proxy.log, "by streams"), 1, "{:?}", proxy.log);
    api.put(0, 1, 7);
    proxy.arrive(&api, at(1));
    assert_eq!(proxy.value(1), Some(7), "without a tick, and without a request");
    assert_eq!(proxy.requests.len(), 4);
}

#[test]
fn the_log_says_that_streams_are_in_use_when_the_server_accepts_the_first_one() {
    let (api, mut proxy) = (api(), Proxy::new("auto"));
    proxy.fate = Fate::Status(403);
    run(&mut proxy, &api, 0..10);
    assert_eq!(count(&proxy.log, "by streams"), 0, "{:?}", proxy.log);
    proxy.fate = Fate::Fine;
    run(&mut proxy, &api, 10..100);
    assert_eq!(count(&proxy.log, "by streams"), 1, "{:?}", proxy.log);
}

#[test]
fn a_server_without_lists_as_events_is_asked_for_pages_and_one_line_says_so() {
    let (mut api, mut proxy) = (api(), Proxy::new("auto"));
    proxy.has_watch_list = false;
    run(&mut proxy, &api, 0..5);
    assert_eq!(count(&proxy.log, "sendInitialEvents"), 1, "{:?}", proxy.log);
    assert_eq!(proxy.log.len(), 2, "{:?}", proxy.log);
    api.put(0, 1, 7);
    proxy.arrive(&api, at(5));
    assert_eq!((proxy.value(1), proxy.content()), (Some(7), fresh(&api)));
    let asked = count(&proxy.requests, "sendInitialEvents");
    assert!(asked <= 4, "once for each list");
    // Another list in full does not ask again.
    proxy.set_fate(Fate::Expire);
    run(&mut proxy, &api, 6..10);
    assert_eq!(count(&proxy.requests, "sendInitialEvents"), asked);
    assert_eq!(
        (proxy.content(), proxy.log.len()),
        (fresh(&api), 2 + 4),
        "{:?}",
        proxy.log
    );
}

#[test]
fn a_list_that_breaks_off_is_not_applied_and_the_old_objects_are_served() {
    let (mut api, mut proxy) = streaming();
    proxy.set_fate(Fate::Expire);
    (0..5).for_each(|name| api.put(0, name, 9));
    // The lists that follow break in their first event.
    proxy.fate = Fate::Silent;
    proxy.arrive(&api, at(3));
    assert_eq!(count(&proxy.requests, "sendInitialEvents"), 4, "{:?}", proxy.requests);
    for response in &mut proxy.responses {
        response.fate = Fate::Break;
    }
    let before = proxy.content();
    let (id, stream) = (proxy.responses[0].id, proxy.responses[0].stream);
    let half = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"shop\",\"name\":\"n8\",\"resourceVersion\":\"99\"},\
                \"spec\":{\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"n8\"},\"maxReplicas\":9}}}\n{\"ty";
    proxy.deliver(id, stream, half.as_bytes(), at(3));
    assert_eq!(proxy.content(), before, "an object of a list that is not complete");
    proxy.fate = Fate::Fine;
    proxy.set_fate(Fate::Status(503));
    run(&mut proxy, &api, 4..5);
    assert_eq!(proxy.content(), before, "the old objects");
    run(&mut proxy, &api, 5..15);
    assert_eq!(proxy.content(), fresh(&api));
}

#[test]
fn a_stream_that_breaks_in_an_event_is_continued_from_the_event_before_it() {
    let (mut api, mut proxy) = streaming();
    api.put(0, 1, 3);
    proxy.set_fate(Fate::Break);
    proxy.second(&api, at(3));
    assert_eq!(proxy.value(1), Some(3), "the event before the break");
    api.put(0, 1, 4);
    run(&mut proxy, &api, 4..6);
    assert_eq!(proxy.value(1), Some(4));
    assert_eq!(
        count(&proxy.requests, "sendInitialEvents") + count(&proxy.requests, "limit="),
        0
    );
    assert_eq!(count(&proxy.log, "cannot"), 0, "{:?}", proxy.log);
}

#[test]
fn a_version_that_is_too_old_leads_to_a_list_at_once_without_a_gap_in_service() {
    let (mut api, mut proxy) = streaming();
    api.put(0, 1, 3);
    proxy.set_fate(Fate::Expire);
    proxy.second(&api, at(3));
    assert_eq!(count(&proxy.requests, "sendInitialEvents"), 4, "{:?}", proxy.requests);
    assert_eq!(proxy.closed.len(), 4);
    run(&mut proxy, &api, 4..5);
    assert_eq!(proxy.content(), fresh(&api));
}

#[test]
fn a_quiet_stream_is_continued_after_minutes_and_asks_for_nothing_in_between() {
    let (api, mut proxy) = streaming();
    for second in 3..1_200 {
        proxy.second(&api, at(second));
        assert!(
            proxy.age(at(second)) <= Duration::from_secs(28),
            "{:?} after {second} s",
            proxy.age(at(second))
        );
    }
    assert!(
        (8..=16).contains(&proxy.requests.len()),
        "four lists in twenty minutes: {:?}",
        proxy.requests
    );
    assert_eq!(
        count(&proxy.requests, "limit=") + count(&proxy.requests, "sendInitialEvents"),
        0
    );
    assert!(proxy.is_idle(at(1_200)), "another VM may take over");
}

#[test]
fn a_stream_that_ends_at_once_again_and_again_gets_one_request_a_second() {
    let (api, mut proxy) = streaming();
    for second in 3..63 {
        proxy.set_fate(Fate::End);
        proxy.second(&api, at(second));
    }
    assert!(proxy.requests.len() <= 4 * 60, "{}", proxy.requests.len());
    assert!(proxy.age(at(63)) < Duration::from_secs(5));
}

#[test]
fn streams_that_break_without_a_message_give_way_to_windows() {
    let (api, mut proxy) = streaming();
    for second in 3..400 {
        // Something in between cuts connections that are quiet for half a minute.
        if second % 30 == 0 {
            proxy.set_fate(Fate::Break);
        }
        proxy.second(&api, at(second));
    }
    let windows = count(&proxy.requests, "timeoutSeconds=5&");
    assert!(windows > 20, "{:?}", proxy.requests);
    assert!(proxy.requests.len() < 400, "{}", proxy.requests.len());
}

#[test]
fn a_silent_stream_that_lives_is_confirmed_by_a_short_watch() {
    let (mut api, mut proxy) = streaming();
    proxy.set_fate(Fate::Silent);
    run(&mut proxy, &api, 3..79);
    assert_eq!(proxy.requests.len(), 0);
    run(&mut proxy, &api, 79..90);
    assert_eq!(proxy.requests.len(), 4, "{:?}", proxy.requests);
    assert!(proxy.requests.iter().all(|path| path.contains("timeoutSeconds=1&")));
    assert!(proxy.age(at(90)) <= Duration::from_secs(10));
    assert_eq!(proxy.closed.len(), 0);
    // It did not bring bookmarks, and goes on.
    proxy.set_fate(Fate::Fine);
    api.put(0, 1, 5);
    proxy.arrive(&api, at(91));
    assert_eq!(proxy.value(1), Some(5));
}

#[test]
fn a_silent_stream_that_missed_a_change_is_given_up_and_its_change_applied() {
    let (mut api, mut proxy) = streaming();
    proxy.set_fate(Fate::Silent);
    run(&mut proxy, &api, 3..50);
    api.put(0, 1, 5);
    run(&mut proxy, &api, 50..90);
    assert_eq!(proxy.value(1), Some(5));
    assert_eq!(proxy.closed.len(), 1, "that of HPAs");
    api.put(0, 1, 6);
    proxy.arrive(&api, at(91));
    assert_eq!(proxy.value(1), Some(6), "a new stream");
}

#[test]
fn a_stream_that_brings_a_byte_a_second_is_given_up_and_its_change_applied() {
    let (mut api, mut proxy) = streaming();
    proxy.set_fate(Fate::Drip);
    run(&mut proxy, &api, 3..50);
    api.put(0, 1, 5);
    run(&mut proxy, &api, 50..90);
    assert_eq!(proxy.value(1), Some(5), "before the stream has brought it");
    assert_eq!(
        (proxy.closed.len(), proxy.requests.len()),
        (1, 4 + 1),
        "{:?}",
        proxy.requests
    );
    assert!(proxy.age(at(90)) <= Duration::from_secs(10));
    api.put(0, 1, 6);
    proxy.arrive(&api, at(91));
    assert_eq!(proxy.value(1), Some(6), "a new stream");
}

#[test]
fn a_list_that_comes_as_a_byte_a_second_is_given_up() {
    let (mut api, mut proxy) = streaming();
    api.put(0, 1, 5);
    proxy.set_fate(Fate::Expire);
    proxy.arrive(&api, at(3));
    let before = proxy.content();
    // The lists that follow.
    proxy.set_fate(Fate::Drip);
    run(&mut proxy, &api, 4..15);
    assert_eq!(proxy.content(), before, "the old objects");
    run(&mut proxy, &api, 15..30);
    assert_eq!(proxy.content(), fresh(&api), "the next attempt");
}

#[test]
fn a_silent_stream_whose_server_is_gone_is_given_up_and_continued() {
    let (mut api, mut proxy) = streaming();
    proxy.set_fate(Fate::Silent);
    run(&mut proxy, &api, 3..50);
    proxy.fate = Fate::Status(503);
    run(&mut proxy, &api, 50..100);
    assert_eq!(proxy.closed.len(), 4);
    assert!(proxy.age(at(100)) >= Duration::from_secs(40), "the time stops");
    proxy.fate = Fate::Fine;
    api.put(0, 1, 5);
    run(&mut proxy, &api, 100..125);
    assert_eq!((proxy.value(1), proxy.content()), (Some(5), fresh(&api)));
    assert_eq!(
        count(&proxy.requests, "limit=") + count(&proxy.requests, "sendInitialEvents"),
        0
    );
}

#[test]
fn bytes_of_a_stream_that_was_given_up_are_ignored() {
    let (mut api, mut proxy) = streaming();
    let (id, stream) = (proxy.responses[0].id, proxy.responses[0].stream);
    api.put(0, 1, 5);
    proxy.set_fate(Fate::Expire);
    run(&mut proxy, &api, 3..5);
    let (requests, content) = (proxy.requests.len(), proxy.content());
    let late = "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"namespace\":\"shop\",\"name\":\"n1\",\"resourceVersion\":\"2\"}}}\n";
    proxy.deliver(id, stream, late.as_bytes(), at(5));
    proxy.arrive(&api, at(5));
    assert_eq!((proxy.requests.len(), proxy.content()), (requests, content));
    assert_eq!(proxy.value(1), Some(5));
}

#[test]
fn a_successor_lists_nothing() {
    let (mut api, mut proxy) = streaming();
    run(&mut proxy, &api, 3..40);
    api.put(0, 1, 3);
    proxy.arrive(&api, at(40));
    proxy.hand_over(at(41));
    api.put(0, 1, 4);
    run(&mut proxy, &api, 41..44);
    assert_eq!(proxy.value(1), Some(4));
    assert_eq!(
        count(&proxy.requests, "limit=") + count(&proxy.requests, "sendInitialEvents"),
        0
    );
    assert_eq!(proxy.responses.len(), 4);
}

#[test]
fn a_successor_with_a_checkpoint_of_what_is_served_opens_the_streams_at_once() {
    let (mut api, mut proxy) = streaming();
    run(&mut proxy, &api, 3..40);
    proxy.hand_over(at(40));
    api.put(0, 1, 4);
    proxy.second(&api, at(40));
    assert_eq!(
        proxy.value(1),
        Some(4),
        "published without a message of the other lists"
    );
    run(&mut proxy, &api, 41..300);
    assert_eq!(proxy.requests.len(), 4, "{:?}", proxy.requests);
    assert_eq!(count(&proxy.requests, "timeoutSeconds=1&"), 0);
}

#[test]
fn a_successor_with_an_older_checkpoint_asks_first_what_it_lacks() {
    let (mut api, mut proxy) = streaming();
    run(&mut proxy, &api, 3..20);
    api.put(0, 1, 4);
    proxy.arrive(&api, at(20));
    proxy.hand_over(at(21));
    run(&mut proxy, &api, 21..100);
    assert_eq!(count(&proxy.requests, "timeoutSeconds=1&"), 4, "{:?}", proxy.requests);
    assert_eq!((proxy.value(1), proxy.requests.len()), (Some(4), 8));
}

#[test]
fn a_checkpoint_is_older_than_a_snapshot_that_has_its_content_again() {
    let (mut api, mut proxy) = streaming();
    run(&mut proxy, &api, 3..20);
    let content = proxy.content();
    api.put(0, 9, 1);
    proxy.arrive(&api, at(20));
    api.log.push((0, "n9".into(), None));
    proxy.arrive(&api, at(21));
    assert_eq!(proxy.content(), content);
    proxy.hand_over(at(22));
    run(&mut proxy, &api, 22..100);
    assert_eq!(count(&proxy.requests, "timeoutSeconds=1&"), 4, "{:?}", proxy.requests);
}

#[test]
fn the_snapshot_stays_fresh_however_often_leaders_hand_over() {
    for seconds in [3, 5, 15, 19, 21, 40] {
        let (api, mut proxy) = streaming();
        for second in 3..600 {
            if second % seconds == 0 {
                proxy.hand_over(at(second));
            }
            proxy.second(&api, at(second));
            let age = proxy.age(at(second));
            assert!(
                age < Duration::from_secs(55),
                "every {seconds} s: {age:?} after {second} s"
            );
        }
    }
}

#[test]
fn a_role_that_is_taken_away_takes_effect_at_the_next_stream() {
    let (mut api, mut proxy) = streaming();
    proxy.fate = Fate::Status(403);
    run(&mut proxy, &api, 3..100);
    api.put(0, 1, 3);
    proxy.arrive(&api, at(100));
    assert_eq!(
        (proxy.value(1), proxy.requests.len()),
        (Some(3), 0),
        "an open stream goes on"
    );
    proxy.set_fate(Fate::End);
    run(&mut proxy, &api, 101..103);
    assert_eq!(count(&proxy.log, "cannot watch"), 4, "{:?}", proxy.log);
    proxy.fate = Fate::Fine;
    run(&mut proxy, &api, 103..150);
    assert_eq!(proxy.content(), fresh(&api));
    api.put(0, 1, 4);
    proxy.arrive(&api, at(150));
    assert_eq!(proxy.value(1), Some(4), "by a stream again");
}

#[test]
fn without_the_upstream_filter_the_lists_are_watched_in_windows_and_one_line_says_so() {
    let (mut api, mut proxy) = (api(), Proxy::new("auto"));
    proxy.owns = false;
    run(&mut proxy, &api, 0..10);
    api.put(0, 1, 3);
    run(&mut proxy, &api, 10..20);
    assert_eq!((proxy.value(1), count(&proxy.log, "in windows of 5s")), (Some(3), 1));
    // The upstream filter comes.
    proxy.owns = true;
    run(&mut proxy, &api, 20..120);
    assert_eq!(proxy.log.len(), 2, "{:?}", proxy.log);
    assert!(proxy.log[1].contains("by streams"), "{:?}", proxy.log);
}

#[test]
fn mode_stream_without_the_upstream_filter_reads_nothing_and_says_why() {
    let (api, mut proxy) = (api(), Proxy::new("stream"));
    proxy.owns = false;
    run(&mut proxy, &api, 0..120);
    assert!(proxy.snapshot.is_empty());
    assert_eq!(proxy.log.len(), 1, "{:?}", proxy.log);
    assert!(
        proxy.log[0].starts_with("nothing is read: `sync.mode` is `stream`, and this filter is not an upstream filter"),
        "{:?}",
        proxy.log
    );
    assert!(proxy.requests.len() < 60, "{}", proxy.requests.len());
    proxy.owns = true;
    run(&mut proxy, &api, 120..135);
    assert_eq!(proxy.content(), fresh(&api));
    // A successor is refused too, although it need not list.
    proxy.owns = false;
    proxy.hand_over(at(135));
    let age = proxy.age(at(135));
    run(&mut proxy, &api, 135..145);
    assert!(proxy.age(at(145)) >= age + Duration::from_secs(9), "nothing is read");
}
