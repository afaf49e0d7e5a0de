//! Keeps one list up to date, like the reflector of client-go: it lists page by page, then watches, or waits and lists
//! again. It knows when its next request is due and what it is, and each response leads to an event.
//!
//! A watch lasts for a window of some seconds, because the proxy gets a response only when it is complete.

use super::backoff::{self, Backoff};
use super::interval::{next_read, staggered_window};
use super::page_size::PageSize;
use crate::kube::{Failure, ListPage, Payload, Source, Verb, WatchBatch};
use crate::time::Time;
use std::time::Duration;

mod changes;
mod initial_events;
mod listing;
mod pause;
mod request;
mod stream;
mod stream_end;
mod stream_id;
mod streaming;

pub use listing::ListedObjects;
use listing::Listing;
pub use pause::FailurePause;
use pause::waiting_after;
pub use request::{ApiRequest, Schedule};
use stream::Stream;
pub use stream::{StreamPolicy, StreamRead, StreamRequest};
pub use stream_id::StreamId;
use streaming::StreamHistory;

/// The window of the first watch after a handover, or a failure: it brings at once what happened since, and need not wait
/// for more. A server that ends watches early gets no more requests than one for each such window.
const MIN_WINDOW: Duration = Duration::from_secs(1);

/// Consecutive failed watches after which a list is listed instead.
const MAX_FAILED_WATCHES: u32 = 3;

/// How often it is listed instead before a watch is tried again: five minutes at the default interval.
const FALLBACK_LISTS: u32 = 20;

/// The state of a list.
#[derive(Debug)]
enum ReflectorState {
    /// No request is in flight until `due`.
    Waiting { since: Time, due: Time },
    /// A LIST request is in flight.
    Listing(Listing),
    /// A WATCH request is in flight.
    Watching { started_at: Time },
    /// A response is read as it comes.
    Streaming(StreamId, Box<Stream>),
}

/// The changes that a list lacks that was taken over from another VM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backlog {
    /// None are known to be missing: this VM has read the list.
    #[default]
    None,
    /// Those since the snapshot that is served.
    SinceSnapshot,
    /// Those since some time before that snapshot. Without them an older value would be served again.
    BeforeSnapshot,
}

/// The result of a response.
#[derive(Debug)]
pub enum ReflectorEvent {
    /// Request the next page.
    Request(ApiRequest),
    /// The list was read in full.
    Relisted(ListedObjects),
    /// A watch ended with these changes.
    Updated(WatchBatch),
    /// An open stream brought messages. There are no changes if they were bookmarks.
    Changed(WatchBatch),
    /// A stream broke that had worked. It is continued at once.
    Interrupted(Failure),
    /// The server refuses to send a list as events, or does not end it. The list is read in pages instead.
    WatchListRefused(Failure),
    /// The list, or the watch, failed. It is tried again after a pause.
    Failed {
        /// The verb of the request that failed.
        verb: Verb,
        /// Why it failed.
        failure: Failure,
        /// From now on it is listed instead of being watched.
        falls_back: bool,
    },
}

/// Keeps one list up to date.
#[derive(Debug)]
pub struct Reflector {
    source: Source,
    schedule: Schedule,
    state: ReflectorState,
    /// Where the next watch starts; `None` if the list must be read first.
    resource_version: Option<String>,
    /// The changes that are not known yet.
    backlog: Backlog,
    /// Shortens the first watch after a list or a failure. Proxies that got their configuration, or lost the API server,
    /// at the same moment would otherwise send their requests at the same moments from then on.
    stagger: Option<u32>,
    /// When the current or the last request was sent; for a list, its first page.
    requested_at: Time,
    backoff: Backoff,
    /// The end of the server's `Retry-After`.
    not_before: Time,
    /// The current request was sent before the server recovered: if it fails, it is sent again at once.
    retry_at_once: bool,
    /// The last response was 410: a resource version is too old.
    has_expired: bool,
    page_size: PageSize,
    /// Consecutive failed watches.
    failed_watches: u32,
    /// How often it is still listed before a watch is tried again.
    lists_before_watch: u32,
    streams: StreamHistory,
}

impl Reflector {
    /// A list that is first read at `due`, at most one interval from now, in pages of `page_size` objects.
    #[must_use]
    pub fn new(source: Source, schedule: Schedule, page_size: u32, due: Time) -> Self {
        Self {
            source,
            schedule,
            state: ReflectorState::Waiting {
                since: due.before(schedule.interval),
                due,
            },
            resource_version: None,
            backlog: Backlog::None,
            stagger: None,
            requested_at: Time::default(),
            backoff: Backoff::default(),
            not_before: Time::default(),
            retry_at_once: false,
            has_expired: false,
            page_size: PageSize::new(page_size),
            failed_watches: 0,
            lists_before_watch: 0,
            streams: StreamHistory::default(),
        }
    }

    /// Continues the watch of another VM from its last resource version.
    #[must_use]
    pub fn resuming_from(mut self, version: &str, backlog: Backlog, now: Time) -> Self {
        if self.schedule.window.is_some() && !version.is_empty() {
            self.resource_version = Some(version.into());
            self.backlog = backlog;
            self.state = ReflectorState::Waiting { since: now, due: now };
        }
        self
    }

    /// The list.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Where the next watch starts.
    #[must_use]
    pub fn resource_version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }

    /// Returns whether the next changes come by a watch.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.next_window().is_some()
    }

    /// Returns whether newer objects are served than those that are known here.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.backlog == Backlog::BeforeSnapshot
    }

    /// Returns whether the list is being read.
    #[must_use]
    pub fn is_listing(&self) -> bool {
        match &self.state {
            ReflectorState::Listing(_) => true,
            ReflectorState::Streaming(_, stream) => stream.is_listing(),
            ReflectorState::Waiting { .. } | ReflectorState::Watching { .. } => false,
        }
    }

    /// Returns whether a WATCH request is in flight.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        matches!(self.state, ReflectorState::Watching { .. })
    }

    /// The verb of the next request.
    #[must_use]
    pub fn next_verb(&self) -> Verb {
        if self.is_watched() { Verb::Watch } else { Verb::List }
    }

    /// When the next request is due; `None` if it is not due yet, or one is under way.
    #[must_use]
    pub fn due(&self, now: Time) -> Option<Time> {
        match self.state {
            // After the clock was set back the wait would be too long, so it ends.
            ReflectorState::Waiting { since, due } => (due <= now || now < since).then_some(due),
            ReflectorState::Listing(_) | ReflectorState::Watching { .. } | ReflectorState::Streaming(..) => None,
        }
    }

    /// Starts the next request if it is due.
    pub fn next_request(&mut self, now: Time) -> Option<ApiRequest> {
        self.due(now)?;
        (self.requested_at, self.retry_at_once) = (now, false);
        let window = self.next_window();
        let request = match window {
            Some((version, timeout)) => {
                let path = self.source.watch_path(version, timeout.as_secs());
                self.state = ReflectorState::Watching { started_at: now };
                ApiRequest {
                    verb: Verb::Watch,
                    path,
                    accept: self.source.accept(Verb::Watch),
                    watch_timeout: timeout,
                    stream: None,
                    is_probe: false,
                }
            }
            None => {
                self.state = ReflectorState::Listing(Listing::begin(now));
                self.page_request(None)
            }
        };
        Some(self.with_stream(request, now))
    }

    /// Has the list read in full, as if nothing of it was known. Returns whether that is possible: not while a watch is
    /// open. An open stream is closed.
    pub fn relist(&mut self) -> bool {
        if self.is_watching() {
            return false;
        }
        self.close_live_stream();
        (self.resource_version, self.backlog) = (None, Backlog::None);
        true
    }

    fn next_window(&self) -> Option<(&str, Duration)> {
        let window = self.schedule.window.filter(|_| self.lists_before_watch == 0)?;
        let timeout = match self.stagger {
            _ if self.is_catching_up() => MIN_WINDOW,
            Some(chance) => staggered_window(window, chance),
            None => window,
        };
        Some((self.resource_version()?, timeout))
    }

    /// Returns whether the next watch only brings what happened until now.
    fn is_catching_up(&self) -> bool {
        self.backlog == Backlog::SinceSnapshot || self.must_catch_up()
    }

    /// Returns whether that must be known before a stream begins: the end of a watch shows that all of it has come, and
    /// nothing else does.
    fn must_catch_up(&self) -> bool {
        self.is_behind() || self.streams.is_interrupted || self.is_failing()
    }

    fn page_request(&self, cursor: Option<&str>) -> ApiRequest {
        ApiRequest {
            verb: Verb::List,
            path: self.source.list_path(self.page_size.limit(), cursor),
            accept: self.source.accept(Verb::List),
            watch_timeout: Duration::ZERO,
            stream: None,
            is_probe: false,
        }
    }

    /// Takes the response to the current request. `chance` is any 32 random bits.
    pub fn handle_response(&mut self, answer: Result<Payload, Failure>, now: Time, chance: u32) -> ReflectorEvent {
        let answer = self.refuse_unstreamed(answer);
        let state = std::mem::replace(&mut self.state, ReflectorState::Waiting { since: now, due: now });
        let is_steady = matches!((&state, &answer), (ReflectorState::Watching { .. }, Ok(_)) if !self.is_catching_up());
        self.stagger = (!is_steady).then_some(chance);
        match (state, answer) {
            (ReflectorState::Listing(listing), Ok(Payload::Page(page))) => self.handle_page(listing, page, now, chance),
            (ReflectorState::Watching { started_at }, Ok(Payload::WatchBatch(batch))) => {
                self.handle_watch(started_at, batch, now)
            }
            (ReflectorState::Watching { .. }, Err(failure)) => self.handle_watch_failure(failure, now, chance),
            (_, Err(failure)) => self.handle_failure(Verb::List, failure, now, chance),
            (_, Ok(_)) => {
                let unexpected = Failure::Malformed("a response that does not fit the request".into());
                self.handle_failure(Verb::List, unexpected, now, chance)
            }
        }
    }

    fn handle_page(&mut self, mut listing: Listing, mut page: ListPage, now: Time, chance: u32) -> ReflectorEvent {
        let next = page.continue_token.take();
        listing.listed.add_page(&self.source.resource, page);
        if let Some(cursor) = next {
            let request = self.page_request(Some(&cursor));
            if let Err(failure) = listing.continue_with(cursor, self.page_size.max_pages()) {
                return self.handle_failure(Verb::List, failure, now, chance);
            }
            self.state = ReflectorState::Listing(listing);
            return ReflectorEvent::Request(self.with_stream(request, now));
        }
        let Listing { started_at, listed, .. } = listing;
        // Not after each page: a list that always fails at its second page would be requested without a pause.
        self.clear_failures();
        self.page_size.record_complete_list();
        self.backlog = Backlog::None;
        self.lists_before_watch = self.lists_before_watch.saturating_sub(1);
        self.resource_version = Some(listed.resource_version.clone()).filter(|version| !version.is_empty());
        // A watch follows at once.
        if !self.is_watched() {
            self.schedule_next(started_at, now);
        }
        ReflectorEvent::Relisted(listed)
    }

    fn handle_watch(&mut self, started_at: Time, batch: WatchBatch, now: Time) -> ReflectorEvent {
        // A short watch after a failure does not show that watches of full length work.
        if !self.is_failing() {
            self.failed_watches = 0;
        }
        self.clear_failures();
        self.backlog = Backlog::None;
        if let Some(version) = batch.resource_version.as_ref().filter(|version| !version.is_empty()) {
            self.resource_version = Some(version.clone());
        }
        self.state = waiting_after(started_at, now);
        ReflectorEvent::Updated(batch)
    }

    /// Handles a failed watch. The next watch starts at the same resource version and brings its changes; if there is no
    /// next watch, a list does.
    fn handle_watch_failure(&mut self, failure: Failure, now: Time, chance: u32) -> ReflectorEvent {
        let is_version_lost = matches!(
            failure,
            Failure::Expired(_) | Failure::NotFound(_) | Failure::Malformed(_) | Failure::Unexpected(_)
        );
        // Other failures are not specific to watches.
        let is_watch_failure = is_version_lost || matches!(failure, Failure::Timeout | Failure::Disconnected);
        self.failed_watches = self.failed_watches.saturating_add(is_watch_failure.into());
        let falls_back = match &failure {
            // The role lacks the verb, or the kind cannot be watched.
            Failure::Forbidden(_) | Failure::Unexpected(405) => true,
            // The server does not end watches, or their responses are too large, or it lists and does not watch. Each such
            // watch would cost a list, without a pause between them.
            _ => is_watch_failure && self.failed_watches >= MAX_FAILED_WATCHES,
        };
        if falls_back {
            (self.failed_watches, self.lists_before_watch) = (0, FALLBACK_LISTS);
            self.resource_version = None;
            return ReflectorEvent::Failed {
                verb: Verb::Watch,
                failure,
                falls_back,
            };
        }
        if is_version_lost {
            self.resource_version = None;
        }
        self.handle_failure(Verb::Watch, failure, now, chance)
    }

    fn handle_failure(&mut self, verb: Verb, failure: Failure, now: Time, chance: u32) -> ReflectorEvent {
        if verb == Verb::List && matches!(failure, Failure::Disconnected) {
            self.page_size.halve();
        }
        let is_not_specific = failure.is_server_unavailable() || matches!(failure, Failure::Forbidden(_));
        if verb == Verb::List && self.lists_before_watch == FALLBACK_LISTS && is_not_specific {
            // Lists fail too, so watches are not the cause. And lists would cost a server that recovers too much.
            self.lists_before_watch = 0;
        }
        // Tokens and resource versions expire in normal operation, so the first 410 is followed by a list without a pause.
        let is_expired = matches!(failure, Failure::Expired(_));
        let was_expired = std::mem::replace(&mut self.has_expired, is_expired);
        let at_once = self.retry_at_once || is_expired && !was_expired;
        let retry_after = failure.retry_after();
        let delay = self.backoff.next_delay(backoff::MAX_BACKOFF, retry_after, chance);
        self.not_before = now.after(backoff::capped_retry_after(retry_after));
        self.state = ReflectorState::Waiting {
            since: now,
            due: if at_once { self.not_before } else { now.after(delay) },
        };
        ReflectorEvent::Failed {
            verb,
            failure,
            falls_back: false,
        }
    }

    /// Waits for the next list.
    fn schedule_next(&mut self, started_at: Time, now: Time) {
        self.state = ReflectorState::Waiting {
            since: now,
            due: next_read(started_at, self.schedule.interval, now),
        };
    }
}

#[cfg(test)]
mod tests;
