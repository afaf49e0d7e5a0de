//! The office of the leader: the pure [`ClusterReader`] with its calls under way and its fenced writes.
//!
//! What it writes it writes by [`FencedKey`], so that one that was deposed overwrites nothing. One key is not the office's own:
//! what a successor goes on with, see [`burst_model::records::Resume`].

use crate::attic::GarbageCollector;
use crate::calls::Calls;
use crate::cluster_reader::{CalloutResponse, ClusterReader, ReadPurpose, ReadRequest, ReadResult};
use crate::host::{self, CasConflict, SharedValue};
use crate::http::View;
use crate::key::{FencedKey, Term};
use crate::log;
use crate::metrics_apis::AdapterDiscovery;
use crate::quarantine::{LeaderGuard, trap_on};
use crate::requests::Aggregator;
use crate::vm;
use burst_model::hash;
use burst_model::leader::{Effect, Handover};
use burst_model::quarantine::{Item, ItemKind, Marks};
use burst_model::records::{Record, SharedKeys};
use burst_model::snapshot::Snapshot;
use burst_model::sync::election::Lease;
use burst_model::time::Time;
use std::collections::VecDeque;
use std::rc::Rc;

/// The leader at work.
pub(crate) struct LeaderTask {
    view: Rc<View>,
    reader: ClusterReader,
    calls: Calls<ReadPurpose>,
    snapshot: FencedKey,
    /// What was published and is not served here yet.
    published: Option<Vec<u8>>,
    confirmed: FencedKey,
    /// A key that leaders of other settings write too.
    resume: String,
    troubles: FencedKey,
    policies: FencedKey,
    guard: LeaderGuard,
    /// What the last leader left, while it is read.
    checkpoint: Option<Item>,
    /// Where requests are counted.
    desk: Option<Aggregator>,
    /// Where there are other adapters.
    survey: Option<AdapterDiscovery>,
    attic: GarbageCollector,
}

impl LeaderTask {
    /// Takes over what the last leader left, with the lease that was written for it.
    pub(crate) fn start(view: Rc<View>, keys: &SharedKeys, lease: &Lease, now: Time) -> Result<Self, CasConflict> {
        let mut guard = LeaderGuard::new(keys);
        guard.begin_work();
        guard.observe_marks(&view.quarantine.tick(), now);
        let tenure = Rc::new(Term::new(&keys.lease, lease.holder));
        let (snapshot, bytes) = FencedKey::open(&keys.snapshot, &tenure)?;
        let (confirmed, confirmed_bytes) = FencedKey::open(&keys.confirmed, &tenure)?;
        let (troubles, troubles_bytes) = FencedKey::open(&keys.failures, &tenure)?;
        let (policies, policies_bytes) = FencedKey::open(&keys.policies, &tenure)?;
        let desk = Aggregator::start(&view.config, &tenure)?;
        let survey = AdapterDiscovery::take(&view.config, keys, &tenure)?;
        let attic = GarbageCollector::new(keys, &view.config);
        let told = Item::of_bytes(ItemKind::Policies, &policies_bytes);
        let told = view.quarantine.take(told, || Record::from_bytes(&policies_bytes));
        let estate = Handover {
            snapshot: Snapshot::open(bytes).ok(),
            confirmed: Record::from_bytes(&confirmed_bytes),
            checkpoint: None,
            failures: Record::from_bytes(&troubles_bytes),
            policies: told.flatten(),
        };
        let (reader, checkpoint) = begin(&view, keys, estate, now);
        guard.end_work();
        Ok(Self {
            view,
            reader,
            calls: Calls::default(),
            snapshot,
            published: None,
            confirmed,
            resume: keys.checkpoint.clone(),
            troubles,
            policies,
            guard,
            checkpoint,
            desk,
            survey,
            attic,
        })
    }

    /// Does some work, while a mark tells that this VM is at it. One that was outrun leaves its successor's mark alone.
    pub(crate) fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), CasConflict>,
    ) -> Result<(), CasConflict> {
        self.guard.begin_work();
        work(self)?;
        self.guard.end_work();
        Ok(())
    }

    /// Goes by the marks of all VMs.
    pub(crate) fn observe_marks(&mut self, marks: &Marks, now: Time) {
        if self.guard.observe_marks(marks, now) {
            self.reader.requeue_skipped();
        }
    }

    /// Goes on reading; what the last leader left is read under a mark.
    fn step(&mut self, is_tick: bool, now: Time) -> Vec<Effect> {
        let checkpoint = self.checkpoint.filter(|_| self.reader.is_restoring());
        if checkpoint.is_some_and(|checkpoint| !self.view.quarantine.begin(checkpoint)) {
            return Vec::new();
        }
        let effects = match is_tick {
            true => self.reader.tick(now),
            false => self.reader.advance(now),
        };
        if checkpoint.is_some() {
            self.view.quarantine.end();
        }
        effects
    }

    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.reader.is_idle(now)
    }

    /// Once a tick.
    pub(crate) fn tick(&mut self, now: Time) -> Result<(), CasConflict> {
        let effects = self.step(true, now);
        self.carry_out(effects, now)?;
        self.attic.tick(now);
        self.desk.as_mut().map_or(Ok(()), |desk| desk.tick(now, &self.guard))?;
        self.survey.as_mut().map_or(Ok(()), |survey| survey.tick(now))
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.reader.is_busy()
    }

    /// What was published since the last time; nobody needs to read here what is known here.
    pub(crate) fn take_published(&mut self) -> Option<Vec<u8>> {
        self.published.take()
    }

    pub(crate) fn has_published(&self) -> bool {
        self.published.is_some()
    }

    /// Lets go of a part of what it holds; whether there was any left.
    pub(crate) fn release(&mut self) -> bool {
        self.reader.release()
    }

    /// Does a part of what is left to do.
    pub(crate) fn advance(&mut self, now: Time) -> Result<(), CasConflict> {
        let effects = self.step(false, now);
        self.carry_out(effects, now)
    }

    /// Takes the answer to a callout, which is the current one of the host.
    pub(crate) fn answer(
        &mut self,
        token: u32,
        has_headers: bool,
        body_size: usize,
        now: Time,
    ) -> Result<(), CasConflict> {
        if let Some(desk) = &mut self.desk
            && desk.answer(token, has_headers, body_size)
        {
            return Ok(());
        }
        if let Some(survey) = &mut self.survey
            && survey.answer(token, has_headers, body_size, &self.guard)?
        {
            return Ok(());
        }
        let Some(call) = self.calls.remove(token) else {
            return Ok(());
        };
        let answered = CalloutResponse { has_headers, body_size };
        let Some(ended) = self.reader.read(call, answered, &mut self.guard) else {
            return Ok(());
        };
        // Whatever it dies of from here on is no object's fault.
        self.guard.begin_work();
        let effects = self.reader.take(ended, now, random(now, token));
        self.carry_out(effects, now)
    }

    fn carry_out(&mut self, effects: Vec<Effect>, now: Time) -> Result<(), CasConflict> {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Request(ask) => effects.extend(self.send(&ask.into(), now)),
                Effect::RequestHub(question) => effects.extend(self.send(&question.into(), now)),
                Effect::PublishSnapshot(snapshot) => {
                    self.snapshot.write(&snapshot)?;
                    self.published = Some(snapshot);
                }
                Effect::PublishPolicies(policies) => self.policies.write(&policies.to_bytes())?,
                Effect::WriteCheckpoint(resume) => host::overwrite(&self.resume, &resume),
                Effect::RecordFailures(troubles) => self.troubles.write(&troubles.to_bytes())?,
                Effect::SetGauges(totals) => vm::stats().show_totals(&totals),
                Effect::SetListGauge(source, readable) => vm::stats().show_list(&source, readable),
                Effect::Confirm(confirmed) => self.confirmed.write(&confirmed.to_bytes())?,
                Effect::CountPoll(outcome) => vm::stats().count_poll(outcome),
                Effect::LogWarning(line) => log::warn(format_args!("{line}")),
                Effect::LogInfo(line) => log::info(format_args!("{line}")),
            }
        }
        Ok(())
    }

    /// Sends a request; what follows where it cannot be sent.
    fn send(&mut self, request: &ReadRequest, now: Time) -> Vec<Effect> {
        let (api, if_none_match) = (&self.view.config.api, request.if_none_match.as_deref());
        let timeout = api.timeout.saturating_add(request.lasts);
        match host::get(&api.cluster, &api.authority, &request.path, if_none_match, timeout) {
            Ok(token) => {
                self.calls.insert(token, request.call);
                Vec::new()
            }
            Err(reason) => {
                let ended = ReadResult::not_sent(request.call, format!("{reason} ({})", api.cluster));
                self.reader.take(ended, now, random(now, 0))
            }
        }
    }
}

/// Begins to read, with the checkpoint of the last leader unless that is left alone: then all lists are read.
fn begin(view: &Rc<View>, keys: &SharedKeys, estate: Handover, now: Time) -> (ClusterReader, Option<Item>) {
    let left = SharedValue::read(&keys.checkpoint).bytes;
    let checkpoint = Item::of_bytes(ItemKind::Checkpoint, &left);
    let is_marked = !left.is_empty() && view.quarantine.begin(checkpoint);
    let resume = || match is_marked {
        true => {
            trap_on(ItemKind::Checkpoint, &left);
            left
        }
        false => Vec::new(),
    };
    let reader = ClusterReader::new(view.config.clone(), estate, resume, now);
    if is_marked {
        view.quarantine.end();
    }
    (reader, Some(checkpoint).filter(|_| is_marked))
}

/// A Wasm module has no source of randomness; the low bits of the time will do to spread proxies over a pause.
fn random(now: Time, token: u32) -> u32 {
    let hash = hash::of(&(now.unix_millis(), token));
    u32::try_from(hash >> 32).unwrap_or_default()
}
