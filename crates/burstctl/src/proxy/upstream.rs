//! The cluster, and what is asked of it.

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

/// What says how the answer should be. Whatever else a request has, `Authorization` and `Impersonate-User` above all,
/// stays here.
const FORWARDED_HEADERS: [HeaderName; 3] = [ACCEPT, ACCEPT_ENCODING, USER_AGENT];

/// The cluster with its credentials.
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

    /// A counter of requests that were passed on.
    pub(super) fn forwarded(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.forwarded)
    }

    /// The cluster's answer, or why it was not asked.
    pub(super) async fn respond<B>(&self, request: &Request<B>) -> ProxyResponse {
        match allowlist::check(request, &self.sources) {
            Ok(path) => self.forward(&path, request).await,
            Err(denied) => response::denied(&denied),
        }
    }

    async fn forward<B>(&self, path: &PathAndQuery, request: &Request<B>) -> ProxyResponse {
        self.forwarded.fetch_add(1, Ordering::Relaxed);
        let mut asked = Request::new(Body::empty());
        *asked.uri_mut() = path.clone().into();
        for name in FORWARDED_HEADERS {
            for value in request.headers().get_all(&name) {
                asked.headers_mut().append(name.clone(), value.clone());
            }
        }
        match self.client.send(asked).await {
            Ok(response) => response::forwarded(response),
            Err(error) => response::bad_gateway(&live::error_chain(&error)),
        }
    }
}
