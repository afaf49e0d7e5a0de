//! The life of one kind of object: wait, list it page by page, then watch it window by window or wait again. Each
//! answer moves it on and says what is to be done.
//!
//! A life knows when it is due and what it asks next.

use super::backoff::{self, Backoff};
use super::interval::{EARLY, next_read, staggered};
use super::page_size::PageSize;
use crate::kube::page::Bad;
use crate::kube::{Answer, Failure, Object, Page, Source, Verb, Window};
use crate::time::Time;
use std::time::Duration;

mod pause;

pub use pause::Pause;

/// The first window after a hand-over, or a failure, brings at once what happened since; it need not wait for more. And
/// a server that ends its windows early is not asked more often.
const SHORTEST_WINDOW: Duration = Duration::from_secs(1);

/// Windows in a row that did not end well, after which a list is kept up to date without them.
const PATIENCE: u32 = 3;

/// Lists that are read without windows before a window is tried again: five minutes at the default interval.
const LISTS_INSTEAD: u32 = 20;

/// How a list is kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time from the beginning of one read to that of the next, where it is not watched.
    pub interval: Duration,
    /// How long a window is; `None` where it is not watched.
    pub window: Option<Duration>,
}

/// A request to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// What the answer is: a page, or a window.
    pub verb: Verb,
    /// Path and query.
    pub path: String,
    /// How long the server takes for the answer on purpose.
    pub lasts: Duration,
}

/// What a list does at the moment.
#[derive(Debug)]
enum Life {
    /// Nothing is under way, since then and until then.
    Waiting { since: Time, due: Time },
    /// A page was asked for.
    Listing(Listing),
    /// A window is open, since then.
    Watching { begun: Time },
}

/// A list that is being read.
#[derive(Debug)]
struct Listing {
    /// When its first page was asked for.
    begun: Time,
    /// What the pages before this one held.
    seen: Listed,
}

/// A whole list, or as much of it as was read.
#[derive(Debug, Default)]
pub struct Listed {
    /// The objects that could be read.
    pub objects: Vec<Object>,
    /// The ones that could not.
    pub bad: Vec<Bad>,
    /// The list's `resourceVersion`.
    pub version: String,
}

/// What an answer leads to.
#[derive(Debug)]
pub enum Step {
    /// Ask for the next page.
    Ask(Request),
    /// The list is whole.
    Whole(Listed),
    /// A window ended well.
    Changed(Window),
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
pub struct Kept {
    source: Source,
    pace: Pace,
    life: Life,
    /// Where the next window begins; `None` where the list must be read first.
    version: Option<String>,
    /// What happened until now is not known yet: somebody else kept the list before.
    behind: bool,
    /// What the window after a list or a break is as short by as chance has it. Proxies that were given a configuration,
    /// or lost the API server, at the same moment would otherwise ask in step from then on.
    stagger: Option<u32>,
    /// When the request that is under way, or the last one, was sent; of a list that of its first page.
    asked: Time,
    backoff: Backoff,
    /// The server wishes to be left alone until then.
    not_before: Time,
    /// The request that is under way was sent before it was time: if it fails, it is sent again at once.
    too_early: bool,
    /// The last answer was that a version is too old.
    expired: bool,
    page_size: PageSize,
    /// Windows in a row that did not end well.
    broken: u32,
    /// Lists still to be read before a window is tried again.
    unwatched: u32,
}

impl Kept {
    /// A list that is read first at `due`, within an interval, in pages of `page_size` objects.
    #[must_use]
    pub fn new(source: Source, pace: Pace, page_size: u32, due: Time) -> Self {
        Self {
            source,
            pace,
            life: Life::Waiting {
                since: due.before(pace.interval),
                due,
            },
            version: None,
            behind: false,
            stagger: None,
            asked: Time::default(),
            backoff: Backoff::default(),
            not_before: Time::default(),
            too_early: false,
            expired: false,
            page_size: PageSize::new(page_size),
            broken: 0,
            unwatched: 0,
        }
    }

    /// Goes on watching where somebody else stopped.
    #[must_use]
    pub fn resumed(mut self, version: &str, now: Time) -> Self {
        if self.pace.window.is_some() && !version.is_empty() {
            self.version = Some(version.into());
            self.behind = true;
            self.life = Life::Waiting { since: now, due: now };
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
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Whether what happens next comes by a window.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.next_window().is_some()
    }

    /// Whether the objects may be older than what somebody else saw of them.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.behind
    }

    /// Whether a page is under way.
    #[must_use]
    pub fn is_listing(&self) -> bool {
        matches!(self.life, Life::Listing(_))
    }

    /// Whether a window is open.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        matches!(self.life, Life::Watching { .. })
    }

    /// What is asked for next, when it is time.
    #[must_use]
    pub fn next_verb(&self) -> Verb {
        if self.is_watched() { Verb::Watch } else { Verb::List }
    }

    /// When it is, or was, time to ask; `None` while something is under way.
    #[must_use]
    pub fn due(&self, now: Time) -> Option<Time> {
        match self.life {
            // A clock that was set back would make a long wait of a short one, with nothing to tell how old the list is.
            Life::Waiting { since, due } => (due <= now || now < since).then_some(due),
            Life::Listing(_) | Life::Watching { .. } => None,
        }
    }

    /// Asks if it is time.
    pub fn begin(&mut self, now: Time) -> Option<Request> {
        self.due(now)?;
        (self.asked, self.too_early) = (now, false);
        let window = self.next_window();
        Some(match window {
            Some((version, lasts)) => {
                let path = self.source.watch_path(version, lasts.as_secs());
                self.life = Life::Watching { begun: now };
                Request {
                    verb: Verb::Watch,
                    path,
                    lasts,
                }
            }
            None => {
                let seen = Listed::default();
                self.life = Life::Listing(Listing { begun: now, seen });
                self.page(None)
            }
        })
    }

    /// Has the list read as if nobody ever did: from its start, and waiting for nobody's last word. Whether that could be:
    /// not while a window is open.
    pub fn start_over(&mut self) -> bool {
        if self.is_watching() {
            return false;
        }
        (self.version, self.behind) = (None, false);
        true
    }

    fn next_window(&self) -> Option<(&str, Duration)> {
        let window = self.pace.window.filter(|_| self.unwatched == 0)?;
        let lasts = match self.stagger {
            _ if self.catches_up() => SHORTEST_WINDOW,
            Some(chance) => staggered(window, chance),
            None => window,
        };
        Some((self.version()?, lasts))
    }

    /// Whether the next window is to bring what happened until now, and not to wait for more.
    fn catches_up(&self) -> bool {
        self.behind || self.is_failing()
    }

    fn page(&self, cursor: Option<&str>) -> Request {
        Request {
            verb: Verb::List,
            path: self.source.list_path(self.page_size.limit(), cursor),
            lasts: Duration::ZERO,
        }
    }

    /// Takes the answer to what is under way.
    pub fn answer(&mut self, answer: Result<Answer, Failure>, now: Time, chance: u32) -> Step {
        let was = std::mem::replace(&mut self.life, Life::Waiting { since: now, due: now });
        let goes_on = matches!((&was, &answer), (Life::Watching { .. }, Ok(_)) if !self.catches_up());
        self.stagger = (!goes_on).then_some(chance);
        match (was, answer) {
            (Life::Listing(listing), Ok(Answer::Page(page))) => self.paged(listing, page, now),
            (Life::Watching { begun }, Ok(Answer::Window(window))) => self.watched(begun, window, now),
            (Life::Watching { .. }, Err(failure)) => self.unwatchable(failure, now, chance),
            (_, Err(failure)) => self.failed(Verb::List, failure, now, chance),
            (_, Ok(_)) => {
                let unasked = Failure::Malformed("an answer that nobody asked for".into());
                self.failed(Verb::List, unasked, now, chance)
            }
        }
    }

    fn paged(&mut self, Listing { begun, mut seen }: Listing, page: Page, now: Time) -> Step {
        seen.objects.extend(page.objects);
        seen.bad.extend(page.bad);
        seen.version = page.version;
        if let Some(cursor) = page.cursor {
            self.life = Life::Listing(Listing { begun, seen });
            return Step::Ask(self.page(Some(&cursor)));
        }
        // Not before: a list that fails at its second page each time would be asked for without a pause.
        self.succeeded();
        self.page_size.whole();
        self.behind = false;
        self.unwatched = self.unwatched.saturating_sub(1);
        self.version = Some(seen.version.clone()).filter(|version| !version.is_empty());
        // The window that follows begins with the tick that is there.
        if !self.is_watched() {
            self.rest(begun, now);
        }
        Step::Whole(seen)
    }

    fn watched(&mut self, begun: Time, window: Window, now: Time) -> Step {
        // One as short as after a failure says nothing of those that are as long as they should be.
        if !self.is_failing() {
            self.broken = 0;
        }
        self.succeeded();
        self.behind = false;
        if let Some(version) = window.version.as_ref().filter(|version| !version.is_empty()) {
            self.version = Some(version.clone());
        }
        self.life = Life::Waiting {
            since: now,
            due: now.max(begun.min(now).after(SHORTEST_WINDOW.saturating_sub(EARLY))),
        };
        Step::Changed(window)
    }

    /// A window failed. What it would have brought comes with the next one, which begins at the same version; or with a
    /// list, where there is none.
    fn unwatchable(&mut self, failure: Failure, now: Time, chance: u32) -> Step {
        let loses_place = matches!(
            failure,
            Failure::Expired(_) | Failure::NotFound(_) | Failure::Malformed(_) | Failure::Unexpected(_)
        );
        // Anything else is of the API as a whole.
        let is_of_the_window = loses_place || matches!(failure, Failure::Timeout | Failure::Cut);
        self.broken = self.broken.saturating_add(is_of_the_window.into());
        let falls_back = match &failure {
            // The verb is not in the role, or the kind cannot be watched.
            Failure::Forbidden(_) | Failure::Unexpected(405) => true,
            // A server that does not end its windows, or whose windows are too large to come whole; or one that lists
            // and does not watch. Each such window would cost a list, without a pause between them.
            _ => is_of_the_window && self.broken >= PATIENCE,
        };
        if falls_back {
            (self.broken, self.unwatched) = (0, LISTS_INSTEAD);
            self.version = None;
            return Step::Failed {
                verb: Verb::Watch,
                failure,
                falls_back,
            };
        }
        if loses_place {
            self.version = None;
        }
        self.failed(Verb::Watch, failure, now, chance)
    }

    fn failed(&mut self, verb: Verb, failure: Failure, now: Time, chance: u32) -> Step {
        if verb == Verb::List && matches!(failure, Failure::Cut) {
            self.page_size.cut();
        }
        if verb == Verb::List && self.unwatched == LISTS_INSTEAD && failure.is_of_the_server() {
            // Nothing came in the place of windows, so it was not for them. Lists would cost a server that is back.
            self.unwatched = 0;
        }
        // An expired cursor, or version, is nobody's fault, once: the list is read again from its start without a pause.
        let is_expired = matches!(failure, Failure::Expired(_));
        let was_expired = std::mem::replace(&mut self.expired, is_expired);
        let at_once = self.too_early || is_expired && !was_expired;
        let wish = failure.retry_after();
        let pause = self.backoff.failed(backoff::LONGEST, wish, chance);
        self.not_before = now.after(backoff::wish(wish));
        self.life = Life::Waiting {
            since: now,
            due: if at_once { self.not_before } else { now.after(pause) },
        };
        Step::Failed {
            verb,
            failure,
            falls_back: false,
        }
    }

    /// Waits for the next read.
    fn rest(&mut self, begun: Time, now: Time) {
        self.life = Life::Waiting {
            since: now,
            due: next_read(begun, self.pace.interval, now),
        };
    }
}

#[cfg(test)]
mod tests;
