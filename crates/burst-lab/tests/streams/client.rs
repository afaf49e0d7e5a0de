//! A simulated API server, and a client that reads its watches piece by piece.

use std::time::Duration;

use burst_lab::api::KubeApi;
use burst_lab::cluster::SERVICES;
use burst_lab::server::Server;
use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Everything here takes some milliseconds on an idle machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// Long enough to see that nothing comes.
pub(crate) const SILENCE: Duration = Duration::from_millis(300);
pub(crate) const PROTOCOLS: [Version; 2] = [Version::HTTP_11, Version::HTTP_2];

/// An API server with some Services.
pub(crate) struct Lab {
    pub(crate) api: KubeApi,
    pub(crate) server: Server,
}

impl Lab {
    /// Serves these Services of the namespace `shop`.
    pub(crate) async fn start(services: &[&str]) -> Lab {
        let api = KubeApi::default();
        let server = Server::start(([127, 0, 0, 1], 0).into(), api.clone()).await.unwrap();
        let lab = Lab { api, server };
        services.iter().for_each(|name| lab.apply(name));
        lab
    }

    /// Creates a Service, or changes it.
    pub(crate) fn apply(&self, name: &str) {
        let serial = self.api.cluster.version();
        let service = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": { "name": name, "namespace": "shop" },
            "spec": { "clusterIP": serial.to_string() },
        });
        self.api.cluster.apply(service).unwrap();
    }

    /// Opens a connection.
    pub(crate) async fn connect(&self, protocol: Version) -> Client {
        let stream = TokioIo::new(TcpStream::connect(self.server.addr()).await.unwrap());
        if protocol == Version::HTTP_2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
            tokio::spawn(connection);
            Client::Http2(sender)
        } else {
            let (sender, connection) = http1::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            Client::Http1(sender)
        }
    }

    /// Opens a watch of all Services on a connection of its own.
    pub(crate) async fn watch(&self, protocol: Version, query: &str) -> Stream {
        self.connect(protocol).await.watch(query).await
    }

    /// Waits until this many watches of the Services are open.
    pub(crate) async fn wait_for_open_watches(&self, count: usize) {
        let waiting = async {
            while self.api.watches.count(SERVICES) != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let open = timeout(LIMIT, waiting).await;
        assert!(open.is_ok(), "{} watches are open", self.api.watches.count(SERVICES));
    }
}

/// A connection to the API server.
pub(crate) enum Client {
    Http1(http1::SendRequest<Empty<Bytes>>),
    Http2(http2::SendRequest<Empty<Bytes>>),
}

impl Client {
    pub(crate) async fn get(&mut self, path: &str) -> hyper::Result<Response<Incoming>> {
        let request = Request::get(path).header("host", "kube").body(Empty::new()).unwrap();
        let answer = async {
            match self {
                Client::Http1(sender) => sender.send_request(request).await,
                Client::Http2(sender) => {
                    let (mut parts, body) = request.into_parts();
                    parts.uri = format!("http://kube{path}").parse().unwrap();
                    sender.send_request(Request::from_parts(parts, body)).await
                }
            }
        };
        timeout(LIMIT, answer).await.expect("no response")
    }

    pub(crate) async fn watch(&mut self, query: &str) -> Stream {
        let answer = self.get(&format!("/api/v1/services?watch=1&{query}")).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        Stream {
            body: answer.into_body(),
            unread: Vec::new(),
        }
    }
}

/// How a stream ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    Broken,
}

/// The body of a watch.
pub(crate) struct Stream {
    body: Incoming,
    unread: Vec<u8>,
}

impl Stream {
    /// Waits for the next event.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return serde_json::from_slice(&line).unwrap();
            }
            let chunk = self.chunk().await.expect("the stream ended");
            self.unread.extend_from_slice(&chunk);
        }
    }

    /// Waits for the next event, and returns its type and the name of its object.
    pub(crate) async fn next_name(&mut self) -> String {
        let event = self.next().await;
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or("-");
        format!("{} {name}", event["type"].as_str().unwrap())
    }

    /// Waits for the next chunk; fails with the end of the stream.
    pub(crate) async fn chunk(&mut self) -> Result<Bytes, End> {
        match timeout(LIMIT, self.body.frame()).await.expect("nothing came") {
            Some(Ok(frame)) => Ok(frame.into_data().unwrap()),
            Some(Err(_)) => Err(End::Broken),
            None => Err(End::Complete),
        }
    }

    /// Reads until the end of the stream.
    pub(crate) async fn rest(&mut self) -> (String, End) {
        let mut bytes = std::mem::take(&mut self.unread);
        loop {
            match self.chunk().await {
                Ok(chunk) => bytes.extend_from_slice(&chunk),
                Err(end) => return (String::from_utf8(bytes).unwrap(), end),
            }
        }
    }

    /// Returns whether neither an event nor the end comes for a while.
    pub(crate) async fn is_silent(&mut self) -> bool {
        self.unread.is_empty() && timeout(SILENCE, self.body.frame()).await.is_err()
    }
}
