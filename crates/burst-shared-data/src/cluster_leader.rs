//! The leader's work on the cluster: it runs the [`ClusterReader`], and writes what it publishes.
//!
//! Its writes are fenced by [`FencedKey`], so a deposed leader overwrites nothing. The checkpoint is the exception, because
//! leaders with other settings write its key too. See [`burst_model::records::Checkpoint`].

use crate::fenced_key::{FencedKey, Term};
use crate::garbage_collector::GarbageCollector;
use crate::leader_guard::LeaderGuard;
use crate::shared_data::{CasConflict, SharedData};
use crate::view::View;
use burst_model::cluster_reader::{ClusterReader, HttpResponse, ReadPurpose, ReadRequest, ReadResult, stream_end};
use burst_model::config::Part;
use burst_model::hash;
use burst_model::kube::{PollOutcome, Source};
use burst_model::leader::{Effect, Handover, Readable, Totals};
use burst_model::quarantine::{Item, ItemKind, Marks};
use burst_model::records::{Confirmed, PreviousKeys, Record};
use burst_model::snapshot::Snapshot;
use burst_model::sync::reflector::StreamId;
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// The leader's work on the cluster, for one term.
#[derive(Debug)]
pub struct ClusterLeader<H> {
    view: Rc<View<H>>,
    reader: ClusterReader,
    snapshot: FencedKey<H>,
    confirmed: FencedKey<H>,
    failures: FencedKey<H>,
    policies: FencedKey<H>,
    /// A snapshot that was published and that this VM does not serve yet.
    published: Option<Vec<u8>>,
    guard: LeaderGuard<H>,
    /// The checkpoint of the last leader, while it is restored.
    restoring: Option<Item>,
    garbage_collector: GarbageCollector<H>,
    /// The results that were handled, as a seed of [`Self::random`].
    results: u32,
}

/// What happens to a request of the leader.
#[derive(Debug)]
pub enum ReadEvent<'a, R> {
    /// The host refused it at once, for this reason.
    Refused(String),
    /// It was sent, and its response can be read as it arrives.
    Opened(StreamId),
    /// That response begins, and is a success.
    Accepted(StreamId),
    /// The next part of its body.
    Chunk(StreamId, &'a [u8]),
    /// The response is complete, or broken. If it was read as it arrived, this is its stream.
    Ended(Option<StreamId>, R),
    /// There was no response in time.
    TimedOut,
}

impl<R> ReadEvent<'_, R> {
    /// The answer to a request whose response is read when it is complete. `None` if it is still expected.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn into_answer(self) -> Option<Result<R, String>> {
        match self {
            Self::Refused(reason) => Some(Err(reason)),
            Self::Ended(_, response) => Some(Ok(response)),
            Self::TimedOut => Some(Err("there was no answer in time".to_owned())),
            Self::Opened(_) | Self::Accepted(_) | Self::Chunk(..) => None,
        }
    }
}

/// An effect that is no write to shared data.
#[derive(Debug)]
pub enum HostEffect {
    /// Send this request. [`ClusterLeader::on_event`] has to follow.
    Read(ReadRequest),
    /// End this stream. No event of it may follow.
    CloseStream(StreamId),
    /// Set the gauges that describe the snapshot.
    SetGauges(Totals),
    /// Set the gauge that tells whether a list can be read.
    SetListGauge(Source, Readable),
    /// Count the outcome of a request.
    CountPoll(PollOutcome),
    /// Log an error.
    LogError(String),
    /// Log a warning.
    LogWarning(String),
    /// Log that something works again.
    LogInfo(String),
}

impl<H: SharedData> ClusterLeader<H> {
    /// Begins a term with what the last leader left, under the leader's mark; [`LeaderGuard::end_work`] has to follow.
    ///
    /// # Errors
    /// Another VM leads now.
    pub fn start(view: Rc<View<H>>, term: &Rc<Term<H>>, now: Time) -> Result<Self, CasConflict> {
        let keys = &view.keys;
        let mut guard = LeaderGuard::new(keys, view.quarantine.vm());
        guard.begin_work();
        guard.observe_marks(&view.quarantine.tick(), now);
        let (snapshot, snapshot_bytes) = FencedKey::open(&keys.snapshot, term)?;
        let (confirmed, confirmed_bytes) = FencedKey::open(&keys.confirmed, term)?;
        let (failures, failures_bytes) = FencedKey::open(&keys.failures, term)?;
        let (policies, policies_bytes) = FencedKey::open(&keys.policies, term)?;
        // After an upgrade: the last leader ran a module that had other keys.
        let previous = |part: Part, key: fn(&PreviousKeys) -> &String| {
            let is_first = confirmed_bytes.is_empty() && view.config.part() == part;
            let keys = view.previous.as_ref().filter(|_| is_first);
            keys.map(|keys| H::read(key(keys)).bytes)
        };
        let snapshot_bytes = previous(Part::Snapshot, |keys| &keys.snapshot).unwrap_or(snapshot_bytes);
        let policies_bytes = previous(Part::Metrics, |keys| &keys.policies).unwrap_or(policies_bytes);
        let last_confirmed = previous(Part::Snapshot, |keys| &keys.confirmed);
        let last_confirmed = Record::from_bytes(last_confirmed.as_ref().unwrap_or(&confirmed_bytes));
        let policies_item = Item::of_bytes(ItemKind::Policies, &policies_bytes);
        let read_policies = || Record::from_bytes(&policies_bytes);
        let last_policies = match policies_bytes.is_empty() {
            true => None,
            false => view.quarantine.take(policies_item, now, read_policies).flatten(),
        };
        let handover = Handover {
            snapshot: intact_snapshot(snapshot_bytes, last_confirmed.as_ref()),
            confirmed: last_confirmed,
            checkpoint: None,
            failures: Record::from_bytes(&failures_bytes),
            policies: last_policies,
        };
        let (reader, restoring) = start_reader(&view, handover, now);
        Ok(Self {
            reader,
            snapshot,
            confirmed,
            failures,
            policies,
            published: None,
            guard,
            restoring,
            garbage_collector: GarbageCollector::new(keys, &view.config),
            results: 0,
            view,
        })
    }

    /// The leader's mark.
    pub fn guard(&self) -> &LeaderGuard<H> {
        &self.guard
    }

    /// The leader's mark, to parse what other parts of the leader read.
    pub fn guard_mut(&mut self) -> &mut LeaderGuard<H> {
        &mut self.guard
    }

    /// Takes over the marks of all VMs. Returns whether other objects are in quarantine than before.
    pub fn observe_marks(&mut self, marks: &Marks, now: Time) -> bool {
        let has_changed = self.guard.observe_marks(marks, now);
        if has_changed {
            self.reader.requeue_skipped();
        }
        has_changed
    }

    /// Returns whether no request is under way or due, so that another VM may take over.
    #[must_use]
    pub fn is_idle(&self, now: Time) -> bool {
        self.reader.is_idle(now)
    }

    /// Returns whether there is work left that waits for no response.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.reader.is_busy()
    }

    /// Called once a tick. Pass each effect to [`Self::apply`].
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        self.restore_or(ClusterReader::tick, now)
    }

    /// Does a part of the work that is left. Pass each effect to [`Self::apply`].
    pub fn advance(&mut self, now: Time) -> Vec<Effect> {
        self.restore_or(ClusterReader::advance, now)
    }

    /// Checks that the keys of the leader hold what it wrote. It writes most of them only when something changes, so it would
    /// not notice damage otherwise. The next term repairs them. This copies the snapshot, so do not call it in each tick.
    ///
    /// # Errors
    /// Another VM leads now, or something else wrote a key.
    pub fn check_keys(&self) -> Result<(), CasConflict> {
        let Self {
            snapshot,
            confirmed,
            failures,
            policies,
            ..
        } = self;
        [snapshot, confirmed, failures, policies]
            .into_iter()
            .try_for_each(FencedKey::check)
    }

    /// Empties the keys of configurations that are gone. Called once a tick.
    pub fn collect_garbage(&mut self, now: Time) {
        self.garbage_collector.tick(now);
    }

    /// Reads what streams brought, and runs a step of the reader. While it restores a checkpoint, that is marked.
    fn restore_or(&mut self, step: fn(&mut ClusterReader, Time) -> Vec<Effect>, now: Time) -> Vec<Effect> {
        if let Some(checkpoint) = self.restoring.filter(|_| self.reader.is_restoring()) {
            let quarantine = &self.view.quarantine;
            let effects = quarantine.take(checkpoint, now, || step(&mut self.reader, now));
            return effects.unwrap_or_default();
        }
        let random = self.random(now);
        let mut effects = self.reader.read_streams(&mut self.guard, now, random);
        effects.extend(step(&mut self.reader, now));
        effects
    }

    /// Handles what happened to a request. Pass each effect to [`Self::apply`].
    pub fn on_event(
        &mut self,
        purpose: ReadPurpose,
        event: ReadEvent<'_, impl HttpResponse>,
        now: Time,
    ) -> Vec<Effect> {
        match (purpose, event) {
            (ReadPurpose::List(id, _), ReadEvent::Opened(stream)) => self.reader.stream_opened(id, stream, now),
            (ReadPurpose::List(id, _), ReadEvent::Accepted(stream)) => self.reader.stream_accepted(id, stream, now),
            (ReadPurpose::List(id, _), ReadEvent::Chunk(stream, chunk)) => {
                let random = self.random(now);
                self.reader.on_chunk(id, stream, chunk, &mut self.guard, now, random)
            }
            (ReadPurpose::List(id, _), ReadEvent::Ended(Some(stream), response)) => {
                let (end, random) = (stream_end(&response), self.random(now));
                self.reader.on_stream_end(id, stream, end, &mut self.guard, now, random)
            }
            (_, ReadEvent::Ended(_, response)) => {
                let result = self.reader.parse(purpose, &response, &mut self.guard);
                // If the VM traps from here on, no object is the cause.
                self.guard.begin_work();
                self.handle(result, now)
            }
            (_, ReadEvent::Refused(reason)) => self.handle(Some(ReadResult::not_sent(purpose, reason)), now),
            (_, ReadEvent::TimedOut) => self.handle(Some(ReadResult::timed_out(purpose)), now),
            // Only a list can be a stream.
            (_, ReadEvent::Opened(stream) | ReadEvent::Accepted(stream) | ReadEvent::Chunk(stream, _)) => {
                vec![Effect::CloseStream(stream)]
            }
        }
    }

    fn handle(&mut self, result: Option<ReadResult>, now: Time) -> Vec<Effect> {
        let random = self.random(now);
        result
            .map(|result| self.reader.handle(result, now, random))
            .unwrap_or_default()
    }

    /// When changes that the reader gathers are to be published; then call [`Self::advance`].
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        self.reader.next_due()
    }

    /// Notes how long a callback of the leader took, with everything that its effects led to.
    pub fn note_cost(&mut self, cost: Duration) {
        self.reader.note_cost(cost);
    }

    /// A Wasm module has no source of randomness. A hash of the time is enough to spread the pauses of many proxies.
    fn random(&mut self, now: Time) -> u32 {
        self.results = self.results.wrapping_add(1);
        let hash = hash::of(&(now.unix_millis(), self.results));
        u32::try_from(hash >> 32).unwrap_or_default()
    }

    /// Writes the record of an effect. Returns an effect without one, which the host carries out.
    ///
    /// # Errors
    /// Another VM leads now.
    pub fn apply(&mut self, effect: Effect) -> Result<Option<HostEffect>, CasConflict> {
        match effect {
            Effect::PublishSnapshot(snapshot) => {
                self.snapshot.write(&snapshot)?;
                self.published = Some(snapshot);
            }
            Effect::PublishPolicies(policies) => self.policies.write(&policies.to_bytes())?,
            Effect::WriteCheckpoint(checkpoint) => H::overwrite(&self.view.keys.checkpoint, &checkpoint),
            Effect::RecordFailures(failures) => self.failures.write(&failures.to_bytes())?,
            Effect::Confirm(confirmed) => self.confirmed.write(&confirmed.to_bytes())?,
            Effect::Request(request) => return Ok(Some(HostEffect::Read(request.into()))),
            Effect::RequestHub(request) => return Ok(Some(HostEffect::Read(request.into()))),
            Effect::SetGauges(totals) => return Ok(Some(HostEffect::SetGauges(totals))),
            Effect::SetListGauge(source, readable) => return Ok(Some(HostEffect::SetListGauge(source, readable))),
            Effect::CountPoll(outcome) => return Ok(Some(HostEffect::CountPoll(outcome))),
            Effect::CloseStream(stream) => return Ok(Some(HostEffect::CloseStream(stream))),
            Effect::LogError(line) => return Ok(Some(HostEffect::LogError(line))),
            Effect::LogWarning(line) => return Ok(Some(HostEffect::LogWarning(line))),
            Effect::LogInfo(line) => return Ok(Some(HostEffect::LogInfo(line))),
        }
        Ok(None)
    }

    /// Takes the snapshot that was published since the last call, so that this VM need not read it from shared data.
    pub fn take_published(&mut self) -> Option<Vec<u8>> {
        self.published.take()
    }

    /// Returns whether [`Self::take_published`] has a snapshot to return.
    #[must_use]
    pub fn has_published(&self) -> bool {
        self.published.is_some()
    }

    /// Drops a part of what it holds. Returns whether there was any left.
    pub fn release(&mut self) -> bool {
        self.reader.release()
    }
}

/// The snapshot of the last leader if it is undamaged. A leader confirms a snapshot after it has written it, so one that is
/// older than the confirmation is damaged too, and a VM would never be done with reading it.
pub(crate) fn intact_snapshot(bytes: Vec<u8>, confirmed: Option<&Confirmed>) -> Option<Snapshot> {
    let snapshot = Snapshot::open_verified(bytes).ok()?;
    let is_older = confirmed.is_some_and(|confirmed| snapshot.generation() < confirmed.generation);
    (!is_older).then_some(snapshot)
}

/// Starts the reader with the checkpoint of the last leader. If that is in quarantine, the reader lists everything.
fn start_reader<H: SharedData>(view: &View<H>, handover: Handover, now: Time) -> (ClusterReader, Option<Item>) {
    let bytes = H::read(&view.keys.checkpoint).bytes;
    let checkpoint = Item::of_bytes(ItemKind::Checkpoint, &bytes);
    let is_marked = !bytes.is_empty() && view.quarantine.begin(checkpoint, now);
    let read_checkpoint = || {
        if !is_marked {
            return Vec::new();
        }
        H::before_parse(ItemKind::Checkpoint, &bytes);
        bytes
    };
    let reader = ClusterReader::new(view.config.clone(), handover, read_checkpoint, now);
    if is_marked {
        view.quarantine.end();
    }
    (reader, is_marked.then_some(checkpoint))
}
