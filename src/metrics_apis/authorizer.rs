//! Sends SubjectAccessReviews, and keeps the requests that wait for them.
//!
//! The root context sends the reviews, because several streams can wait for the same one, and a stream can end before the
//! response arrives.

use crate::callouts::{self, Callout, Purpose};
use crate::host::{self, CalloutAnswer};
use crate::log;
use crate::shared_data::EnvoySharedData;
use crate::vm::{self, BulkPermit, MAX_WAITING};
use burst_metrics_api::MetricsRequest;
use burst_metrics_api::review::{self, ReviewCache, ReviewError, ReviewResult, ReviewVerdict};
use burst_model::budget::Permit;
use burst_model::cluster_reader::HttpResponse;
use burst_model::config::ApiConfig;
use burst_model::failure_state::{FailureState, StateChange};
use burst_model::serve::LocalReply;
use burst_model::sync::election::VmId;
use burst_shared_data::new_vm_id;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Requests that are answered in one callback. Envoy sends the replies of a callback when it ends, and each reply calls the
/// filter again before the next one is sent. These calls nest, and the stack is full at about 300.
pub(super) const BATCH: usize = 8;

/// The SubjectAccessReviews of a root context and its streams.
#[derive(Default)]
pub(super) struct Authorizer {
    reviews: RefCell<ReviewCache<PendingRequest>>,
    /// The shared queue that wakes the root context.
    wake_queue: Cell<Option<u32>>,
    failure: RefCell<FailureState<ReviewError>>,
}

/// A request that waits for a review.
pub(super) struct PendingRequest {
    pub(super) stream: u32,
    pub(super) request: MetricsRequest,
    /// Where the permit of a bulk reply goes; the stream holds the other end.
    pub(super) bulk: Rc<Cell<Option<BulkPermit>>>,
    #[expect(dead_code, reason = "held until it is dropped")]
    permit: Permit<MAX_WAITING>,
}

/// Held by a stream that waits for a review, until the end of the stream. Dropping it cancels a request that still waits.
pub(crate) struct PendingGuard {
    authorizer: Rc<Authorizer>,
    stream: u32,
    #[expect(dead_code, reason = "held until it is dropped")]
    bulk: Rc<Cell<Option<BulkPermit>>>,
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        let mut reviews = self.authorizer.reviews.borrow_mut();
        reviews.cancel(|pending| pending.stream == self.stream);
    }
}

impl Authorizer {
    /// The verdict of a review, if it is known.
    pub(super) fn verdict(&self, review: &str) -> Option<ReviewVerdict> {
        self.reviews.borrow().verdict(review, host::now()).cloned()
    }

    /// Lets the current request, of this stream, wait for a review. Refuses it if too many requests wait already.
    pub(super) fn enqueue(
        self: &Rc<Self>,
        review: String,
        stream: u32,
        request: MetricsRequest,
    ) -> Result<PendingGuard, LocalReply> {
        let has_capacity = self.reviews.borrow().has_capacity(&review);
        let Some(permit) = has_capacity.then(vm::permit_to_wait).flatten() else {
            vm::stats().count_rejected_review();
            return Err(review::too_many_pending());
        };
        let bulk = Rc::default();
        let pending = PendingRequest {
            stream,
            request,
            bulk: Rc::clone(&bulk),
            permit,
        };
        self.reviews.borrow_mut().enqueue(review, pending);
        self.wake();
        Ok(PendingGuard {
            authorizer: self.clone(),
            stream,
            bulk,
        })
    }

    /// Wakes the root context. If there is no queue for it, the next tick comes within a second.
    fn wake(&self) {
        let queue = self.wake_queue.get().or_else(register_wake_queue);
        self.wake_queue.set(queue);
        if let Some(queue) = queue {
            host::wake(queue);
        }
    }

    /// Wakes the root context if requests that have their result still wait.
    pub(super) fn wake_if_completed(&self) {
        if self.reviews.borrow().has_completed() {
            self.wake();
        }
    }

    /// Queues the reviews that are not sent yet.
    pub(super) fn send(&self, api: &ApiConfig) {
        while let Some(review) = self.reviews.borrow_mut().next_unsent() {
            callouts::queue(Callout {
                purpose: Purpose::Review(review.clone()),
                cluster: api.cluster.clone(),
                authority: api.authority.clone(),
                method: "POST",
                path: review::PATH.to_owned(),
                headers: vec![callouts::accept_json(), ("content-type", "application/json".to_owned())],
                body: Some(review),
                timeout: api.timeout,
            });
        }
    }

    /// Takes the answer to a review, or why it could not be sent.
    pub(super) fn complete(&self, review: &Rc<str>, answer: Result<CalloutAnswer, String>) {
        let result = match answer {
            Ok(answer) => review::read_verdict(answer.status(), &answer.body(usize::MAX)),
            Err(reason) => Err(ReviewError::NotSent(reason)),
        };
        self.report(&result);
        self.reviews
            .borrow_mut()
            .complete(review, &Rc::new(result), host::now());
    }

    /// A request that has its result, and the result.
    pub(super) fn next_completed(&self) -> Option<(PendingRequest, Rc<ReviewResult>)> {
        self.reviews.borrow_mut().next_completed()
    }

    /// Counts a result. Logs a line if the state has changed.
    fn report(&self, result: &ReviewResult) {
        let stats = vm::stats();
        match result {
            Ok(ReviewVerdict::Allowed) => stats.reviews_allowed.count(),
            Ok(ReviewVerdict::Denied(_)) => stats.reviews_denied.count(),
            Err(_) => stats.reviews_failed.count(),
        }
        let outcome = result.as_ref().map(drop).map_err(Clone::clone);
        match self.failure.borrow_mut().update(outcome) {
            Some(StateChange::Failed(failure)) => {
                log::warn(format_args!(
                    "requests of the metrics APIs are refused, because they cannot be authorized: {failure}"
                ));
            }
            Some(StateChange::Recovered) => {
                log::info(format_args!(
                    "the API server authorizes requests of the metrics APIs again"
                ));
            }
            None => {}
        }
    }
}

fn register_wake_queue() -> Option<u32> {
    let VmId(id) = new_vm_id::<EnvoySharedData>()?;
    host::wake_queue(&format!("burst-metrics/reviews/{id}"))
}
