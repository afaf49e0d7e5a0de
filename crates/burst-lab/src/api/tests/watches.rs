//! Watches that end by themselves.

use std::time::Duration;

use super::*;

/// What a watch says when it ends: the types of its events, with name and version.
fn events_of(api: &KubeApi, query: &str) -> (Duration, Vec<String>) {
    let Reply::Watch(watch) = api.handle(&request(&format!("{ALL_HPAS}?watch=1&{query}"))) else {
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
    let Reply::Watch(watch) = api.handle(&request(&format!("{ALL_HPAS}?watch=1&resourceVersion=1"))) else {
        panic!("no watch")
    };
    let event: Value = serde_json::from_slice(&watch.event_lines()).unwrap();
    assert_eq!(event["type"], "ERROR");
    assert_eq!(
        (&event["object"]["code"], &event["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
}
