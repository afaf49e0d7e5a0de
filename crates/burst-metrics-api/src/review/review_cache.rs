//! What was answered lately, and who waits for an answer: one question is under way once, however many wait for it.
//! Requests whose question is answered are given out one by one, so that the caller need not answer all of them at once.

use super::{ReviewError, ReviewVerdict};
use burst_model::time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

/// As long as every API server that delegates its authorization keeps one: a Role that is taken away, or given, counts
/// that much later.
const KEPT: Duration = Duration::from_secs(10);
/// Every user of a cluster with every one of some dozens of questions, at some 500 bytes each.
const MOST: usize = 4_096;
/// A longer question is asked each time: it is of a user with hundreds of groups, or a selector that nobody repeats.
const LONGEST: usize = 8 << 10;

/// What became of a question.
pub type ReviewResult = Result<ReviewVerdict, ReviewError>;

/// Questions without an answer, at most. Who asked may be gone, and the question is under way all the same.
const MOST_ASKED: usize = 256;

/// The reviews of one thread. `W` is a request that waits.
#[derive(Debug)]
pub struct ReviewCache<W> {
    kept: BTreeMap<Rc<str>, (Time, ReviewVerdict)>,
    /// The questions in `kept`, the oldest first; all are kept equally long.
    order: VecDeque<Rc<str>>,
    /// Those without an answer yet.
    asked: BTreeMap<Rc<str>, Vec<W>>,
    /// Those of them that nobody has sent yet.
    unsent: VecDeque<Rc<str>>,
    /// Those who need not wait any more and have not been given out yet, in the order of the answers: some hundred at most,
    /// for which a `Vec` does, and is the smaller code.
    settled: Vec<(W, Rc<ReviewResult>)>,
}

impl<W> Default for ReviewCache<W> {
    fn default() -> Self {
        Self {
            kept: BTreeMap::new(),
            order: VecDeque::new(),
            asked: BTreeMap::new(),
            unsent: VecDeque::new(),
            settled: Vec::new(),
        }
    }
}

impl<W> ReviewCache<W> {
    /// The verdict that is known.
    #[must_use]
    pub fn known(&self, question: &str, now: Time) -> Option<&ReviewVerdict> {
        let (learned, verdict) = self.kept.get(question)?;
        is_fresh(*learned, now).then_some(verdict)
    }

    /// Returns whether a question may be asked: it is under way already, or not too many others are.
    #[must_use]
    pub fn has_room(&self, question: &str) -> bool {
        self.asked.len() < MOST_ASKED || self.asked.contains_key(question)
    }

    /// Has a request wait for the answer to a question.
    pub fn wait(&mut self, question: String, waiter: W) {
        if let Some(waiters) = self.asked.get_mut(question.as_str()) {
            return waiters.push(waiter);
        }
        let question: Rc<str> = question.into();
        self.unsent.push_back(question.clone());
        self.asked.insert(question, vec![waiter]);
    }

    /// A question to send; each is given out once.
    pub fn next_unsent(&mut self) -> Option<Rc<str>> {
        self.unsent.pop_front()
    }

    /// Takes what became of a question; those who waited for it are given out by [`Self::next_settled`].
    pub fn settle(&mut self, question: &Rc<str>, outcome: &Rc<ReviewResult>, now: Time) {
        if let Ok(verdict) = &**outcome
            && question.len() <= LONGEST
        {
            self.keep(question.clone(), verdict.clone(), now);
        }
        let waiters = self.asked.remove(question).unwrap_or_default().into_iter();
        self.settled.extend(waiters.map(|waiter| (waiter, outcome.clone())));
    }

    /// A request that has waited for its answer, and the answer; each is given out once.
    pub fn next_settled(&mut self) -> Option<(W, Rc<ReviewResult>)> {
        (!self.settled.is_empty()).then(|| self.settled.remove(0))
    }

    /// Returns whether [`Self::next_settled`] has something to give.
    #[must_use]
    pub fn has_settled(&self) -> bool {
        !self.settled.is_empty()
    }

    /// Lets those go that no longer wait. What they asked for is asked all the same, unless nobody sent it yet.
    pub fn forget(&mut self, is_gone: impl Fn(&W) -> bool) {
        self.settled.retain(|(waiter, _)| !is_gone(waiter));
        let unsent = &mut self.unsent;
        self.asked.retain(|question, waiters| {
            waiters.retain(|waiter| !is_gone(waiter));
            if !waiters.is_empty() {
                return true;
            }
            let before = unsent.len();
            unsent.retain(|other| other != question);
            unsent.len() == before
        });
    }

    fn keep(&mut self, question: Rc<str>, verdict: ReviewVerdict, now: Time) {
        if self.kept.insert(question.clone(), (now, verdict)).is_some() {
            self.order.retain(|other| *other != question);
        }
        self.order.push_back(question);
        while let Some(oldest) = self.order.front() {
            let is_old = self
                .kept
                .get(oldest)
                .is_none_or(|(learned, _)| !is_fresh(*learned, now));
            if !is_old && self.order.len() <= MOST {
                break;
            }
            self.kept.remove(oldest);
            self.order.pop_front();
        }
    }
}

/// Not where the clock was set back either: nobody knows how long ago it was learned.
fn is_fresh(learned: Time, now: Time) -> bool {
    learned <= now && now.since(learned) < KEPT
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Time = Time::from_unix_millis(1_000_000);

    fn after(seconds: u64) -> Time {
        T0.after(Duration::from_secs(seconds))
    }

    fn denied() -> ReviewVerdict {
        ReviewVerdict::Denied("no".into())
    }

    fn outcome(verdict: ReviewVerdict) -> Rc<ReviewResult> {
        Rc::new(Ok(verdict))
    }

    /// Settles a question and takes out all who can be answered.
    fn settle<W>(reviews: &mut ReviewCache<W>, question: &str, outcome: &Rc<ReviewResult>, now: Time) -> Vec<W> {
        reviews.settle(&question.into(), outcome, now);
        std::iter::from_fn(|| reviews.next_settled())
            .map(|(waiter, _)| waiter)
            .collect()
    }

    #[test]
    fn those_who_ask_the_same_wait_for_one_answer() {
        let mut reviews = ReviewCache::default();
        for (question, waiter) in [("a", 1), ("b", 2), ("a", 3)] {
            reviews.wait(question.to_owned(), waiter);
        }
        let (a, b) = (reviews.next_unsent().unwrap(), reviews.next_unsent().unwrap());
        assert_eq!((&*a, &*b, reviews.next_unsent()), ("a", "b", None));
        reviews.wait("a".into(), 4);
        assert_eq!(reviews.next_unsent(), None, "it is under way");
        assert_eq!(
            settle(&mut reviews, &a, &outcome(ReviewVerdict::Allowed), T0),
            [1, 3, 4]
        );
        assert_eq!(reviews.known("a", T0), Some(&ReviewVerdict::Allowed));
        assert_eq!(reviews.known("b", T0), None);
        assert_eq!(settle(&mut reviews, &b, &outcome(denied()), T0), [2]);
        assert_eq!(reviews.known("b", T0), Some(&denied()));
    }

    #[test]
    fn a_verdict_is_kept_for_ten_seconds_and_no_failure_is() {
        let mut reviews = ReviewCache::<()>::default();
        reviews.settle(&"a".into(), &outcome(denied()), T0);
        reviews.settle(&"b".into(), &Rc::new(Err(ReviewError::NoAnswer)), T0);
        let known = |reviews: &ReviewCache<()>, now| reviews.known("a", now).is_some();
        assert!(known(&reviews, T0) && known(&reviews, T0.after(Duration::from_millis(9_999))));
        assert!(!known(&reviews, after(10)));
        assert!(
            !known(&reviews, Time::from_unix_millis(999_999)),
            "a clock that was set back"
        );
        assert_eq!(reviews.known("b", T0), None);
        reviews.settle(&"a".into(), &outcome(ReviewVerdict::Allowed), after(12));
        assert_eq!(reviews.known("a", after(21)), Some(&ReviewVerdict::Allowed));
    }

    #[test]
    fn no_more_are_kept_than_there_is_room_for() {
        let mut reviews = ReviewCache::<()>::default();
        for number in 0..=MOST {
            reviews.settle(&number.to_string().into(), &outcome(denied()), T0);
        }
        assert_eq!((reviews.kept.len(), reviews.order.len()), (MOST, MOST));
        assert_eq!(reviews.known("0", T0), None);
        assert!(reviews.known("1", T0).is_some());
        reviews.settle(&"last".into(), &outcome(denied()), after(10));
        assert_eq!((reviews.kept.len(), reviews.order.len()), (1, 1), "the rest was old");
        let long = "x".repeat(LONGEST + 1);
        reviews.settle(&long.as_str().into(), &outcome(ReviewVerdict::Allowed), after(10));
        assert_eq!(reviews.known(&long, after(10)), None);
    }

    #[test]
    fn a_verdict_that_is_learned_again_is_kept_once() {
        let mut reviews = ReviewCache::<()>::default();
        for second in 0..5 {
            reviews.settle(&"a".into(), &outcome(denied()), after(second));
        }
        assert_eq!((reviews.kept.len(), reviews.order.len()), (1, 1));
    }

    #[test]
    fn who_is_gone_is_not_answered_and_leaves_nothing_behind() {
        let mut reviews = ReviewCache::default();
        for (question, waiter) in [("a", 1), ("a", 2), ("b", 3)] {
            reviews.wait(question.to_owned(), waiter);
        }
        let a = reviews.next_unsent().unwrap();
        reviews.forget(|waiter| *waiter != 2);
        assert_eq!(reviews.next_unsent(), None, "nobody wants to know b any more");
        reviews.forget(|_| true);
        assert_eq!(reviews.asked.len(), 1, "a is under way");
        reviews.wait("a".into(), 4);
        assert_eq!(reviews.next_unsent(), None);
        assert_eq!(settle(&mut reviews, &a, &outcome(ReviewVerdict::Allowed), T0), [4]);
        assert!(reviews.asked.is_empty() && reviews.unsent.is_empty());
    }

    #[test]
    fn those_who_need_not_wait_any_more_are_given_out_one_by_one() {
        let mut reviews = ReviewCache::default();
        for waiter in 1..=3 {
            reviews.wait("a".to_owned(), waiter);
        }
        reviews.wait("b".to_owned(), 4);
        let failed = Rc::new(Err(ReviewError::Status(503)));
        reviews.settle(&"a".into(), &outcome(ReviewVerdict::Allowed), T0);
        reviews.settle(&"b".into(), &failed, T0);
        assert_eq!(reviews.next_settled(), Some((1, outcome(ReviewVerdict::Allowed))));
        reviews.forget(|waiter| *waiter == 2);
        assert_eq!(reviews.next_settled(), Some((3, outcome(ReviewVerdict::Allowed))));
        assert!(reviews.has_settled());
        assert_eq!(reviews.next_settled(), Some((4, failed)));
        assert!(!reviews.has_settled() && reviews.next_settled().is_none());
    }

    #[test]
    fn questions_whose_askers_are_gone_count_until_they_are_answered() {
        let mut reviews = ReviewCache::default();
        for number in 0..MOST_ASKED {
            assert!(reviews.has_room(&number.to_string()));
            reviews.wait(number.to_string(), number);
        }
        let first = reviews.next_unsent().unwrap();
        while reviews.next_unsent().is_some() {}
        reviews.forget(|_| true);
        assert!(!reviews.has_room("another") && reviews.has_room(&first));
        assert!(settle(&mut reviews, &first, &outcome(denied()), T0).is_empty());
        assert!(reviews.has_room("another"));
    }
}
