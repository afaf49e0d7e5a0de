//! Which lists are part of the picture: those that are read, and those that were until not long ago.

use super::list_store::ListStore;
use super::{Effect, Leader, Readable};
use crate::kube::{ObjectKind, Source};
use crate::sync::reflector::Reflector;
use crate::sync::scheduler::SourceId;
use crate::time::Time;
use std::time::Duration;

/// A list is left out before the picture would be too old because of it: threads look at its age once a second, and at
/// what is published as often.
const AHEAD: Duration = Duration::from_secs(2);

/// HPAs and Services, without which there is nothing to serve: as long as some of both are read again and again, the API
/// server is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoreLists {
    /// Since when they are, without a break.
    since: Time,
    /// When they were read last.
    last: Time,
}

impl CoreLists {
    pub(super) fn set_back(self, last: Time, now: Time) -> Self {
        Self {
            since: self.since.set_back(last, now),
            last: self.last.set_back(last, now),
        }
    }
}

/// What becomes of a list that fails.
enum ExclusionDecision {
    /// What was read of it counts.
    Keep,
    /// It is asked once more.
    Retry,
    /// It is no part of the picture until it can be read.
    Exclude,
}

impl Leader {
    /// Notes that a list may be missing from the picture.
    pub(super) fn unreadable(&mut self, id: SourceId, source: &Source) -> Option<Effect> {
        let list = self.lists.get_mut(id.0)?;
        list.unreadable = true;
        list.shows(Readable::No)
            .then(|| Effect::SetListGauge(source.clone(), Readable::No))
    }

    /// Notes that it may not.
    pub(super) fn readable(&mut self, id: SourceId, source: &Source) -> Option<Effect> {
        let list = self.lists.get_mut(id.0)?;
        list.unreadable = false;
        list.shows(Readable::Yes)
            .then(|| Effect::SetListGauge(source.clone(), Readable::Yes))
    }

    /// Notes that a list failed, and since when that is a fault of this list alone: it was asked after the others had been
    /// read, and they are.
    pub(super) fn note_failure(&mut self, id: SourceId, now: Time) {
        let asked = self
            .scheduler
            .reflector(id)
            .map(Reflector::requested_at)
            .unwrap_or_default();
        let limit = self.limit();
        let Some(list) = self.lists.get_mut(id.0) else { return };
        // A refusal as the first word after a good one is as old as that. After an outage it is new: an API server that
        // has just begun may not know its roles yet.
        let has_failed = std::mem::replace(&mut list.failing, true);
        let is_sure = |read: &Time| list.unreadable && !has_failed && now.since(*read) < limit;
        let read = list.read_at.filter(is_sure);
        let is_alone = list.unreadable || self.core.is_some_and(|core| (core.since..=now).contains(&asked));
        list.failing_alone_since = list.failing_alone_since.or(read).or(Some(now)).filter(|_| is_alone);
        self.update_core_lists(now);
    }

    /// Looks at which lists answer. Where none does, or HPAs and Services do not, none fails alone.
    fn update_core_lists(&mut self, now: Time) {
        // As long as they are not too old themselves, with the time that an answer takes.
        let patience = self.config.max_staleness.saturating_add(self.config.api.timeout);
        let before = self.core;
        let read = self.core_read().filter(|read| now.since(*read) <= patience);
        self.core = read.map(|last| {
            let before = before.filter(|core| last.since(core.last) <= patience);
            let since = before.map_or(now, |core| core.since);
            CoreLists { since, last }
        });
        let goes_on = before.is_some_and(|before| self.core.is_some_and(|core| core.since == before.since));
        let something_works = self.something_works();
        for list in &mut self.lists {
            let may_be_alone = if list.unreadable { something_works } else { goes_on };
            list.failing_alone_since.take_if(|_| !may_be_alone);
        }
    }

    fn something_works(&self) -> bool {
        self.lists.iter().any(ListStore::answers)
    }

    /// When the HPAs and the Services were last read both, where they can be.
    fn core_read(&self) -> Option<Time> {
        let last_read = |reads| {
            let lists = self.config.content.sources.iter().zip(&self.lists);
            let lists = lists.filter(|(source, list)| source.kind == reads && list.answers());
            lists.filter_map(|(_, list)| list.read_at).max()
        };
        Some(last_read(ObjectKind::Hpas)?.min(last_read(ObjectKind::Services)?))
    }

    /// Takes over what the one before knew of them.
    pub(super) fn inherit_core(&mut self) {
        self.core = self.core_read().map(|read| CoreLists {
            since: read,
            last: read,
        });
    }

    /// Forgets lists that fail alone for as long as a picture may be old: what they held would be a guess, and must not
    /// make the rest too old. Where nothing else can be read there is no rest: that is an outage, and ages.
    pub(super) fn exclude_failing(&mut self, now: Time) -> Vec<Effect> {
        self.update_core_lists(now);
        let mut effects = Vec::new();
        for id in (0..self.lists.len()).map(SourceId) {
            match self.exclusion_decision(id, now) {
                ExclusionDecision::Keep => {}
                ExclusionDecision::Retry => self.scheduler.hurry(id, now),
                ExclusionDecision::Exclude => effects.extend(self.exclude(id)),
            }
        }
        if !effects.is_empty() {
            effects.extend(self.record_failures());
        }
        effects
    }

    /// It takes a failure of a request that was sent when it was time: a list that was asked before may be well by now.
    fn exclusion_decision(&self, id: SourceId, now: Time) -> ExclusionDecision {
        let (Some(list), Some(kept)) = (self.lists.get(id.0), self.scheduler.reflector(id)) else {
            return ExclusionDecision::Keep;
        };
        if list.unreadable && list.read_at.is_none() {
            // There may be what somebody else left of it, and nobody knows how old that is.
            let is_guess = kept.is_behind() && self.something_works();
            return if is_guess {
                ExclusionDecision::Exclude
            } else {
                ExclusionDecision::Keep
            };
        }
        let is_long_before = |at: Time| {
            list.failing_alone_since
                .is_some_and(|since| at.since(since) >= self.limit())
        };
        if !is_long_before(now) {
            return ExclusionDecision::Keep;
        }
        let asked = kept.requested_at();
        let was_asked = asked <= now && is_long_before(asked);
        match kept.pause() {
            Some(_) if was_asked || !kept.may_request(now) => ExclusionDecision::Exclude,
            _ => ExclusionDecision::Retry,
        }
    }

    /// How long a list may fail alone.
    fn limit(&self) -> Duration {
        self.config.max_staleness.saturating_sub(AHEAD)
    }

    fn exclude(&mut self, id: SourceId) -> Vec<Effect> {
        let is_told = self.lists.get(id.0).is_some_and(|list| list.unreadable);
        let Some(source) = self.source(id).cloned().filter(|_| self.forget(id) && !is_told) else {
            return Vec::new();
        };
        let line = format!("{source} cannot be listed, and other lists can: it is left out until it can be");
        let mut effects = vec![Effect::LogWarning(line)];
        effects.extend(self.unreadable(id, &source));
        effects
    }

    /// Forgets what was read of a list; whether that could be. While a window is open what it brings would be taken for
    /// all that there is.
    fn forget(&mut self, id: SourceId) -> bool {
        if !self.scheduler.relist(id) {
            return false;
        }
        if let Some(list) = self.lists.get_mut(id.0) {
            self.join.enqueue(id.0, list.forget());
            self.news = true;
        }
        true
    }
}
