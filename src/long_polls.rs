//! Requests for `/burstmetrics` that wait for a change. The model decides which may wait and what their answers are; this
//! module keeps them, and answers a few in each callback.

use crate::host;
use crate::local_reply::{self, MAX_PER_CALLBACK};
use crate::shared_data::View;
use crate::vm::{self, BulkPermit, BulkSlot, LongPollPermit};
use burst_model::serve::LocalReply;
use burst_model::serve::burst::{self, WaitingRequest};
use burst_model::time::Time;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The header-only module receives no requests. This constant lets the compiler leave out the code that answers them.
const COMPILED_OUT: bool = cfg!(feature = "header-only");

/// The requests of a root context that wait for a change.
#[derive(Default)]
pub(crate) struct LongPolls {
    /// The oldest first.
    waiting: RefCell<Vec<LongPoll>>,
    /// Whether some have an answer that could not be sent in the last callback.
    is_behind: Cell<bool>,
}

struct LongPoll {
    stream: u32,
    request: WaitingRequest,
    is_head: bool,
    bulk: BulkSlot,
    #[expect(dead_code, reason = "held until it is dropped")]
    permit: LongPollPermit,
}

/// Held by a stream whose request waits, until the end of the stream. Then the request waits no more.
pub(crate) struct LongPollGuard {
    polls: Rc<LongPolls>,
    stream: u32,
    #[expect(dead_code, reason = "held until it is dropped")]
    bulk: BulkSlot,
}

impl Drop for LongPollGuard {
    fn drop(&mut self) {
        let mut waiting = self.polls.waiting.borrow_mut();
        waiting.retain(|poll| poll.stream != self.stream);
    }
}

impl LongPolls {
    /// Lets the current request, of this stream, wait. `None` if too many wait already.
    pub(crate) fn hold(self: &Rc<Self>, request: WaitingRequest, stream: u32, is_head: bool) -> Option<LongPollGuard> {
        let Some(permit) = vm::permit_long_poll() else {
            vm::stats().count_rejected_long_poll();
            return None;
        };
        vm::stats().count_long_poll();
        let bulk = BulkSlot::default();
        self.waiting.borrow_mut().push(LongPoll {
            stream,
            request,
            is_head,
            bulk: bulk.clone(),
            permit,
        });
        Some(LongPollGuard {
            polls: self.clone(),
            stream,
            bulk,
        })
    }

    /// Answers some of the requests that have an answer. Returns whether there were any; the effective context is then that of
    /// a stream.
    pub(crate) fn answer(&self, view: &View, now: Time) -> bool {
        if COMPILED_OUT {
            return false;
        }
        self.is_behind.set(false);
        let mut next = 0;
        for answered in 0..MAX_PER_CALLBACK {
            let Some((poll, reply)) = self.take_answerable(&mut next, view, now) else {
                return answered > 0;
            };
            if host::set_effective_context(poll.stream) {
                poll.bulk.set(poll.send(&reply));
            }
        }
        self.is_behind.set(true);
        true
    }

    /// Takes out a request that has an answer, of those from the index `next` on.
    fn take_answerable(&self, next: &mut usize, view: &View, now: Time) -> Option<(LongPoll, LocalReply)> {
        let mut waiting = self.waiting.borrow_mut();
        let cache = &mut view.cache.borrow_mut();
        while let Some(poll) = waiting.get(*next) {
            match poll.request.answer(&view.config, cache, now) {
                // The bulk replies under way leave no room for this one. It waits for them.
                Some(reply) if !poll.request.is_over(now) && !poll.is_head && !local_reply::fits(&reply) => {
                    self.is_behind.set(true);
                    return None;
                }
                Some(reply) => return Some((waiting.remove(*next), reply)),
                None => *next = next.saturating_add(1),
            }
        }
        None
    }

    /// When [`Self::answer`] is to be called, if nothing changes before. `None` if no request waits.
    pub(crate) fn next_due(&self, now: Time) -> Option<Time> {
        if COMPILED_OUT {
            return None;
        }
        if self.is_behind.get() {
            return Some(now);
        }
        self.waiting.borrow().iter().map(|poll| poll.request.end()).min()
    }
}

impl LongPoll {
    /// Replies to the current stream.
    fn send(&self, reply: &LocalReply) -> Option<BulkPermit> {
        if self.is_head {
            local_reply::send(reply);
            return None;
        }
        local_reply::send_or(reply, || burst::busy(reply))
    }
}
