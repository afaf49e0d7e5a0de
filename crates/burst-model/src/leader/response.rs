//! Handles the response to a request of the leader.

use super::effect::{Effect, Readable};
use super::sync_mode::ModeInUse;
use super::{Leader, MAX_ROWS};
use crate::index::Delta;
use crate::kube::{Failure, ListPage, Payload, PollOutcome, Verb, WatchBatch};
use crate::sync::reflector::{ListedObjects, ReflectorEvent};
use crate::sync::scheduler::{ScheduledRequest, SourceId};
use crate::time::Time;

/// Rows that could be joined in the time that one object takes to be parsed.
pub(super) const ROWS_PER_PARSED_OBJECT: usize = 2;

impl Leader {
    /// Takes the response to a request. `chance` is any 32 random bits.
    pub fn answer(&mut self, id: SourceId, answer: Result<Payload, Failure>, now: Time, chance: u32) -> Vec<Effect> {
        let list = self.lists.get(id.0);
        // The request of an open stream has no other answer.
        if list.is_some_and(|list| list.reflector.stream_id().is_some()) {
            return Vec::new();
        }
        let mut effects = Vec::new();
        let offers_stream = list.is_some_and(|list| list.reflector.offers_stream());
        let mode = ModeInUse::of_whole_answer(offers_stream, &self.config).filter(|_| answer.is_ok());
        effects.extend(mode.and_then(|mode| self.mode.note(mode, &self.config, now)));
        // The response was parsed in this same callback, and that took time too.
        let spent = ROWS_PER_PARSED_OBJECT * answer.as_ref().map_or(0, Payload::len);
        effects.extend(self.count_and_handle(id, answer, now, chance));
        if self.source(id).is_none() {
            return effects;
        }
        self.start_relists();
        effects.extend(self.due_requests(now));
        effects.extend(self.publish(MAX_ROWS.saturating_sub(spent), now));
        effects.extend(self.record_failures());
        self.with_closed_streams(effects)
    }

    /// Counts the outcome of a request, and handles its answer.
    pub(super) fn count_and_handle(
        &mut self,
        id: SourceId,
        answer: Result<Payload, Failure>,
        now: Time,
        chance: u32,
    ) -> Vec<Effect> {
        let outcome = match &answer {
            Ok(_) => PollOutcome::Ok,
            Err(failure) => failure.into(),
        };
        let mut effects = vec![Effect::CountPoll(outcome)];
        effects.extend(self.handle_response(id, answer, now, chance));
        effects
    }

    fn handle_response(
        &mut self,
        id: SourceId,
        answer: Result<Payload, Failure>,
        now: Time,
        chance: u32,
    ) -> Vec<Effect> {
        let was_parsed = answer.is_ok();
        let (answer, absence) = match answer {
            Err(failure) if self.is_absence(id, &failure) => (Ok(Payload::Page(ListPage::default())), Some(failure)),
            answer => (answer, None),
        };
        let event = self.scheduler.handle_response(&mut self.lists, id, answer, now, chance);
        match event {
            Some(ReflectorEvent::Request(request)) => vec![Effect::Request(ScheduledRequest { source: id, request })],
            Some(ReflectorEvent::Relisted(listed)) => self.handle_relisted(id, listed, absence.as_ref(), now),
            Some(ReflectorEvent::Updated(batch)) => self.handle_updated(id, batch, now),
            Some(ReflectorEvent::Failed {
                verb,
                failure,
                falls_back,
            }) => {
                let mut effects = Vec::new();
                if was_parsed {
                    effects.push(Effect::CountPoll((&failure).into()));
                }
                effects.extend(self.handle_failure(id, verb, &failure, falls_back, now));
                effects
            }
            // Only open streams lead to these.
            Some(ReflectorEvent::Changed(_) | ReflectorEvent::Interrupted(_) | ReflectorEvent::WatchListRefused(_))
            | None => Vec::new(),
        }
    }

    /// Returns whether a failure means that the cluster does not have the kind, and so has no objects of it.
    fn is_absence(&self, id: SourceId, failure: &Failure) -> bool {
        let list = self.lists.get(id.0);
        matches!(failure, Failure::NotFound(_))
            && list.is_some_and(|list| list.source().may_be_absent() && !list.reflector.is_watching())
    }

    pub(super) fn handle_relisted(
        &mut self,
        id: SourceId,
        listed: ListedObjects,
        absence: Option<&Failure>,
        now: Time,
    ) -> Vec<Effect> {
        let max_bytes = self.max_bytes(id);
        let Some(list) = self.lists.get_mut(id.0) else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        effects.extend(match absence {
            Some(failure) => list.report_failure(Verb::List, failure, None),
            None => list.report_recovery(Verb::List),
        });
        let resource = &list.reflector.source().resource;
        let (deltas, messages) = list.store.replace(resource, listed, max_bytes, now);
        list.record_read(now);
        let readable = match absence {
            Some(_) => Readable::No,
            None => Readable::Yes,
        };
        let gauge = list.set_readable(readable);
        effects.extend(self.record_changes(id, deltas, messages, now));
        effects.extend(gauge);
        effects
    }

    pub(super) fn handle_updated(&mut self, id: SourceId, batch: WatchBatch, now: Time) -> Vec<Effect> {
        let max_bytes = self.max_bytes(id);
        let Some(list) = self.lists.get_mut(id.0) else {
            return Vec::new();
        };
        let mut effects = Vec::from_iter(list.report_recovery(Verb::Watch));
        let resource = &list.reflector.source().resource;
        let (deltas, messages) = list.store.apply(resource, batch.changes, max_bytes, now);
        list.record_read(now);
        let gauge = list.set_readable(Readable::Yes);
        list.store.request_relist_if_partial(now);
        effects.extend(self.record_changes(id, deltas, messages, now));
        effects.extend(gauge);
        effects
    }

    pub(super) fn handle_failure(
        &mut self,
        id: SourceId,
        verb: Verb,
        failure: &Failure,
        falls_back: bool,
        now: Time,
    ) -> Vec<Effect> {
        let Some(list) = self.lists.get_mut(id.0) else {
            return Vec::new();
        };
        let fallback_interval = falls_back.then_some(self.config.poll_interval);
        let mut effects = Vec::from_iter(list.report_failure(verb, failure, fallback_interval));
        if verb == Verb::List && failure.is_refusal() {
            effects.extend(list.set_readable(Readable::No));
        }
        self.note_failure(id, now);
        effects.extend(self.exclude_failing(now));
        effects
    }

    /// Passes changes on to the join, and messages to the log.
    fn record_changes(&mut self, id: SourceId, deltas: Vec<Delta>, messages: Vec<String>, now: Time) -> Vec<Effect> {
        self.publisher.request_confirmation();
        self.join.enqueue(id.0, deltas);
        let messages = self.object_messages.lines(messages, now);
        messages.into_iter().map(Effect::LogWarning).collect()
    }
}
