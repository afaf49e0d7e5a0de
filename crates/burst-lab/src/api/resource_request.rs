//! Handles a request for a resource: authorization, lookup, faults, and the response.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use serde_json::Value;

use super::access::{details, forbidden};
use super::error::ApiError;
use super::list_options;
use super::list_page::{self, List};
use super::path::ResourcePath;
use super::query::Query;
use super::reply::Reply;
use super::response;
use super::status::Status;
use super::watch::Watch;
use super::{Fault, KubeApi, corrupt, review, user_agent};

enum ResourceReply {
    List(List),
    Object(Arc<Value>),
    Watch(Box<Watch>),
    Created(Value),
}

impl KubeApi {
    pub(super) fn resource(&self, path: &ResourcePath<'_>, request: &Request<Bytes>, fault: Option<&Fault>) -> Reply {
        let (query, content) = match Query::parse(request.uri().query().unwrap_or_default()) {
            Ok(query) => {
                let error = fault.and_then(|fault| self.error_for_fault(fault, path, request, &query));
                let content = error.map_or_else(|| self.resolve(path, request, &query), Err);
                (query, content)
            }
            Err(status) => (Query::default(), Err(status.into())),
        };
        let pretty = query.pretty || prefers_indented_json(request.headers());
        let answer = match content {
            Err(error) => error.response(pretty),
            Ok(ResourceReply::Object(object)) => response::json(StatusCode::OK, &*object, pretty),
            Ok(ResourceReply::Created(object)) => response::json(StatusCode::CREATED, &object, pretty),
            Ok(ResourceReply::Watch(mut watch)) => match fault {
                None => return Reply::Watch(watch),
                Some(Fault::Stream(fault)) => return Reply::Watch(Box::new(watch.with_fault(*fault))),
                // A fault of a complete response is applied to the events so far.
                Some(_) => response::lines(watch.event_lines()),
            },
            Ok(ResourceReply::List(mut list)) => {
                fault.into_iter().for_each(|fault| corrupt::objects(fault, &mut list));
                if matches!(fault, Some(Fault::Endless)) {
                    list.make_endless(&query);
                }
                response::json(StatusCode::OK, &list, pretty)
            }
        };
        match fault {
            Some(fault) => corrupt::response(fault, answer),
            None => Reply::Response(answer),
        }
    }

    fn resolve(
        &self,
        path: &ResourcePath<'_>,
        request: &Request<Bytes>,
        query: &Query,
    ) -> Result<ResourceReply, ApiError> {
        let user = self.access.user(request.headers())?;
        self.access
            .check(&user, path.verb(request.method(), query.watch), path)?;
        if review::is_subject_access_review(path) && request.method() == Method::POST {
            return Ok(ResourceReply::Created(review::evaluate(&self.access, request.body())?));
        }
        if !self.cluster.serves_group(path.group) {
            return Err(ApiError::UnknownPath);
        }
        let resource = self.cluster.resource(path.group, path.version, path.plural);
        let resource = resource
            .filter(|_| path.subresource.is_none())
            .ok_or_else(Status::unknown_resource)?;
        if request.method() != Method::GET {
            return Err(Status::method_not_allowed().into());
        }
        let Some(name) = path.name else {
            let mut query = query.clone();
            list_options::complete(&mut query, self.watches.config().watch_list)?;
            if query.watch {
                let watch = Watch::new(&self.cluster, resource, path.namespace, query, &self.watches);
                return Ok(ResourceReply::Watch(Box::new(watch)));
            }
            return Ok(ResourceReply::List(list_page::page(
                &self.cluster,
                &resource,
                path.namespace,
                &query,
            )?));
        };
        let object = path
            .namespace
            .and_then(|ns| self.cluster.object(&resource.id(), &format!("{ns}/{name}")));
        Ok(ResourceReply::Object(
            object.ok_or_else(|| Status::not_found(&path.resource(), details(path)))?,
        ))
    }

    /// The error response of a fault, if the fault is one.
    fn error_for_fault(
        &self,
        fault: &Fault,
        path: &ResourcePath<'_>,
        request: &Request<Bytes>,
        query: &Query,
    ) -> Option<ApiError> {
        let status = match fault {
            Fault::Unauthorized => Status::unauthorized(),
            Fault::Forbidden => {
                let user = self.access.user(request.headers()).unwrap_or_default();
                forbidden(&user, path.verb(request.method(), query.watch), path)
            }
            Fault::NotFound => Status::unknown_resource(),
            Fault::Gone => list_page::expired_token(query),
            Fault::TooManyRequests { retry_after } => {
                return Some(ApiError::TooManyRequests {
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

/// A real server indents its JSON for browsers and curl.
fn prefers_indented_json(headers: &HeaderMap) -> bool {
    ["curl", "Wget", "Mozilla"]
        .iter()
        .any(|reader| user_agent(headers).starts_with(reader))
}
