//! Open responses of the Kubernetes API.

use crate::api::{Api, kind_of, object};
use burst_model::kube::{Failure, Source};
use burst_model::sync::reflector::{StreamId, StreamRequest};
use burst_model::sync::scheduler::SourceId;
use burst_model::time::Time;
use std::time::Duration;

/// How often a stream gets a bookmark.
const BOOKMARK: Duration = Duration::from_secs(60);

/// How much longer a callout waits than the server takes.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// An open response.
pub(super) struct Response {
    pub(super) stream: StreamId,
    pub(super) id: SourceId,
    source: Source,
    path: String,
    opened_at: Time,
    timeout: Duration,
    bookmark_at: Time,
    /// The changes that it has sent; `None` before its first bytes.
    sent: Option<usize>,
    /// What drips out of it.
    undelivered: Vec<u8>,
    pub(super) fate: Fate,
}

/// What happens to an open response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    #[default]
    Fine,
    /// Nothing comes any more, and no end until the callout times out.
    Silent,
    /// A byte a second.
    Drip,
    /// Half an event, and then a reset.
    Break,
    /// Half an event, and then a complete end.
    HalfAnEvent,
    /// A complete end.
    End,
    /// An event of type ERROR with 410.
    Expire,
    /// This status instead of a stream.
    Status(u16),
}

/// What a response sends in one step.
#[derive(Default)]
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    pub(super) end: Option<Result<(), Failure>>,
}

impl Response {
    pub(super) fn new(stream: StreamId, id: SourceId, source: Source, request: &StreamRequest, now: Time) -> Self {
        Self {
            stream,
            id,
            source,
            path: request.path.clone(),
            opened_at: now,
            timeout: request.watch_timeout,
            bookmark_at: now.after(BOOKMARK),
            sent: None,
            undelivered: Vec::new(),
            fate: Fate::Fine,
        }
    }

    pub(super) fn is_watch_list(&self) -> bool {
        self.path.contains("sendInitialEvents=true")
    }

    /// What it sends now.
    pub(super) fn send(&mut self, api: &Api, now: Time) -> Sent {
        let mut sent = Sent::default();
        if let Fate::Status(status) = self.fate {
            sent.end = Some(Err(failure(status)));
            return sent;
        }
        if self.fate == Fate::Silent {
            let is_timed_out = now >= self.opened_at.after(self.timeout).after(REQUEST_TIMEOUT);
            sent.end = is_timed_out.then_some(Err(Failure::Disconnected));
            return sent;
        }
        if self.path.contains("limit=") {
            return self.page(api);
        }
        match self.fate {
            Fate::Drip => {
                self.undelivered = self.events(api);
                sent.bytes
                    .extend(self.undelivered.drain(..self.undelivered.len().min(1)));
                let is_timed_out = now >= self.opened_at.after(self.timeout).after(REQUEST_TIMEOUT);
                sent.end = is_timed_out.then_some(Err(Failure::Disconnected));
            }
            Fate::Break => {
                sent.bytes = self.events(api);
                sent.bytes
                    .extend(b"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"na");
                sent.end = Some(Err(Failure::Disconnected));
            }
            Fate::HalfAnEvent => {
                sent.bytes = self.events(api);
                sent.bytes
                    .extend(b"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"na");
                sent.end = Some(Ok(()));
            }
            Fate::Expire => {
                sent.bytes = std::mem::take(&mut self.undelivered);
                sent.bytes.extend(expired());
            }
            fate => {
                sent.bytes = self.events(api);
                let is_over = fate == Fate::End || now >= self.opened_at.after(self.timeout);
                if is_over || now >= self.bookmark_at {
                    self.bookmark_at = now.after(BOOKMARK);
                    sent.bytes.extend(bookmark(api.log.len(), ""));
                }
                sent.end = is_over.then_some(Ok(()));
            }
        }
        sent
    }

    fn page(&self, api: &Api) -> Sent {
        let mut bytes = api.list(&self.source, &self.path).into_bytes();
        let end = match self.fate {
            Fate::Break | Fate::Expire | Fate::Drip => {
                bytes.truncate(bytes.len() / 2);
                Err(Failure::Disconnected)
            }
            Fate::HalfAnEvent => {
                bytes.truncate(bytes.len() / 2);
                Ok(())
            }
            _ => Ok(()),
        };
        Sent { bytes, end: Some(end) }
    }

    /// The bytes that earlier chunks left unsent, and the events since the last call.
    fn events(&mut self, api: &Api) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.undelivered);
        let from = match self.sent {
            Some(sent) => sent,
            None if self.is_watch_list() => {
                let objects = kind_of(&self.source).map(|kind| api.objects(kind, api.log.len()));
                for object in objects.unwrap_or_default().into_values() {
                    bytes.extend(event("ADDED", &object));
                }
                bytes.extend(bookmark(
                    api.log.len(),
                    r#","annotations":{"k8s.io/initial-events-end":"true"}"#,
                ));
                api.log.len()
            }
            None => {
                let version = self.path.rsplit_once("resourceVersion=").unwrap().1;
                version.parse().unwrap()
            }
        };
        if self.sent.is_none() && from < api.forgotten {
            self.sent = Some(api.log.len());
            return expired();
        }
        for (index, (kind, name, spec)) in api.log.iter().enumerate().skip(from) {
            if kind_of(&self.source) == Some(*kind) {
                let (r#type, spec) = match spec {
                    Some(spec) => ("MODIFIED", spec.as_str()),
                    None => ("DELETED", r#""spec":{}"#),
                };
                bytes.extend(event(r#type, &object(name, index + 1, spec)));
            }
        }
        self.sent = Some(api.log.len());
        bytes
    }
}

fn event(r#type: &str, object: &str) -> Vec<u8> {
    let object = object.replace('\n', " ");
    format!("{{\"type\":\"{type}\",\"object\":{object}}}\n").into_bytes()
}

fn bookmark(version: usize, more: &str) -> Vec<u8> {
    event(
        "BOOKMARK",
        &format!(r#"{{"metadata":{{"resourceVersion":"{version}"{more}}}}}"#),
    )
}

fn expired() -> Vec<u8> {
    event(
        "ERROR",
        r#"{"kind":"Status","metadata":{},"message":"too old","code":410}"#,
    )
}

fn failure(status: u16) -> Failure {
    match status {
        403 => Failure::Forbidden("no".into()),
        404 => Failure::NotFound("no".into()),
        429 => Failure::Throttled { retry_after: None },
        500..=599 => Failure::Server {
            status,
            message: String::new(),
            retry_after: None,
        },
        other => Failure::Unexpected(other),
    }
}
