//! Long polls: a request for all rows of a kind, with `If-None-Match` and `wait=10s`, is answered when the rows have another
//! entity tag, or when the wait is over. Most of these requests come from spokes.

use super::path::BurstPath;
use super::query::{BurstQuery, BurstView};
use super::{BurstReply, BurstRequest, answer_target, confirm, text};
use crate::config::Config;
use crate::serve::cache::ServingCache;
use crate::serve::local_reply::{LocalReply, is_tag};
use crate::time::Time;
use std::time::Duration;

/// A longer wait is cut to this.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A request that waits for a change. It keeps no rows and no headers.
#[derive(Debug)]
pub struct WaitingRequest {
    kind: Box<str>,
    view: BurstView,
    /// The entity tag of the rows that the client has.
    etag: Box<str>,
    since: Time,
    end: Time,
}

/// Answers a request for a target. It waits if it asks for that, and names one entity tag, which the rows have.
pub(super) fn answer(
    config: &Config,
    cache: &mut ServingCache,
    target: &BurstPath<'_>,
    request: BurstRequest<'_>,
    query: BurstQuery,
) -> BurstReply {
    let BurstQuery { wait, view } = query;
    let reply = answer_target(config, cache, target, &view, request.if_none_match);
    let tag = request.if_none_match.filter(|tags| reply.status == 304 && is_tag(tags));
    match (target, tag, wait) {
        (BurstPath::Bulk { kind }, Some(tag), Some(wait)) if !wait.is_zero() => BurstReply::Waiting(WaitingRequest {
            kind: (&**kind).into(),
            view,
            etag: String::from_utf8_lossy(tag).into(),
            since: request.now,
            end: request.now.after(wait.min(MAX_WAIT)),
        }),
        _ => BurstReply::Now(confirm(reply, config, cache, request.now, wait.map(|_| Duration::ZERO))),
    }
}

impl WaitingRequest {
    /// The answer, if there is one other than "not modified", or if the wait is over.
    pub fn answer(&self, config: &Config, cache: &mut ServingCache, now: Time) -> Option<LocalReply> {
        let target = BurstPath::Bulk {
            kind: (&*self.kind).into(),
        };
        let reply = answer_target(config, cache, &target, &self.view, Some(self.etag.as_bytes()));
        let waited = Some(now.since(self.since));
        (reply.status != 304 || self.is_over(now)).then(|| confirm(reply, config, cache, now, waited))
    }

    /// Returns whether the wait is over. It is if the clock was set back: the end could be far away.
    #[must_use]
    pub fn is_over(&self, now: Time) -> bool {
        now >= self.end || now < self.since
    }

    /// When the wait is over.
    #[must_use]
    pub fn end(&self) -> Time {
        self.end
    }
}

/// The reply in place of a wait if too many requests wait already.
#[must_use]
pub fn too_many_waiting(config: &Config, cache: &ServingCache, now: Time) -> LocalReply {
    let words = "too many requests wait for a change: ask again in a second, or without the parameter wait\n";
    confirm(text(429, words).with("retry-after", "1"), config, cache, now, None)
}
