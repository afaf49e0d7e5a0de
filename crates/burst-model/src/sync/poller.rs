//! All the lists of a configuration together.

use super::life::{Kept, Request, Step};
use crate::kube::{Answer, Failure, Verb};
use crate::order::sort_by;
use crate::time::Time;

/// Pages under way at once, over all lists. Enough to overlap the round trips of a few kinds; a list a namespace and
/// kind must not become a stampede.
const MOST_PAGES: usize = 8;

/// Which list, by its place in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceId(pub usize);

/// A request to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Ask {
    /// For which list.
    pub source: SourceId,
    /// What is asked.
    pub request: Request,
}

/// The lists of a configuration.
#[derive(Debug)]
pub struct Poller {
    lists: Vec<Kept>,
    /// Windows that may be open at once.
    most_windows: usize,
}

impl Poller {
    /// Keeps these lists, with so many windows open at once.
    #[must_use]
    pub fn new(lists: Vec<Kept>, most_windows: usize) -> Self {
        Self { lists, most_windows }
    }

    /// Whether no list is being read: the moment to publish. What an open window will bring is a change of its own.
    #[must_use]
    pub fn is_between_rounds(&self) -> bool {
        !self.lists.iter().any(Kept::is_listing)
    }

    /// Whether no list is about to be read either: the moment to hand over. A successor goes on with the windows.
    #[must_use]
    pub fn is_resting(&self, now: Time) -> bool {
        let lists = |list: &Kept| list.due(now).is_some() && list.next_verb() == Verb::List;
        !self.lists.iter().any(|list| list.is_listing() || lists(list))
    }

    /// Whether somebody else's last word on some list may be newer than what is known here.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.lists.iter().any(Kept::is_behind)
    }

    /// The list of that place.
    #[must_use]
    pub fn list(&self, id: SourceId) -> Option<&Kept> {
        self.lists.get(id.0)
    }

    /// All lists, in the order of the configuration.
    pub fn lists(&self) -> impl Iterator<Item = &Kept> {
        self.lists.iter()
    }

    /// What is due, as much as may be under way; who waits longest comes first.
    pub fn begin(&mut self, now: Time) -> Vec<Ask> {
        let room = |most: usize, under_way: fn(&Kept) -> bool| {
            most.saturating_sub(self.lists.iter().filter(|list| under_way(list)).count())
        };
        let mut pages = room(MOST_PAGES, Kept::is_listing);
        let mut windows = room(self.most_windows, Kept::is_watching);
        let mut due: Vec<_> = self.lists.iter_mut().enumerate().collect();
        due.retain(|(_, list)| list.due(now).is_some());
        sort_by(&mut due, |(_, a), (_, b)| a.due(now).cmp(&b.due(now)));
        let mut asks = Vec::new();
        for (place, list) in due {
            let room = match list.next_verb() {
                Verb::List => &mut pages,
                Verb::Watch => &mut windows,
            };
            let Some(less) = room.checked_sub(1) else { continue };
            *room = less;
            let source = SourceId(place);
            asks.extend(list.begin(now).map(|request| Ask { source, request }));
        }
        asks
    }

    /// Has a list read as if nobody ever did; whether that could be, see [`Kept::start_over`].
    pub fn start_over(&mut self, id: SourceId) -> bool {
        self.lists.get_mut(id.0).is_some_and(Kept::start_over)
    }

    /// Takes an answer; `None` where there is no such list.
    pub fn answer(&mut self, id: SourceId, answer: Result<Answer, Failure>, now: Time, chance: u32) -> Option<Step> {
        self.lists.get_mut(id.0).map(|list| list.answer(answer, now, chance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::{Page, Reads, Resource, Source};
    use crate::name::Name;
    use crate::sync::life::Pace;
    use std::time::Duration;

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
        let pace = Pace {
            interval: Duration::from_secs(15),
            window: None,
        };
        let lists = (0..20).map(|n| Kept::new(source(n), pace, 500, T0)).collect();
        let mut poller = Poller::new(lists, 4);
        assert!(
            poller.is_between_rounds() && !poller.is_resting(T0),
            "a round is about to begin"
        );
        let mut under_way = poller.begin(T0);
        assert_eq!(under_way.len(), MOST_PAGES);
        assert!(poller.begin(T0).is_empty());
        let mut asked = under_way.len();
        while let Some(ask) = under_way.pop() {
            assert!(matches!(
                poller.answer(ask.source, Ok(Answer::Page(Page::default())), T0, 0),
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
        let mut poller = Poller::new(Vec::new(), 4);
        assert!(
            poller
                .answer(SourceId(0), Ok(Answer::Page(Page::default())), T0, 0)
                .is_none()
        );
    }
}
