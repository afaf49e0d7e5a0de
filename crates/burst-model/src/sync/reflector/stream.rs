//! A response that is read as it comes: what was sent for it, and what it brought so far.

use super::ReflectorEvent;
use super::initial_events::InitialEvents;
use super::listing::Listing;
use crate::kube::{BodyEnd, BodyItem, BodyReader, Failure, ListPage, ListedItem, ParseGuard, Payload, Source, Verb};
use crate::time::Time;
use std::time::Duration;

/// The time in which the connection of an open stream is known to be dead if it is: with the HTTP/2 keepalive of the
/// configurations that we ship, a ping every 10 s that must be answered in 5 s.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// The longest time without a message of an open stream. kube-apiserver sends a bookmark about once a minute.
const MAX_SILENCE: Duration = Duration::from_secs(80);

/// The longest time until the response begins, and the longest time without an object while a list is sent as events.
const MAX_INITIAL_SILENCE: Duration = Duration::from_secs(15);

/// The form of a request whose response can be read as it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRequest {
    /// The path and the query.
    pub path: String,
    /// The `accept` header.
    pub accept: &'static str,
    /// How long the server holds the response open; zero for a page.
    pub watch_timeout: Duration,
}

/// Whether responses are read as they come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamPolicy {
    /// They are not.
    #[default]
    Never,
    /// They are where that is possible.
    Preferred,
    /// A response that is not read as it comes counts as a failure.
    Required,
}

/// What a part of a stream led to.
#[derive(Debug, Default)]
pub struct StreamRead {
    /// The events, in order.
    pub events: Vec<ReflectorEvent>,
    /// The stream is over, and this is the answer to its request, as if it had come in one piece. Pass it to
    /// [`Reflector::handle_response`](super::Reflector::handle_response).
    pub answer: Option<Result<Payload, Failure>>,
    /// The objects that were parsed.
    pub parsed: usize,
}

/// What a request reads if it becomes a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamForm {
    /// A page of a list.
    Page,
    /// A list as events, and then its changes for some minutes.
    WatchList,
    /// The changes of the same time as without a stream.
    Window,
    /// The changes of some minutes.
    Watch,
}

/// A response that is read as it comes.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) content: StreamContent,
    body: BodyReader,
    pub(super) opened_at: Time,
    /// When the response began, which shows that the server took the request.
    pub(super) accepted_at: Option<Time>,
    /// When its last event, object or bookmark was read.
    pub(super) last_message_at: Option<Time>,
    pub(super) probe: Probe,
    /// The last call read all that had come.
    is_drained: bool,
    /// The end, as the shell reported it.
    end: Option<Result<(), Failure>>,
}

/// What a stream carries.
#[derive(Debug)]
pub(super) enum StreamContent {
    /// A page of a list.
    Page { listing: Listing, page: ListPage },
    /// A list as events.
    Initial { listing: Listing, events: InitialEvents },
    /// Changes for as long as a window. The answer is the one of a watch.
    Window,
    /// Changes for some minutes.
    Live,
}

/// A short watch that shows whether a silent stream is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    None,
    /// It is under way, since this time.
    Sent(Time),
}

/// What was parsed of a stream in one call.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) items: Vec<BodyItem>,
    /// Why the rest cannot be read.
    pub(super) failure: Option<Failure>,
}

impl Stream {
    pub(super) fn new(content: StreamContent, now: Time) -> Self {
        let verb = match content {
            StreamContent::Page { .. } => Verb::List,
            StreamContent::Initial { .. } | StreamContent::Window | StreamContent::Live => Verb::Watch,
        };
        Self {
            content,
            body: BodyReader::new(verb),
            opened_at: now,
            accepted_at: None,
            last_message_at: None,
            probe: Probe::None,
            is_drained: true,
            end: None,
        }
    }

    pub(super) fn is_listing(&self) -> bool {
        matches!(self.content, StreamContent::Page { .. } | StreamContent::Initial { .. })
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.content, StreamContent::Live)
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.body.push(chunk);
        self.is_drained = false;
    }

    pub(super) fn set_end(&mut self, end: Result<(), Failure>) {
        self.end = Some(end);
    }

    /// Returns whether there is work left that waits for nothing.
    pub(super) fn is_busy(&self) -> bool {
        !self.is_drained || self.end.is_some()
    }

    /// Parses at most `max_items` objects, or `max_bytes` bytes and one object.
    pub(super) fn parse(
        &mut self,
        source: &Source,
        guard: &mut dyn ParseGuard,
        max_items: usize,
        max_bytes: usize,
        now: Time,
    ) -> Parsed {
        let mut parsed = Parsed::default();
        let until = self.body.pending().saturating_sub(max_bytes);
        while !self.is_drained && parsed.items.len() < max_items && self.body.pending() >= until {
            match self.body.next(source, guard) {
                Ok(Some(item)) => parsed.items.push(item),
                Ok(None) => self.is_drained = true,
                Err(failure) => {
                    parsed.failure = Some(failure);
                    break;
                }
            }
        }
        if !parsed.items.is_empty() {
            self.last_message_at = Some(now);
        }
        parsed
    }

    /// The end, once everything before it is read.
    pub(super) fn take_end(&mut self) -> Option<Result<(), Failure>> {
        self.end.take_if(|_| self.is_drained)
    }

    /// Returns what the end of a body says that arrived in full.
    pub(super) fn finish(self, source: &Source) -> (StreamContent, Result<BodyEnd, Failure>) {
        let is_cut_off = self.body.pending() > 0;
        let end = match self.body.finish(source) {
            Ok(BodyEnd::Watch) if is_cut_off => Err(Failure::Disconnected),
            end => end,
        };
        (self.content, end)
    }

    /// When the list was certainly current: all changes until then have come. `None` if the stream does not show it yet.
    /// A stream whose connection lives shows it as of some time ago; a silent one shows nothing.
    pub(super) fn proven_at(&self, now: Time) -> Option<Time> {
        let accepted_at = self.accepted_at?;
        let alive = now.min(self.last_sign().after(MAX_SILENCE)).before(KEEPALIVE);
        let by_connection = Some(alive).filter(|alive| *alive >= accepted_at);
        self.last_message_at.max(by_connection)
    }

    /// Returns whether the server does not answer, or does not go on with its list.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        let is_waiting = match self.content {
            StreamContent::Initial { .. } => true,
            StreamContent::Live => self.accepted_at.is_none(),
            // The timeout of the callout ends these.
            StreamContent::Page { .. } | StreamContent::Window => false,
        };
        is_waiting && now.since(self.last_sign()) >= MAX_INITIAL_SILENCE
    }

    /// Returns whether a bookmark is missed.
    pub(super) fn is_silent(&self, now: Time) -> bool {
        self.is_live() && now.since(self.last_sign()) >= MAX_SILENCE
    }

    fn last_sign(&self) -> Time {
        self.last_message_at.or(self.accepted_at).unwrap_or(self.opened_at)
    }

    /// Corrects the times that were noted before the clock was set back.
    pub(super) fn set_back(&mut self, last: Time, now: Time) {
        self.opened_at = self.opened_at.set_back(last, now);
        self.accepted_at = self.accepted_at.map(|at| at.set_back(last, now));
        self.last_message_at = self.last_message_at.map(|at| at.set_back(last, now));
        if let Probe::Sent(at) = &mut self.probe {
            *at = at.set_back(last, now);
        }
    }
}

/// Adds items to a page.
pub(super) fn add_items(page: &mut ListPage, items: Vec<BodyItem>) {
    for item in items {
        match item {
            BodyItem::Item(ListedItem::Object(object)) => page.objects.push(object),
            BodyItem::Item(ListedItem::Invalid(item)) => page.invalid.push(item),
            BodyItem::Item(ListedItem::Retained(name)) => page.retained.push(name),
            BodyItem::Change { .. } | BodyItem::Bookmark { .. } => {}
        }
    }
}
