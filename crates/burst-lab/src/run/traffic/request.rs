//! One request through Envoy.

use std::net::SocketAddr;
use std::time::Duration;

use burst_lab::sample::Service;
use bytes::Bytes;
use http::header::HOST;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::timeout;

/// Longer than Envoy's default route timeout is pointless.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The outcome of one request to a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A response.
    Answered {
        /// Its status.
        status: u16,
        /// The value of `x-burst`, if the response had the header.
        header: Option<String>,
    },
    /// No response.
    NoResponse,
}

/// Sends requests to one Envoy; clones share its connections.
#[derive(Clone)]
pub(crate) struct Proxy {
    http: Client<HttpConnector, Empty<Bytes>>,
    addr: SocketAddr,
}

impl Proxy {
    pub(crate) fn new(addr: SocketAddr) -> Self {
        Proxy {
            http: Client::builder(TokioExecutor::new()).build_http(),
            addr,
        }
    }

    /// Requests `/` of a service.
    pub(super) async fn request(&self, service: &Service) -> Outcome {
        match self.get("/", Some(&service.host())).await {
            Some((status, header, _)) => Outcome::Answered {
                status: status.as_u16(),
                header,
            },
            None => Outcome::NoResponse,
        }
    }

    /// Asks Envoy for the header of a service, without a request to the service.
    pub(super) async fn header_of(&self, service: &Service) -> Option<String> {
        let path = format!("/burstmetrics/services/{}/{}", service.namespace, service.name);
        match self.get(&path, None).await? {
            (StatusCode::OK, _, body) => String::from_utf8(body.into()).ok(),
            _ => None,
        }
    }

    /// Returns status, `x-burst` and body; `None` without a complete response.
    pub(crate) async fn get(&self, path: &str, host: Option<&str>) -> Option<(StatusCode, Option<String>, Bytes)> {
        timeout(REQUEST_TIMEOUT, self.send(path, host)).await.ok().flatten()
    }

    async fn send(&self, path: &str, host: Option<&str>) -> Option<(StatusCode, Option<String>, Bytes)> {
        let mut request = Request::get(format!("http://{}{path}", self.addr));
        if let Some(host) = host {
            request = request.header(HOST, host);
        }
        let response = self.http.request(request.body(Empty::new()).ok()?).await.ok()?;
        let status = response.status();
        let header = response.headers().get("x-burst");
        let header = header.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        // The whole body, or the connection cannot be reused.
        let body = response.into_body().collect().await.ok()?.to_bytes();
        Some((status, header, body))
    }
}
