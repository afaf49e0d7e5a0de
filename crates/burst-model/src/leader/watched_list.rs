//! One list of the configuration: what is read and when, the objects that were read, and whether it works.

use super::effect::{Effect, Readable};
use super::health::Health;
use super::store::Store;
use crate::config::duration::DurationText;
use crate::index::Delta;
use crate::kube::{Failure, Source, Verb};
use crate::records::ListFailure;
use crate::sync::reflector::Reflector;
use crate::time::Time;
use std::time::Duration;

/// A list.
#[derive(Debug)]
pub(super) struct WatchedList {
    /// Knows the source, and when to ask for what.
    pub(super) reflector: Reflector,
    pub(super) store: Store,
    pub(super) health: Health,
}

impl AsRef<Reflector> for WatchedList {
    fn as_ref(&self) -> &Reflector {
        &self.reflector
    }
}

impl AsMut<Reflector> for WatchedList {
    fn as_mut(&mut self) -> &mut Reflector {
        &mut self.reflector
    }
}

impl WatchedList {
    pub(super) fn source(&self) -> &Source {
        self.reflector.source()
    }

    /// Returns whether the list was read and has not failed since.
    pub(super) fn is_healthy(&self) -> bool {
        self.store.read_at.is_some() && !self.health.is_failing && !self.health.is_unreadable
    }

    /// Returns whether a snapshot must wait for this list.
    pub(super) fn is_missing(&self) -> bool {
        self.store.read_at.is_none() && !self.health.is_unreadable
    }

    /// The record of a failure for the next leader.
    pub(super) fn failure_record(&self) -> ListFailure {
        self.health.to_record(self.reflector.pause_for_successor())
    }

    /// Notes that the list, or its changes, were read just now.
    pub(super) fn record_read(&mut self, now: Time) {
        self.store.read_at = Some(now);
        self.health.record_read();
    }

    /// Reports a failure, once for each change of state: one message, not one for every attempt. `fallback_interval` is
    /// the time between the lists that replace a watch from now on.
    pub(super) fn report_failure(
        &mut self,
        verb: Verb,
        failure: &Failure,
        fallback_interval: Option<Duration>,
    ) -> Option<Effect> {
        // The leader reports this once for all lists.
        if matches!(failure, Failure::NotStreamed) {
            return None;
        }
        let is_new_failure = self.health.report_failure(verb, failure.into());
        let is_new_fallback = fallback_interval.is_some() && self.health.report_fallback();
        if !is_new_failure && !is_new_fallback {
            return None;
        }
        let source = self.source();
        let advice = failure.advice(source, verb);
        let fallback = match fallback_interval {
            Some(interval) => format!("; listing it every {} instead", DurationText(interval)),
            None => String::new(),
        };
        Some(Effect::LogWarning(format!(
            "cannot {verb} {source}: {failure}; {advice}{fallback}"
        )))
    }

    /// Reports that a request succeeds which failed before.
    pub(super) fn report_recovery(&mut self, verb: Verb) -> Option<Effect> {
        let verb_ing = match verb {
            Verb::List => "listing",
            Verb::Watch => "watching",
        };
        let has_recovered = self.health.report_recovery(verb);
        has_recovered.then(|| Effect::LogInfo(format!("{verb_ing} {} works again", self.source())))
    }

    /// Notes whether the snapshot may lack the list.
    pub(super) fn set_readable(&mut self, readable: Readable) -> Option<Effect> {
        self.health.is_unreadable = readable == Readable::No;
        self.health
            .update_gauge(readable)
            .then(|| Effect::SetListGauge(self.source().clone(), readable))
    }

    /// Starts a full read if one is due. It does not while a watch is open, because the watch would bring changes of a
    /// list that is not known. Nor does it while the list is being read, because earlier pages were parsed under the
    /// old rules.
    pub(super) fn start_relist(&mut self) {
        if self.store.is_relist_due && !self.reflector.is_listing() && self.reflector.relist() {
            self.store.is_relist_due = false;
        }
    }

    /// Drops what was read, and has the list read in full. Returns `None`, and does nothing, while a watch is open: its
    /// changes would be taken for the whole list.
    pub(super) fn clear(&mut self) -> Option<Vec<Delta>> {
        if !self.reflector.relist() {
            return None;
        }
        self.health.failing_alone_since = None;
        Some(self.store.clear())
    }

    /// Corrects times that were noted before the clock was set back. Returns whether the time of the last read changed.
    pub(super) fn set_back(&mut self, last: Time, now: Time) -> bool {
        let health = &mut self.health;
        health.failing_alone_since = health.failing_alone_since.map(|since| since.set_back(last, now));
        self.reflector.set_stream_back(last, now);
        let read_at = self.store.read_at.map(|read_at| read_at.set_back(last, now));
        std::mem::replace(&mut self.store.read_at, read_at) != read_at
    }
}
