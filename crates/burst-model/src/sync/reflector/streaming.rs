//! How a reflector reads responses as they come: what it offers to be sent as a stream, and what the messages of a stream
//! and its end lead to.

use super::changes::last_changes;
use super::initial_events::InitialEvents;
use super::stream::{Stream, StreamContent, StreamForm, StreamPolicy, StreamRead, StreamRequest, add_items};
use super::stream_id::StreamId;
use super::{ApiRequest, Backlog, Reflector, ReflectorEvent, ReflectorState};
use crate::hash;
use crate::kube::{BodyItem, Failure, ListPage, ParseGuard, Payload, StreamStart, Verb, WatchBatch};
use crate::sync::backoff::scaled_by_chance;
use crate::time::Time;
use std::time::Duration;

/// A stream lasts between this and twice as long, as in client-go.
const MIN_LIFETIME: Duration = Duration::from_secs(300);

/// How long it is watched in windows then.
const WINDOWS_TIME: Duration = Duration::from_secs(600);

/// How long a list is read in pages after the server refused to send it as events.
const PAGES_TIME: Duration = Duration::from_secs(3600);

/// The bytes of a stream that one call parses. The objects in them take two or three millilasts.
const MAX_BYTES: usize = 256 << 10;

/// What a reflector knows about streams.
#[derive(Debug, Default)]
pub(super) struct StreamHistory {
    policy: StreamPolicy,
    /// There are not too many streams for another one.
    is_allowed: bool,
    /// What the request that is under way reads if it becomes a stream.
    offer: Option<StreamForm>,
    /// The last stream broke after it had worked. A short watch brings what it would have brought.
    pub(super) is_interrupted: bool,
    /// Consecutive streams that broke without a message.
    pub(super) broken: u32,
    /// When the last of too many of them broke.
    pub(super) windows_since: Option<Time>,
    pub(super) broken_lists: u32,
    /// When the server refused to send a list as events.
    pages_since: Option<Time>,
    /// Streams that were given up and are still open.
    pub(super) closed: Vec<StreamId>,
}

/// Returns whether a time that began at `since` is over, or the clock was set back.
fn is_over(since: Option<Time>, lasts: Duration, now: Time) -> bool {
    since.is_none_or(|since| now < since || now.since(since) >= lasts)
}

/// The length of a stream. The proxies of a cluster, and the lists of a proxy, must not all ask again at once.
fn lifetime(path: &str, now: Time) -> Duration {
    let chance = u32::try_from(hash::of(&(now.unix_millis(), path)) >> 32).unwrap_or_default();
    Duration::from_secs((MIN_LIFETIME + scaled_by_chance(MIN_LIFETIME, chance)).as_secs())
}

impl Reflector {
    /// Has responses read as they come, or not.
    pub fn set_stream_policy(&mut self, policy: StreamPolicy) {
        self.streams.policy = policy;
    }

    /// Allows the next request to become a stream, or not.
    pub fn allow_stream(&mut self, is_allowed: bool) {
        self.streams.is_allowed = is_allowed;
    }

    /// Returns whether a stream is open, or a request is under way that may become one.
    #[must_use]
    pub fn uses_stream(&self) -> bool {
        self.streams.offer.is_some() || self.stream().is_some()
    }

    /// Returns whether changes arrive by an open stream.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.stream().is_some_and(Stream::is_live)
    }

    /// Returns whether the request that is under way may become a stream, and did not yet.
    #[must_use]
    pub fn offers_stream(&self) -> bool {
        self.streams.offer.is_some()
    }

    /// The open stream.
    #[must_use]
    pub fn stream_id(&self) -> Option<StreamId> {
        match &self.state {
            ReflectorState::Streaming(id, _) => Some(*id),
            _ => None,
        }
    }

    /// Returns whether an open stream has work left that waits for nothing.
    #[must_use]
    pub fn is_stream_busy(&self) -> bool {
        self.stream().is_some_and(Stream::is_busy)
    }

    /// Returns the streams that were given up since the last call. They are to be closed.
    pub fn take_closed_streams(&mut self) -> Vec<StreamId> {
        std::mem::take(&mut self.streams.closed)
    }

    /// When the list was certainly current, as an open stream of changes shows it.
    #[must_use]
    pub fn proven_at(&self, now: Time) -> Option<Time> {
        self.stream().filter(|stream| stream.is_live())?.proven_at(now)
    }

    /// Corrects the times of a stream that were noted before the clock was set back.
    pub fn set_stream_back(&mut self, last: Time, now: Time) {
        if let Some(stream) = self.stream_mut() {
            stream.set_back(last, now);
        }
    }

    pub(super) fn stream(&self) -> Option<&Stream> {
        match &self.state {
            ReflectorState::Streaming(_, stream) => Some(stream),
            _ => None,
        }
    }

    pub(super) fn stream_mut(&mut self) -> Option<&mut Stream> {
        match &mut self.state {
            ReflectorState::Streaming(_, stream) => Some(stream),
            _ => None,
        }
    }

    fn stream_with(&mut self, id: StreamId) -> Option<&mut Stream> {
        match &mut self.state {
            ReflectorState::Streaming(open, stream) if *open == id => Some(stream),
            _ => None,
        }
    }

    /// Adds the form of a request that is sent if its response can be read as it comes.
    pub(super) fn with_stream(&mut self, mut request: ApiRequest, now: Time) -> ApiRequest {
        self.streams.offer = None;
        if self.streams.policy == StreamPolicy::Never || !self.streams.is_allowed {
            return request;
        }
        let form = self.stream_form(&request, now);
        let lasts = lifetime(&request.path, now);
        let start = match form {
            StreamForm::Page | StreamForm::Window => None,
            StreamForm::WatchList => Some(StreamStart::WatchList),
            StreamForm::Watch => self.resource_version().map(StreamStart::From),
        };
        let stream = match start {
            Some(start) => StreamRequest {
                path: self.source.stream_path(start, lasts.as_secs()),
                accept: self.source.accept(Verb::Watch),
                watch_timeout: lasts,
            },
            None => StreamRequest {
                path: request.path.clone(),
                accept: request.accept,
                watch_timeout: request.watch_timeout,
            },
        };
        self.streams.offer = Some(form);
        request.stream = Some(stream);
        request
    }

    fn stream_form(&self, request: &ApiRequest, now: Time) -> StreamForm {
        let is_first_page = matches!(&self.state, ReflectorState::Listing(listing) if listing.is_first_page());
        match request.verb {
            Verb::List if is_first_page && self.may_watch_list(now) => StreamForm::WatchList,
            Verb::List => StreamForm::Page,
            Verb::Watch if self.must_catch_up() => StreamForm::Window,
            Verb::Watch if !is_over(self.streams.windows_since, WINDOWS_TIME, now) => StreamForm::Window,
            Verb::Watch => StreamForm::Watch,
        }
    }

    /// Returns whether the list may be read as events. Not where it is listed because it cannot be watched.
    fn may_watch_list(&self, now: Time) -> bool {
        self.schedule.window.is_some() && self.lists_before_watch == 0 && !self.avoids_watch_list(now)
    }

    /// Returns whether the list is read in pages because the server refused to send it as events.
    #[must_use]
    pub fn avoids_watch_list(&self, now: Time) -> bool {
        !is_over(self.streams.pages_since, PAGES_TIME, now)
    }

    /// Has the list read in pages for a while.
    pub fn avoid_watch_list(&mut self, now: Time) {
        self.streams.pages_since = Some(now);
    }

    /// Replaces an answer that did not come by a stream although it must.
    pub(super) fn refuse_unstreamed(&mut self, answer: Result<Payload, Failure>) -> Result<Payload, Failure> {
        let was_offered = self.streams.offer.take().is_some();
        match self.streams.policy {
            StreamPolicy::Required if was_offered => answer.and(Err(Failure::NotStreamed)),
            _ => answer,
        }
    }

    /// Notes that the request under way became a stream. Returns whether it may.
    pub fn open_stream(&mut self, id: StreamId, now: Time) -> bool {
        let waiting = ReflectorState::Waiting { since: now, due: now };
        let content = match (self.streams.offer.take(), std::mem::replace(&mut self.state, waiting)) {
            (Some(StreamForm::Page), ReflectorState::Listing(listing)) => StreamContent::Page {
                listing,
                page: ListPage::default(),
            },
            (Some(StreamForm::WatchList), ReflectorState::Listing(listing)) => StreamContent::Initial {
                listing,
                events: InitialEvents::default(),
            },
            (Some(StreamForm::Window), ReflectorState::Watching { .. }) => StreamContent::Window,
            (Some(StreamForm::Watch), ReflectorState::Watching { .. }) => StreamContent::Live,
            (_, state) => {
                self.state = state;
                return false;
            }
        };
        self.state = ReflectorState::Streaming(id, Stream::new(content, now).into());
        true
    }

    /// Notes that the response of a stream begins. Returns whether the stream is known.
    pub fn accept_stream(&mut self, id: StreamId, now: Time) -> bool {
        let Some(stream) = self.stream_with(id) else {
            return false;
        };
        stream.accepted_at.get_or_insert(now);
        true
    }

    /// Adds the next bytes of a stream. Returns whether the stream is known.
    pub fn push_chunk(&mut self, id: StreamId, chunk: &[u8], now: Time) -> bool {
        let Some(stream) = self.stream_with(id) else {
            return false;
        };
        stream.accepted_at.get_or_insert(now);
        stream.push(chunk);
        true
    }

    /// Notes the end of a stream. Returns whether the stream is known.
    pub fn end_stream(&mut self, id: StreamId, end: Result<(), Failure>) -> bool {
        let Some(stream) = self.stream_with(id) else {
            return false;
        };
        stream.set_end(end);
        true
    }

    /// Reads a part of what the open stream brought, at most `max_objects` objects. `chance` is any 32 random bits.
    pub fn read_stream(
        &mut self,
        guard: &mut dyn ParseGuard,
        max_objects: usize,
        now: Time,
        chance: u32,
    ) -> StreamRead {
        let mut read = StreamRead::default();
        let ReflectorState::Streaming(_, stream) = &mut self.state else {
            return read;
        };
        let parsed = stream.parse(&self.source, guard, max_objects, MAX_BYTES, now);
        read.parsed = parsed.items.len();
        self.add_items(parsed.items, now, &mut read.events);
        let end = match parsed.failure {
            // The stream goes on, and nothing in it can be read any more.
            Some(failure) => {
                self.close_stream();
                Some(Err(failure))
            }
            None => self.stream_mut().and_then(Stream::take_end),
        };
        if let Some(end) = end {
            self.finish_stream(end, now, chance, &mut read);
        }
        read
    }

    /// Gives up a stream whose server does not answer, or does not go on with its list.
    pub fn check_stream(&mut self, now: Time, chance: u32) -> StreamRead {
        let mut read = StreamRead::default();
        if self
            .stream()
            .is_some_and(|stream| !stream.is_busy() && stream.is_overdue(now))
        {
            self.close_stream();
            self.finish_stream(Err(Failure::Timeout), now, chance, &mut read);
        }
        read
    }

    fn add_items(&mut self, items: Vec<BodyItem>, now: Time, events: &mut Vec<ReflectorEvent>) {
        if items.is_empty() {
            return;
        }
        let Some(stream) = self.stream_mut() else { return };
        if let StreamContent::Page { page, .. } = &mut stream.content {
            add_items(page, items);
            return;
        }
        let mut batch = WatchBatch::default();
        for item in items {
            match item {
                BodyItem::Change {
                    change,
                    resource_version,
                } => {
                    batch.changes.push(change);
                    batch.resource_version = Some(resource_version);
                }
                BodyItem::Bookmark {
                    resource_version,
                    ends_initial_events,
                } => {
                    batch.resource_version = Some(resource_version);
                    if ends_initial_events {
                        self.end_initial_events(std::mem::take(&mut batch), now, events);
                    }
                }
                BodyItem::Item(_) => {}
            }
        }
        self.add_changes(batch, events);
    }

    /// Adds changes to a list that is being sent, or takes them as news.
    pub(super) fn add_changes(&mut self, batch: WatchBatch, events: &mut Vec<ReflectorEvent>) {
        let Some(version) = batch.resource_version.filter(|version| !version.is_empty()) else {
            return;
        };
        let ReflectorState::Streaming(_, stream) = &mut self.state else {
            return;
        };
        if let StreamContent::Initial { events, .. } = &mut stream.content {
            events.add(&self.source.resource, batch.changes);
            return;
        }
        if stream.is_live() {
            (self.streams.broken, self.failed_watches) = (0, 0);
            self.backlog = Backlog::None;
        }
        self.resource_version = Some(version.clone());
        events.push(ReflectorEvent::Changed(WatchBatch {
            changes: last_changes(batch.changes),
            resource_version: Some(version),
        }));
    }

    /// Handles the bookmark after the last object of a list. The stream goes on with its changes.
    fn end_initial_events(&mut self, mut batch: WatchBatch, now: Time, events: &mut Vec<ReflectorEvent>) {
        let version = batch.resource_version.take().unwrap_or_default();
        let ReflectorState::Streaming(_, stream) = &mut self.state else {
            return;
        };
        let StreamContent::Initial { .. } = &stream.content else {
            batch.resource_version = Some(version);
            self.add_changes(batch, events);
            return;
        };
        let StreamContent::Initial {
            events: mut initial, ..
        } = std::mem::replace(&mut stream.content, StreamContent::Live)
        else {
            return;
        };
        initial.add(&self.source.resource, batch.changes);
        let (listed, later) = initial.into_list(version.clone());
        self.clear_failures();
        self.page_size.record_complete_list();
        (self.backlog, self.streams.broken_lists) = (Backlog::None, 0);
        self.resource_version = Some(version.clone()).filter(|version| !version.is_empty());
        self.requested_at = self.requested_at.min(now);
        events.push(ReflectorEvent::Relisted(listed));
        events.push(ReflectorEvent::Changed(WatchBatch {
            changes: last_changes(later),
            resource_version: Some(version),
        }));
    }
}
