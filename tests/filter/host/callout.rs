//! HTTP callouts: the filter's requests, and the answers that Envoy can give to them.

use super::chunked_body::ChunkedBody;
use super::message::{Headers, Response};
use super::state::VmState;
use proxy_wasm::types::Status;
use std::time::Duration;

/// `WasmResult::BrokenConnection`, which `get_grpc_status` returns after a callout was reset.
const BROKEN_CONNECTION: u32 = 11;

/// Envoy reads a timeout as a signed number of milliseconds.
const LONGEST_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);

/// A callout that has no answer yet.
#[derive(Clone, Debug)]
pub(crate) struct Callout {
    pub(crate) cluster: String,
    /// The headers that the upstream receives, including the two that Envoy adds.
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    /// `None` never times out.
    pub(crate) timeout: Option<Duration>,
    pub(super) token: u32,
    pub(super) sent: Duration,
    /// The stream context that the upstream filter of the cluster has for it.
    pub(super) upstream: Option<u32>,
    pub(super) progress: Progress,
}

/// How far the answer to a callout has come.
#[derive(Clone, Debug)]
pub(super) enum Progress {
    /// The server has the request.
    Waiting,
    /// The fake server has returned [`Answer::Never`] for it.
    Hangs,
    /// The headers have arrived. The response holds what the upstream filter has left of the body so far.
    Receiving(Response, ChunkedBody),
}

impl Callout {
    pub(crate) fn method(&self) -> &str {
        self.text(":method")
    }

    pub(crate) fn path(&self) -> &str {
        self.text(":path")
    }

    pub(crate) fn authority(&self) -> &str {
        self.text(":authority")
    }

    fn text(&self, name: &str) -> &str {
        let value = self.headers.first(name).expect("a callout without it is refused");
        std::str::from_utf8(value).expect("the SDK takes strings")
    }

    /// Tells it from the other callouts of its VM.
    pub(crate) fn token(&self) -> u32 {
        self.token
    }

    /// When it was sent.
    pub(crate) fn sent(&self) -> Duration {
        self.sent
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.progress, Progress::Waiting)
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        Some(self.sent + self.timeout?)
    }
}

/// How a callout ends.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Response(Response),
    /// The headers of this response at once, and the body as the server sends it.
    Chunked(Response, ChunkedBody),
    /// The connection was refused, or TLS failed: a synthetic 503.
    Unreachable,
    /// The upstream does not speak HTTP, or sends more than 100 headers: a synthetic 502.
    ProtocolError,
    /// No headers arrived within the timeout: a synthetic 504.
    Timeout,
    /// Reset or timed out after the headers, or over the body limit: a callback with an empty response.
    Reset,
    /// Leaves the callout unanswered until its own timeout.
    Never,
    /// Leaves the callout unanswered for now. [`Vm::answer`](super::Vm::answer) asks the fake server again.
    Later,
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

/// The default of `http.async_response_buffer_limit`, in bytes.
pub(super) const BODY_LIMIT: usize = 32 << 20;

/// Envoy's default `max_response_headers_count`.
const HEADERS_LIMIT: usize = 100;

impl Response {
    /// Whether Envoy accepts the headers.
    pub(super) fn has_few_headers(&self) -> bool {
        self.headers.len() <= HEADERS_LIMIT
    }
}

impl Answer {
    /// The response that reaches the filter, if any. The texts are those of Envoy 1.40; Envoy 1.36 gives more detail in
    /// a 503.
    pub(super) fn delivered(self, body_limit: usize) -> Option<Response> {
        match self {
            Self::Response(response) | Self::Chunked(response, _) if !response.has_few_headers() => {
                Self::ProtocolError.delivered(body_limit)
            }
            Self::Response(response) | Self::Chunked(response, _) => {
                (response.body.len() <= body_limit).then_some(response)
            }
            Self::Unreachable => Some(synthetic(503, &before_headers("remote connection failure"))),
            Self::ProtocolError => Some(synthetic(502, &before_headers("protocol error"))),
            Self::Timeout => Some(synthetic(504, "upstream request timeout")),
            Self::Reset | Self::Never | Self::Later => None,
        }
    }
}

fn before_headers(reason: &str) -> String {
    format!("upstream connect error or disconnect/reset before headers. reset reason: {reason}")
}

fn synthetic(status: u32, body: &str) -> Response {
    Response::local_reply(status, &Headers::default(), body.into())
}

impl VmState {
    /// Sends a callout, as `Context::httpCall` does.
    pub(super) fn dispatch(&mut self, mut callout: Callout) -> Result<u32, Status> {
        if callout.timeout.is_some_and(|timeout| timeout > LONGEST_TIMEOUT) {
            return Err(Status::BadArgument);
        }
        let hosts = self.proxy.state().clusters.get(&callout.cluster).copied();
        let with_hosts = hosts.ok_or(Status::BadArgument)?;
        if [":method", ":path", ":authority"]
            .iter()
            .any(|name| callout.headers.first(name).is_none())
        {
            return Err(Status::BadArgument);
        }
        if !with_hosts {
            return Err(Status::InternalFailure);
        }
        self.last_token += 1;
        callout.token = self.last_token;
        callout.sent = self.proxy.now();
        callout.headers.add("x-envoy-internal", "true");
        if let Some(timeout) = callout.timeout {
            callout
                .headers
                .add("x-envoy-expected-rq-timeout-ms", timeout.as_millis().to_string());
        }
        self.root().ok_or(Status::BadArgument)?.callouts.push(callout);
        Ok(self.last_token)
    }

    pub(super) fn root_of_callout(&self, token: u32) -> Option<u32> {
        let sent = |callout: &Callout| callout.token == token;
        let mut roots = self.roots.iter();
        let (&id, _) = roots.find(|(_, root)| root.callouts.iter().any(sent))?;
        Some(id)
    }

    pub(super) fn callout_mut(&mut self, token: u32) -> Option<&mut Callout> {
        let mut callouts = self.roots.values_mut().flat_map(|root| &mut root.callouts);
        callouts.find(|callout| callout.token == token)
    }

    /// Removes the callout, makes its answer readable and returns its three sizes. `None` if the callout no longer
    /// exists.
    pub(super) fn open_answer(&mut self, root: u32, token: u32, answer: Answer) -> Option<[usize; 3]> {
        let limit = self.proxy.state().body_limit;
        let root = self.roots.get_mut(&root)?;
        let position = root.callouts.iter().position(|callout| callout.token == token)?;
        root.callouts.remove(position);
        root.answer = answer.delivered(limit);
        if root.answer.is_none() {
            root.status = (BROKEN_CONNECTION, "reset");
        }
        Some(root.answer.as_ref().map_or([0; 3], |answer| {
            [answer.headers.len(), answer.body.len(), answer.trailers.len()]
        }))
    }

    /// Marks a callout that the fake server will not answer.
    pub(super) fn leave_unanswered(&mut self, token: u32) {
        if let Some(callout) = self.callout_mut(token) {
            callout.progress = Progress::Hangs;
        }
    }

    pub(super) fn close_answer(&mut self, root: u32) {
        if let Some(root) = self.roots.get_mut(&root) {
            root.answer = None;
            root.status.1 = "";
        }
    }
}
