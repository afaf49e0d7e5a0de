//! Watches that fail: when the reflector lists instead, and when it tries again.

use super::*;

#[test]
fn a_resource_that_cannot_be_watched_is_listed_and_watched_again_later() {
    for failure in [Failure::Forbidden("no".into()), Failure::Unexpected(405)] {
        let mut list = watching();
        let ReflectorEvent::Failed {
            falls_back: true,
            verb: Verb::Watch,
            ..
        } = list.handle_response(Err(failure), T0, 0)
        else {
            panic!()
        };
        let mut now = T0;
        for _ in 0..FALLBACK_LISTS {
            assert_eq!(path(list.next_request(now)).unwrap(), LIST);
            list.handle_response(page(None), now, 0);
            now = now.after(PAUSE);
        }
        list.next_request(now);
        list.handle_response(page(None), now, 0);
        assert_eq!(list.next_verb(), Verb::Watch);
    }
}

#[test]
fn after_too_many_failed_watches_the_reflector_lists_instead() {
    for failure in [
        Failure::Disconnected,
        Failure::Timeout,
        Failure::Malformed("html".into()),
        // Servers that answer a LIST but not a WATCH.
        Failure::Expired("too old".into()),
        Failure::NotFound("no watch".into()),
        Failure::Unexpected(400),
    ] {
        let mut list = watching();
        let mut now = T0;
        let mut watches = 1;
        while list.lists_before_watch == 0 {
            match list.next_verb() {
                Verb::Watch => list.handle_response(Err(failure.clone()), now, 0),
                Verb::List => list.handle_response(page(None), now, 0),
            };
            now = now.after(Duration::from_secs(60));
            watches += u32::from(list.next_request(now).unwrap().verb == Verb::Watch);
        }
        assert!(watches <= MAX_FAILED_WATCHES, "{failure}: {watches} watches");
    }
}

#[test]
fn failures_in_an_outage_do_not_count_as_failed_watches() {
    let minute = |minutes: u64| later(60 * minutes);
    let mut list = watching();
    for n in 1..=5 {
        list.handle_response(Err(Failure::Unreachable("refused".into())), minute(n), 0);
        list.next_request(minute(n + 1));
    }
    list.handle_response(Err(Failure::Expired("too old".into())), minute(7), 0);
    assert_eq!(path(list.next_request(minute(8))).unwrap(), LIST);
    list.handle_response(page(None), minute(8), 0);
    assert_eq!(list.next_verb(), Verb::Watch, "after a time without any response");

    let mut list = watching();
    for n in 1..=5 {
        list.handle_response(Err(Failure::Timeout), minute(n), 0);
        list.next_request(minute(n + 1));
    }
    assert!(list.is_listing());
    list.handle_response(page(None), minute(7), 0);
    assert_eq!(
        list.next_verb(),
        Verb::Watch,
        "after a time without a response to a list either"
    );
}

#[test]
fn the_resource_version_is_kept_during_an_outage() {
    let mut list = watching();
    let mut now = T0;
    for _ in 0..10 {
        list.handle_response(Err(Failure::Unreachable("refused".into())), now, 0);
        now = now.after(Duration::from_secs(60));
        assert_eq!(path(list.next_request(now)).unwrap(), SHORT_FROM_7);
    }
}

#[test]
fn long_watches_that_fail_are_counted_even_if_short_ones_succeed_in_between() {
    let mut list = list(Some(Duration::from_secs(30)));
    list.next_request(T0);
    list.handle_response(page(None), T0, 0);
    let (mut now, mut failed) = (T0, 0);
    while list.lists_before_watch == 0 {
        now = now.after(Duration::from_secs(60));
        let timeout = list.next_request(now).unwrap().watch_timeout;
        let is_long = timeout > MIN_WINDOW;
        failed += u32::from(is_long);
        list.handle_response(
            if is_long {
                Err(Failure::Disconnected)
            } else {
                batch(None)
            },
            now,
            0,
        );
    }
    assert_eq!(failed, MAX_FAILED_WATCHES);
}

#[test]
fn a_version_that_expired_in_an_outage_causes_a_list_at_once() {
    let mut list = watching();
    let mut now = T0;
    for _ in 0..10 {
        list.handle_response(Err(Failure::Unreachable("refused".into())), now, 0);
        now = now.after(Duration::from_secs(60));
        list.next_request(now).unwrap();
    }
    list.handle_response(Err(Failure::Expired("too old".into())), now, 0);
    assert_eq!(path(list.next_request(now)).unwrap(), LIST);
    list.handle_response(Err(Failure::Expired("too old".into())), now, 0);
    assert_eq!(list.next_request(now), None, "only once");
}

#[test]
fn end_pause_waits_as_long_as_retry_after_says() {
    for (seconds, due) in [(None, 0), (Some(5), 5), (Some(77), 77)] {
        let mut list = watching();
        let retry_after = seconds.map(Duration::from_secs);
        list.handle_response(Err(Failure::Throttled { retry_after }), T0, u32::MAX);
        let mut successor = self::list(Some(WINDOW))
            .resuming_from("7", Backlog::BeforeSnapshot, T0)
            .with_pause(list.pause().unwrap());
        for list in [&mut list, &mut successor] {
            list.end_pause(T0);
            assert_eq!(list.due(later(300)), Some(later(due)), "{seconds:?}");
        }
    }
}

#[test]
fn a_request_from_before_the_recovery_is_repeated_at_once_if_it_fails() {
    let mut list = watching();
    list.handle_response(Err(Failure::Unreachable("refused".into())), later(10), u32::MAX);
    list.handle_response(Err(Failure::Unreachable("refused".into())), later(20), u32::MAX);
    assert!(list.next_request(later(30)).is_some());
    list.end_pause(later(31));
    list.handle_response(Err(Failure::Unreachable("refused".into())), later(35), u32::MAX);
    assert!(list.next_request(later(35)).is_some());
    list.handle_response(Err(Failure::Unreachable("refused".into())), later(40), u32::MAX);
    assert_eq!(list.next_request(later(40)), None, "only once");
}
