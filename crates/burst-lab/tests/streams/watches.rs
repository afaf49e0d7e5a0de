//! Watches without faults.

use std::time::Duration;

use burst_lab::cluster::SERVICES;
use http::Version;
use http_body_util::BodyExt;
use serde_json::json;

use crate::client::{End, Lab, PROTOCOLS};

const WATCH_LIST: &str = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true\
                          &timeoutSeconds=600&resourceVersion=";

#[tokio::test]
async fn an_open_watch_delivers_each_change_at_once() {
    for protocol in PROTOCOLS {
        let lab = Lab::start(&["api", "web"]).await;
        let from = lab.api.cluster.version();
        let mut watch = lab
            .watch(protocol, &format!("resourceVersion={from}&timeoutSeconds=600"))
            .await;
        lab.apply("web");
        assert_eq!(watch.next_name().await, "MODIFIED web");
        lab.apply("cart");
        assert_eq!(watch.next_name().await, "ADDED cart");
        lab.api.cluster.delete(SERVICES, "shop/api");
        assert_eq!(watch.next_name().await, "DELETED api");
        assert!(watch.is_silent().await, "{protocol:?}");
    }
}

#[tokio::test]
async fn a_watch_list_sends_the_objects_then_a_bookmark_and_then_changes() {
    for protocol in PROTOCOLS {
        for version in ["", "0", "2"] {
            let lab = Lab::start(&["api", "web"]).await;
            let mut watch = lab.watch(protocol, &format!("{WATCH_LIST}{version}")).await;
            assert_eq!(watch.next_name().await, "ADDED api");
            assert_eq!(watch.next_name().await, "ADDED web");
            let real = json!({
                "type": "BOOKMARK",
                "object": {
                    "kind": "Service",
                    "apiVersion": "v1",
                    "metadata": { "resourceVersion": "3", "annotations": { "k8s.io/initial-events-end": "true" } },
                    "spec": {},
                    "status": { "loadBalancer": {} },
                },
            });
            assert_eq!(watch.next().await, real);
            lab.apply("web");
            assert_eq!(watch.next_name().await, "MODIFIED web");
        }
    }
}

#[tokio::test]
async fn a_watch_list_of_many_objects_is_complete() {
    for protocol in PROTOCOLS {
        let names: Vec<_> = (0..2_000).map(|number| format!("service-{number:04}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let lab = Lab::start(&names).await;
        let mut watch = lab.watch(protocol, WATCH_LIST).await;
        for name in names {
            assert_eq!(watch.next_name().await, format!("ADDED {name}"));
        }
        assert_eq!(watch.next_name().await, "BOOKMARK -");
    }
}

#[tokio::test]
async fn a_quiet_watch_gets_bookmarks_with_the_version_of_the_cluster() {
    for protocol in PROTOCOLS {
        let lab = Lab::start(&[]).await;
        lab.api.watches.set_bookmark_period(Duration::from_millis(20));
        let query = "resourceVersion=1&timeoutSeconds=600";
        let mut without = lab.watch(protocol, query).await;
        let mut watch = lab.watch(protocol, &format!("{query}&allowWatchBookmarks=true")).await;
        for _ in 0..3 {
            assert_eq!(watch.next_name().await, "BOOKMARK -");
        }
        lab.api
            .cluster
            .register(burst_lab::cluster::Resource::custom("a.io", "v1", "as", "A"));
        let other = json!({ "apiVersion": "a.io/v1", "kind": "A", "metadata": { "name": "a" } });
        lab.api.cluster.apply(other).unwrap();
        while watch.next().await["object"]["metadata"]["resourceVersion"] != "2" {}
        assert!(without.is_silent().await, "{protocol:?}");
    }
}

#[tokio::test]
async fn a_watch_ends_after_its_timeout_with_a_bookmark_before_the_end() {
    for protocol in PROTOCOLS {
        let lab = Lab::start(&[]).await;
        let query = "resourceVersion=1&timeoutSeconds=3&allowWatchBookmarks=true";
        let mut watch = lab.watch(protocol, query).await;
        assert_eq!(watch.next_name().await, "BOOKMARK -");
        assert_eq!(watch.rest().await, (String::new(), End::Complete));
    }
}

#[tokio::test]
async fn an_open_watch_of_a_compacted_version_expires() {
    for protocol in PROTOCOLS {
        let lab = Lab::start(&["web"]).await;
        let mut watch = lab.watch(protocol, "resourceVersion=2&timeoutSeconds=600").await;
        lab.api.cluster.compact();
        let event = watch.next().await;
        assert_eq!(
            (&event["type"], &event["object"]["code"]),
            (&json!("ERROR"), &json!(410))
        );
        assert_eq!(watch.rest().await, (String::new(), End::Complete));
    }
}

#[tokio::test]
async fn many_watches_and_lists_share_one_http2_connection() {
    let lab = Lab::start(&["web"]).await;
    let mut client = lab.connect(Version::HTTP_2).await;
    let mut watches = Vec::new();
    for _ in 0..100 {
        watches.push(client.watch("resourceVersion=2&timeoutSeconds=600").await);
    }
    let list = client.get("/api/v1/services").await.unwrap();
    assert!(list.into_body().collect().await.is_ok());
    lab.apply("web");
    for watch in &mut watches {
        assert_eq!(watch.next_name().await, "MODIFIED web");
    }
    let protocols: Vec<_> = lab
        .api
        .requests
        .entries()
        .into_iter()
        .map(|seen| seen.protocol)
        .collect();
    assert_eq!(protocols, vec!["HTTP/2.0"; 101]);
}

#[tokio::test]
async fn a_watch_is_open_until_the_client_disconnects() {
    for protocol in PROTOCOLS {
        let lab = Lab::start(&[]).await;
        let watch = lab.watch(protocol, "timeoutSeconds=600").await;
        lab.wait_for_open_watches(1).await;
        drop(watch);
        lab.wait_for_open_watches(0).await;
    }
}
