//! The life of one kind of object: wait, list it page by page, then watch it window by window or wait again. Each
//! answer moves it on and says what is to be done.
//!
//! A life knows when it is due and what it asks next.

use super::backoff::{self, Backoff};
use super::interval::{TICK_TOLERANCE, next_read, staggered_window};
use super::page_size::PageSize;
use crate::kube::{Failure, ListPage, Payload, Source, Verb, WatchBatch};
use crate::time::Time;
use std::time::Duration;

mod listing;
mod pause;

pub use listing::ListedObjects;
use listing::Listing;
pub use pause::FailurePause;

/// The first window after a hand-over, or a failure, brings at once what happened since; it need not wait for more. And
/// a server that ends its windows early is not asked more often.
const MIN_WINDOW: Duration = Duration::from_secs(1);

/// Windows in a row that did not end well, after which a list is kept up to date without them.
const MAX_FAILED_WATCHES: u32 = 3;

/// Lists that are read without windows before a window is tried again: five minutes at the default interval.
const FALLBACK_LISTS: u32 = 20;

/// How a list is kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The time from the beginning of one read to that of the next, where it is not watched.
    pub interval: Duration,
    /// How long a window is; `None` where it is not watched.
    pub window: Option<Duration>,
}

/// A request to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct ApiRequest {
    /// What the answer is: a page, or a window.
    pub verb: Verb,
    /// Path and query.
    pub path: String,
    /// How long the server takes for the answer on purpose.
    pub watch_timeout: Duration,
}

/// What a list does at the moment.
#[derive(Debug)]
enum ReflectorState {
    /// Nothing is under way, since then and until then.
    Waiting { since: Time, due: Time },
    /// A page was asked for.
    Listing(Listing),
    /// A window is open, since then.
    Watching { started_at: Time },
}

/// What an answer leads to.
#[derive(Debug)]
pub enum ReflectorEvent {
    /// Ask for the next page.
    Request(ApiRequest),
    /// The list is whole.
    Relisted(ListedObjects),
    /// A window ended well.
    Updated(WatchBatch),
    /// The list, or the window, failed; it is tried again after a pause.
    Failed {
        /// What was asked for.
        verb: Verb,
        /// Why it failed.
        failure: Failure,
        /// The list is read every so often from now on, instead of being watched.
        falls_back: bool,
    },
}

/// One list, kept up to date.
#[derive(Debug)]
pub struct Reflector {
    source: Source,
    schedule: Schedule,
    state: ReflectorState,
    /// Where the next window begins; `None` where the list must be read first.
    resource_version: Option<String>,
    /// What happened until now is not known yet: somebody else kept the list before.
    is_behind: bool,
    /// What the window after a list or a break is as short by as chance has it. Proxies that were given a configuration,
    /// or lost the API server, at the same moment would otherwise ask in step from then on.
    stagger: Option<u32>,
    /// When the request that is under way, or the last one, was sent; of a list that of its first page.
    requested_at: Time,
    backoff: Backoff,
    /// The server wishes to be left alone until then.
    not_before: Time,
    /// The request that is under way was sent before it was time: if it fails, it is sent again at once.
    retry_at_once: bool,
    /// The last answer was that a version is too old.
    has_expired: bool,
    page_size: PageSize,
    /// Windows in a row that did not end well.
    failed_watches: u32,
    /// Lists still to be read before a window is tried again.
    lists_before_watch: u32,
}

impl Reflector {
    /// A list that is read first at `due`, within an interval, in pages of `page_size` objects.
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
            is_behind: false,
            stagger: None,
            requested_at: Time::default(),
            backoff: Backoff::default(),
            not_before: Time::default(),
            retry_at_once: false,
            has_expired: false,
            page_size: PageSize::new(page_size),
            failed_watches: 0,
            lists_before_watch: 0,
        }
    }

    /// Goes on watching where somebody else stopped.
    #[must_use]
    pub fn resuming_from(mut self, version: &str, now: Time) -> Self {
        if self.schedule.window.is_some() && !version.is_empty() {
            self.resource_version = Some(version.into());
            self.is_behind = true;
            self.state = ReflectorState::Waiting { since: now, due: now };
        }
        self
    }

    /// What is listed.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Where the next window begins.
    #[must_use]
    pub fn resource_version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }

    /// Whether what happens next comes by a window.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.next_window().is_some()
    }

    /// Whether the objects may be older than what somebody else saw of them.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Whether a page is under way.
    #[must_use]
    pub fn is_listing(&self) -> bool {
        matches!(self.state, ReflectorState::Listing(_))
    }

    /// Whether a window is open.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        matches!(self.state, ReflectorState::Watching { .. })
    }

    /// What is asked for next, when it is time.
    #[must_use]
    pub fn next_verb(&self) -> Verb {
        if self.is_watched() { Verb::Watch } else { Verb::List }
    }

    /// When it is, or was, time to ask; `None` while something is under way.
    #[must_use]
    pub fn due(&self, now: Time) -> Option<Time> {
        match self.state {
            // A clock that was set back would make a long wait of a short one, with nothing to tell how old the list is.
            ReflectorState::Waiting { since, due } => (due <= now || now < since).then_some(due),
            ReflectorState::Listing(_) | ReflectorState::Watching { .. } => None,
        }
    }

    /// Asks if it is time.
    pub fn next_request(&mut self, now: Time) -> Option<ApiRequest> {
        self.due(now)?;
        (self.requested_at, self.retry_at_once) = (now, false);
        let window = self.next_window();
        Some(match window {
            Some((version, lasts)) => {
                let path = self.source.watch_path(version, lasts.as_secs());
                self.state = ReflectorState::Watching { started_at: now };
                ApiRequest {
                    verb: Verb::Watch,
                    path,
                    watch_timeout: lasts,
                }
            }
            None => {
                self.state = ReflectorState::Listing(Listing::begin(now));
                self.page_request(None)
            }
        })
    }

    /// Has the list read as if nobody ever did: from its start, and waiting for nobody's last word. Whether that could be:
    /// not while a window is open.
    pub fn relist(&mut self) -> bool {
        if self.is_watching() {
            return false;
        }
        (self.resource_version, self.is_behind) = (None, false);
        true
    }

    fn next_window(&self) -> Option<(&str, Duration)> {
        let window = self.schedule.window.filter(|_| self.lists_before_watch == 0)?;
        let lasts = match self.stagger {
            _ if self.is_catching_up() => MIN_WINDOW,
            Some(chance) => staggered_window(window, chance),
            None => window,
        };
        Some((self.resource_version()?, lasts))
    }

    /// Whether the next window is to bring what happened until now, and not to wait for more.
    fn is_catching_up(&self) -> bool {
        self.is_behind || self.is_failing()
    }

    fn page_request(&self, cursor: Option<&str>) -> ApiRequest {
        ApiRequest {
            verb: Verb::List,
            path: self.source.list_path(self.page_size.limit(), cursor),
            watch_timeout: Duration::ZERO,
        }
    }

    /// Takes the answer to what is under way.
    pub fn handle_response(&mut self, answer: Result<Payload, Failure>, now: Time, chance: u32) -> ReflectorEvent {
        let was = std::mem::replace(&mut self.state, ReflectorState::Waiting { since: now, due: now });
        let goes_on = matches!((&was, &answer), (ReflectorState::Watching { .. }, Ok(_)) if !self.is_catching_up());
        self.stagger = (!goes_on).then_some(chance);
        match (was, answer) {
            (ReflectorState::Listing(listing), Ok(Payload::Page(page))) => self.handle_page(listing, page, now, chance),
            (ReflectorState::Watching { started_at: begun }, Ok(Payload::WatchBatch(window))) => {
                self.handle_watch(begun, window, now)
            }
            (ReflectorState::Watching { .. }, Err(failure)) => self.handle_watch_failure(failure, now, chance),
            (_, Err(failure)) => self.handle_failure(Verb::List, failure, now, chance),
            (_, Ok(_)) => {
                let unasked = Failure::Malformed("an answer that nobody asked for".into());
                self.handle_failure(Verb::List, unasked, now, chance)
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
            return ReflectorEvent::Request(request);
        }
        let Listing {
            started_at: begun,
            listed: seen,
            ..
        } = listing;
        // Not before: a list that fails at its second page each time would be asked for without a pause.
        self.clear_failures();
        self.page_size.record_complete_list();
        self.is_behind = false;
        self.lists_before_watch = self.lists_before_watch.saturating_sub(1);
        self.resource_version = Some(seen.resource_version.clone()).filter(|version| !version.is_empty());
        // The window that follows begins with the tick that is there.
        if !self.is_watched() {
            self.schedule_next(begun, now);
        }
        ReflectorEvent::Relisted(seen)
    }

    fn handle_watch(&mut self, begun: Time, window: WatchBatch, now: Time) -> ReflectorEvent {
        // One as short as after a failure says nothing of those that are as long as they should be.
        if !self.is_failing() {
            self.failed_watches = 0;
        }
        self.clear_failures();
        self.is_behind = false;
        if let Some(version) = window.resource_version.as_ref().filter(|version| !version.is_empty()) {
            self.resource_version = Some(version.clone());
        }
        self.state = ReflectorState::Waiting {
            since: now,
            due: now.max(begun.min(now).after(MIN_WINDOW.saturating_sub(TICK_TOLERANCE))),
        };
        ReflectorEvent::Updated(window)
    }

    /// A window failed. What it would have brought comes with the next one, which begins at the same version; or with a
    /// list, where there is none.
    fn handle_watch_failure(&mut self, failure: Failure, now: Time, chance: u32) -> ReflectorEvent {
        let loses_place = matches!(
            failure,
            Failure::Expired(_) | Failure::NotFound(_) | Failure::Malformed(_) | Failure::Unexpected(_)
        );
        // Anything else is of the API as a whole.
        let is_of_the_window = loses_place || matches!(failure, Failure::Timeout | Failure::Disconnected);
        self.failed_watches = self.failed_watches.saturating_add(is_of_the_window.into());
        let falls_back = match &failure {
            // The verb is not in the role, or the kind cannot be watched.
            Failure::Forbidden(_) | Failure::Unexpected(405) => true,
            // A server that does not end its windows, or whose windows are too large to come whole; or one that lists
            // and does not watch. Each such window would cost a list, without a pause between them.
            _ => is_of_the_window && self.failed_watches >= MAX_FAILED_WATCHES,
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
        if loses_place {
            self.resource_version = None;
        }
        self.handle_failure(Verb::Watch, failure, now, chance)
    }

    fn handle_failure(&mut self, verb: Verb, failure: Failure, now: Time, chance: u32) -> ReflectorEvent {
        if verb == Verb::List && matches!(failure, Failure::Disconnected) {
            self.page_size.halve();
        }
        if verb == Verb::List && self.lists_before_watch == FALLBACK_LISTS && failure.is_server_unavailable() {
            // Nothing came in the place of windows, so it was not for them. Lists would cost a server that is back.
            self.lists_before_watch = 0;
        }
        // An expired cursor, or version, is nobody's fault, once: the list is read again from its start without a pause.
        let is_expired = matches!(failure, Failure::Expired(_));
        let was_expired = std::mem::replace(&mut self.has_expired, is_expired);
        let at_once = self.retry_at_once || is_expired && !was_expired;
        let wish = failure.retry_after();
        let pause = self.backoff.next_delay(backoff::MAX_BACKOFF, wish, chance);
        self.not_before = now.after(backoff::capped_retry_after(wish));
        self.state = ReflectorState::Waiting {
            since: now,
            due: if at_once { self.not_before } else { now.after(pause) },
        };
        ReflectorEvent::Failed {
            verb,
            failure,
            falls_back: false,
        }
    }

    /// Waits for the next read.
    fn schedule_next(&mut self, begun: Time, now: Time) {
        self.state = ReflectorState::Waiting {
            since: now,
            due: next_read(begun, self.schedule.interval, now),
        };
    }
}

#[cfg(test)]
mod tests;
