//! The events of a watch, and the parameters that it may have.

use std::time::Duration;

use super::*;

/// The timeout of a watch and its events so far, each with its type, name and resource version.
fn events_of(api: &KubeApi, query: &str) -> (Duration, Vec<String>) {
    let Reply::Watch(mut watch) = api.handle(&request(&format!("{ALL_HPAS}?watch=1&{query}"))) else {
        panic!("no watch")
    };
    let lines = String::from_utf8(watch.event_lines().to_vec()).unwrap();
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let object = &event["object"];
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let metadata = &object["metadata"];
        format!(
            "{} {} {}",
            text(&event["type"]),
            text(&metadata["name"]),
            text(&metadata["resourceVersion"])
        )
    };
    assert!(lines.is_empty() || lines.ends_with('\n'));
    (watch.timeout(), lines.lines().map(event).collect())
}

#[test]
fn a_watch_reports_changes_since_its_resource_version() {
    let api = api(&["a/1", "a/2"]);
    let from = api.cluster.version();
    api.cluster.set_current_replicas("a/1", 3).unwrap();
    api.cluster.delete(HPAS, "a/2");
    let query = format!("resourceVersion={from}&timeoutSeconds=5&allowWatchBookmarks=true");
    let wanted = ["MODIFIED 1 4", "DELETED 2 5", "BOOKMARK - 5"]
        .map(String::from)
        .to_vec();
    assert_eq!(events_of(&api, &query), (Duration::from_secs(5), wanted));
    assert!(events_of(&api, "resourceVersion=5&timeoutSeconds=5").1.is_empty());
}

#[test]
fn an_object_that_leaves_the_selector_is_reported_as_deleted() {
    let api = api(&["a/1"]);
    let from = api.cluster.version();
    let rename = |name: &str| {
        let labels = json!({ "metadata": { "labels": { "name": name } } });
        api.cluster.patch(HPAS, "a/1", &labels).unwrap();
    };
    rename("other");
    rename("1");
    let (_, events) = events_of(&api, &format!("labelSelector=name%3D1&resourceVersion={from}"));
    assert_eq!(events, ["DELETED 1 3", "ADDED 1 4"]);
    let (_, elsewhere) = events_of(
        &api,
        &format!("fieldSelector=metadata.namespace%3Db&resourceVersion={from}"),
    );
    assert!(elsewhere.is_empty());
}

#[test]
fn an_expired_resource_version_is_reported_as_an_error_event() {
    let api = api(&["a/1"]);
    api.cluster.compact();
    let Reply::Watch(mut watch) = api.handle(&request(&format!("{ALL_HPAS}?watch=1&resourceVersion=1"))) else {
        panic!("no watch")
    };
    let event: Value = serde_json::from_slice(&watch.event_lines()).unwrap();
    assert_eq!(event["type"], "ERROR");
    assert_eq!(
        (&event["object"]["code"], &event["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
}

#[test]
fn a_watch_without_a_version_starts_with_the_objects_and_ends_them_with_a_bookmark_if_the_gate_is_on() {
    let api = api(&["a/1"]);
    let bookmarks = "allowWatchBookmarks=true&timeoutSeconds=1";
    let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let none = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    for (query, wanted) in [
        (format!("{bookmarks}&{initial}"), &["ADDED 1 2", "BOOKMARK - 2"][..]),
        (
            format!("{bookmarks}&{initial}&resourceVersion=0"),
            &["ADDED 1 2", "BOOKMARK - 2"],
        ),
        (
            format!("{bookmarks}&{initial}&resourceVersion=1"),
            &["ADDED 1 2", "BOOKMARK - 2"],
        ),
        (format!("{bookmarks}&{initial}&resourceVersion=9"), &["ERROR - -"]),
        (initial.to_owned(), &["ADDED 1 2"]),
        (bookmarks.to_owned(), &["ADDED 1 2", "BOOKMARK - 2"]),
        (format!("{bookmarks}&{none}"), &[]),
        (format!("{bookmarks}&{none}&resourceVersion=1"), &["ADDED 1 2"]),
    ] {
        assert_eq!(events_of(&api, &query).1, wanted, "{query}");
    }
    api.watches.set_watch_list(false);
    assert_eq!(events_of(&api, bookmarks).1, ["ADDED 1 2"]);
}

#[test]
fn a_version_of_the_future_is_too_large_for_initial_events() {
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999";
    let Reply::Watch(mut watch) = api(&[]).handle(&request(&format!("{ALL_HPAS}?watch=1&{query}"))) else {
        panic!("no watch")
    };
    let real = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 999999, current: 1","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}}"#;
    assert_eq!(watch.event_lines(), format!("{real}\n"));
}

#[test]
fn parameters_that_do_not_fit_together_are_refused_in_the_words_of_a_real_server() {
    const NEEDS_MATCH: &str =
        "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    const NEEDS_EVENTS: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
    const NEEDS_GATE: &str = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
    const NEEDS_VERSION: &str =
        "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
    const NOT_WITH_CONTINUE: &str =
        "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided";
    const NOT_FOR_LIST: &str = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";
    const NOT_EXACT: &str =
        r#"resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0""#;
    let unsupported = |found: &str, supported: &str| {
        format!("resourceVersionMatch: Unsupported value: {found:?}: supported values: {supported}")
    };
    let watch_only = r#""NotOlderThan""#;
    let list_too = r#""Exact", "NotOlderThan", """#;
    let of_watch = "watch=1&sendInitialEvents=true";
    let cases = [
        (true, of_watch.to_owned(), NEEDS_MATCH.to_owned()),
        (
            true,
            format!("{of_watch}&resourceVersionMatch=Exact"),
            format!("[{NEEDS_MATCH}, {}]", unsupported("Exact", watch_only)),
        ),
        (
            true,
            "watch=1&resourceVersionMatch=NotOlderThan".to_owned(),
            NEEDS_EVENTS.to_owned(),
        ),
        (
            true,
            "watch=1&resourceVersionMatch=foo".to_owned(),
            format!("[{NEEDS_EVENTS}, {}]", unsupported("foo", watch_only)),
        ),
        (
            true,
            format!("{of_watch}&resourceVersionMatch=NotOlderThan&continue=abc"),
            NOT_WITH_CONTINUE.to_owned(),
        ),
        (true, "sendInitialEvents=false".to_owned(), NOT_FOR_LIST.to_owned()),
        (
            true,
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_owned(),
            format!("[{NEEDS_VERSION}, {NOT_FOR_LIST}]"),
        ),
        (
            true,
            "resourceVersionMatch=foo&resourceVersion=1".to_owned(),
            unsupported("foo", list_too),
        ),
        (
            true,
            "resourceVersionMatch=Exact&resourceVersion=0".to_owned(),
            NOT_EXACT.to_owned(),
        ),
        (
            false,
            format!("{of_watch}&resourceVersionMatch=NotOlderThan"),
            NEEDS_GATE.to_owned(),
        ),
        (false, of_watch.to_owned(), format!("[{NEEDS_MATCH}, {NEEDS_GATE}]")),
    ];
    for (gate, query, wanted) in cases {
        let api = api(&[]);
        api.watches.set_watch_list(gate);
        let status = get(&api, &format!("{ALL_HPAS}?{query}"));
        let message = format!(r#"ListOptions.meta.k8s.io "" is invalid: {wanted}"#);
        assert_eq!(
            (&status["code"], &status["message"]),
            (&json!(422), &json!(message)),
            "{query}"
        );
    }
}

#[test]
fn a_refusal_of_initial_events_has_the_fields_of_a_real_one() {
    let api = api(&[]);
    api.watches.set_watch_list(false);
    let path = format!("{ALL_HPAS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    let real = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled","reason":"Invalid","details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled","field":"sendInitialEvents"}]},"code":422}"#;
    assert_eq!(text(&api, &path), (422, real.to_owned()));
}
