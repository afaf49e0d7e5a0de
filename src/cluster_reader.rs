//! What the holder of the office reads: the lists of the Kubernetes API, or the Services of a hub.

use crate::host;
use burst_model::config::{Config, Origin};
use burst_model::confirmation;
use burst_model::hub_client::{self, HubClient, HubRequest, MAX_RESPONSE_BYTES};
use burst_model::kube::{self, Failure, ParseGuard, Verb};
use burst_model::leader::{Effect, Handover, Leader, Successor};
use burst_model::sync::scheduler::{ScheduledRequest, SourceId};
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// One of the two, or who is about to read a cluster.
#[derive(Debug)]
pub(crate) enum ClusterReader {
    Successor(Box<Successor>),
    Cluster(Box<Leader>),
    Hub(HubClient),
}

/// What a callout under way was for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadPurpose {
    List(SourceId, Verb),
    Hub,
}

/// What a call brought.
pub(crate) enum ReadResult {
    List(SourceId, Result<kube::Payload, Failure>),
    Hub(Result<hub_client::HubPayload, Failure>),
}

impl ReadResult {
    /// One that could not be sent.
    pub(crate) fn not_sent(call: ReadPurpose, reason: String) -> Self {
        let failure = Failure::NotSent(reason);
        match call {
            ReadPurpose::List(id, _) => Self::List(id, Err(failure)),
            ReadPurpose::Hub => Self::Hub(Err(failure)),
        }
    }
}

/// A callout to be sent.
pub(crate) struct ReadRequest {
    pub(crate) call: ReadPurpose,
    pub(crate) path: String,
    pub(crate) if_none_match: Option<String>,
    /// How long the server takes for the answer on purpose.
    pub(crate) lasts: Duration,
}

impl From<ScheduledRequest> for ReadRequest {
    fn from(ScheduledRequest { source, request }: ScheduledRequest) -> Self {
        Self {
            call: ReadPurpose::List(source, request.verb),
            path: request.path,
            if_none_match: None,
            lasts: request.lasts,
        }
    }
}

impl From<HubRequest> for ReadRequest {
    fn from(HubRequest { path, if_none_match }: HubRequest) -> Self {
        Self {
            call: ReadPurpose::Hub,
            path,
            if_none_match,
            lasts: Duration::ZERO,
        }
    }
}

/// The answer to a callout, which the host has laid open.
#[derive(Clone, Copy)]
pub(crate) struct CalloutResponse {
    pub(crate) has_headers: bool,
    pub(crate) body_size: usize,
}

impl CalloutResponse {
    fn status(self) -> Option<u16> {
        host::callout_status(self.has_headers)
    }

    fn header(self, name: &str) -> Option<Vec<u8>> {
        self.has_headers.then(|| host::callout_header(name)).flatten()
    }

    fn api_response<T>(self, read: impl FnOnce(kube::ApiResponse<'_>) -> T) -> T {
        let (content_type, retry_after) = (self.header("content-type"), self.header("retry-after"));
        read(kube::ApiResponse {
            status: self.status(),
            content_type: content_type.as_deref(),
            retry_after: retry_after.as_deref(),
            body: &host::callout_body(self.body_size),
        })
    }

    fn hub_response<T>(self, read: impl FnOnce(hub_client::HubResponse<'_>) -> T) -> T {
        let names = [confirmation::HEADER, "etag", "retry-after"];
        let [confirmed, etag, retry_after] = names.map(|name| self.header(name));
        read(hub_client::HubResponse {
            status: self.status(),
            confirmed: confirmed.as_deref(),
            etag: etag.as_deref(),
            retry_after: retry_after.as_deref(),
            // One byte more than is looked at tells that there are more.
            body: &host::callout_body(self.body_size.min(MAX_RESPONSE_BYTES + 1)),
        })
    }
}

impl ClusterReader {
    /// Takes over; `resume` is asked for where the objects that were left are wanted.
    pub(crate) fn new(config: Rc<Config>, estate: Handover, resume: impl FnOnce() -> Vec<u8>, now: Time) -> Self {
        match &config.origin {
            Origin::Kubernetes => Self::Successor(Successor::new(config, estate, resume()).into()),
            Origin::Hub { path } => Self::Hub(HubClient::new(config.clone(), path, estate, now)),
        }
    }

    /// Whether what the last leader left is still being read.
    pub(crate) fn is_restoring(&self) -> bool {
        matches!(self, Self::Successor(_))
    }

    /// What may be parsed is other than it was.
    pub(crate) fn requeue_skipped(&mut self) {
        match self {
            Self::Successor(_) => {}
            Self::Cluster(leader) => leader.requeue_skipped(),
            Self::Hub(spoke) => spoke.requeue_skipped(),
        }
    }

    pub(crate) fn is_idle(&self, now: Time) -> bool {
        match self {
            Self::Successor(_) => false,
            Self::Cluster(leader) => leader.is_idle(now),
            Self::Hub(spoke) => spoke.is_idle(now),
        }
    }

    /// Whether there is work left that waits for nobody. What a hub says is taken at once.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Successor(_) => true,
            Self::Cluster(leader) => leader.is_busy(),
            Self::Hub(_) => false,
        }
    }

    /// Does a part of that work.
    pub(crate) fn advance(&mut self, now: Time) -> Vec<Effect> {
        match self {
            Self::Successor(heir) => match heir.advance(now) {
                Some(leader) => {
                    *self = Self::Cluster(leader.into());
                    self.tick(now)
                }
                None => Vec::new(),
            },
            Self::Cluster(leader) => leader.advance(now),
            Self::Hub(_) => Vec::new(),
        }
    }

    /// Lets go of a part of what it holds; whether there was any left.
    pub(crate) fn release(&mut self) -> bool {
        match self {
            Self::Cluster(leader) => leader.release(),
            Self::Successor(_) | Self::Hub(_) => false,
        }
    }

    pub(crate) fn tick(&mut self, now: Time) -> Vec<Effect> {
        match self {
            Self::Successor(_) => self.advance(now),
            Self::Cluster(leader) => leader.tick(now),
            Self::Hub(spoke) => spoke.tick(now),
        }
    }

    /// Reads the answer to a call; `None` where nobody waits for it.
    pub(crate) fn read(
        &self,
        call: ReadPurpose,
        answered: CalloutResponse,
        progress: &mut dyn ParseGuard,
    ) -> Option<ReadResult> {
        match (self, call) {
            (Self::Cluster(leader), ReadPurpose::List(id, verb)) => {
                let source = leader.source(id)?;
                let answer = answered.api_response(|response| kube::response::parse(source, verb, response, progress));
                Some(ReadResult::List(id, answer))
            }
            (Self::Hub(_), ReadPurpose::Hub) => Some(ReadResult::Hub(
                answered.hub_response(|response| hub_client::parse(response, progress)),
            )),
            _ => None,
        }
    }

    /// Takes what a call brought.
    pub(crate) fn take(&mut self, ended: ReadResult, now: Time, chance: u32) -> Vec<Effect> {
        match (self, ended) {
            (Self::Cluster(leader), ReadResult::List(id, answer)) => leader.answer(id, answer, now, chance),
            (Self::Hub(spoke), ReadResult::Hub(answer)) => spoke.handle_response(answer, now, chance),
            _ => Vec::new(),
        }
    }
}
