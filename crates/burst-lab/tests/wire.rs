//! The bytes that a client of the simulated API sees on the socket.

use std::io::ErrorKind;
use std::time::Duration;

use burst_lab::api::{Fault, KubeApi};
use burst_lab::cluster::SERVICES;
use burst_lab::server::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Everything here takes some milliseconds on an idle machine.
const LIMIT: Duration = Duration::from_secs(60);
const REQUEST: &[u8] = b"GET /api/v1/services HTTP/1.1\r\nhost: kube\r\nconnection: close\r\n\r\n";

async fn lab() -> (KubeApi, Server) {
    let api = KubeApi::default();
    let server = Server::start(([127, 0, 0, 1], 0).into(), api.clone()).await.unwrap();
    (api, server)
}

/// Everything that arrives until the end, and how it ended.
async fn send_request(server: &Server) -> (String, Result<(), ErrorKind>) {
    let mut stream = TcpStream::connect(server.addr()).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let mut seen = Vec::new();
    let end = timeout(LIMIT, stream.read_to_end(&mut seen))
        .await
        .expect("the connection did not end");
    (
        String::from_utf8(seen).unwrap(),
        end.map(drop).map_err(|error| error.kind()),
    )
}

#[tokio::test]
async fn a_response_is_complete_and_has_a_content_length() {
    let (_api, server) = lab().await;
    let (seen, end) = send_request(&server).await;
    assert!(
        seen.starts_with("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"),
        "{seen}"
    );
    let (head, body) = seen.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert_eq!(end, Ok(()));
}

#[tokio::test]
async fn a_reset_sends_no_byte() {
    let (api, server) = lab().await;
    api.faults.inject_times(SERVICES, Fault::Reset, 1);
    assert_eq!(
        send_request(&server).await,
        (String::new(), Err(ErrorKind::ConnectionReset))
    );
    assert_eq!(send_request(&server).await.1, Ok(()));
}

#[tokio::test]
async fn a_reset_midway_sends_the_head_and_half_of_the_body() {
    let (api, server) = lab().await;
    let (whole, _) = send_request(&server).await;
    api.faults.inject_times(SERVICES, Fault::ResetMidway, 1);
    let (half, end) = send_request(&server).await;
    let body = |text: &str| text.split_once("\r\n\r\n").unwrap().1.len();
    assert_eq!((body(&half), end), (body(&whole) / 2, Err(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn a_stall_sends_half_and_a_hang_nothing_and_both_keep_the_connection() {
    let (api, server) = lab().await;
    for (fault, starts) in [(Fault::Hang, ""), (Fault::Stall, "HTTP/1.1 200 OK")] {
        api.faults.inject_times(SERVICES, fault.clone(), 1);
        let mut stream = TcpStream::connect(server.addr()).await.unwrap();
        stream.write_all(REQUEST).await.unwrap();
        api.requests
            .wait_until(LIMIT, |seen| {
                seen.iter().any(|one| one.fault == Some(format!("{fault:?}")))
            })
            .await
            .unwrap();
        let mut seen = vec![0; starts.len()];
        timeout(LIMIT, stream.read_exact(&mut seen))
            .await
            .expect("the answer did not begin")
            .unwrap();
        assert_eq!(seen, starts.as_bytes(), "{fault:?}");
        let end = timeout(Duration::from_millis(200), stream.read_to_end(&mut seen)).await;
        assert!(end.is_err(), "{fault:?} ended the connection");
    }
}

#[tokio::test]
async fn a_trickled_response_is_complete_in_the_end() {
    let (api, server) = lab().await;
    let (whole, _) = send_request(&server).await;
    api.faults.inject_times(SERVICES, Fault::Trickle { seconds: 1 }, 1);
    let (seen, end) = send_request(&server).await;
    let body = |text: &str| text.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!((body(&seen), end), (body(&whole), Ok(())));
}

#[tokio::test]
async fn a_dropped_server_ends_its_connections() {
    let (api, server) = lab().await;
    api.faults.inject(SERVICES, Fault::Hang);
    let mut stream = TcpStream::connect(server.addr()).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    api.requests.wait_until(LIMIT, |seen| !seen.is_empty()).await.unwrap();
    drop(server);
    let mut seen = Vec::new();
    let end = timeout(LIMIT, stream.read_to_end(&mut seen))
        .await
        .expect("the connection did not end");
    assert!(matches!(end, Ok(0)) && seen.is_empty());
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let (_api, server) = lab().await;
    let error = Server::start(server.addr(), KubeApi::default()).await.err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot listen on {}: ", server.addr())),
        "{error}"
    );
}

#[tokio::test]
async fn a_wait_for_requests_fails_with_the_requests_received() {
    let (api, _server) = lab().await;
    let missing = api
        .requests
        .wait_until(Duration::from_millis(20), |seen| !seen.is_empty())
        .await;
    assert_eq!(missing, Err(Vec::new()));
}
