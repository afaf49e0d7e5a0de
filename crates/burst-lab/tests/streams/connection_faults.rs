//! Connections that break or go silent while a watch is open.

use burst_lab::api::{Fault, StreamFault};
use burst_lab::cluster::{HPAS, SERVICES};
use bytes::Bytes;
use h2::Ping;
use http::{Request, Version};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{End, LIMIT, Lab, PROTOCOLS, SILENCE};

const HPA_LIST: &str = "/apis/autoscaling/v2/horizontalpodautoscalers";

/// The frames of an HTTP/2 connection with one watch.
struct Pinger {
    pings: h2::PingPong,
    watch: h2::RecvStream,
}

impl Pinger {
    /// Opens a watch and reads its first event.
    async fn start(lab: &Lab) -> Self {
        let stream = TcpStream::connect(lab.server.addr()).await.unwrap();
        let (sender, mut connection) = h2::client::handshake(stream).await.unwrap();
        let pings = connection.ping_pong().unwrap();
        tokio::spawn(connection);
        let mut sender = sender.ready().await.unwrap();
        let request = Request::get("http://kube/api/v1/services?watch=1&timeoutSeconds=600");
        let (answer, _) = sender.send_request(request.body(()).unwrap(), true).unwrap();
        let mut watch = timeout(LIMIT, answer).await.expect("no response").unwrap().into_body();
        let first: Bytes = timeout(LIMIT, watch.data()).await.expect("no event").unwrap().unwrap();
        assert!(first.starts_with(br#"{"type":"ADDED""#), "{first:?}");
        Pinger { pings, watch }
    }

    async fn is_answered(&mut self) -> bool {
        timeout(SILENCE, self.pings.ping(Ping::opaque()))
            .await
            .is_ok_and(|pong| pong.is_ok())
    }
}

#[tokio::test]
async fn pings_are_answered_while_a_stream_is_silent_and_not_once_its_connection_is() {
    for (fault, answered) in [
        (StreamFault::Silent { after: 1 }, true),
        (StreamFault::SilentConnection { after: 1 }, false),
    ] {
        let lab = Lab::start(&["web"]).await;
        lab.api.faults.inject_times(SERVICES, Fault::Stream(fault), 1);
        let mut pinger = Pinger::start(&lab).await;
        if !answered {
            // The connection goes silent a moment after the event.
            tokio::time::sleep(SILENCE).await;
        }
        assert_eq!(pinger.is_answered().await, answered, "{fault:?}");
        let silent = timeout(SILENCE, pinger.watch.data()).await.is_err();
        assert!(silent, "{fault:?}: the stream sent something, or ended");
    }
}

#[tokio::test]
async fn every_stream_of_a_silent_connection_is_silent_and_another_connection_works() {
    for protocol in PROTOCOLS {
        let lab = Lab::start(&["web"]).await;
        let mut client = lab.connect(protocol).await;
        let mut watch = client.watch("resourceVersion=2&timeoutSeconds=600").await;
        lab.wait_for_open_watches(1).await;
        assert_eq!(
            lab.api
                .watches
                .inject(SERVICES, StreamFault::SilentConnection { after: 0 }),
            1
        );
        tokio::time::sleep(SILENCE).await;
        lab.apply("web");
        assert!(watch.is_silent().await, "{protocol:?}");
        if protocol == Version::HTTP_2 {
            assert!(timeout(SILENCE, client.get(HPA_LIST)).await.is_err());
        }
        let mut another = lab.watch(protocol, "resourceVersion=2&timeoutSeconds=600").await;
        assert_eq!(another.next_name().await, "MODIFIED web");
    }
}

#[tokio::test]
async fn a_reset_ends_every_stream_of_an_http2_connection() {
    for fault in [Fault::Reset, Fault::ResetMidway] {
        let lab = Lab::start(&["web"]).await;
        let mut client = lab.connect(Version::HTTP_2).await;
        let mut watch = client.watch("resourceVersion=2&timeoutSeconds=600").await;
        lab.api.faults.inject_times(HPAS, fault.clone(), 1);
        let answer = client.get(HPA_LIST).await;
        assert_eq!(answer.is_ok(), fault == Fault::ResetMidway);
        assert_eq!(watch.rest().await, (String::new(), End::Broken), "{fault:?}");
    }
}

#[tokio::test]
async fn a_dropped_server_breaks_open_watches() {
    for protocol in PROTOCOLS {
        let lab = Lab::start(&["web"]).await;
        let mut watch = lab.watch(protocol, "resourceVersion=2&timeoutSeconds=600").await;
        drop(lab);
        assert_eq!(watch.rest().await, (String::new(), End::Broken), "{protocol:?}");
    }
}
