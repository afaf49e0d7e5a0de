//! Watches that follow a list.

use super::*;

#[test]
fn a_clock_set_back_during_a_request_does_not_stop_the_next_one() {
    let before = T0.before(Duration::from_secs(500));
    let mut list = listing();
    list.next_request(T0);
    list.handle_response(page(None), before, 0);
    assert!(list.next_request(before.after(PAUSE)).is_some(), "the next list");

    let mut list = watching();
    list.handle_response(batch(Some("8")), before, 0);
    assert!(list.next_request(before.after(MIN_WINDOW)).is_some(), "the next watch");
}

#[test]
fn each_watch_starts_at_the_last_resource_version() {
    let mut list = list(Some(WINDOW));
    assert_eq!(path(list.next_request(T0)).unwrap(), LIST);
    list.handle_response(page(None), T0, 0);
    assert_eq!(path(list.next_request(T0)).unwrap(), FROM_7, "without a delay");
    assert!(matches!(
        list.handle_response(batch(Some("9")), later(5), 0),
        ReflectorEvent::Updated(_)
    ));
    assert!(
        path(list.next_request(later(5))).unwrap().ends_with("=9"),
        "without a delay"
    );
    list.handle_response(batch(None), later(10), 0);
    assert!(
        path(list.next_request(later(10))).unwrap().ends_with("=9"),
        "there were no events"
    );
}

#[test]
fn a_server_that_ends_watches_at_once_gets_one_request_a_tick() {
    let mut list = watching();
    list.handle_response(batch(None), T0, 0);
    assert_eq!(list.next_request(T0), None);
    assert!(list.next_request(later(1)).is_some());
}

#[test]
fn a_watch_that_was_cut_off_is_repeated_from_the_same_version() {
    let mut list = watching();
    list.handle_response(Err(Failure::Disconnected), later(3), 0);
    assert_eq!(list.next_request(later(3)), None, "after a pause");
    assert_eq!(path(list.next_request(later(4))).unwrap(), SHORT_FROM_7);
}

#[test]
fn the_first_watch_after_a_list_or_a_failure_has_a_random_length() {
    for (chance, seconds) in [(0, 30), (u32::MAX / 2, 17), (u32::MAX, 3)] {
        let timeout = |list: &mut Reflector, now| list.next_request(now).unwrap().watch_timeout.as_secs();
        let mut list = list(Some(Duration::from_secs(30)));
        list.next_request(T0);
        list.handle_response(page(None), T0, chance);
        assert_eq!(timeout(&mut list, T0), seconds, "after a list");
        list.handle_response(batch(None), later(30), chance);
        assert_eq!(timeout(&mut list, later(30)), 30);
        list.handle_response(Err(Failure::Disconnected), later(40), chance);
        assert_eq!(
            timeout(&mut list, later(41)),
            1,
            "a short watch fetches the changes that were missed"
        );
        list.handle_response(batch(None), later(42), chance);
        assert_eq!(timeout(&mut list, later(42)), seconds, "after a failure");
    }
}

#[test]
fn an_expired_version_causes_a_list_at_once_but_only_once() {
    let mut list = watching();
    list.handle_response(Err(Failure::Expired("too old".into())), later(5), 0);
    assert_eq!(path(list.next_request(later(5))).unwrap(), LIST);
    list.handle_response(Err(Failure::Expired("too old".into())), later(5), 0);
    assert_eq!(list.next_request(later(5)), None);
}

#[test]
fn a_successor_starts_with_a_short_watch() {
    for backlog in [Backlog::SinceSnapshot, Backlog::BeforeSnapshot] {
        let mut list = list(Some(WINDOW)).resuming_from("7", backlog, T0);
        assert_eq!(list.is_behind(), backlog == Backlog::BeforeSnapshot);
        let first = list.next_request(T0).unwrap();
        assert_eq!((first.verb, first.watch_timeout), (Verb::Watch, MIN_WINDOW));
        list.handle_response(batch(Some("8")), later(1), 0);
        assert!(!list.is_behind());
        assert_eq!(list.next_request(later(1)).unwrap().watch_timeout, WINDOW);
    }
}
