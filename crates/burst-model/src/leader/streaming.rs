//! What a leader does with responses that are read as they come.

use super::effect::{Effect, Readable};
use super::response::ROWS_PER_PARSED_OBJECT;
use super::sync_mode::ModeInUse;
use super::{Leader, MAX_ROWS};
use crate::kube::{Failure, ObjectKind, ParseGuard, Payload, PollOutcome, Verb, WatchBatch};
use crate::sync::reflector::{ReflectorEvent, StreamId, StreamPolicy, StreamRead};
use crate::sync::scheduler::{self, ScheduledRequest, SourceId};
use crate::time::Time;
use std::time::Duration;

/// Objects that one call parses. They take two or three milliseconds of a thread that also serves requests.
const MAX_OBJECTS: usize = 250;

/// The time between two confirmations of lists that do not change.
const CONFIRMATION_INTERVAL: Duration = Duration::from_secs(5);

/// How long before the snapshot becomes stale a request replaces what a new stream does not show yet. The request lasts a
/// second, and has the default timeout of 5 s beyond that.
const PROOF_LEAD: Duration = Duration::from_secs(10);

impl Leader {
    /// Takes every response in one piece, whatever `sync.mode` is: the caller has no streams.
    #[must_use]
    pub fn without_streams(mut self) -> Self {
        for list in &mut self.lists {
            list.reflector.set_stream_policy(StreamPolicy::Never);
        }
        self
    }

    /// Takes the request of a list as a stream: its response is read as it comes.
    pub fn stream_opened(&mut self, id: SourceId, stream: StreamId, now: Time) -> Vec<Effect> {
        let list = self.lists.get_mut(id.0);
        if !list.is_some_and(|list| list.reflector.open_stream(stream, now)) {
            return vec![Effect::CloseStream(stream)];
        }
        // A stream takes no window.
        Vec::from_iter(self.due_requests(now))
    }

    /// Notes that the response of a stream begins, with status 200. The log says then that streams are in use.
    pub fn stream_accepted(&mut self, id: SourceId, stream: StreamId, now: Time) -> Vec<Effect> {
        let list = self.lists.get_mut(id.0);
        match list.is_some_and(|list| list.reflector.accept_stream(stream, now)) {
            true => Vec::from_iter(self.mode.note(ModeInUse::Streams, &self.config, now)),
            false => Vec::new(),
        }
    }

    /// Takes the next bytes of a stream, and handles as much of them as one call has time for. Bytes of a stream that was
    /// given up are ignored. `chance` is any 32 random bits.
    pub fn on_chunk(
        &mut self,
        id: SourceId,
        stream: StreamId,
        chunk: &[u8],
        guard: &mut dyn ParseGuard,
        now: Time,
        chance: u32,
    ) -> Vec<Effect> {
        let list = self.lists.get_mut(id.0);
        match list.is_some_and(|list| list.reflector.push_chunk(stream, chunk, now)) {
            true => self.read_streams(guard, now, chance),
            false => Vec::new(),
        }
    }

    /// Takes the end of a stream: complete, or why it is not.
    pub fn on_stream_end(
        &mut self,
        id: SourceId,
        stream: StreamId,
        end: Result<(), Failure>,
        guard: &mut dyn ParseGuard,
        now: Time,
        chance: u32,
    ) -> Vec<Effect> {
        let list = self.lists.get_mut(id.0);
        match list.is_some_and(|list| list.reflector.end_stream(stream, end)) {
            true => self.read_streams(guard, now, chance),
            false => Vec::new(),
        }
    }

    /// Handles a part of what streams brought, and gives up streams that do not go on.
    pub fn read_streams(&mut self, guard: &mut dyn ParseGuard, now: Time, chance: u32) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut parsed = 0;
        for id in (0..self.lists.len()).map(SourceId) {
            let is_outage = scheduler::is_outage(&self.lists);
            let Some(list) = self.lists.get_mut(id.0) else { break };
            let reflector = &mut list.reflector;
            let is_busy = reflector.is_stream_busy();
            let read = match is_busy {
                true if parsed >= MAX_OBJECTS => continue,
                true => reflector.read_stream(guard, MAX_OBJECTS.saturating_sub(parsed), now, chance),
                false => reflector.check_stream(now, chance),
            };
            if is_busy {
                guard.end();
            }
            parsed = parsed.saturating_add(read.parsed);
            self.scheduler.end_outage(&mut self.lists, is_outage, &read.events, now);
            effects.extend(self.handle_read(id, read, now, chance));
        }
        if !effects.is_empty() || parsed > 0 {
            self.start_relists();
            effects.extend(self.due_requests(now));
            let spent = ROWS_PER_PARSED_OBJECT.saturating_mul(parsed);
            effects.extend(self.publish(MAX_ROWS.saturating_sub(spent), now));
            effects.extend(self.record_failures());
        }
        self.with_closed_streams(effects)
    }

    /// Takes the response to a probe.
    pub fn on_probe(&mut self, id: SourceId, answer: Result<Payload, Failure>, now: Time, chance: u32) -> Vec<Effect> {
        let outcome = answer.as_ref().map_or_else(PollOutcome::from, |_| PollOutcome::Ok);
        let mut effects = vec![Effect::CountPoll(outcome)];
        let Some(list) = self.lists.get_mut(id.0) else {
            return effects;
        };
        let batch = answer.and_then(|payload| match payload {
            Payload::WatchBatch(batch) => Ok(batch),
            Payload::Page(_) => Err(Failure::Malformed("a page in response to a watch".into())),
        });
        let is_answered = batch.is_ok();
        let read = list.reflector.handle_probe(batch, now);
        if is_answered && !read.events.is_empty() {
            // As after any watch, also if its changes show that the stream is dead.
            list.record_read(now);
        }
        effects.extend(self.handle_read(id, read, now, chance));
        effects.extend(self.due_requests(now));
        // The next leader should know it even if this one ends before its next tick.
        self.confirm_streamed(now);
        effects.extend(self.publish(MAX_ROWS, now));
        effects.extend(self.record_failures());
        self.with_closed_streams(effects)
    }

    /// The streams that are open. A leader that is deposed leaves them to its shell to close.
    pub fn open_streams(&self) -> impl Iterator<Item = StreamId> {
        self.lists.iter().filter_map(|list| list.reflector.stream_id())
    }

    /// Notes how long a call took, with everything that its effects led to.
    pub fn note_cost(&mut self, of_call: Duration) {
        self.publisher.pacer.note_cost(of_call);
    }

    /// When the leader wants to be called, if that is before the next tick.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        let wait_until = self.publisher.pacer.wait_until()?;
        (self.is_publication_wanted() && self.is_live()).then_some(wait_until)
    }

    /// Requests that show whether silent streams are alive, and whether lists are current that would become stale before
    /// their new stream shows it.
    pub(super) fn due_probes(&mut self, now: Time) -> Vec<Effect> {
        let mut effects = Vec::new();
        let max_age = self.config.max_staleness.saturating_sub(PROOF_LEAD);
        for (index, list) in self.lists.iter_mut().enumerate() {
            let source = SourceId(index);
            let is_proof_due = list.store.read_at.is_some_and(|read_at| now.since(read_at) >= max_age);
            let probe = list.reflector.due_probe(is_proof_due, now);
            effects.extend(probe.map(|request| Effect::Request(ScheduledRequest { source, request })));
        }
        effects
    }

    /// Confirms lists that do not change: an open stream shows that they are current.
    pub(super) fn confirm_streamed(&mut self, now: Time) {
        self.update_read_times(now);
        let confirmed = self.publisher.read_at.iter().copied().chain(std::iter::repeat(None));
        let is_due = self.lists.iter().zip(confirmed).any(|(list, confirmed)| {
            let confirmed = confirmed.unwrap_or_default();
            list.reflector.is_live() && list.store.read_at >= Some(confirmed.after(CONFIRMATION_INTERVAL))
        });
        if is_due {
            self.publisher.request_confirmation();
        }
        for list in &mut self.lists {
            if list.reflector.is_live() {
                list.store.request_relist_if_partial(now);
            }
        }
    }

    /// Notes the times that open streams show.
    pub(super) fn update_read_times(&mut self, now: Time) {
        for list in &mut self.lists {
            let proven_at = list.reflector.proven_at(now);
            if let Some(proven_at) = proven_at.filter(|proven_at| Some(*proven_at) > list.store.read_at) {
                list.record_read(proven_at);
            }
        }
    }

    /// Returns whether changes of a list stream in.
    pub(super) fn is_live(&self) -> bool {
        self.lists.iter().any(|list| list.reflector.is_live())
    }

    /// Puts the streams that were given up before other effects.
    pub(super) fn with_closed_streams(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let mut closed = Vec::new();
        for list in &mut self.lists {
            closed.extend(
                list.reflector
                    .take_closed_streams()
                    .into_iter()
                    .map(Effect::CloseStream),
            );
        }
        closed.extend(effects);
        closed
    }

    fn handle_read(&mut self, id: SourceId, read: StreamRead, now: Time, chance: u32) -> Vec<Effect> {
        let mut effects = Vec::new();
        for event in read.events {
            effects.extend(self.handle_stream_event(id, event, now));
        }
        if let Some(answer) = read.answer {
            effects.extend(self.count_and_handle(id, answer, now, chance));
        }
        effects
    }

    fn handle_stream_event(&mut self, id: SourceId, event: ReflectorEvent, now: Time) -> Vec<Effect> {
        match event {
            ReflectorEvent::Relisted(listed) => {
                let mut effects = vec![Effect::CountPoll(PollOutcome::Ok)];
                effects.extend(self.handle_relisted(id, listed, None, now));
                effects
            }
            ReflectorEvent::Changed(batch) => self.handle_changed(id, batch, now),
            ReflectorEvent::Interrupted(failure) => vec![Effect::CountPoll((&failure).into())],
            ReflectorEvent::WatchListRefused(failure) => self.handle_watch_list_refused(id, &failure, now),
            ReflectorEvent::Failed {
                verb,
                failure,
                falls_back,
            } => {
                let mut effects = vec![Effect::CountPoll((&failure).into())];
                effects.extend(self.handle_failure(id, verb, &failure, falls_back, now));
                effects
            }
            ReflectorEvent::Request(request) => vec![Effect::Request(ScheduledRequest { source: id, request })],
            ReflectorEvent::Updated(batch) => self.handle_updated(id, batch, now),
        }
    }

    /// Applies changes of an open stream. They are published if they change a row.
    fn handle_changed(&mut self, id: SourceId, batch: WatchBatch, now: Time) -> Vec<Effect> {
        let max_bytes = self.max_bytes(id);
        let Some(list) = self.lists.get_mut(id.0) else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        // Until it ends, the watch after a failure brings what happened some time ago.
        if list.reflector.is_live() {
            effects.extend(list.report_recovery(Verb::Watch));
            list.record_read(now);
            effects.extend(list.set_readable(Readable::Yes));
        }
        let resource = &list.reflector.source().resource;
        let (deltas, messages) = list.store.apply(resource, batch.changes, max_bytes, now);
        if list.source().kind == ObjectKind::Policies && !deltas.is_empty() {
            self.publisher.request_confirmation();
        }
        self.join.enqueue(id.0, deltas);
        let messages = self.object_messages.lines(messages, now);
        effects.extend(messages.into_iter().map(Effect::LogWarning));
        effects
    }

    /// Has lists read in pages. One line says so if the server refuses to send any list as events.
    fn handle_watch_list_refused(&mut self, id: SourceId, failure: &Failure, now: Time) -> Vec<Effect> {
        let Failure::Unexpected(status @ (400 | 422)) = failure else {
            return vec![Effect::CountPoll(failure.into())];
        };
        let is_known = self
            .lists
            .iter()
            .enumerate()
            .any(|(index, list)| index != id.0 && list.reflector.avoids_watch_list(now));
        for list in &mut self.lists {
            list.reflector.avoid_watch_list(now);
        }
        if is_known {
            return Vec::new();
        }
        vec![Effect::LogInfo(format!(
            "the API server does not send lists as events (it answers {status} to `sendInitialEvents`; its feature gate \
             WatchList is off): listing in pages before a stream"
        ))]
    }
}
