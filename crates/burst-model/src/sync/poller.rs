//! All the lists of a configuration together.

use super::life::{Kept, Step};
use crate::kube::{Failure, Page, Source};
use crate::time::Time;
use std::time::Duration;

/// Pages under way at once, over all lists. Enough to overlap the round trips of a few kinds; a list a namespace and
/// kind must not become a stampede.
const MOST_UNDER_WAY: usize = 8;

/// Which list, by its place in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceId(pub usize);

/// A page to be asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Ask {
    /// For which list.
    pub source: SourceId,
    /// Path and query.
    pub path: String,
}

/// The lists of a configuration.
#[derive(Debug)]
pub struct Poller {
    lists: Vec<Kept>,
    interval: Duration,
}

impl Poller {
    /// Keeps these lists, each read first when it is due and again every `interval`.
    pub fn new(lists: impl IntoIterator<Item = (Source, Time)>, page_size: u32, interval: Duration) -> Self {
        let lists = lists
            .into_iter()
            .map(|(source, due)| Kept::new(source, page_size, due))
            .collect();
        Self { lists, interval }
    }

    /// Whether nothing is under way: the moment to publish.
    #[must_use]
    pub fn is_between_rounds(&self) -> bool {
        !self.lists.iter().any(Kept::is_listing)
    }

    /// Whether nothing is about to begin either: the moment to hand over.
    #[must_use]
    pub fn is_resting(&self, now: Time) -> bool {
        !self.lists.iter().any(|list| list.is_listing() || list.is_due(now))
    }

    /// The list of that place.
    #[must_use]
    pub fn source(&self, id: SourceId) -> Option<&Source> {
        self.lists.get(id.0).map(Kept::source)
    }

    /// The first pages of the lists that are due, as many as may be under way.
    pub fn begin(&mut self, now: Time) -> Vec<Ask> {
        let room = MOST_UNDER_WAY.saturating_sub(self.lists.iter().filter(|list| list.is_listing()).count());
        let due = self.lists.iter_mut().enumerate();
        due.filter_map(|(place, list)| {
            Some(Ask {
                source: SourceId(place),
                path: list.begin(now)?,
            })
        })
        .take(room)
        .collect()
    }

    /// Takes an answer; `None` where there is no such list.
    pub fn answer(&mut self, id: SourceId, answer: Result<Page, Failure>, now: Time, chance: u32) -> Option<Step> {
        let interval = self.interval;
        self.lists
            .get_mut(id.0)
            .map(|list| list.answer(answer, now, interval, chance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::{Reads, Resource};
    use crate::name::Name;

    const T0: Time = Time::from_unix_millis(1_000_000);

    #[test]
    fn many_lists_are_asked_a_few_at_a_time() {
        let source = |n: usize| Source {
            reads: Reads::Services,
            resource: Resource::services(),
            namespace: Some(Name::parse(&format!("ns-{n}")).unwrap()),
            label_selector: None,
            field_selector: None,
            labels: false,
        };
        let mut poller = Poller::new((0..20).map(|n| (source(n), T0)), 500, Duration::from_secs(15));
        assert!(
            poller.is_between_rounds() && !poller.is_resting(T0),
            "a round is about to begin"
        );
        let mut under_way = poller.begin(T0);
        assert_eq!(under_way.len(), MOST_UNDER_WAY);
        assert!(poller.begin(T0).is_empty());
        let mut asked = under_way.len();
        while let Some(ask) = under_way.pop() {
            assert!(matches!(
                poller.answer(ask.source, Ok(Page::default()), T0, 0),
                Some(Step::Whole(_))
            ));
            let next = poller.begin(T0);
            asked += next.len();
            under_way.extend(next);
        }
        assert_eq!(asked, 20);
        assert!(poller.is_between_rounds() && poller.is_resting(T0));
    }

    #[test]
    fn an_answer_for_no_list_is_nothing() {
        let mut poller = Poller::new([], 500, Duration::from_secs(15));
        assert!(poller.answer(SourceId(0), Ok(Page::default()), T0, 0).is_none());
    }
}
