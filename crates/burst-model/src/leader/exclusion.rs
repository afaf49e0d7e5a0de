//! Which lists are part of the snapshot: those that can be read, and those that could be until not long ago.

use super::Leader;
use super::effect::{Effect, Readable};
use super::watched_list::WatchedList;
use crate::kube::ObjectKind;
use crate::sync::scheduler::SourceId;
use crate::time::Time;
use std::time::Duration;

/// A list is excluded this long before the snapshot would be stale because of it: the VMs check the age of the snapshot,
/// and for a new one, once a second.
const EXCLUSION_LEAD: Duration = Duration::from_secs(2);

/// HPAs and Services, without which there is nothing to serve. While lists of both are read again and again, the API
/// server works.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoreLists {
    /// Since when they are read without a break.
    since: Time,
    last_read: Time,
}

impl CoreLists {
    pub(super) fn set_back(self, last: Time, now: Time) -> Self {
        Self {
            since: self.since.set_back(last, now),
            last_read: self.last_read.set_back(last, now),
        }
    }
}

/// What to do with a list that may be failing.
enum ExclusionDecision {
    Keep,
    /// Send one more request now.
    Retry,
    /// Exclude the list from the snapshot until it can be read again.
    Exclude,
}

impl Leader {
    /// Notes that a list failed, and since when it fails alone: its request was sent after the other lists had been read,
    /// and they still can be.
    pub(super) fn note_failure(&mut self, id: SourceId, now: Time) {
        let max_failing = self.max_failing();
        let core_lists = self.core_lists;
        let Some(list) = self.lists.get_mut(id.0) else { return };
        let requested_at = list.reflector.requested_at();
        let health = &mut list.health;
        let had_failed = std::mem::replace(&mut health.is_failing, true);
        // A refusal that directly follows a successful read counts from that read. After an outage it counts from now: an
        // API server that has just started may not know its roles yet.
        let is_first_refusal = health.is_unreadable && !had_failed;
        let read_at = list
            .store
            .read_at
            .filter(|read_at| is_first_refusal && now.since(*read_at) < max_failing);
        let is_alone =
            health.is_unreadable || core_lists.is_some_and(|core| (core.since..=now).contains(&requested_at));
        let since = health.failing_alone_since.or(read_at).or(Some(now));
        health.failing_alone_since = since.filter(|_| is_alone);
        self.update_core_lists(now);
    }

    /// Checks which lists work. If none does, or the HPAs and Services do not, no list fails alone.
    fn update_core_lists(&mut self, now: Time) {
        // They may be as old as the snapshot may be, and an answer takes time.
        let max_age = self.config.max_staleness.saturating_add(self.config.api.timeout);
        let before = self.core_lists;
        let last_read = self.core_last_read().filter(|read_at| now.since(*read_at) <= max_age);
        self.core_lists = last_read.map(|last_read| CoreLists {
            since: before
                .filter(|core| last_read.since(core.last_read) <= max_age)
                .map_or(now, |core| core.since),
            last_read,
        });
        let core_since = self.core_lists.map(|core| core.since);
        let is_unbroken = core_since.is_some() && core_since == before.map(|core| core.since);
        let is_any_healthy = self.is_any_healthy();
        for health in self.lists.iter_mut().map(|list| &mut list.health) {
            let may_fail_alone = if health.is_unreadable {
                is_any_healthy
            } else {
                is_unbroken
            };
            if !may_fail_alone {
                health.failing_alone_since = None;
            }
        }
    }

    fn is_any_healthy(&self) -> bool {
        self.lists.iter().any(WatchedList::is_healthy)
    }

    /// When both HPAs and Services were last read, if lists of both are healthy.
    fn core_last_read(&self) -> Option<Time> {
        let hpas = self.last_healthy_read(ObjectKind::Hpas)?;
        let services = self.last_healthy_read(ObjectKind::Services)?;
        Some(hpas.min(services))
    }

    fn last_healthy_read(&self, kind: ObjectKind) -> Option<Time> {
        let lists = self.lists.iter().filter(|list| list.source().kind == kind);
        lists
            .filter(|list| list.is_healthy())
            .filter_map(|list| list.store.read_at)
            .max()
    }

    /// Takes over what the last leader knew of the core lists.
    pub(super) fn restore_core_lists(&mut self) {
        self.core_lists = self.core_last_read().map(|last_read| CoreLists {
            since: last_read,
            last_read,
        });
    }

    /// Excludes lists that fail alone for as long as a snapshot may be old: their objects may be wrong by now, and their
    /// age must not make the rest stale. If no other list can be read, that is an outage, and all of the snapshot ages.
    pub(super) fn exclude_failing(&mut self, now: Time) -> Vec<Effect> {
        self.update_core_lists(now);
        let mut effects = Vec::new();
        for id in (0..self.lists.len()).map(SourceId) {
            match self.exclusion_decision(id, now) {
                ExclusionDecision::Keep => {}
                ExclusionDecision::Retry => {
                    if let Some(list) = self.lists.get_mut(id.0) {
                        list.reflector.end_pause(now);
                    }
                }
                ExclusionDecision::Exclude => effects.extend(self.exclude(id)),
            }
        }
        if !effects.is_empty() {
            effects.extend(self.record_failures());
        }
        effects
    }

    /// A list is only excluded after the failure of a request that was sent when the time was over: a list that was
    /// requested before may work by now.
    fn exclusion_decision(&self, id: SourceId, now: Time) -> ExclusionDecision {
        let Some(list) = self.lists.get(id.0) else {
            return ExclusionDecision::Keep;
        };
        let reflector = &list.reflector;
        if list.health.is_unreadable && list.store.read_at.is_none() {
            // The objects of a checkpoint may be left, and it is not known how old they are.
            return match reflector.is_behind() && self.is_any_healthy() {
                true => ExclusionDecision::Exclude,
                false => ExclusionDecision::Keep,
            };
        }
        if !self.is_over_limit(list, now) {
            return ExclusionDecision::Keep;
        }
        let requested_at = reflector.requested_at();
        let was_requested_since = requested_at <= now && self.is_over_limit(list, requested_at);
        match reflector.pause() {
            Some(_) if was_requested_since || !reflector.may_request(now) => ExclusionDecision::Exclude,
            _ => ExclusionDecision::Retry,
        }
    }

    /// Returns whether the list had failed alone for too long at that time.
    fn is_over_limit(&self, list: &WatchedList, at: Time) -> bool {
        let since = list.health.failing_alone_since;
        since.is_some_and(|since| at.since(since) >= self.max_failing())
    }

    /// How long a list may fail alone.
    fn max_failing(&self) -> Duration {
        self.config.max_staleness.saturating_sub(EXCLUSION_LEAD)
    }

    fn exclude(&mut self, id: SourceId) -> Vec<Effect> {
        let Some(list) = self.lists.get_mut(id.0) else {
            return Vec::new();
        };
        let was_unreadable = list.health.is_unreadable;
        let Some(deltas) = list.clear() else {
            return Vec::new();
        };
        self.join.enqueue(id.0, deltas);
        self.publisher.request_confirmation();
        if was_unreadable {
            return Vec::new();
        }
        let message = format!(
            "cannot list {}, while other lists work; excluding it from the snapshot until it can be listed again",
            list.source()
        );
        let mut effects = vec![Effect::LogWarning(message)];
        effects.extend(list.set_readable(Readable::No));
        effects
    }
}
