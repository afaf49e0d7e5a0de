//! A Kubernetes API over a [`Cluster`], as a function from request to reply: no socket, no clock. It answers as
//! kube-apiserver v1.36 does for reading: lists in pages, watches that end by themselves, one object by name, errors as
//! `metav1.Status`.

mod access;
mod control;
mod fault;
mod list;
mod path;
mod query;
mod refusal;
mod reply;
mod request_log;
mod review;
mod selector;
mod serve;
mod spoil;
mod status;
#[cfg(test)]
mod tests;
mod window;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, Request, StatusCode};

pub use access::{Access, Book, Rule};
pub use fault::{Fault, Faults, Injection};
pub use reply::Reply;
pub use request_log::{Counts, RequestLog, Seen};
pub use window::Window;

use crate::cluster::Cluster;
use path::{ResourcePath, Target};
use query::Query;
use refusal::Refusal;

/// The stand-in and its handles; clones share everything.
#[derive(Clone, Default)]
pub struct KubeApi {
    /// What is listed.
    pub cluster: Cluster,
    /// Who may list it.
    pub access: Access,
    /// What goes wrong.
    pub faults: Faults,
    /// Who asked.
    pub requests: RequestLog,
}

impl KubeApi {
    /// An API over these objects, with nobody refused and nothing going wrong.
    pub fn new(cluster: Cluster) -> Self {
        KubeApi {
            cluster,
            ..KubeApi::default()
        }
    }

    /// The reply to one request; it is in the log before this returns.
    pub fn answer(&self, request: &Request<Bytes>) -> Reply {
        match Target::of(request.uri().path()) {
            Target::Control(path) => Reply::Answer(self.control(path, request)),
            Target::Health => self.logged(request, None, |_| Reply::Answer(reply::text(StatusCode::OK, "ok"))),
            Target::Other => self.logged(request, None, |_| Reply::Answer(Refusal::NoSuchPath.answer(false))),
            Target::Resource(path) => self.logged(request, Some(&path), |fault| self.resource(&path, request, fault)),
        }
    }

    fn logged(
        &self,
        request: &Request<Bytes>,
        path: Option<&ResourcePath<'_>>,
        ask: impl FnOnce(Option<&Fault>) -> Reply,
    ) -> Reply {
        let query = request.uri().query().unwrap_or_default();
        let watch = Query::parse(query).is_ok_and(|query| query.watch);
        let resource = path.map(ResourcePath::resource).unwrap_or_default();
        let fault = path.and_then(|_| self.faults.take(&resource));
        let reply = ask(fault.as_ref());
        self.requests.record(Seen {
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            query: query.to_owned(),
            resource,
            verb: path.map_or("", |path| path.verb(request.method(), watch)).to_owned(),
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
