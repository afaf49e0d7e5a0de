//! Sends SubjectAccessReviews for the streams that wait for them.
//!
//! The root context sends them, because several streams can wait for the same one, and a stream can end before the response
//! arrives.

use crate::callouts::{self, Callout, Purpose};
use crate::host::{self, CalloutAnswer};
use crate::log;
use crate::vm::{self, BulkSlot, MAX_WAITING};
use burst_metrics_api::MetricsRequest;
use burst_metrics_api::review::{self, ReviewDecision, ReviewError, ReviewVerdict, ReviewedRequest};
use burst_model::budget::Permit;
use burst_model::config::ApiConfig;
use burst_model::failure_state::FailureState;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The SubjectAccessReviews of a root context and its streams.
#[derive(Default)]
pub(super) struct ReviewSender {
    reviews: Rc<review::Authorizer<WaitPermit>>,
    /// The shared queue that wakes the root context.
    wake_queue: Cell<Option<u32>>,
    failure: RefCell<FailureState<ReviewError>>,
}

/// Kept with a request that waits for a review.
pub(super) struct WaitPermit {
    pub(super) bulk: BulkSlot,
    #[expect(dead_code, reason = "held until it is dropped")]
    permit: Permit<MAX_WAITING>,
}

/// Held by a stream that waits for a review, until the end of the stream.
#[expect(dead_code, reason = "held until they are dropped")]
pub(crate) struct PendingStream(review::PendingGuard<WaitPermit>, BulkSlot);

impl PendingStream {
    pub(super) fn new(guard: review::PendingGuard<WaitPermit>, bulk: BulkSlot) -> Self {
        Self(guard, bulk)
    }
}

impl ReviewSender {
    /// Decides about the current request, of this stream, or lets it wait. Its bulk reply has the permit in `bulk`.
    pub(super) fn authorize(
        &self,
        request: MetricsRequest,
        stream: u32,
        bulk: &BulkSlot,
    ) -> ReviewDecision<WaitPermit> {
        let permit = || {
            let bulk = bulk.clone();
            vm::permit_to_wait().map(|permit| WaitPermit { bulk, permit })
        };
        let decision = self.reviews.authorize(request, stream, permit, host::now());
        match &decision {
            ReviewDecision::Pending(_) => self.wake(),
            ReviewDecision::TooManyPending => vm::stats().count_rejected_review(),
            ReviewDecision::Allowed(_) | ReviewDecision::Denied(_) => {}
        }
        decision
    }

    /// Wakes the root context. If there is no queue for it, the next tick comes within a second.
    fn wake(&self) {
        let queue = self.wake_queue.get().or_else(vm::register_wake_queue);
        self.wake_queue.set(queue);
        if let Some(queue) = queue {
            host::wake(queue);
        }
    }

    /// Wakes the root context if requests that have their result still wait.
    pub(super) fn wake_if_completed(&self) {
        if self.reviews.has_completed() {
            self.wake();
        }
    }

    /// Queues the reviews that are not sent yet.
    pub(super) fn send(&self, api: &ApiConfig) {
        while let Some(review) = self.reviews.next_unsent() {
            callouts::queue(Callout {
                purpose: Purpose::Review(review.clone()),
                cluster: api.cluster.clone(),
                authority: api.authority.clone(),
                method: "POST",
                path: review::PATH.to_owned(),
                headers: vec![callouts::accept_json(), ("content-type", "application/json".to_owned())],
                body: Some(review),
                timeout: api.timeout,
                stream: None,
            });
        }
    }

    /// Takes the answer to a review, or why it could not be sent.
    pub(super) fn complete(&self, review: &Rc<str>, answer: Result<CalloutAnswer, String>) {
        let result = self.reviews.complete(review, answer, host::now());
        let stats = vm::stats();
        match &*result {
            Ok(ReviewVerdict::Allowed) => stats.reviews_allowed.count(),
            Ok(ReviewVerdict::Denied(_)) => stats.reviews_denied.count(),
            Err(_) => stats.reviews_failed.count(),
        }
        let outcome = result.as_ref().as_ref().map(drop).map_err(Clone::clone);
        log::state_change(
            self.failure.borrow_mut().update(outcome).as_ref(),
            "requests of the metrics APIs are refused, because they cannot be authorized",
            "the API server authorizes requests of the metrics APIs again",
        );
    }

    /// Takes out a request whose review is complete.
    pub(super) fn next_completed(&self) -> Option<ReviewedRequest<WaitPermit>> {
        self.reviews.next_completed()
    }
}
