//! Keeps the verdicts of recent reviews, and the requests that wait for one.
//!
//! A review is sent once, however many requests wait for it. Completed requests are returned one by one, so that the
//! caller need not answer all of them in one callback.

use super::verdict::{ReviewError, ReviewVerdict};
use burst_model::time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

/// As long as every API server that delegates authorization keeps a verdict. A changed Role takes effect after this time.
const TIME_TO_LIVE: Duration = Duration::from_secs(10);
/// Room for the users of a large cluster with several reviews each, at some 500 bytes a review.
const MAX_VERDICTS: usize = 4_096;
/// In bytes. A longer review is not kept: its user has hundreds of groups, or its selector is unlikely to be repeated.
const MAX_REVIEW_LENGTH: usize = 8 << 10;
/// Reviews without a response. They count even after all of their requests are gone.
const MAX_PENDING: usize = 256;

/// A verdict, or why there is none.
pub type ReviewResult = Result<ReviewVerdict, ReviewError>;

/// The reviews of one thread, each identified by its JSON. `R` is a request that waits.
#[derive(Debug)]
pub(super) struct ReviewCache<R> {
    verdicts: BTreeMap<Rc<str>, (Time, ReviewVerdict)>,
    /// The keys of `verdicts`, oldest first.
    by_age: VecDeque<Rc<str>>,
    /// The reviews without a response, and the requests that wait for each.
    pending: BTreeMap<Rc<str>, Vec<R>>,
    /// The pending reviews that are not sent yet.
    unsent: VecDeque<Rc<str>>,
    /// The requests that have their result, in the order of the responses. There are at most a few hundred, so removing the
    /// first one of a `Vec` is fast enough; a `VecDeque` would be more code.
    completed: Vec<(R, Rc<ReviewResult>)>,
}

impl<R> Default for ReviewCache<R> {
    fn default() -> Self {
        Self {
            verdicts: BTreeMap::new(),
            by_age: VecDeque::new(),
            pending: BTreeMap::new(),
            unsent: VecDeque::new(),
            completed: Vec::new(),
        }
    }
}

impl<R> ReviewCache<R> {
    /// The verdict of a review, if one is kept and not expired.
    pub(super) fn verdict(&self, review: &str, now: Time) -> Option<&ReviewVerdict> {
        let (received, verdict) = self.verdicts.get(review)?;
        is_fresh(*received, now).then_some(verdict)
    }

    /// Returns whether a request may wait for a review: the review is pending already, or not too many others are.
    pub(super) fn has_capacity(&self, review: &str) -> bool {
        self.pending.len() < MAX_PENDING || self.pending.contains_key(review)
    }

    /// Lets a request wait for a review.
    pub(super) fn enqueue(&mut self, review: String, request: R) {
        if let Some(requests) = self.pending.get_mut(review.as_str()) {
            return requests.push(request);
        }
        let review: Rc<str> = review.into();
        self.unsent.push_back(review.clone());
        self.pending.insert(review, vec![request]);
    }

    /// Takes out a review to send. Each is returned once.
    pub(super) fn next_unsent(&mut self) -> Option<Rc<str>> {
        self.unsent.pop_front()
    }

    /// Stores the result of a review. [`Self::next_completed`] returns the requests that waited for it.
    pub(super) fn complete(&mut self, review: &Rc<str>, result: &Rc<ReviewResult>, now: Time) {
        if let Ok(verdict) = &**result
            && review.len() <= MAX_REVIEW_LENGTH
        {
            self.keep(review.clone(), verdict.clone(), now);
        }
        let requests = self.pending.remove(review).unwrap_or_default().into_iter();
        self.completed.extend(requests.map(|request| (request, result.clone())));
    }

    /// Takes out a request that has its result. Each is returned once.
    pub(super) fn next_completed(&mut self) -> Option<(R, Rc<ReviewResult>)> {
        (!self.completed.is_empty()).then(|| self.completed.remove(0))
    }

    /// Returns whether [`Self::next_completed`] has a request to return.
    pub(super) fn has_completed(&self) -> bool {
        !self.completed.is_empty()
    }

    /// Removes requests that no longer wait. A review that was sent stays pending until its response.
    pub(super) fn cancel(&mut self, is_cancelled: impl Fn(&R) -> bool) {
        self.completed.retain(|(request, _)| !is_cancelled(request));
        let unsent = &mut self.unsent;
        self.pending.retain(|review, requests| {
            requests.retain(|request| !is_cancelled(request));
            if !requests.is_empty() {
                return true;
            }
            let before = unsent.len();
            unsent.retain(|other| other != review);
            unsent.len() == before
        });
    }

    fn keep(&mut self, review: Rc<str>, verdict: ReviewVerdict, now: Time) {
        if self.verdicts.insert(review.clone(), (now, verdict)).is_some() {
            self.by_age.retain(|other| *other != review);
        }
        self.by_age.push_back(review);
        while let Some(oldest) = self.by_age.front() {
            let is_expired = self
                .verdicts
                .get(oldest)
                .is_none_or(|(received, _)| !is_fresh(*received, now));
            if !is_expired && self.by_age.len() <= MAX_VERDICTS {
                break;
            }
            self.verdicts.remove(oldest);
            self.by_age.pop_front();
        }
    }
}

/// A time in the future means that the clock was set back. The age of the verdict is unknown then, so it is not fresh.
fn is_fresh(received: Time, now: Time) -> bool {
    received <= now && now.since(received) < TIME_TO_LIVE
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

    fn result(verdict: ReviewVerdict) -> Rc<ReviewResult> {
        Rc::new(Ok(verdict))
    }

    /// Completes a review and takes out all requests that have their result.
    fn complete<R>(reviews: &mut ReviewCache<R>, review: &str, result: &Rc<ReviewResult>, now: Time) -> Vec<R> {
        reviews.complete(&review.into(), result, now);
        std::iter::from_fn(|| reviews.next_completed())
            .map(|(request, _)| request)
            .collect()
    }

    #[test]
    fn requests_with_the_same_review_wait_for_one_response() {
        let mut reviews = ReviewCache::default();
        for (review, request) in [("a", 1), ("b", 2), ("a", 3)] {
            reviews.enqueue(review.to_owned(), request);
        }
        let (a, b) = (reviews.next_unsent().unwrap(), reviews.next_unsent().unwrap());
        assert_eq!((&*a, &*b, reviews.next_unsent()), ("a", "b", None));
        reviews.enqueue("a".into(), 4);
        assert_eq!(reviews.next_unsent(), None, "it is sent already");
        assert_eq!(
            complete(&mut reviews, &a, &result(ReviewVerdict::Allowed), T0),
            [1, 3, 4]
        );
        assert_eq!(reviews.verdict("a", T0), Some(&ReviewVerdict::Allowed));
        assert_eq!(reviews.verdict("b", T0), None);
        assert_eq!(complete(&mut reviews, &b, &result(denied()), T0), [2]);
        assert_eq!(reviews.verdict("b", T0), Some(&denied()));
    }

    #[test]
    fn a_verdict_is_kept_for_ten_seconds_and_a_failure_is_not() {
        let mut reviews = ReviewCache::<()>::default();
        reviews.complete(&"a".into(), &result(denied()), T0);
        reviews.complete(&"b".into(), &Rc::new(Err(ReviewError::NoAnswer)), T0);
        let is_kept = |reviews: &ReviewCache<()>, now| reviews.verdict("a", now).is_some();
        assert!(is_kept(&reviews, T0) && is_kept(&reviews, T0.after(Duration::from_millis(9_999))));
        assert!(!is_kept(&reviews, after(10)));
        assert!(
            !is_kept(&reviews, Time::from_unix_millis(999_999)),
            "the clock was set back"
        );
        assert_eq!(reviews.verdict("b", T0), None);
        reviews.complete(&"a".into(), &result(ReviewVerdict::Allowed), after(12));
        assert_eq!(reviews.verdict("a", after(21)), Some(&ReviewVerdict::Allowed));
    }

    #[test]
    fn the_oldest_verdicts_are_removed() {
        let mut reviews = ReviewCache::<()>::default();
        for number in 0..=MAX_VERDICTS {
            reviews.complete(&number.to_string().into(), &result(denied()), T0);
        }
        assert_eq!(
            (reviews.verdicts.len(), reviews.by_age.len()),
            (MAX_VERDICTS, MAX_VERDICTS)
        );
        assert_eq!(reviews.verdict("0", T0), None);
        assert!(reviews.verdict("1", T0).is_some());
        reviews.complete(&"last".into(), &result(denied()), after(10));
        assert_eq!(
            (reviews.verdicts.len(), reviews.by_age.len()),
            (1, 1),
            "the others were expired"
        );
        let long = "x".repeat(MAX_REVIEW_LENGTH + 1);
        reviews.complete(&long.as_str().into(), &result(ReviewVerdict::Allowed), after(10));
        assert_eq!(reviews.verdict(&long, after(10)), None);
    }

    #[test]
    fn a_verdict_that_is_received_again_is_kept_once() {
        let mut reviews = ReviewCache::<()>::default();
        for second in 0..5 {
            reviews.complete(&"a".into(), &result(denied()), after(second));
        }
        assert_eq!((reviews.verdicts.len(), reviews.by_age.len()), (1, 1));
    }

    #[test]
    fn cancelled_requests_are_removed() {
        let mut reviews = ReviewCache::default();
        for (review, request) in [("a", 1), ("a", 2), ("b", 3)] {
            reviews.enqueue(review.to_owned(), request);
        }
        let a = reviews.next_unsent().unwrap();
        reviews.cancel(|request| *request != 2);
        assert_eq!(reviews.next_unsent(), None, "no request waits for b");
        reviews.cancel(|_| true);
        assert_eq!(reviews.pending.len(), 1, "a was sent");
        reviews.enqueue("a".into(), 4);
        assert_eq!(reviews.next_unsent(), None);
        assert_eq!(complete(&mut reviews, &a, &result(ReviewVerdict::Allowed), T0), [4]);
        assert!(reviews.pending.is_empty() && reviews.unsent.is_empty());
    }

    #[test]
    fn completed_requests_are_returned_one_by_one() {
        let mut reviews = ReviewCache::default();
        for request in 1..=3 {
            reviews.enqueue("a".to_owned(), request);
        }
        reviews.enqueue("b".to_owned(), 4);
        let failed = Rc::new(Err(ReviewError::Status(503)));
        reviews.complete(&"a".into(), &result(ReviewVerdict::Allowed), T0);
        reviews.complete(&"b".into(), &failed, T0);
        assert_eq!(reviews.next_completed(), Some((1, result(ReviewVerdict::Allowed))));
        reviews.cancel(|request| *request == 2);
        assert_eq!(reviews.next_completed(), Some((3, result(ReviewVerdict::Allowed))));
        assert!(reviews.has_completed());
        assert_eq!(reviews.next_completed(), Some((4, failed)));
        assert!(!reviews.has_completed() && reviews.next_completed().is_none());
    }

    #[test]
    fn sent_reviews_count_until_their_response_even_without_requests() {
        let mut reviews = ReviewCache::default();
        for number in 0..MAX_PENDING {
            assert!(reviews.has_capacity(&number.to_string()));
            reviews.enqueue(number.to_string(), number);
        }
        let first = reviews.next_unsent().unwrap();
        while reviews.next_unsent().is_some() {}
        reviews.cancel(|_| true);
        assert!(!reviews.has_capacity("another") && reviews.has_capacity(&first));
        assert!(complete(&mut reviews, &first, &result(denied()), T0).is_empty());
        assert!(reviews.has_capacity("another"));
    }
}
