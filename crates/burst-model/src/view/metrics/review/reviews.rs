//! What was answered lately, and who waits for an answer: one question is under way once, however many wait for it.

use super::Verdict;
use crate::time::Time;
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

/// The reviews of one thread. `W` is a request that waits.
#[derive(Debug)]
pub struct Reviews<W> {
    kept: BTreeMap<Rc<str>, (Time, Verdict)>,
    /// The questions in `kept`, the oldest first; all are kept equally long.
    order: VecDeque<Rc<str>>,
    /// Those without an answer yet.
    asked: BTreeMap<Rc<str>, Vec<W>>,
    /// Those of them that nobody has sent yet.
    unsent: VecDeque<Rc<str>>,
}

impl<W> Default for Reviews<W> {
    fn default() -> Self {
        Self {
            kept: BTreeMap::new(),
            order: VecDeque::new(),
            asked: BTreeMap::new(),
            unsent: VecDeque::new(),
        }
    }
}

impl<W> Reviews<W> {
    /// The verdict that is known.
    #[must_use]
    pub fn known(&self, question: &str, now: Time) -> Option<&Verdict> {
        let (learned, verdict) = self.kept.get(question)?;
        is_fresh(*learned, now).then_some(verdict)
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

    /// Takes the answer to a question, `None` where there is none to keep; who waited for it.
    pub fn settle(&mut self, question: &Rc<str>, verdict: Option<&Verdict>, now: Time) -> Vec<W> {
        if let Some(verdict) = verdict.filter(|_| question.len() <= LONGEST) {
            self.keep(question.clone(), verdict.clone(), now);
        }
        self.asked.remove(question).unwrap_or_default()
    }

    /// Lets those go that no longer wait. What they asked for is asked all the same, unless nobody sent it yet.
    pub fn forget(&mut self, is_gone: impl Fn(&W) -> bool) {
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

    fn keep(&mut self, question: Rc<str>, verdict: Verdict, now: Time) {
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

    fn denied() -> Verdict {
        Verdict::Denied("no".into())
    }

    #[test]
    fn those_who_ask_the_same_wait_for_one_answer() {
        let mut reviews = Reviews::default();
        for (question, waiter) in [("a", 1), ("b", 2), ("a", 3)] {
            reviews.wait(question.to_owned(), waiter);
        }
        let (a, b) = (reviews.next_unsent().unwrap(), reviews.next_unsent().unwrap());
        assert_eq!((&*a, &*b, reviews.next_unsent()), ("a", "b", None));
        reviews.wait("a".into(), 4);
        assert_eq!(reviews.next_unsent(), None, "it is under way");
        assert_eq!(reviews.settle(&a, Some(&Verdict::Allowed), T0), [1, 3, 4]);
        assert_eq!(reviews.known("a", T0), Some(&Verdict::Allowed));
        assert_eq!(reviews.known("b", T0), None);
        assert_eq!(reviews.settle(&b, Some(&denied()), T0), [2]);
        assert_eq!(reviews.known("b", T0), Some(&denied()));
    }

    #[test]
    fn a_verdict_is_kept_for_ten_seconds_and_no_failure_is() {
        let mut reviews = Reviews::<()>::default();
        reviews.settle(&"a".into(), Some(&denied()), T0);
        reviews.settle(&"b".into(), None, T0);
        let known = |reviews: &Reviews<()>, now| reviews.known("a", now).is_some();
        assert!(known(&reviews, T0) && known(&reviews, T0.after(Duration::from_millis(9_999))));
        assert!(!known(&reviews, after(10)));
        assert!(
            !known(&reviews, Time::from_unix_millis(999_999)),
            "a clock that was set back"
        );
        assert_eq!(reviews.known("b", T0), None);
        reviews.settle(&"a".into(), Some(&Verdict::Allowed), after(12));
        assert_eq!(reviews.known("a", after(21)), Some(&Verdict::Allowed));
    }

    #[test]
    fn no_more_are_kept_than_there_is_room_for() {
        let mut reviews = Reviews::<()>::default();
        for number in 0..=MOST {
            reviews.settle(&number.to_string().into(), Some(&denied()), T0);
        }
        assert_eq!((reviews.kept.len(), reviews.order.len()), (MOST, MOST));
        assert_eq!(reviews.known("0", T0), None);
        assert!(reviews.known("1", T0).is_some());
        reviews.settle(&"last".into(), Some(&denied()), after(10));
        assert_eq!((reviews.kept.len(), reviews.order.len()), (1, 1), "the rest was old");
        let long = "x".repeat(LONGEST + 1);
        reviews.settle(&long.as_str().into(), Some(&Verdict::Allowed), after(10));
        assert_eq!(reviews.known(&long, after(10)), None);
    }

    #[test]
    fn a_verdict_that_is_learned_again_is_kept_once() {
        let mut reviews = Reviews::<()>::default();
        for second in 0..5 {
            reviews.settle(&"a".into(), Some(&denied()), after(second));
        }
        assert_eq!((reviews.kept.len(), reviews.order.len()), (1, 1));
    }

    #[test]
    fn who_is_gone_is_not_answered_and_leaves_nothing_behind() {
        let mut reviews = Reviews::default();
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
        assert_eq!(reviews.settle(&a, Some(&Verdict::Allowed), T0), [4]);
        assert!(reviews.asked.is_empty() && reviews.unsent.is_empty());
    }
}
