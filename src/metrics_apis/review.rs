//! Reviews, as the proxy carries them out. The root context sends the questions: a stream may be gone before its answer
//! is there, and others wait for the same one.

use super::{Asked, Taken};
use crate::calls::Calls;
use crate::host;
use crate::http::View;
use crate::log;
use crate::root::unique_id;
use crate::vm;
use burst_model::sync::lease::Id;
use burst_model::view::metrics::review::{self, Access, Reviews, Unreviewed, Verdict};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The reviews of a root context and its streams.
#[derive(Default)]
pub(crate) struct Desk {
    reviews: RefCell<Reviews<Waiter>>,
    /// The questions under way, by the token of their callout.
    calls: RefCell<Calls<Rc<str>>>,
    bell: Cell<Option<u32>>,
    trouble: RefCell<Option<Unreviewed>>,
}

/// A request that waits.
struct Waiter {
    stream: u32,
    asked: Asked,
    access: Access,
}

/// Held by a stream that waits: one that goes is not answered.
pub(crate) struct Waiting {
    view: Rc<View>,
    stream: u32,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut reviews = self.view.reviews.reviews.borrow_mut();
        reviews.forget(|waiter| waiter.stream == self.stream);
    }
}

impl Desk {
    /// The verdict of a question, where it is known.
    pub(super) fn known(&self, question: &str) -> Option<Verdict> {
        self.reviews.borrow().known(question, host::now()).cloned()
    }

    /// Has the current request, of that stream, wait for the answer to a question.
    pub(super) fn wait(&self, view: &Rc<View>, question: String, stream: u32, asked: Asked, access: Access) -> Waiting {
        let waiter = Waiter { stream, asked, access };
        self.reviews.borrow_mut().wait(question, waiter);
        self.ring();
        Waiting {
            view: view.clone(),
            stream,
        }
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

/// Sends the questions that nobody has sent; by the root context.
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
                Err(Unreviewed::NotSent(format!("{reason} ({})", api.cluster))),
            ),
        }
    }
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
    true
}

fn settle(view: &View, question: &Rc<str>, outcome: Result<Verdict, Unreviewed>) {
    let verdict = outcome.as_ref().ok();
    let waiters = view.reviews.reviews.borrow_mut().settle(question, verdict, host::now());
    for waiter in waiters {
        waiter.resume(view, &outcome);
    }
    view.reviews.told(outcome);
}

impl Waiter {
    fn resume(&self, view: &View, outcome: &Result<Verdict, Unreviewed>) {
        let Some(apis) = view
            .config
            .metrics_apis
            .as_ref()
            .filter(|_| host::speak_for(self.stream))
        else {
            return;
        };
        let taken = match outcome {
            Ok(Verdict::Allowed) => self.asked.serve(view, apis),
            Ok(Verdict::Denied(reason)) => Taken::Answered(self.access.forbidden(reason)),
            Err(why) => Taken::Answered(Access::unreviewed(why)),
        };
        match taken {
            Taken::Answered(answer) => super::reply(&vm::stats(), &answer),
            Taken::Passed => host::resume(),
            Taken::Waits(_) => {}
        }
    }
}

impl Desk {
    /// One line for a change of state, not one for every failure.
    fn told(&self, outcome: Result<Verdict, Unreviewed>) {
        let stats = vm::stats();
        match &outcome {
            Ok(Verdict::Allowed) => stats.reviews_allowed.count(),
            Ok(Verdict::Denied(_)) => stats.reviews_denied.count(),
            Err(_) => stats.reviews_failed.count(),
        }
        let mut trouble = self.trouble.borrow_mut();
        let before = trouble.take();
        *trouble = outcome.err();
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
