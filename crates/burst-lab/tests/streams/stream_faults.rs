//! Watches that open and then fail, on a connection that works.

use std::time::Duration;

use burst_lab::api::{Fault, StreamFault};
use burst_lab::cluster::SERVICES;
use http::{StatusCode, Version};
use http_body_util::BodyExt;
use serde_json::json;

use crate::client::{End, Lab, PROTOCOLS};

const FROM_START: &str = "timeoutSeconds=600&allowWatchBookmarks=true";

async fn with_fault(fault: StreamFault) -> Lab {
    let lab = Lab::start(&["api", "web"]).await;
    lab.api.faults.inject_times(SERVICES, Fault::Stream(fault), 1);
    lab
}

#[tokio::test]
async fn a_cut_stream_breaks_after_exactly_so_many_bytes() {
    for protocol in PROTOCOLS {
        let lab = Lab::start(&["api", "web"]).await;
        lab.api
            .faults
            .inject_times(SERVICES, Fault::Stream(StreamFault::End { after: 3 }), 1);
        let (whole, end) = lab.watch(protocol, FROM_START).await.rest().await;
        assert_eq!((whole.lines().count(), end), (3, End::Complete));
        let first = whole.find('\n').unwrap() + 1;
        for bytes in [0, 1, first - 1, first, first + 1, whole.len()] {
            lab.api
                .faults
                .inject_times(SERVICES, Fault::Stream(StreamFault::Cut { bytes }), 1);
            let cut = lab.watch(protocol, FROM_START).await.rest().await;
            assert_eq!(cut, (whole[..bytes].to_owned(), End::Broken), "{protocol:?}, {bytes}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_leaves_the_others_of_its_connection_alone() {
    let lab = with_fault(StreamFault::Cut { bytes: 10 }).await;
    let mut client = lab.connect(Version::HTTP_2).await;
    let (mut cut, mut other) = (client.watch(FROM_START).await, client.watch("resourceVersion=3").await);
    assert_eq!(cut.rest().await.1, End::Broken);
    lab.apply("web");
    assert_eq!(other.next_name().await, "MODIFIED web");
}

#[tokio::test]
async fn a_stream_can_end_early() {
    for protocol in PROTOCOLS {
        let lab = with_fault(StreamFault::End { after: 1 }).await;
        let mut watch = lab.watch(protocol, FROM_START).await;
        assert_eq!(watch.next_name().await, "ADDED api");
        assert_eq!(watch.rest().await, (String::new(), End::Complete), "{protocol:?}");
    }
}

#[tokio::test]
async fn a_silent_stream_sends_no_events_and_no_bookmarks_and_does_not_end() {
    for protocol in PROTOCOLS {
        let lab = with_fault(StreamFault::Silent { after: 2 }).await;
        lab.api.watches.set_bookmark_period(Duration::from_millis(20));
        let mut watch = lab.watch(protocol, "timeoutSeconds=1&allowWatchBookmarks=true").await;
        assert_eq!(watch.next_name().await, "ADDED api");
        assert_eq!(watch.next_name().await, "ADDED web");
        lab.apply("web");
        for _ in 0..4 {
            assert!(watch.is_silent().await, "{protocol:?}");
        }
    }
}

#[tokio::test]
async fn a_dripping_stream_sends_one_byte_at_a_time() {
    for protocol in PROTOCOLS {
        let lab = with_fault(StreamFault::Drip { milliseconds: 2 }).await;
        let mut watch = lab.watch(protocol, "timeoutSeconds=600").await;
        let first = watch.chunk().await.unwrap();
        assert_eq!(first, "{", "{protocol:?}");
        let mut line = first.to_vec();
        while line.last() != Some(&b'\n') {
            line.extend_from_slice(&watch.chunk().await.unwrap());
        }
        let event: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(event["object"]["metadata"]["name"], "api");
        assert_eq!(watch.next_name().await, "ADDED web");
    }
}

#[tokio::test]
async fn a_stream_can_expire_while_it_is_open() {
    for protocol in PROTOCOLS {
        let lab = with_fault(StreamFault::Expired { after: 3 }).await;
        let mut watch = lab.watch(protocol, FROM_START).await;
        for wanted in ["ADDED api", "ADDED web", "BOOKMARK -"] {
            assert_eq!(watch.next_name().await, wanted);
        }
        let error = watch.next().await;
        let real = json!({
            "type": "ERROR",
            "object": {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": "too old resource version: 3 (3)",
                "reason": "Expired",
                "code": 410,
            },
        });
        assert_eq!(error, real);
        assert_eq!(watch.rest().await, (String::new(), End::Complete), "{protocol:?}");
    }
}

#[tokio::test]
async fn an_event_can_have_a_very_long_name_and_the_stream_continues() {
    for protocol in PROTOCOLS {
        let lab = with_fault(StreamFault::LongName { characters: 100_000 }).await;
        let mut watch = lab.watch(protocol, "resourceVersion=3&timeoutSeconds=600").await;
        let event = watch.next().await;
        let name = event["object"]["metadata"]["name"].as_str().unwrap();
        assert_eq!((&event["type"], name.len()), (&json!("ADDED"), 100_000));
        lab.apply("web");
        assert_eq!(watch.next_name().await, "MODIFIED web");
    }
}

#[tokio::test]
async fn watches_can_be_refused_while_lists_work() {
    for protocol in PROTOCOLS {
        let lab = Lab::start(&["web"]).await;
        lab.api.faults.inject_watches(SERVICES, Fault::Forbidden);
        for (path, status) in [
            ("/api/v1/services?watch=1", StatusCode::FORBIDDEN),
            ("/api/v1/services", StatusCode::OK),
            ("/api/v1/services?watch=1", StatusCode::FORBIDDEN),
        ] {
            let answer = lab.connect(protocol).await.get(path).await.unwrap();
            assert_eq!(answer.status(), status, "{path}");
        }
    }
}

#[tokio::test]
async fn a_list_leaves_the_fault_of_a_stream_for_the_next_watch() {
    let lab = with_fault(StreamFault::End { after: 0 }).await;
    let list = lab
        .connect(Version::HTTP_2)
        .await
        .get("/api/v1/services")
        .await
        .unwrap();
    assert_eq!(list.into_body().collect().await.unwrap().to_bytes().last(), Some(&b'}'));
    assert_eq!(
        lab.watch(Version::HTTP_2, FROM_START).await.rest().await.1,
        End::Complete
    );
}

#[tokio::test]
async fn open_watches_fail_on_demand_and_later_ones_work() {
    for protocol in PROTOCOLS {
        let lab = Lab::start(&["web"]).await;
        let mut open = lab.watch(protocol, "resourceVersion=2&timeoutSeconds=600").await;
        lab.wait_for_open_watches(1).await;
        assert_eq!(lab.api.watches.inject(SERVICES, StreamFault::Expired { after: 1 }), 1);
        lab.apply("web");
        assert_eq!(open.next_name().await, "MODIFIED web");
        assert_eq!(open.next_name().await, "ERROR -");
        assert_eq!(open.rest().await, (String::new(), End::Complete));
        let mut later = lab.watch(protocol, "resourceVersion=2&timeoutSeconds=600").await;
        assert_eq!(later.next_name().await, "MODIFIED web");
        assert!(later.is_silent().await);
    }
}
