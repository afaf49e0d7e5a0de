//! The life of one list: wait, read it page by page, wait again. Each answer moves it on and says what is to be done.
//!
//! A life knows when it is due and what it asks next. Bounded watch windows will be one more variant of `Life`: it
//! already keeps the version that a window would start from.

use super::backoff::Backoff;
use super::page_size::PageSize;
use crate::kube::page::Bad;
use crate::kube::{Failure, Object, Page, Source};
use crate::time::Time;
use std::time::Duration;

/// A tick comes early by as much as the one before it came late in its round of the proxy's event loop. A list that is
/// due within this time is read with the tick that is there: the next one would be a second late.
const EARLY: Duration = Duration::from_millis(250);

/// What a list does at the moment.
#[derive(Debug)]
enum Life {
    /// Nothing is under way, since then and until then.
    Waiting { since: Time, due: Time },
    /// A page was asked for.
    Listing(Listing),
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
    /// Ask for the next page, by this path.
    Ask(String),
    /// The list is whole.
    Whole(Listed),
    /// The list failed; it is read again after a pause.
    Failed(Failure),
}

/// One list, kept up to date.
#[derive(Debug)]
pub struct Kept {
    source: Source,
    life: Life,
    backoff: Backoff,
    page_size: PageSize,
}

impl Kept {
    /// A list that is read first at `due`, in pages of `page_size` objects.
    #[must_use]
    pub fn new(source: Source, page_size: u32, due: Time) -> Self {
        Self {
            source,
            life: Life::Waiting {
                since: Time::default(),
                due,
            },
            backoff: Backoff::default(),
            page_size: PageSize::new(page_size),
        }
    }

    /// What is listed.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether a page is under way.
    #[must_use]
    pub fn is_listing(&self) -> bool {
        matches!(self.life, Life::Listing(_))
    }

    /// Whether it is time to read.
    #[must_use]
    pub fn is_due(&self, now: Time) -> bool {
        match self.life {
            // A clock that was set back would make a long wait of a short one, with nothing to tell how old the list is.
            Life::Waiting { since, due } => due <= now || now < since,
            Life::Listing(_) => false,
        }
    }

    /// Starts reading if it is time; the path of the first page.
    pub fn begin(&mut self, now: Time) -> Option<String> {
        if !self.is_due(now) {
            return None;
        }
        self.life = Life::Listing(Listing {
            begun: now,
            seen: Listed::default(),
        });
        Some(self.source.list_path(self.page_size.limit(), None))
    }

    /// Takes the answer to the page under way. `interval` is the time from the beginning of a read to that of the next.
    pub fn answer(&mut self, answer: Result<Page, Failure>, now: Time, interval: Duration, chance: u32) -> Step {
        let resting = Life::Waiting {
            since: now,
            due: now.after(interval),
        };
        let Life::Listing(Listing { begun, mut seen }) = std::mem::replace(&mut self.life, resting) else {
            return Step::Failed(Failure::Malformed("an answer that nobody asked for".into()));
        };
        match answer {
            Ok(page) => {
                seen.objects.extend(page.objects);
                seen.bad.extend(page.bad);
                seen.version = page.version;
                match page.cursor {
                    Some(cursor) => {
                        self.life = Life::Listing(Listing { begun, seen });
                        Step::Ask(self.source.list_path(self.page_size.limit(), Some(&cursor)))
                    }
                    None => {
                        // Not before: a list that fails at its second page each time would be asked for without a pause.
                        self.backoff.succeeded();
                        self.page_size.whole();
                        self.rest(begun, now, interval);
                        Step::Whole(seen)
                    }
                }
            }
            Err(failure) => {
                self.life = Life::Waiting {
                    since: now,
                    due: now.after(self.pause_after(&failure, chance)),
                };
                Step::Failed(failure)
            }
        }
    }

    /// Waits for the next read. The interval counts from the beginning of this one: from its end it would miss, by the
    /// time that the answer took, the tick it should come with. A list that takes longer than its interval rests for
    /// all of it.
    fn rest(&mut self, begun: Time, now: Time, interval: Duration) {
        let from = if now.since(begun) < interval { begun } else { now };
        self.life = Life::Waiting {
            since: now,
            due: from.after(interval.saturating_sub(EARLY)),
        };
    }

    fn pause_after(&mut self, failure: &Failure, chance: u32) -> Duration {
        if matches!(failure, Failure::Cut) {
            self.page_size.cut();
        }
        // An expired cursor is nobody's fault, once: the list is read again from its start without a pause.
        let at_once = matches!(failure, Failure::Expired(_)) && self.backoff.is_clear();
        let pause = self.backoff.failed(failure.retry_after(), chance);
        if at_once { Duration::ZERO } else { pause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::{Reads, Resource};

    const T0: Time = Time::from_unix_millis(1_000_000);
    const PAUSE: Duration = Duration::from_secs(15);

    fn kept() -> Kept {
        let source = Source {
            reads: Reads::Services,
            resource: Resource::services(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            labels: false,
        };
        Kept::new(source, 500, T0)
    }

    fn page(cursor: Option<&str>) -> Result<Page, Failure> {
        Ok(Page {
            cursor: cursor.map(Into::into),
            version: "7".into(),
            ..Page::default()
        })
    }

    #[test]
    fn a_list_is_read_page_by_page_and_then_rests() {
        let mut list = kept();
        assert_eq!(list.begin(T0).unwrap(), "/api/v1/services?limit=500");
        assert_eq!(list.begin(T0), None, "one page at a time");
        let Step::Ask(path) = list.answer(page(Some("c1")), T0, PAUSE, 0) else {
            panic!()
        };
        assert_eq!(path, "/api/v1/services?limit=500&continue=c1");
        let Step::Whole(whole) = list.answer(page(None), T0, PAUSE, 0) else {
            panic!()
        };
        assert_eq!(whole.version, "7");
        assert_eq!(list.begin(T0.after(PAUSE - Duration::from_secs(1))), None);
        assert!(list.begin(T0.after(PAUSE)).is_some());
    }

    #[test]
    fn the_interval_counts_from_the_beginning_of_a_read() {
        for (took, due) in [
            (0, 15_000),
            (900, 15_000),
            (13_999, 15_000),
            (15_000, 30_000),
            (40_000, 55_000),
        ] {
            let mut list = kept();
            list.begin(T0);
            list.answer(page(None), T0.after(Duration::from_millis(took)), PAUSE, 0);
            let tick = |millis: u64| T0.after(Duration::from_millis(millis));
            assert_eq!(list.begin(tick(due - 1000)), None, "took {took} ms");
            assert!(
                list.begin(tick(due - 200)).is_some(),
                "took {took} ms, and a tick came early"
            );
        }
    }

    #[test]
    fn a_clock_set_back_does_not_stop_the_reads() {
        let mut list = kept();
        list.begin(T0);
        list.answer(page(None), T0, PAUSE, 0);
        let before = Time::from_unix_millis(T0.unix_millis() - 500_000);
        assert!(list.begin(before).is_some());
        list.answer(Err(Failure::Timeout), before, PAUSE, u32::MAX);
        assert_eq!(list.begin(before), None, "a pause is one by the new time, too");
    }

    #[test]
    fn an_expired_cursor_starts_the_list_again_at_once_but_not_for_ever() {
        let mut list = kept();
        list.begin(T0);
        list.answer(page(Some("c1")), T0, PAUSE, 0);
        list.answer(Err(Failure::Expired("too old".into())), T0, PAUSE, 0);
        assert_eq!(list.begin(T0).unwrap(), "/api/v1/services?limit=500", "from the start");
        list.answer(page(Some("c2")), T0, PAUSE, 0);
        list.answer(Err(Failure::Expired("too old".into())), T0, PAUSE, 0);
        assert_eq!(list.begin(T0), None, "though its first page came");
    }

    #[test]
    fn an_answer_too_large_is_asked_for_in_smaller_pages() {
        let mut list = kept();
        let mut now = T0;
        for limit in [500, 250, 125, 62, 31, 15, 7, 3, 1, 1] {
            assert_eq!(list.begin(now).unwrap(), format!("/api/v1/services?limit={limit}"));
            list.answer(Err(Failure::Cut), now, PAUSE, 0);
            now = now.after(Duration::from_secs(60));
        }
    }

    #[test]
    fn an_answer_that_nobody_asked_for_changes_nothing_but_the_pause() {
        let mut list = kept();
        assert!(matches!(list.answer(page(None), T0, PAUSE, 0), Step::Failed(_)));
        assert!(!list.is_listing());
    }

    #[test]
    fn retry_after_is_kept_to() {
        let mut list = kept();
        list.begin(T0);
        let wish = Duration::from_secs(77);
        list.answer(
            Err(Failure::Throttled {
                retry_after: Some(wish),
            }),
            T0,
            PAUSE,
            u32::MAX,
        );
        assert_eq!(list.begin(T0.after(wish - Duration::from_millis(1))), None);
        assert!(list.begin(T0.after(wish)).is_some());
    }
}
