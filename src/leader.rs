//! The task of a root context while it leads: it runs the [`ClusterReader`], sends its requests, and writes what it
//! publishes into shared data.
//!
//! Its writes are fenced by [`FencedKey`], so a deposed leader overwrites nothing. The checkpoint is the exception, because
//! leaders with other settings write its key too. See [`burst_model::records::Checkpoint`].

use crate::callouts::{self, Callout, LeaderPurpose, Purpose};
use crate::host::CalloutAnswer;
use crate::metrics_apis::AdapterDiscovery;
use crate::requests::Aggregator;
use crate::shared_data::{EnvoySharedData, FencedKey, GarbageCollector, LeaderGuard, Term};
use crate::view::View;
use crate::{log, vm};
use burst_model::cluster_reader::{ClusterReader, ReadRequest, ReadResult};
use burst_model::hash;
use burst_model::leader::{Effect, Handover};
use burst_model::quarantine::{Item, ItemKind, Marks};
use burst_model::records::Record;
use burst_model::snapshot::Snapshot;
use burst_model::sync::election::Lease;
use burst_model::time::Time;
use burst_shared_data::{CasConflict, SharedData};
use std::rc::Rc;

pub(crate) struct LeaderTask {
    view: Rc<View>,
    reader: ClusterReader,
    snapshot: FencedKey,
    confirmed: FencedKey,
    failures: FencedKey,
    policies: FencedKey,
    /// A snapshot that was published and that this VM does not serve yet.
    published: Option<Vec<u8>>,
    guard: LeaderGuard,
    /// The checkpoint of the last leader, while it is restored.
    restoring: Option<Item>,
    /// If requests are counted.
    aggregator: Option<Aggregator>,
    /// If there are other adapters.
    discovery: Option<AdapterDiscovery>,
    garbage_collector: GarbageCollector,
    /// The results that were handled, as a seed of [`Self::random`].
    results: u32,
}

impl LeaderTask {
    /// Begins a term with what the last leader left. `lease` is the record that this VM has just written.
    pub(crate) fn start(view: Rc<View>, lease: &Lease, now: Time) -> Result<Self, CasConflict> {
        let keys = &view.keys;
        let mut guard = LeaderGuard::new(keys, vm::id());
        guard.begin_work();
        guard.observe_marks(&view.quarantine.tick(), now);
        let term = Rc::new(Term::new(&keys.lease, lease.holder));
        let (snapshot, snapshot_bytes) = FencedKey::open(&keys.snapshot, &term)?;
        let (confirmed, confirmed_bytes) = FencedKey::open(&keys.confirmed, &term)?;
        let (failures, failures_bytes) = FencedKey::open(&keys.failures, &term)?;
        let (policies, policies_bytes) = FencedKey::open(&keys.policies, &term)?;
        let aggregator = Aggregator::start(&view.config, &term)?;
        let discovery = AdapterDiscovery::start(&view, &term)?;
        let policies_item = Item::of_bytes(ItemKind::Policies, &policies_bytes);
        let last_policies = view
            .quarantine
            .take(policies_item, now, || Record::from_bytes(&policies_bytes));
        let handover = Handover {
            snapshot: Snapshot::open(snapshot_bytes).ok(),
            confirmed: Record::from_bytes(&confirmed_bytes),
            checkpoint: None,
            failures: Record::from_bytes(&failures_bytes),
            policies: last_policies.flatten(),
        };
        let (reader, restoring) = start_reader(&view, handover, now);
        guard.end_work();
        Ok(Self {
            reader,
            snapshot,
            confirmed,
            failures,
            policies,
            published: None,
            guard,
            restoring,
            aggregator,
            discovery,
            garbage_collector: GarbageCollector::new(keys, &view.config),
            results: 0,
            view,
        })
    }

    /// Does some work under the leader's mark. A leader that was deposed leaves the mark of its successor in place.
    pub(crate) fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), CasConflict>,
    ) -> Result<(), CasConflict> {
        self.guard.begin_work();
        work(self)?;
        self.guard.end_work();
        Ok(())
    }

    /// Takes over the marks of all VMs.
    pub(crate) fn observe_marks(&mut self, marks: &Marks, now: Time) {
        if self.guard.observe_marks(marks, now) {
            self.reader.requeue_skipped();
        }
    }

    /// Whether no request is under way or due, so that another VM may take over.
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.reader.is_idle(now)
    }

    /// Whether there is work left that waits for no response.
    pub(crate) fn is_busy(&self) -> bool {
        self.reader.is_busy()
    }

    /// Called once a tick.
    pub(crate) fn tick(&mut self, now: Time) -> Result<(), CasConflict> {
        let effects = self.restore_or(ClusterReader::tick, now);
        self.apply(effects)?;
        self.garbage_collector.tick(now);
        if let Some(aggregator) = &mut self.aggregator {
            aggregator.tick(now, &self.guard)?;
        }
        if let Some(discovery) = &mut self.discovery {
            discovery.tick(now);
        }
        Ok(())
    }

    /// Does a part of the work that is left.
    pub(crate) fn advance(&mut self, now: Time) -> Result<(), CasConflict> {
        let effects = self.restore_or(ClusterReader::advance, now);
        self.apply(effects)
    }

    /// Runs a step of the reader. While it restores a checkpoint, that is marked.
    fn restore_or(&mut self, step: fn(&mut ClusterReader, Time) -> Vec<Effect>, now: Time) -> Vec<Effect> {
        let Some(checkpoint) = self.restoring.filter(|_| self.reader.is_restoring()) else {
            return step(&mut self.reader, now);
        };
        let quarantine = &self.view.quarantine;
        quarantine
            .take(checkpoint, now, || step(&mut self.reader, now))
            .unwrap_or_default()
    }

    /// Takes the snapshot that was published since the last call, so that this VM need not read it from shared data.
    pub(crate) fn take_published(&mut self) -> Option<Vec<u8>> {
        self.published.take()
    }

    pub(crate) fn has_published(&self) -> bool {
        self.published.is_some()
    }

    /// Drops a part of what it holds. Returns whether there was any left.
    pub(crate) fn release(&mut self) -> bool {
        self.reader.release()
    }

    /// Handles the answer to a callout, or why it could not be sent.
    pub(crate) fn on_callout(
        &mut self,
        purpose: LeaderPurpose,
        answer: Result<CalloutAnswer, String>,
        now: Time,
    ) -> Result<(), CasConflict> {
        match purpose {
            LeaderPurpose::Read(purpose) => {
                let result = match answer {
                    Ok(answer) => self.reader.parse(purpose, &answer, &mut self.guard),
                    Err(reason) => Some(ReadResult::not_sent(purpose, reason)),
                };
                // If the VM traps from here on, no object is the cause.
                self.guard.begin_work();
                let random = self.random(now);
                let effects = result.map(|result| self.reader.handle(result, now, random));
                self.apply(effects.unwrap_or_default())
            }
            LeaderPurpose::AdapterResources(api) => match &mut self.discovery {
                Some(discovery) => discovery.on_callout(api, answer, &self.guard),
                None => Ok(()),
            },
            LeaderPurpose::Report => {
                if let Some(aggregator) = &mut self.aggregator {
                    aggregator.on_callout(answer);
                }
                Ok(())
            }
        }
    }

    fn apply(&mut self, effects: Vec<Effect>) -> Result<(), CasConflict> {
        for effect in effects {
            match effect {
                Effect::Request(request) => self.send(request.into()),
                Effect::RequestHub(request) => self.send(request.into()),
                Effect::PublishSnapshot(snapshot) => {
                    self.snapshot.write(&snapshot)?;
                    self.published = Some(snapshot);
                }
                Effect::PublishPolicies(policies) => self.policies.write(&policies.to_bytes())?,
                Effect::WriteCheckpoint(checkpoint) => {
                    EnvoySharedData::overwrite(&self.view.keys.checkpoint, &checkpoint)
                }
                Effect::RecordFailures(failures) => self.failures.write(&failures.to_bytes())?,
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

    fn send(&self, request: ReadRequest) {
        let api = &self.view.config.api;
        let if_none_match = request.if_none_match.map(|tag| ("if-none-match", tag));
        callouts::queue(Callout {
            purpose: Purpose::Leader(LeaderPurpose::Read(request.purpose)),
            cluster: api.cluster.clone(),
            authority: api.authority.clone(),
            method: "GET",
            path: request.path,
            headers: [callouts::accept_json()].into_iter().chain(if_none_match).collect(),
            body: None,
            timeout: api.timeout.saturating_add(request.duration),
        });
    }

    /// A Wasm module has no source of randomness. A hash of the time is enough to spread the pauses of many proxies.
    fn random(&mut self, now: Time) -> u32 {
        self.results = self.results.wrapping_add(1);
        let hash = hash::of(&(now.unix_millis(), self.results));
        u32::try_from(hash >> 32).unwrap_or_default()
    }
}

/// Starts the reader with the checkpoint of the last leader. If that is in quarantine, the reader lists everything.
fn start_reader(view: &View, handover: Handover, now: Time) -> (ClusterReader, Option<Item>) {
    let bytes = EnvoySharedData::read(&view.keys.checkpoint).bytes;
    let checkpoint = Item::of_bytes(ItemKind::Checkpoint, &bytes);
    let is_marked = !bytes.is_empty() && view.quarantine.begin(checkpoint, now);
    let read_checkpoint = || {
        if !is_marked {
            return Vec::new();
        }
        EnvoySharedData::before_parse(ItemKind::Checkpoint, &bytes);
        bytes
    };
    let reader = ClusterReader::new(view.config.clone(), handover, read_checkpoint, now);
    if is_marked {
        view.quarantine.end();
    }
    (reader, is_marked.then_some(checkpoint))
}
