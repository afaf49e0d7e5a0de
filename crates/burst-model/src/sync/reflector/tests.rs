use super::*;
use crate::kube::{ObjectKind, Resource};

const T0: Time = Time::from_unix_millis(1_000_000);
const PAUSE: Duration = Duration::from_secs(15);

fn list(window: Option<Duration>) -> Reflector {
    let source = Source::all_namespaces(ObjectKind::Services, Resource::services());
    let schedule = Schedule {
        interval: PAUSE,
        window,
    };
    Reflector::new(source, schedule, 500, T0)
}

fn listing() -> Reflector {
    list(None)
}

fn path(request: Option<ApiRequest>) -> Option<String> {
    request.map(|request| request.path)
}

fn page(continue_token: Option<&str>) -> Result<Payload, Failure> {
    Ok(Payload::Page(ListPage {
        continue_token: continue_token.map(Into::into),
        resource_version: "7".into(),
        ..ListPage::default()
    }))
}

#[test]
fn a_list_is_read_page_by_page_and_again_after_the_interval() {
    let mut list = listing();
    assert_eq!(path(list.next_request(T0)).unwrap(), "/api/v1/services?limit=500");
    assert_eq!(list.next_request(T0), None, "one page at a time");
    let ReflectorEvent::Request(next) = list.handle_response(page(Some("c1")), T0, 0) else {
        panic!()
    };
    assert_eq!(next.path, "/api/v1/services?limit=500&continue=c1");
    let ReflectorEvent::Relisted(whole) = list.handle_response(page(None), T0, 0) else {
        panic!()
    };
    assert_eq!(whole.resource_version, "7");
    assert_eq!(list.next_request(T0.after(PAUSE - Duration::from_secs(1))), None);
    assert!(list.next_request(T0.after(PAUSE)).is_some());
}

#[test]
fn the_interval_starts_with_the_first_request_of_a_list() {
    for (took, due) in [
        (0, 15_000),
        (900, 15_000),
        (13_999, 15_000),
        (15_000, 30_000),
        (40_000, 55_000),
    ] {
        let mut list = listing();
        list.next_request(T0);
        list.handle_response(page(None), T0.after(Duration::from_millis(took)), 0);
        let tick = |millis: u64| T0.after(Duration::from_millis(millis));
        assert_eq!(list.next_request(tick(due - 1000)), None, "took {took} ms");
        assert!(
            list.next_request(tick(due - 200)).is_some(),
            "took {took} ms, a tick a little too early"
        );
    }
}

#[test]
fn after_the_clock_was_set_back_the_list_is_read_at_once() {
    let mut list = listing();
    list.next_request(T0);
    list.handle_response(page(None), T0, 0);
    let before = Time::from_unix_millis(T0.unix_millis() - 500_000);
    assert!(list.next_request(before).is_some());
    list.handle_response(Err(Failure::Timeout), before, u32::MAX);
    assert_eq!(list.next_request(before), None, "the pause counts from the new time");
}

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
fn an_expired_continue_token_restarts_the_list_at_once_but_only_once() {
    let mut list = listing();
    list.next_request(T0);
    list.handle_response(page(Some("c1")), T0, 0);
    list.handle_response(Err(Failure::Expired("too old".into())), T0, 0);
    assert_eq!(
        path(list.next_request(T0)).unwrap(),
        "/api/v1/services?limit=500",
        "from the start"
    );
    list.handle_response(page(Some("c2")), T0, 0);
    list.handle_response(Err(Failure::Expired("too old".into())), T0, 0);
    assert_eq!(list.next_request(T0), None, "even though the first page succeeded");
}

#[test]
fn after_a_response_that_is_too_large_the_pages_are_smaller() {
    let mut list = listing();
    let mut now = T0;
    for limit in [500, 250, 125, 62, 31, 15, 7, 3, 1, 1] {
        assert_eq!(
            path(list.next_request(now)).unwrap(),
            format!("/api/v1/services?limit={limit}")
        );
        list.handle_response(Err(Failure::Disconnected), now, 0);
        now = now.after(Duration::from_secs(60));
    }
}

#[test]
fn a_response_without_a_request_is_a_failure_and_starts_no_list() {
    let mut list = listing();
    assert!(matches!(
        list.handle_response(page(None), T0, 0),
        ReflectorEvent::Failed { .. }
    ));
    assert!(!list.is_listing());
}

#[test]
fn the_pause_is_retry_after_if_the_server_sent_it() {
    let mut list = listing();
    list.next_request(T0);
    let retry_after = Duration::from_secs(77);
    list.handle_response(
        Err(Failure::Throttled {
            retry_after: Some(retry_after),
        }),
        T0,
        u32::MAX,
    );
    assert_eq!(
        list.next_request(T0.after(retry_after - Duration::from_millis(1))),
        None
    );
    assert!(list.next_request(T0.after(retry_after)).is_some());
}

const WINDOW: Duration = Duration::from_secs(5);

/// A reflector that has listed and sent its first watch.
fn watching() -> Reflector {
    let mut list = list(Some(WINDOW));
    list.next_request(T0);
    list.handle_response(page(None), T0, 0);
    let watch = list.next_request(T0).unwrap();
    assert_eq!((watch.verb, watch.watch_timeout), (Verb::Watch, WINDOW));
    list
}

fn batch(version: Option<&str>) -> Result<Payload, Failure> {
    Ok(Payload::WatchBatch(WatchBatch {
        resource_version: version.map(Into::into),
        ..WatchBatch::default()
    }))
}

fn later(seconds: u64) -> Time {
    T0.after(Duration::from_secs(seconds))
}

const FROM_7: &str = "/api/v1/services?watch=1&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion=7";
const SHORT_FROM_7: &str = "/api/v1/services?watch=1&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=7";
const LIST: &str = "/api/v1/services?limit=500";

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
fn a_successor_starts_with_a_short_watch() {
    let mut list = list(Some(WINDOW)).resuming_from("7", T0);
    assert!(list.is_behind());
    let first = list.next_request(T0).unwrap();
    assert_eq!((first.verb, first.watch_timeout), (Verb::Watch, MIN_WINDOW));
    list.handle_response(batch(Some("8")), later(1), 0);
    assert!(!list.is_behind());
    assert_eq!(list.next_request(later(1)).unwrap().watch_timeout, WINDOW);
}

#[test]
fn a_list_without_a_resource_version_is_read_every_interval() {
    let mut list = list(Some(WINDOW));
    list.next_request(T0);
    let unversioned = ListPage::default();
    list.handle_response(Ok(Payload::Page(unversioned)), T0, 0);
    assert_eq!(list.next_request(T0), None);
    assert_eq!(path(list.next_request(T0.after(PAUSE))).unwrap(), LIST);
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
            .resuming_from("7", T0)
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
