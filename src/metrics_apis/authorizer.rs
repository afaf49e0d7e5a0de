//! ReviewCache, as the proxy carries them out. The root context sends the questions: a stream may be gone before its answer
//! is there, and others wait for the same one.

use super::{Asked, Taken};
use crate::calls::Calls;
use crate::host;
use crate::http::View;
use crate::log;
use crate::root::unique_id;
use crate::streams;
use crate::vm::{self, MOST_WAITING};
use burst_metrics_api::review::{self, AccessReview, ReviewCache, ReviewError, ReviewResult, ReviewVerdict};
use burst_model::budget::Permit;
use burst_model::sync::lease::Id;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Requests that are answered in one callback. Envoy sends the replies of a callback when it is over, and each calls
/// the filter again before the next one is sent: they lie on each other on the stack, which is full at about 300.
const BATCH: usize = 8;

/// The reviews of a root context and its streams.
#[derive(Default)]
pub(crate) struct Authorizer {
    reviews: RefCell<ReviewCache<PendingRequest>>,
    /// The questions under way, by the token of their callout.
    calls: RefCell<Calls<Rc<str>>>,
    bell: Cell<Option<u32>>,
    trouble: RefCell<Option<ReviewError>>,
}

/// A request that waits.
struct PendingRequest {
    stream: u32,
    asked: Asked,
    access: AccessReview,
}

/// Held by a stream that waits: one that goes is not answered, and makes room for another one.
pub(crate) struct Waiting {
    view: Rc<View>,
    stream: u32,
    #[expect(dead_code, reason = "held until it is dropped")]
    permit: Permit<MOST_WAITING>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut reviews = self.view.reviews.reviews.borrow_mut();
        reviews.forget(|waiter| waiter.stream == self.stream);
    }
}

impl Authorizer {
    /// The verdict of a question, where it is known.
    pub(super) fn known(&self, question: &str) -> Option<ReviewVerdict> {
        self.reviews.borrow().known(question, host::now()).cloned()
    }

    /// Has the current request, of that stream, wait for the answer to a question; or refuses it, where as many wait as
    /// may.
    pub(super) fn wait(
        &self,
        view: &Rc<View>,
        question: String,
        stream: u32,
        asked: Asked,
        access: AccessReview,
    ) -> Taken {
        let has_room = self.reviews.borrow().has_room(&question);
        let Some(permit) = has_room.then(vm::permit_to_wait).flatten() else {
            vm::stats().count_rejected_review();
            return Taken::Answered(AccessReview::too_many());
        };
        let waiter = PendingRequest { stream, asked, access };
        self.reviews.borrow_mut().wait(question, waiter);
        self.ring();
        Taken::Waits(Waiting {
            view: view.clone(),
            stream,
            permit,
        })
    }

    /// Wakes the root context; where that cannot be done, its next tick comes within a second.
    fn ring(&self) {
        let make = || unique_id().and_then(|Id(id)| host::bell(&format!("burst-metrics/reviews/{id}")));
        let bell = self.bell.get().or_else(make);
        self.bell.set(bell);
        if let Some(bell) = bell {
            host::ring(bell);
        }
    }
}

/// Sends the questions that nobody has sent, and answers some of those who need not wait any more; by the root context.
pub(crate) fn send(view: &View) {
    if super::ARE_LEFT_OUT {
        return;
    }
    let api = &view.config.api;
    let next = || view.reviews.reviews.borrow_mut().next_unsent();
    while let Some(question) = next() {
        match host::post(
            &api.cluster,
            &api.authority,
            review::PATH,
            question.as_bytes(),
            api.timeout,
        ) {
            Ok(token) => view.reviews.calls.borrow_mut().insert(token, question),
            Err(reason) => settle(
                view,
                &question,
                Err(ReviewError::NotSent(format!("{reason} ({})", api.cluster))),
            ),
        }
    }
    answer_some(view);
}

/// Takes the answer to a callout, which is the current one of the host; whether it was a review's.
pub(crate) fn take(view: &View, token: u32, has_headers: bool, body_size: usize) -> bool {
    if super::ARE_LEFT_OUT {
        return false;
    }
    let Some(question) = view.reviews.calls.borrow_mut().remove(token) else {
        return false;
    };
    let outcome = review::read(host::answer_status(has_headers), &host::answer_body(body_size));
    settle(view, &question, outcome);
    answer_some(view);
    true
}

fn settle(view: &View, question: &Rc<str>, outcome: ReviewResult) {
    let outcome = Rc::new(outcome);
    view.reviews
        .reviews
        .borrow_mut()
        .settle(question, &outcome, host::now());
    view.reviews.told(&outcome);
}

/// Answers a batch of those who need not wait any more. The others have a callback of their own.
fn answer_some(view: &View) {
    for _ in 0..BATCH {
        let settled = view.reviews.reviews.borrow_mut().next_settled();
        let Some((waiter, outcome)) = settled else { return };
        waiter.resume(view, &outcome);
    }
    if view.reviews.reviews.borrow().has_settled() {
        view.reviews.ring();
    }
}

impl PendingRequest {
    fn resume(&self, view: &View, outcome: &ReviewResult) {
        let Some(apis) = view
            .config
            .metrics_apis
            .as_ref()
            .filter(|_| host::speak_for(self.stream))
        else {
            return;
        };
        let taken = match outcome {
            Ok(ReviewVerdict::Allowed) => self.asked.serve(view, apis),
            Ok(ReviewVerdict::Denied(reason)) => Taken::Answered(self.access.forbidden(reason)),
            Err(why) => Taken::Answered(AccessReview::unreviewed(why)),
        };
        let bulk = match taken {
            Taken::Answered(answer) => super::reply(&answer),
            Taken::Passed => {
                host::resume();
                None
            }
            Taken::Waits(_) => return,
        };
        streams::waits_no_more(self.stream, bulk);
    }
}

impl Authorizer {
    /// One line for a change of state, not one for every failure.
    fn told(&self, outcome: &ReviewResult) {
        let stats = vm::stats();
        match outcome {
            Ok(ReviewVerdict::Allowed) => stats.reviews_allowed.count(),
            Ok(ReviewVerdict::Denied(_)) => stats.reviews_denied.count(),
            Err(_) => stats.reviews_failed.count(),
        }
        let mut trouble = self.trouble.borrow_mut();
        let before = trouble.take();
        *trouble = outcome.as_ref().err().cloned();
        match &*trouble {
            Some(now) if before.as_ref() != Some(now) => {
                log::warn(format_args!(
                    "requests of the metrics APIs are refused, because nobody tells who may: {now}"
                ));
            }
            None if before.is_some() => log::info(format_args!("the API server tells again who may read the metrics")),
            _ => {}
        }
    }
}
