//! Authorizes requests by SubjectAccessReviews, and keeps the requests that wait for one.
//!
//! Several requests can wait for the same review, and a request can end before the response arrives.

use super::AccessReview;
use super::review_cache::{ReviewCache, ReviewResult};
use super::verdict::{ReviewError, ReviewVerdict, read_verdict};
use crate::request::MetricsRequest;
use burst_model::cluster_reader::HttpResponse;
use burst_model::serve::LocalReply;
use burst_model::time::Time;
use std::cell::RefCell;
use std::rc::Rc;

/// The reviews of one thread. `P` is what the caller keeps with a request for as long as it waits.
#[derive(Debug)]
pub struct Authorizer<P> {
    reviews: RefCell<ReviewCache<PendingRequest<P>>>,
}

/// Whether a request is authorized.
#[derive(Debug)]
pub enum ReviewDecision<P> {
    /// The user has permission.
    Allowed(Box<MetricsRequest>),
    /// The user has no permission; this is the answer.
    Denied(LocalReply),
    /// The request waits for a review. [`Authorizer::next_completed`] returns it later.
    Pending(PendingGuard<P>),
    /// Too many requests wait already. The answer is [`too_many_pending`](super::too_many_pending).
    TooManyPending,
}

/// A request that waits.
#[derive(Debug)]
struct PendingRequest<P> {
    stream: u32,
    request: MetricsRequest,
    permit: P,
}

/// A request whose review is complete.
#[derive(Debug)]
pub struct ReviewedRequest<P> {
    /// The stream of the request.
    pub stream: u32,
    /// The request if it is allowed, or else the answer.
    pub outcome: Result<MetricsRequest, LocalReply>,
    /// What the caller kept with the request.
    pub permit: P,
}

/// Belongs to a stream whose request waits for a review. Dropping it cancels a request that still waits.
#[derive(Debug)]
pub struct PendingGuard<P> {
    authorizer: Rc<Authorizer<P>>,
    stream: u32,
}

impl<P> Drop for PendingGuard<P> {
    fn drop(&mut self) {
        let mut reviews = self.authorizer.reviews.borrow_mut();
        reviews.cancel(|pending| pending.stream == self.stream);
    }
}

impl<P> Default for Authorizer<P> {
    fn default() -> Self {
        Self {
            reviews: RefCell::default(),
        }
    }
}

impl<P> Authorizer<P> {
    /// Decides about the request of a stream, or lets it wait. `permit` returns `None` if no further request may wait.
    pub fn authorize(
        self: &Rc<Self>,
        request: MetricsRequest,
        stream: u32,
        permit: impl FnOnce() -> Option<P>,
        now: Time,
    ) -> ReviewDecision<P> {
        let review = AccessReview::of(&request);
        if review.is_exempt() {
            return ReviewDecision::Allowed(request.into());
        }
        let json = review.to_json();
        let mut reviews = self.reviews.borrow_mut();
        match reviews.verdict(&json, now) {
            Some(ReviewVerdict::Denied(reason)) => return ReviewDecision::Denied(review.forbidden(reason)),
            Some(ReviewVerdict::Allowed) => return ReviewDecision::Allowed(request.into()),
            None => {}
        }
        let Some(permit) = reviews.has_capacity(&json).then(permit).flatten() else {
            return ReviewDecision::TooManyPending;
        };
        let pending = PendingRequest {
            stream,
            request,
            permit,
        };
        reviews.enqueue(json, pending);
        ReviewDecision::Pending(PendingGuard {
            authorizer: self.clone(),
            stream,
        })
    }

    /// Takes out a review to send to [`PATH`](super::PATH). Each is returned once.
    pub fn next_unsent(&self) -> Option<Rc<str>> {
        self.reviews.borrow_mut().next_unsent()
    }

    /// Takes the answer to a review, or why it could not be sent. Returns the result.
    pub fn complete(&self, review: &Rc<str>, answer: Result<impl HttpResponse, String>, now: Time) -> Rc<ReviewResult> {
        let result = Rc::new(match answer {
            Ok(answer) => read_verdict(answer.status(), &answer.body(usize::MAX)),
            Err(reason) => Err(ReviewError::NotSent(reason)),
        });
        self.reviews.borrow_mut().complete(review, &result, now);
        result
    }

    /// Takes out a request whose review is complete. Each is returned once.
    pub fn next_completed(&self) -> Option<ReviewedRequest<P>> {
        let (pending, result) = self.reviews.borrow_mut().next_completed()?;
        let PendingRequest {
            stream,
            request,
            permit,
        } = pending;
        let outcome = match &*result {
            Ok(ReviewVerdict::Allowed) => Ok(request),
            Ok(ReviewVerdict::Denied(reason)) => Err(AccessReview::of(&request).forbidden(reason)),
            Err(error) => Err(AccessReview::of(&request).failed(error)),
        };
        Some(ReviewedRequest {
            stream,
            outcome,
            permit,
        })
    }

    /// Returns whether [`Self::next_completed`] has a request to return.
    #[must_use]
    pub fn has_completed(&self) -> bool {
        self.reviews.borrow().has_completed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::answer::Answer;
    use burst_model::config::Authorization;

    const NOW: Time = Time::from_unix_millis(1_000_000);
    const ALLOWED: Answer<'_> = Answer(201, r#"{"kind":"SubjectAccessReview","status":{"allowed":true}}"#);
    const DENIED: Answer<'_> = Answer(
        201,
        r#"{"kind":"SubjectAccessReview","status":{"allowed":false,"reason":"RBAC"}}"#,
    );

    fn request(user: &str) -> MetricsRequest {
        let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/burst_headroom";
        let headers = [(":method", "GET"), (":path", path), ("x-remote-user", user)];
        let headers = headers.map(|(name, value)| (name, value.as_bytes()));
        MetricsRequest::parse(headers, Authorization::SubjectAccessReview).unwrap()
    }

    fn wait(authorizer: &Rc<Authorizer<()>>, user: &str, stream: u32) -> PendingGuard<()> {
        match authorizer.authorize(request(user), stream, || Some(()), NOW) {
            ReviewDecision::Pending(guard) => guard,
            other => panic!("{other:?}"),
        }
    }

    /// The streams that are answered, and the status of each; 0 for a request that is allowed.
    fn completed(authorizer: &Authorizer<()>) -> Vec<(u32, u16)> {
        let status =
            |reviewed: ReviewedRequest<()>| (reviewed.stream, reviewed.outcome.map_or_else(|r| r.status, |_| 0));
        std::iter::from_fn(|| authorizer.next_completed().map(status)).collect()
    }

    #[test]
    fn streams_of_one_user_wait_for_one_review_and_the_next_request_is_decided_at_once() {
        let authorizer = Rc::default();
        let _guards = [wait(&authorizer, "alice", 1), wait(&authorizer, "alice", 2)];
        let review = authorizer.next_unsent().unwrap();
        assert!(review.contains("alice") && authorizer.next_unsent().is_none());
        assert!(!authorizer.has_completed());
        assert_eq!(
            *authorizer.complete(&review, Ok(ALLOWED), NOW),
            Ok(ReviewVerdict::Allowed)
        );
        assert_eq!(completed(&authorizer), [(1, 0), (2, 0)]);
        let third = authorizer.authorize(request("alice"), 3, || None, NOW);
        assert!(matches!(third, ReviewDecision::Allowed(_)), "{third:?}");
    }

    #[test]
    fn a_denied_user_gets_403_before_and_after_the_verdict_is_known() {
        let authorizer = Rc::default();
        let _guard = wait(&authorizer, "mallory", 1);
        let review = authorizer.next_unsent().unwrap();
        authorizer.complete(&review, Ok(DENIED), NOW);
        assert_eq!(completed(&authorizer), [(1, 403)]);
        match authorizer.authorize(request("mallory"), 2, || Some(()), NOW) {
            ReviewDecision::Denied(reply) => assert_eq!(reply.status, 403),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_review_that_failed_is_an_error_and_the_next_request_asks_again() {
        let authorizer = Rc::default();
        let _guard = wait(&authorizer, "alice", 1);
        let review = authorizer.next_unsent().unwrap();
        authorizer.complete(&review, Err::<Answer<'_>, _>("no host".to_owned()), NOW);
        assert_eq!(completed(&authorizer), [(1, 500)]);
        let _guard = wait(&authorizer, "alice", 2);
        assert!(authorizer.next_unsent().is_some());
    }

    #[test]
    fn a_stream_that_ends_is_not_answered() {
        let authorizer = Rc::default();
        let (first, second) = (wait(&authorizer, "alice", 1), wait(&authorizer, "alice", 2));
        let review = authorizer.next_unsent().unwrap();
        drop(first);
        authorizer.complete(&review, Ok(ALLOWED), NOW);
        assert_eq!(completed(&authorizer), [(2, 0)]);
        drop(second);
    }

    #[test]
    fn a_request_without_a_permit_does_not_wait_and_no_review_is_sent() {
        let authorizer: Rc<Authorizer<()>> = Rc::default();
        let decision = authorizer.authorize(request("alice"), 1, || None, NOW);
        assert!(matches!(decision, ReviewDecision::TooManyPending), "{decision:?}");
        assert!(authorizer.next_unsent().is_none());
    }
}
