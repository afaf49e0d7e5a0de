//! The host's side of one HTTP stream: which parts of it the filter can read and change in which phase.
//!
//! Envoy lends a header map to the filter only during the callback for it, and again for reading in `on_log`. The
//! request's headers can also be read while the filter's local reply passes, because `on_request_headers` has not
//! returned then.

use super::message::{Headers, Request, Response, Seen};
use super::route::{End, Route};
use super::state::VmState;
use proxy_wasm::types::{BufferType, MapType, Status, StreamType};
use std::collections::BTreeMap;

pub(super) struct Stream {
    pub(super) root: u32,
    /// The token of the callout, if this is a stream of an upstream filter.
    pub(super) callout: Option<u32>,
    pub(super) request: Request,
    /// All routes.
    pub(super) routes: Route,
    /// The chosen one. Envoy chooses it before the filter sees the request, and shows it until the next filter asks for the
    /// route.
    pub(super) route: Route,
    /// Whether it has to be chosen again.
    pub(super) route_cleared: bool,
    /// Set from the response phase on.
    pub(super) response: Option<Response>,
    /// The maps and bodies that the running callback may access.
    pub(super) lent: Lent,
    /// A local reply that the filter asked for. It is sent when the callback is over.
    pub(super) wanted_reply: Option<Response>,
    pub(super) seen: Option<Seen>,
    /// The upstream, or Envoy itself, has answered.
    pub(super) responded: bool,
    /// The filter has answered.
    pub(super) replied: bool,
    /// All headers can be read again in `on_log`.
    pub(super) logging: bool,
    pub(super) pause: Pause,
    /// Set by `set_property`, and read back under the same single name.
    pub(super) filter_state: BTreeMap<Vec<u8>, Vec<u8>>,
}

#[derive(Default)]
pub(super) struct Lent {
    pub(super) request_headers: bool,
    pub(super) request_body: bool,
    pub(super) response_headers: bool,
    pub(super) response_body: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    Flowing,
    Paused,
    /// `close_stream`: resets the client's stream.
    Reset,
}

impl Stream {
    pub(super) fn new(root: u32, request: Request, route: Route) -> Self {
        Self {
            root,
            callout: None,
            route: route.of(&request.headers).clone(),
            routes: route,
            route_cleared: false,
            request,
            response: None,
            lent: Lent::default(),
            wanted_reply: None,
            seen: None,
            responded: false,
            replied: false,
            logging: false,
            pause: Pause::Flowing,
            filter_state: BTreeMap::new(),
        }
    }

    /// `response.code_details`: unset before there is a response, and unset for the filter's own reply.
    pub(super) fn code_details(&self) -> Option<&'static str> {
        if !self.responded || self.replied {
            return None;
        }
        match &self.route.end {
            End::Upstream(_) => Some("via_upstream"),
            End::Envoy(_, details) => Some(details),
        }
    }

    pub(super) fn met_upstream(&self) -> bool {
        self.responded && matches!(self.route.end, End::Upstream(_))
    }

    pub(super) fn request_headers(&self) -> Option<&Headers> {
        (self.lent.request_headers || self.logging).then_some(&self.request.headers)
    }

    fn response_headers(&self) -> Option<&Headers> {
        let open = self.lent.response_headers || self.logging;
        Some(&self.response.as_ref().filter(|_| open)?.headers)
    }
}

impl VmState {
    fn headers(&mut self, map: MapType) -> Option<&Headers> {
        match map {
            MapType::HttpRequestHeaders => self.stream()?.request_headers(),
            MapType::HttpResponseHeaders => self.stream()?.response_headers(),
            MapType::HttpCallResponseHeaders => Some(&self.root()?.answer.as_ref()?.headers),
            MapType::HttpCallResponseTrailers => {
                Some(&self.root()?.answer.as_ref()?.trailers).filter(|trailers| trailers.len() > 0)
            }
            _ => None,
        }
    }

    pub(super) fn header(&mut self, map: MapType, name: &str) -> Result<Vec<u8>, Status> {
        let logging = self.stream().is_some_and(|stream| stream.logging);
        let no_map = if logging { Status::NotFound } else { Status::BadArgument };
        let headers = self.headers(map).ok_or(no_map)?;
        headers.first(name).map(<[u8]>::to_vec).ok_or(Status::NotFound)
    }

    /// All pairs, or none if there is no such map.
    pub(super) fn header_pairs(&mut self, map: MapType) -> Headers {
        self.headers(map).cloned().unwrap_or_default()
    }

    /// A map that the running callback may change.
    pub(super) fn headers_mut(&mut self, map: MapType) -> Result<&mut Headers, Status> {
        let stream = self.stream().ok_or(Status::BadArgument)?;
        match map {
            MapType::HttpRequestHeaders if stream.lent.request_headers => Ok(&mut stream.request.headers),
            MapType::HttpResponseHeaders if stream.lent.response_headers => stream
                .response
                .as_mut()
                .map(|response| &mut response.headers)
                .ok_or(Status::BadArgument),
            _ => Err(Status::BadArgument),
        }
    }

    pub(super) fn buffer(&mut self, kind: BufferType) -> Result<Vec<u8>, Status> {
        match kind {
            BufferType::VmConfiguration => Ok(Vec::new()),
            BufferType::PluginConfiguration => {
                let root = self.root().filter(|root| root.configuring).ok_or(Status::NotFound)?;
                Ok(root.plugin.configuration.clone())
            }
            BufferType::HttpCallResponseBody => {
                let answer = self
                    .root()
                    .and_then(|root| root.answer.as_ref())
                    .ok_or(Status::NotFound)?;
                Ok(answer.body.clone())
            }
            BufferType::HttpRequestBody | BufferType::HttpResponseBody => {
                Ok(self.body_mut(kind).cloned().unwrap_or_default())
            }
            _ => Err(Status::NotFound),
        }
    }

    fn body_mut(&mut self, kind: BufferType) -> Option<&mut Vec<u8>> {
        let stream = self.stream()?;
        match kind {
            BufferType::HttpRequestBody if stream.lent.request_body => Some(&mut stream.request.body),
            BufferType::HttpResponseBody if stream.lent.response_body => Some(&mut stream.response.as_mut()?.body),
            _ => None,
        }
    }

    /// Envoy supports three edits: prepend, append, and replace everything.
    pub(super) fn edit_body(
        &mut self,
        kind: BufferType,
        start: usize,
        size: usize,
        value: &[u8],
    ) -> Result<(), Status> {
        let body = self.body_mut(kind).ok_or(Status::BadArgument)?;
        match (start, size) {
            (0, 0) => drop(body.splice(0..0, value.iter().copied())),
            (0, size) if size >= body.len() => *body = value.to_vec(),
            (start, _) if start > 0 && start >= body.len() => body.extend(value),
            _ => return Err(Status::BadArgument),
        }
        Ok(())
    }

    /// Records the first local reply. One that a root context asks for is dropped.
    pub(super) fn want_reply(&mut self, code: u32, headers: &Headers, body: Vec<u8>) {
        if let Some(stream) = self.stream().filter(|stream| stream.wanted_reply.is_none()) {
            stream.wanted_reply = Some(Response::local_reply(code, headers, body));
            self.defer();
        }
    }

    pub(super) fn set_pause(&mut self, kind: StreamType, pause: Pause) -> Result<(), Status> {
        let id = self.context();
        match (kind, self.stream()) {
            (StreamType::HttpRequest | StreamType::HttpResponse, Some(stream)) if stream.callout.is_some() => {
                if pause == Pause::Reset && stream.pause != Pause::Reset {
                    stream.pause = Pause::Reset;
                    self.pending_resets.push_back(id);
                }
            }
            (StreamType::HttpRequest | StreamType::HttpResponse, Some(stream)) => {
                stream.pause = pause;
                self.defer();
            }
            (StreamType::HttpRequest | StreamType::HttpResponse, None) => {}
            _ => return Err(Status::BadArgument),
        }
        Ok(())
    }
}
