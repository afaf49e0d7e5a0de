//! Forwards requests to the API server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burst_model::kube::Source;
use http::Request;
use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderName, USER_AGENT};
use http::uri::PathAndQuery;
use kube::client::Body;
use kube::{Client, Config};

use super::allowlist;
use super::response::{self, ProxyResponse};
use crate::live;

/// The headers that say which format the client wants. The proxy drops all others, most importantly `Authorization`
/// and `Impersonate-User`.
const FORWARDED_HEADERS: [HeaderName; 3] = [ACCEPT, ACCEPT_ENCODING, USER_AGENT];

/// The API server, and the credentials for it.
pub(super) struct Upstream {
    client: Client,
    sources: Vec<Source>,
    forwarded: Arc<AtomicU64>,
}

impl Upstream {
    pub(super) fn new(config: Config, sources: Vec<Source>) -> Result<Self, kube::Error> {
        let client = Client::try_from(config)?;
        Ok(Self {
            client,
            sources,
            forwarded: Arc::default(),
        })
    }

    /// Returns the counter of forwarded requests.
    pub(super) fn forwarded(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.forwarded)
    }

    /// Returns the API server's response, or the reason why the request was denied.
    pub(super) async fn respond<B>(&self, request: &Request<B>) -> ProxyResponse {
        match allowlist::check(request, &self.sources) {
            Ok(path) => self.forward(&path, request).await,
            Err(denied) => response::denied(&denied),
        }
    }

    async fn forward<B>(&self, path: &PathAndQuery, request: &Request<B>) -> ProxyResponse {
        self.forwarded.fetch_add(1, Ordering::Relaxed);
        let mut forwarded_request = Request::new(Body::empty());
        *forwarded_request.uri_mut() = path.clone().into();
        for name in FORWARDED_HEADERS {
            for value in request.headers().get_all(&name) {
                forwarded_request.headers_mut().append(name.clone(), value.clone());
            }
        }
        match self.client.send(forwarded_request).await {
            Ok(response) => response::forwarded(response),
            Err(error) => response::bad_gateway(&live::error_chain(&error)),
        }
    }
}
