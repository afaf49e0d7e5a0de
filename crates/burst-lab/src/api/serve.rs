//! The way of a request for a resource: who asks, what is there, which fault meets it, how it is written.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use serde_json::Value;

use super::access::{details, forbidden};
use super::list::{self, List};
use super::path::ResourcePath;
use super::query::Query;
use super::refusal::Refusal;
use super::reply::{self, Reply};
use super::status::Status;
use super::window::Window;
use super::{Fault, KubeApi, review, spoil, user_agent};

enum Content {
    List(List),
    Object(Arc<Value>),
    Window(Window),
    Created(Value),
}

impl KubeApi {
    pub(super) fn resource(&self, path: &ResourcePath<'_>, request: &Request<Bytes>, fault: Option<&Fault>) -> Reply {
        let (query, served) = match Query::parse(request.uri().query().unwrap_or_default()) {
            Ok(query) => {
                let refused = fault.and_then(|fault| self.called_for(fault, path, request, &query));
                let served = refused.map_or_else(|| self.content(path, request, &query), Err);
                (query, served)
            }
            Err(status) => (Query::default(), Err(status.into())),
        };
        let pretty = query.pretty || reads_with_eyes(request.headers());
        let answer = match served {
            Err(refusal) => refusal.answer(pretty),
            Ok(Content::Object(object)) => reply::json(StatusCode::OK, &*object, pretty),
            Ok(Content::Created(object)) => reply::json(StatusCode::CREATED, &object, pretty),
            Ok(Content::Window(window)) if fault.is_none() => return Reply::Window(window),
            // A fault does not wait for the end of the window.
            Ok(Content::Window(window)) => reply::lines(window.lines()),
            Ok(Content::List(mut list)) => {
                fault.into_iter().for_each(|fault| spoil::objects(fault, &mut list));
                if matches!(fault, Some(Fault::Endless)) {
                    list.go_round(&query);
                }
                reply::json(StatusCode::OK, &list, pretty)
            }
        };
        match fault {
            Some(fault) => spoil::answer(fault, answer),
            None => Reply::Answer(answer),
        }
    }

    fn content(&self, path: &ResourcePath<'_>, request: &Request<Bytes>, query: &Query) -> Result<Content, Refusal> {
        let user = self.access.user(request.headers())?;
        self.access
            .check(&user, path.verb(request.method(), query.watch), path)?;
        if review::is_asked_for(path) && request.method() == Method::POST {
            return Ok(Content::Created(review::answer(&self.access, request.body())?));
        }
        if !self.cluster.serves_group(path.group) {
            return Err(Refusal::NoSuchPath);
        }
        let resource = self.cluster.resource(path.group, path.version, path.plural);
        let resource = resource
            .filter(|_| path.subresource.is_none())
            .ok_or_else(Status::unknown_resource)?;
        if request.method() != Method::GET {
            return Err(Status::method_not_allowed().into());
        }
        if query.watch && path.name.is_none() {
            let window = Window::new(&self.cluster, resource, path.namespace, query.clone());
            return Ok(Content::Window(window));
        }
        let Some(name) = path.name else {
            return Ok(Content::List(list::page(
                &self.cluster,
                &resource,
                path.namespace,
                query,
            )?));
        };
        let object = path
            .namespace
            .and_then(|ns| self.cluster.object(&resource.id(), &format!("{ns}/{name}")));
        Ok(Content::Object(
            object.ok_or_else(|| Status::not_found(&path.resource(), details(path)))?,
        ))
    }

    /// The refusal that a fault is, if it is of that sort.
    fn called_for(
        &self,
        fault: &Fault,
        path: &ResourcePath<'_>,
        request: &Request<Bytes>,
        query: &Query,
    ) -> Option<Refusal> {
        let status = match fault {
            Fault::Unauthorized => Status::unauthorized(),
            Fault::Forbidden => {
                let user = self.access.user(request.headers()).unwrap_or_default();
                forbidden(&user, path.verb(request.method(), query.watch), path)
            }
            Fault::NotFound => Status::unknown_resource(),
            Fault::Gone => list::gone(query),
            Fault::TooManyRequests { retry_after } => {
                return Some(Refusal::TooManyRequests {
                    retry_after: *retry_after,
                });
            }
            Fault::InternalError => Status::internal("etcdserver: request timed out"),
            Fault::Unavailable => Status::unavailable(),
            _ => return None,
        };
        Some(status.into())
    }
}

/// A real server indents its JSON for those who read it themselves.
fn reads_with_eyes(headers: &HeaderMap) -> bool {
    ["curl", "Wget", "Mozilla"]
        .iter()
        .any(|reader| user_agent(headers).starts_with(reader))
}
