//! Watches that end by themselves.

use std::time::Duration;

use super::*;

/// What a watch says when it ends: the types of its events, with name and version.
fn told(api: &KubeApi, query: &str) -> (Duration, Vec<String>) {
    let Reply::Window(window) = api.answer(&request(&format!("{ALL_HPAS}?watch=1&{query}"))) else {
        panic!("no watch")
    };
    let lines = String::from_utf8(window.lines().to_vec()).unwrap();
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
    (window.lasts(), lines.lines().map(event).collect())
}

#[test]
fn a_watch_tells_what_changed_since_its_version() {
    let api = api(&["a/1", "a/2"]);
    let from = api.cluster.version();
    api.cluster.set_current_replicas("a/1", 3).unwrap();
    api.cluster.delete(HPAS, "a/2");
    let query = format!("resourceVersion={from}&timeoutSeconds=5&allowWatchBookmarks=true");
    let wanted = ["MODIFIED 1 4", "DELETED 2 5", "BOOKMARK - 5"]
        .map(String::from)
        .to_vec();
    assert_eq!(told(&api, &query), (Duration::from_secs(5), wanted));
    assert!(told(&api, "resourceVersion=5&timeoutSeconds=5").1.is_empty());
}

#[test]
fn what_no_longer_fits_the_selector_is_deleted_to_its_watcher() {
    let api = api(&["a/1"]);
    let from = api.cluster.version();
    let rename = |name: &str| {
        let labels = json!({ "metadata": { "labels": { "name": name } } });
        api.cluster.patch(HPAS, "a/1", &labels).unwrap();
    };
    rename("other");
    rename("1");
    let (_, events) = told(&api, &format!("labelSelector=name%3D1&resourceVersion={from}"));
    assert_eq!(events, ["DELETED 1 3", "ADDED 1 4"]);
    let (_, elsewhere) = told(
        &api,
        &format!("fieldSelector=metadata.namespace%3Db&resourceVersion={from}"),
    );
    assert!(elsewhere.is_empty());
}

#[test]
fn a_version_that_is_gone_is_an_event_that_says_so() {
    let api = api(&["a/1"]);
    api.cluster.compact();
    let Reply::Window(window) = api.answer(&request(&format!("{ALL_HPAS}?watch=1&resourceVersion=1"))) else {
        panic!("no watch")
    };
    let event: Value = serde_json::from_slice(&window.lines()).unwrap();
    assert_eq!(event["type"], "ERROR");
    assert_eq!(
        (&event["object"]["code"], &event["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
}
