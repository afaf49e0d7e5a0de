//! Which lists are part of the picture: those that are read, and those that were until not long ago.

use super::standing::Standing;
use super::{Effect, Leader, Readable};
use crate::kube::{Reads, Source};
use crate::sync::life::Kept;
use crate::sync::poller::SourceId;
use crate::time::Time;
use std::time::Duration;

/// A list is left out before the picture would be too old because of it: threads look at its age once a second, and at
/// what is published as often.
const AHEAD: Duration = Duration::from_secs(2);

impl Leader {
    /// Notes that a list may be missing from the picture.
    pub(super) fn unreadable(&mut self, id: SourceId, source: &Source) -> Option<Effect> {
        let list = self.lists.get_mut(id.0)?;
        list.unreadable = true;
        list.shows(Readable::No)
            .then(|| Effect::ShowList(source.clone(), Readable::No))
    }

    /// Notes that it may not.
    pub(super) fn readable(&mut self, id: SourceId, source: &Source) -> Option<Effect> {
        let list = self.lists.get_mut(id.0)?;
        list.unreadable = false;
        list.shows(Readable::Yes)
            .then(|| Effect::ShowList(source.clone(), Readable::Yes))
    }

    pub(super) fn note_failure(&mut self, id: SourceId, now: Time) {
        if let Some(list) = self.lists.get_mut(id.0) {
            list.failing.get_or_insert(now);
        }
    }

    /// Forgets lists that could not be read for as long as a picture may be old: what they held would be a guess, and
    /// must not make the rest too old. Where nothing else can be read there is no rest: that is an outage, and ages.
    pub(super) fn leave_out(&mut self, now: Time) -> Vec<Effect> {
        self.leave_out_refused(now);
        let fails_alone = |place: &usize| self.fails_alone(*place, now);
        let alone: Vec<_> = (0..self.lists.len()).filter(fails_alone).map(SourceId).collect();
        let mut effects: Vec<_> = alone.iter().flat_map(|id| self.leave_out_failing(*id)).collect();
        if !effects.is_empty() {
            effects.extend(self.admit());
        }
        effects
    }

    /// A refusal is the API's word on that one list, so it needs no other to be read meanwhile.
    fn leave_out_refused(&mut self, now: Time) {
        if self.lists.iter().all(|list| list.unreadable) {
            return;
        }
        let left_out = |place: &usize| self.is_left_out(*place, now);
        let left_out: Vec<_> = (0..self.lists.len()).filter(left_out).map(SourceId).collect();
        for id in left_out {
            self.forget(id);
        }
    }

    /// Whether a list that cannot be read is too old; also where there is only what somebody else left of it, and nobody
    /// knows how old that is.
    fn is_left_out(&self, place: usize, now: Time) -> bool {
        let is_behind = self.poller.list(SourceId(place)).is_some_and(Kept::is_behind);
        let list = self.lists.get(place).filter(|list| list.unreadable);
        list.is_some_and(|list| list.read.map_or(is_behind, |read| self.is_old(read, now)))
    }

    /// Whether a list is too old because it fails, and that is of this list alone, as where a webhook that converts its
    /// kind is gone: HPAs and Services, without which there is nothing to serve, were read since it fails, and do not.
    fn fails_alone(&self, place: usize, now: Time) -> bool {
        let failing = |list: &Standing| Some((list.failing?, list.read)).filter(|_| !list.unreadable);
        let Some((since, read)) = self.lists.get(place).and_then(failing) else {
            return false;
        };
        let answers = |list: &Standing| list.failing.is_none() && list.read.is_some_and(|read| read > since);
        let is_read = |reads| {
            let mut lists = self.config.content.sources.iter().zip(&self.lists);
            lists.any(|(source, list)| source.reads == reads && answers(list))
        };
        self.is_old(read.unwrap_or(since), now) && is_read(Reads::Hpas) && is_read(Reads::Services)
    }

    fn is_old(&self, read: Time, now: Time) -> bool {
        now.since(read) >= self.config.max_staleness.saturating_sub(AHEAD)
    }

    fn leave_out_failing(&mut self, id: SourceId) -> Vec<Effect> {
        let Some(source) = self.source(id).cloned().filter(|_| self.forget(id)) else {
            return Vec::new();
        };
        let line = format!("{source} cannot be listed, and other lists can: it is left out until it can be");
        let mut effects = vec![Effect::Warn(line)];
        effects.extend(self.unreadable(id, &source));
        effects
    }

    /// Forgets what was read of a list; whether that could be. While a window is open what it brings would be taken for
    /// all that there is.
    fn forget(&mut self, id: SourceId) -> bool {
        if !self.poller.start_over(id) {
            return false;
        }
        if let Some(list) = self.lists.get_mut(id.0) {
            self.joined.note(id.0, list.forget());
            self.news = true;
        }
        true
    }
}
