//! A list that is read page by page.

use super::*;

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

#[test]
fn a_list_without_a_resource_version_is_read_every_interval() {
    let mut list = list(Some(WINDOW));
    list.next_request(T0);
    let unversioned = ListPage::default();
    list.handle_response(Ok(Payload::Page(unversioned)), T0, 0);
    assert_eq!(list.next_request(T0), None);
    assert_eq!(path(list.next_request(T0.after(PAUSE))).unwrap(), LIST);
}
