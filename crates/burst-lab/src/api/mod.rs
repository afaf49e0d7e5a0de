//! A Kubernetes API over a [`Cluster`], as a function from request to reply, without sockets and clocks. It answers reads as
//! kube-apiserver v1.36 does: lists in pages, watches, single objects, and errors as `metav1.Status`.

mod access;
mod control;
mod corrupt;
mod error;
mod fault;
mod field_selector;
mod list_options;
mod list_page;
mod path;
mod query;
mod reply;
mod request_log;
mod resource_request;
mod response;
mod review;
mod status;
mod stream_fault;
#[cfg(test)]
mod tests;
mod watch;
mod watches;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, Request, StatusCode};

pub use access::{Access, AccessConfig, Rule};
pub use fault::{Fault, Faults, Injection};
pub use reply::Reply;
pub use request_log::{Counts, LoggedRequest, RequestLog};
pub use stream_fault::StreamFault;
pub use watch::Watch;
pub use watches::{WatchConfig, Watches};

use crate::cluster::Cluster;
use error::ApiError;
use path::{Endpoint, ResourcePath};
use query::Query;

/// The simulated API; clones share its state.
#[derive(Clone, Default)]
pub struct KubeApi {
    /// The objects.
    pub cluster: Cluster,
    /// Tokens and rules.
    pub access: Access,
    /// The faults in force.
    pub faults: Faults,
    /// The requests received.
    pub requests: RequestLog,
    /// How watches are served, and those that are open.
    pub watches: Watches,
}

impl KubeApi {
    /// An API over these objects that allows every request and has no faults.
    pub fn new(cluster: Cluster) -> Self {
        KubeApi {
            cluster,
            ..KubeApi::default()
        }
    }

    /// Returns the reply to one request. The request is logged before this returns.
    pub fn handle(&self, request: &Request<Bytes>) -> Reply {
        match Endpoint::of(request.uri().path()) {
            Endpoint::Control(path) => Reply::Response(self.control(path, request)),
            Endpoint::Health => {
                self.log_request(request, None, |_| Reply::Response(response::text(StatusCode::OK, "ok")))
            }
            Endpoint::Other => self.log_request(request, None, |_| {
                Reply::Response(ApiError::UnknownPath.response(false))
            }),
            Endpoint::Resource(path) => {
                self.log_request(request, Some(&path), |fault| self.resource(&path, request, fault))
            }
        }
    }

    fn log_request(
        &self,
        request: &Request<Bytes>,
        path: Option<&ResourcePath<'_>>,
        handle: impl FnOnce(Option<&Fault>) -> Reply,
    ) -> Reply {
        let query = request.uri().query().unwrap_or_default();
        let watch = Query::parse(query).is_ok_and(|query| query.watch);
        let resource = path.map(ResourcePath::resource).unwrap_or_default();
        let verb = path.map_or("", |path| path.verb(request.method(), watch));
        let fault = path.and_then(|_| self.faults.take(&resource, verb));
        let reply = handle(fault.as_ref());
        self.requests.record(LoggedRequest {
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            query: query.to_owned(),
            resource,
            verb: verb.to_owned(),
            protocol: format!("{:?}", request.version()),
            user_agent: user_agent(request.headers()).to_owned(),
            fault: fault.map(|fault| format!("{fault:?}")),
            status: reply.status().map(|status| status.as_u16()),
        });
        reply
    }
}

fn user_agent(headers: &HeaderMap) -> &str {
    headers
        .get(USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}
