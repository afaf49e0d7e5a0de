//! Sends SubjectAccessReviews, and answers the requests that wait for them.
//!
//! The root context sends the reviews, because several streams can wait for the same one, and a stream can end before the
//! response arrives.

use super::Disposition;
use crate::calls::Calls;
use crate::host;
use crate::http::View;
use crate::log;
use crate::root::unique_id;
use crate::streams;
use crate::vm::{self, MOST_WAITING};
use burst_metrics_api::MetricsRequest;
use burst_metrics_api::review::{self, AccessReview, ReviewCache, ReviewError, ReviewResult, ReviewVerdict};
use burst_model::budget::Permit;
use burst_model::sync::election::VmId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Requests that are answered in one callback. Envoy sends the replies of a callback when it ends, and each reply calls the
/// filter again before the next one is sent. These calls nest, and the stack is full at about 300.
const BATCH: usize = 8;

/// The SubjectAccessReviews of a root context and its streams.
#[derive(Default)]
pub(crate) struct Authorizer {
    cache: RefCell<ReviewCache<PendingRequest>>,
    /// The reviews that were sent, by the token of their callout.
    calls: RefCell<Calls<Rc<str>>>,
    /// The shared queue that wakes the root context.
    wake_queue: Cell<Option<u32>>,
    /// Why the last review failed, if it did.
    last_error: RefCell<Option<ReviewError>>,
}

/// A request that waits for a review.
struct PendingRequest {
    stream: u32,
    request: MetricsRequest,
}

/// Held by a stream that waits for a review. Dropping it cancels the request and releases its permit.
pub(crate) struct PendingGuard {
    view: Rc<View>,
    stream: u32,
    #[expect(dead_code, reason = "held until it is dropped")]
    permit: Permit<MOST_WAITING>,
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        let mut cache = self.view.reviews.cache.borrow_mut();
        cache.cancel(|request| request.stream == self.stream);
    }
}

impl Authorizer {
    /// The verdict of a review, if it is known.
    pub(super) fn verdict(&self, review: &str) -> Option<ReviewVerdict> {
        self.cache.borrow().verdict(review, host::now()).cloned()
    }

    /// Lets the current request, of this stream, wait for a review. Refuses it if too many requests wait already.
    pub(super) fn enqueue(&self, view: &Rc<View>, review: String, stream: u32, request: MetricsRequest) -> Disposition {
        let has_capacity = self.cache.borrow().has_capacity(&review);
        let Some(permit) = has_capacity.then(vm::permit_to_wait).flatten() else {
            vm::stats().count_rejected_review();
            return Disposition::Answered(review::too_many_pending());
        };
        let pending = PendingRequest { stream, request };
        self.cache.borrow_mut().enqueue(review, pending);
        self.wake();
        Disposition::Pending(PendingGuard {
            view: view.clone(),
            stream,
            permit,
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
}

fn register_wake_queue() -> Option<u32> {
    let VmId(id) = unique_id()?;
    host::wake_queue(&format!("burst-metrics/reviews/{id}"))
}

/// Sends the reviews that are not sent yet, and answers a batch of requests that have their result. The root context calls
/// it.
pub(crate) fn send(view: &View) {
    if super::COMPILED_OUT {
        return;
    }
    let api = &view.config.api;
    while let Some(review) = next_unsent(view) {
        match host::post(
            &api.cluster,
            &api.authority,
            review::PATH,
            review.as_bytes(),
            api.timeout,
        ) {
            Ok(token) => view.reviews.calls.borrow_mut().insert(token, review),
            Err(reason) => {
                let error = ReviewError::NotSent(format!("{reason} ({})", api.cluster));
                complete(view, &review, Err(error));
            }
        }
    }
    answer_batch(view);
}

/// A function, so that the cache is not borrowed while the host is called.
fn next_unsent(view: &View) -> Option<Rc<str>> {
    view.reviews.cache.borrow_mut().next_unsent()
}

/// Handles the response to a callout, which is the current one of the host. Returns whether it was that of a review.
pub(crate) fn take(view: &View, token: u32, has_headers: bool, body_size: usize) -> bool {
    if super::COMPILED_OUT {
        return false;
    }
    let Some(review) = view.reviews.calls.borrow_mut().remove(token) else {
        return false;
    };
    let result = review::read_verdict(host::callout_status(has_headers), &host::callout_body(body_size));
    complete(view, &review, result);
    answer_batch(view);
    true
}

fn complete(view: &View, review: &Rc<str>, result: ReviewResult) {
    let result = Rc::new(result);
    view.reviews.cache.borrow_mut().complete(review, &result, host::now());
    view.reviews.report(&result);
}

/// Answers a batch of the requests that have their result. The others are answered in a callback of their own.
fn answer_batch(view: &View) {
    for _ in 0..BATCH {
        let completed = view.reviews.cache.borrow_mut().next_completed();
        let Some((pending, result)) = completed else { return };
        pending.resume(view, &result);
    }
    if view.reviews.cache.borrow().has_completed() {
        view.reviews.wake();
    }
}

impl PendingRequest {
    fn resume(&self, view: &View, result: &ReviewResult) {
        let Some(apis) = &view.config.metrics_apis else { return };
        if !host::set_effective_context(self.stream) {
            return;
        }
        let disposition = match result {
            Ok(ReviewVerdict::Allowed) => super::serve(&self.request, view, apis),
            Ok(ReviewVerdict::Denied(reason)) => {
                Disposition::Answered(AccessReview::of(&self.request).forbidden(reason))
            }
            Err(error) => Disposition::Answered(review::review_failed(error)),
        };
        let bulk = match disposition {
            Disposition::Answered(answer) => super::reply(&answer),
            Disposition::Delegated => {
                host::resume();
                None
            }
            Disposition::Pending(_) => return,
        };
        streams::waits_no_more(self.stream, bulk);
    }
}

impl Authorizer {
    /// Counts a result. Logs a line only if the reason for a failure changes.
    fn report(&self, result: &ReviewResult) {
        let stats = vm::stats();
        match result {
            Ok(ReviewVerdict::Allowed) => stats.reviews_allowed.count(),
            Ok(ReviewVerdict::Denied(_)) => stats.reviews_denied.count(),
            Err(_) => stats.reviews_failed.count(),
        }
        let error = result.as_ref().err();
        let previous = self.last_error.replace(error.cloned());
        match error {
            Some(error) if previous.as_ref() != Some(error) => {
                log::warn(format_args!(
                    "requests of the metrics APIs are refused, because they cannot be authorized: {error}"
                ));
            }
            None if previous.is_some() => {
                log::info(format_args!(
                    "the API server authorizes requests of the metrics APIs again"
                ));
            }
            _ => {}
        }
    }
}
