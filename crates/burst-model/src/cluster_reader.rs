//! Reads the input of a snapshot: the lists of the Kubernetes API, or the Services of a hub. The reader decides which
//! request to send next, and the caller sends it.

use crate::config::{Config, Origin};
use crate::confirmation;
use crate::hub_client::{self, HubClient, HubPayload, HubResponse, HubSource, MAX_RESPONSE_BYTES};
use crate::hub_request::HubRequest;
use crate::kube::{self, ApiResponse, Failure, ParseGuard, Payload, Verb};
use crate::leader::{Effect, Handover, Leader, Successor};
use crate::peers::CLUSTER_HEADER;
use crate::printable::{LONGEST_QUOTE, printable};
use crate::sync::reflector::{StreamId, StreamRequest};
use crate::sync::scheduler::{ScheduledRequest, SourceId};
use crate::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// The reader of a leader.
#[derive(Debug)]
pub enum ClusterReader {
    /// It restores the checkpoint of the last leader, and reads the Kubernetes API after that.
    Restoring(Box<Successor>),
    /// It reads the Kubernetes API.
    Kubernetes(Box<Leader>),
    /// It reads a hub.
    Hub(Box<HubClient>),
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPurpose {
    /// A page of a list, or a watch of it.
    List(SourceId, Verb),
    /// Whether an open stream of a list is alive.
    Probe(SourceId),
    /// The Services of a hub.
    Hub,
}

/// A GET to be sent to the Kubernetes API, or to the hub.
#[derive(Debug)]
pub struct ReadRequest {
    /// The purpose of the request.
    pub purpose: ReadPurpose,
    /// Path and query.
    pub path: String,
    /// The `accept` header.
    pub accept: &'static str,
    /// `if-none-match`.
    pub if_none_match: Option<String>,
    /// How long the server holds the response back on purpose.
    pub duration: Duration,
    /// What to send instead if this filter owns the request upstream, and so can read its response as it comes. The
    /// request may then take this duration instead of the other.
    pub stream: Option<StreamRequest>,
}

impl From<ScheduledRequest> for ReadRequest {
    fn from(ScheduledRequest { source, request }: ScheduledRequest) -> Self {
        Self {
            purpose: match request.is_probe {
                true => ReadPurpose::Probe(source),
                false => ReadPurpose::List(source, request.verb),
            },
            path: request.path,
            accept: request.accept,
            if_none_match: None,
            duration: request.watch_timeout,
            stream: request.stream,
        }
    }
}

impl From<HubRequest> for ReadRequest {
    fn from(request: HubRequest) -> Self {
        let HubRequest {
            path,
            if_none_match,
            wait,
        } = request;
        Self {
            purpose: ReadPurpose::Hub,
            path,
            accept: "application/json",
            if_none_match,
            duration: wait,
            stream: None,
        }
    }
}

/// The response to a request, as the caller has it.
pub trait HttpResponse {
    /// The status. `None` if the connection broke before it came.
    fn status(&self) -> Option<u16>;
    /// A header.
    fn header(&self, name: &str) -> Option<Vec<u8>>;
    /// At most `limit` bytes of the body.
    fn body(&self, limit: usize) -> Vec<u8>;
}

/// The parsed response to a request.
#[derive(Debug)]
pub enum ReadResult {
    /// Of a list.
    List(SourceId, Result<Payload, Failure>),
    /// Of a probe.
    Probe(SourceId, Result<Payload, Failure>),
    /// Of the hub.
    Hub(Result<HubPayload, Failure>),
}

impl ReadResult {
    /// The result of a request that could not be sent.
    #[must_use]
    pub fn not_sent(purpose: ReadPurpose, reason: String) -> Self {
        Self::failed(purpose, Failure::NotSent(reason))
    }

    /// The result of a request that was not answered in time.
    #[must_use]
    pub fn timed_out(purpose: ReadPurpose) -> Self {
        Self::failed(purpose, Failure::Timeout)
    }

    fn failed(purpose: ReadPurpose, failure: Failure) -> Self {
        match purpose {
            ReadPurpose::List(id, _) => Self::List(id, Err(failure)),
            ReadPurpose::Probe(id) => Self::Probe(id, Err(failure)),
            ReadPurpose::Hub => Self::Hub(Err(failure)),
        }
    }
}

fn parse_list(
    source: &kube::Source,
    verb: Verb,
    response: &impl HttpResponse,
    guard: &mut dyn ParseGuard,
) -> Result<Payload, Failure> {
    let [content_type, retry_after] = ["content-type", "retry-after"].map(|name| response.header(name));
    let body = response.body(usize::MAX);
    let response = ApiResponse {
        status: response.status(),
        content_type: content_type.as_deref(),
        retry_after: retry_after.as_deref(),
        body: &body,
    };
    kube::response::parse(source, verb, response, guard)
}

/// Returns how the response of a stream ended: `response` is what the callout has at its end. The body of a stream was read
/// as it came, so only that of a failure is left.
///
/// # Errors
/// Returns the failure of a response that is cut off, or has another status than 200.
pub fn stream_end(response: &impl HttpResponse) -> Result<(), Failure> {
    let status = response.status();
    if status == Some(200) {
        return Ok(());
    }
    let [content_type, retry_after] = ["content-type", "retry-after"].map(|name| response.header(name));
    let body = response.body(usize::MAX);
    let response = ApiResponse {
        status,
        content_type: content_type.as_deref(),
        retry_after: retry_after.as_deref(),
        body: &body,
    };
    kube::response::success_body(response).map(|_| ())
}

/// Parses the response of a hub or a peer. `cluster` is the name that its cluster must have, if it says one.
///
/// # Errors
/// Returns why it is not the response of a hub that has a snapshot of that cluster.
pub fn parse_hub(
    cluster: Option<&str>,
    response: &impl HttpResponse,
    guard: &mut dyn ParseGuard,
) -> Result<HubPayload, Failure> {
    if let (Some(expected), Some(found)) = (cluster, response.header(CLUSTER_HEADER))
        && found != expected.as_bytes()
    {
        let found = printable(String::from_utf8_lossy(&found), LONGEST_QUOTE);
        return Err(Failure::malformed(format_args!(
            "it is of the cluster \"{found}\", and not of \"{expected}\""
        )));
    }
    let names = [confirmation::CONFIRMED_HEADER, "etag", "retry-after"];
    let [confirmed, etag, retry_after] = names.map(|name| response.header(name));
    // One byte over the limit shows that the body is too long.
    let body = response.body(MAX_RESPONSE_BYTES + 1);
    let response = HubResponse {
        status: response.status(),
        confirmed: confirmed.as_deref(),
        etag: etag.as_deref(),
        retry_after: retry_after.as_deref(),
        body: &body,
    };
    hub_client::parse(response, guard)
}

impl ClusterReader {
    /// Begins with what the last leader left. `checkpoint` is called only if the reader needs the bytes of its checkpoint.
    pub fn new(config: Rc<Config>, handover: Handover, checkpoint: impl FnOnce() -> Vec<u8>, now: Time) -> Self {
        match &config.origin {
            Origin::Kubernetes => Self::Restoring(Successor::new(config, handover, checkpoint()).into()),
            Origin::Hub { path } => {
                let hub = HubSource::hub(&config, path);
                Self::Hub(HubClient::new(config, hub, handover, now).into())
            }
        }
    }

    /// Whether the checkpoint of the last leader is still being read.
    #[must_use]
    pub fn is_restoring(&self) -> bool {
        matches!(self, Self::Restoring(_))
    }

    /// Reads skipped objects again; call it when the quarantine has changed.
    pub fn requeue_skipped(&mut self) {
        match self {
            Self::Restoring(_) => {}
            Self::Kubernetes(leader) => leader.requeue_skipped(),
            Self::Hub(hub) => hub.requeue_skipped(),
        }
    }

    /// Whether no request is under way or due, so that another VM may take over.
    #[must_use]
    pub fn is_idle(&self, now: Time) -> bool {
        match self {
            Self::Restoring(_) => false,
            Self::Kubernetes(leader) => leader.is_idle(now),
            Self::Hub(hub) => hub.is_idle(now),
        }
    }

    /// Whether there is work left that waits for no response. The response of a hub is handled at once.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Restoring(_) => true,
            Self::Kubernetes(leader) => leader.is_busy(),
            Self::Hub(_) => false,
        }
    }

    /// Does a part of that work.
    pub fn advance(&mut self, now: Time) -> Vec<Effect> {
        match self {
            Self::Restoring(successor) => match successor.advance(now) {
                Some(leader) => {
                    *self = Self::Kubernetes(leader.into());
                    self.tick(now)
                }
                None => Vec::new(),
            },
            Self::Kubernetes(leader) => leader.advance(now),
            Self::Hub(hub) => hub.advance(now),
        }
    }

    /// Drops a part of what it holds. Returns whether there was any left.
    pub fn release(&mut self) -> bool {
        match self {
            Self::Kubernetes(leader) => leader.release(),
            Self::Restoring(_) | Self::Hub(_) => false,
        }
    }

    /// Once a tick.
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        match self {
            Self::Restoring(_) => self.advance(now),
            Self::Kubernetes(leader) => leader.tick(now),
            Self::Hub(hub) => hub.tick(now),
        }
    }

    /// Parses the response to a request. `None` if the reader does not wait for it.
    pub fn parse(
        &self,
        purpose: ReadPurpose,
        response: &impl HttpResponse,
        guard: &mut dyn ParseGuard,
    ) -> Option<ReadResult> {
        match (self, purpose) {
            (Self::Kubernetes(leader), ReadPurpose::List(id, verb)) => {
                let payload = parse_list(leader.source(id)?, verb, response, guard);
                Some(ReadResult::List(id, payload))
            }
            (Self::Kubernetes(leader), ReadPurpose::Probe(id)) => {
                let payload = parse_list(leader.source(id)?, Verb::Watch, response, guard);
                Some(ReadResult::Probe(id, payload))
            }
            (Self::Hub(hub), ReadPurpose::Hub) => {
                Some(ReadResult::Hub(parse_hub(hub.expected_cluster(), response, guard)))
            }
            _ => None,
        }
    }

    /// Handles what a request brought. `random` spreads the pauses of many proxies.
    pub fn handle(&mut self, result: ReadResult, now: Time, random: u32) -> Vec<Effect> {
        match (self, result) {
            (Self::Kubernetes(leader), ReadResult::List(id, payload)) => leader.answer(id, payload, now, random),
            (Self::Kubernetes(leader), ReadResult::Probe(id, payload)) => leader.on_probe(id, payload, now, random),
            (Self::Hub(hub), ReadResult::Hub(payload)) => hub.handle_response(payload, now, random),
            _ => Vec::new(),
        }
    }

    /// The request of a list is a stream: this filter owns it upstream. Call it when the request was sent, before anything
    /// else of the stream.
    pub fn stream_opened(&mut self, id: SourceId, stream: StreamId, now: Time) -> Vec<Effect> {
        match self {
            Self::Kubernetes(leader) => leader.stream_opened(id, stream, now),
            Self::Restoring(_) | Self::Hub(_) => vec![Effect::CloseStream(stream)],
        }
    }

    /// The response of a stream begins, with status 200.
    pub fn stream_accepted(&mut self, id: SourceId, stream: StreamId, now: Time) -> Vec<Effect> {
        match self {
            Self::Kubernetes(leader) => leader.stream_accepted(id, stream, now),
            Self::Restoring(_) | Self::Hub(_) => Vec::new(),
        }
    }

    /// The next bytes of a stream. At most a few hundred objects are handled; [`Self::read_streams`] handles the rest.
    pub fn on_chunk(
        &mut self,
        id: SourceId,
        stream: StreamId,
        chunk: &[u8],
        guard: &mut dyn ParseGuard,
        now: Time,
        random: u32,
    ) -> Vec<Effect> {
        match self {
            Self::Kubernetes(leader) => leader.on_chunk(id, stream, chunk, guard, now, random),
            Self::Restoring(_) | Self::Hub(_) => Vec::new(),
        }
    }

    /// The end of a stream's callout, as [`stream_end`] returns it, or why the callout was not sent.
    pub fn on_stream_end(
        &mut self,
        id: SourceId,
        stream: StreamId,
        end: Result<(), Failure>,
        guard: &mut dyn ParseGuard,
        now: Time,
        random: u32,
    ) -> Vec<Effect> {
        match self {
            Self::Kubernetes(leader) => leader.on_stream_end(id, stream, end, guard, now, random),
            Self::Restoring(_) | Self::Hub(_) => Vec::new(),
        }
    }

    /// Handles a part of what streams brought, and gives up streams that do not go on. Call it before each
    /// [`Self::tick`] and [`Self::advance`].
    pub fn read_streams(&mut self, guard: &mut dyn ParseGuard, now: Time, random: u32) -> Vec<Effect> {
        match self {
            Self::Kubernetes(leader) => leader.read_streams(guard, now, random),
            Self::Restoring(_) | Self::Hub(_) => Vec::new(),
        }
    }

    /// The streams that are open. Close them at the end of the term.
    #[must_use]
    pub fn open_streams(&self) -> Vec<StreamId> {
        match self {
            Self::Kubernetes(leader) => leader.open_streams().collect(),
            Self::Restoring(_) | Self::Hub(_) => Vec::new(),
        }
    }

    /// When the reader wants to be called, if that is before the next tick: changes that streamed in are gathered until
    /// then, or a hub is asked again. Call [`Self::advance`] then.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        match self {
            Self::Kubernetes(leader) => leader.next_due(),
            Self::Hub(hub) => hub.next_due(),
            Self::Restoring(_) => None,
        }
    }

    /// Notes how long a call of this reader took, with everything that its effects led to. Changes that stream in are
    /// gathered for longer if a publication takes long.
    pub fn note_cost(&mut self, of_call: Duration) {
        if let Self::Kubernetes(leader) = self {
            leader.note_cost(of_call);
        }
    }
}
