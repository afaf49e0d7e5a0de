//! What a leader puts into shared data, and when.

use super::checkpoint_writer::CheckpointWriter;
use super::list_store::ListStore;
use super::{Effect, Leader, MOST_ROWS, Totals};
use crate::index::SERVICES;
use crate::kube::{Object, ObjectKind, Source};
use crate::records::{Confirmed, Failures, ListFailure};
use crate::snapshot::{Snapshot, SnapshotWriter};
use crate::sync::reflector::Reflector;
use crate::time::Time;
use std::time::Duration;

/// Often enough that the API server still knows what happened since: it keeps some minutes. More often would cost a
/// large cluster's objects each time.
const RESUME_INTERVAL: Duration = Duration::from_secs(30);

/// Rows, or objects, that are written or shared in the time that one takes to be joined.
const WRITTEN: usize = 20;

/// What is about to be published, or confirmed.
#[derive(Debug)]
pub(super) struct Draft {
    /// The snapshot, where rows changed.
    snapshot: Option<SnapshotWriter>,
    /// When what is in it was read.
    lists: Vec<Option<Time>>,
}

impl Leader {
    /// Joins what changed, and puts a snapshot where a served value did, and word of the read in any case: once every
    /// list was read or cannot be, and nothing that somebody else published is newer. That is done as far as `budget`
    /// rows go, so a large cluster takes several calls, to join, to write and to share; what is published is whole.
    pub(super) fn publish(&mut self, mut budget: usize, now: Time) -> Vec<Effect> {
        let mut effects = self.share(&mut budget);
        if self.written.is_empty() {
            self.write(&mut budget, now);
            effects.extend(self.share(&mut budget));
        }
        if self.written.is_empty() && self.draft.is_none() && self.join.is_up_to_date() {
            effects.extend(self.write_checkpoint(&mut budget, now));
        }
        effects
    }

    /// Writes what there is to publish, or to confirm.
    fn write(&mut self, budget: &mut usize, now: Time) {
        let Some(mut draft) = self.draft.take().or_else(|| self.begin(budget)) else {
            return;
        };
        if let Some(snapshot) = &mut draft.snapshot {
            let mut rows = budget.saturating_mul(WRITTEN);
            let is_whole = snapshot.advance(self.join.table(), &mut rows);
            *budget = rows / WRITTEN;
            if !is_whole {
                self.draft = Some(draft);
                return;
            }
        }
        let snapshot = draft.snapshot.and_then(|snapshot| self.published(snapshot.finish()));
        self.checkpoint_due |= self.is_checkpoint_due(snapshot.is_some(), now);
        self.written.extend(snapshot.map(Effect::PublishSnapshot));
        let policies = self.publish_policies(now);
        self.written.push(Effect::SetGauges(self.totals()));
        self.written.extend(policies);
        self.written.push(Effect::Confirm(Confirmed {
            generation: self.generation,
            lists: draft.lists,
        }));
    }

    /// What is there now, if it is joined and to be published or confirmed. Until that is written nothing else is joined.
    fn begin(&mut self, budget: &mut usize) -> Option<Draft> {
        self.changed |= self.join.advance(budget);
        if !self.join.is_up_to_date() || !self.is_due() {
            return None;
        }
        self.news = false;
        let (table, next) = (self.join.table(), self.generation.wrapping_add(1));
        Some(Draft {
            snapshot: std::mem::take(&mut self.changed).then(|| SnapshotWriter::begin(table, next)),
            lists: self.lists.iter().map(|list| list.read_at).collect(),
        })
    }

    /// Shares what was written: all of it or nothing.
    fn share(&mut self, budget: &mut usize) -> Vec<Effect> {
        let is_large = self
            .written
            .iter()
            .any(|effect| matches!(effect, Effect::PublishSnapshot(_)));
        match !is_large || spend(budget, self.rows()) {
            true => std::mem::take(&mut self.written),
            false => Vec::new(),
        }
    }

    fn rows(&self) -> usize {
        self.join.table().values().map(Vec::len).sum()
    }

    /// Whether there is something to publish, or to confirm.
    pub(super) fn is_due(&self) -> bool {
        let is_missing = |list: &ListStore| list.read_at.is_none() && !list.unreadable;
        let nothing_is_known = self.lists.iter().all(|list| list.read_at.is_none());
        let goes_back = self.content.is_some() && self.scheduler.is_behind();
        let waits = nothing_is_known || goes_back || self.lists.iter().any(is_missing);
        self.news && !waits && self.scheduler.is_between_rounds()
    }

    /// The policies, where they are others than before.
    fn publish_policies(&mut self, now: Time) -> Vec<Effect> {
        let config = self.config.clone();
        let Some(root) = config.root_namespace() else {
            return Vec::new();
        };
        let lists = self.config.content.sources.iter().zip(&self.lists);
        let lists: Vec<_> = lists
            .filter(|(source, _)| source.kind == ObjectKind::Policies)
            .collect();
        let Some(unread) = unread(&lists).filter(|_| !lists.is_empty()) else {
            return Vec::new();
        };
        let bad = unread.iter().map(|(name, line)| (name.as_str(), line.as_str()));
        let specs = lists
            .iter()
            .flat_map(|(_, list)| &list.objects)
            .filter_map(|object| match &**object {
                Object::Policy(policy) => Some(policy),
                Object::Hpa(_) | Object::Service(_) | Object::Workload(_) => None,
            });
        let bad = bad.chain(lists.iter().flat_map(|(_, list)| list.excluded.lines()));
        let (sets, lines) = self.policies.update(Some(root.as_str()), specs, bad);
        let lines = lines.into_iter().filter(|_| self.policy_lines.take(now).0);
        lines
            .map(Effect::LogWarning)
            .chain(sets.map(Effect::PublishPolicies))
            .collect()
    }

    /// A snapshot, where it is another than the one that is served.
    fn published(&mut self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let snapshot = Snapshot::open(bytes).ok()?;
        let content = Some(snapshot.content_hash());
        if content == self.content {
            return None;
        }
        (self.content, self.generation) = (content, snapshot.generation());
        Some(snapshot.into_bytes())
    }

    fn totals(&self) -> Totals {
        let count = |of: fn(&ListStore) -> usize| self.lists.iter().map(of).sum::<usize>() as u64;
        Totals {
            objects: count(|list| list.objects.len()),
            bad_objects: count(|list| list.excluded.len()),
            over_limits: count(|list| list.excluded.over()),
            services: self.join.table().get(SERVICES).map_or(0, Vec::len) as u64,
            // Nothing of it is in a module that has no policies.
            refused_policies: self
                .config
                .root_namespace()
                .map_or(0, |_| self.policies.refused() as u64),
            findings: self.join.findings(),
        }
    }

    /// Whether a successor is told anew what to go on with. Where a watch brings it what happened since, now and then is
    /// enough; a list that is read whole each time must be as new as the snapshot, or the snapshot could go back to what
    /// it was.
    fn is_checkpoint_due(&self, published: bool, now: Time) -> bool {
        if self.retains_any() {
            return false;
        }
        let is_old = |at: Time| now < at || now.since(at) >= RESUME_INTERVAL;
        let mut lists = self.lists.iter().zip(self.scheduler.reflectors());
        let watched = lists.all(|(list, kept)| kept.is_watched() || list.read_at.is_none());
        match watched {
            true => self.checkpointed_at.is_none_or(is_old),
            false => published,
        }
    }

    /// Whether an object is older than its list, which a successor would not know.
    fn retains_any(&self) -> bool {
        self.lists.iter().any(ListStore::retains_any)
    }

    /// Writes a part of what a successor goes on with, and leaves it when it is whole.
    fn write_checkpoint(&mut self, budget: &mut usize, now: Time) -> Option<Effect> {
        if self.retains_any() {
            (self.checkpoint, self.checkpoint_due) = (None, false);
            return None;
        }
        // What is begun is ended first: where everything changes all the time there would never be anything.
        if self.checkpoint.is_none() && std::mem::take(&mut self.checkpoint_due) {
            self.checkpointed_at = Some(now);
            let content = self.content.unwrap_or_default();
            self.checkpoint = Some(CheckpointWriter::new(content, self.lists.len(), self.checkpoint_length));
        }
        let bequest = self.checkpoint.as_mut()?;
        let mut most = budget.saturating_mul(WRITTEN);
        let is_whole = bequest.advance(&mut most, self.lists.iter().zip(self.scheduler.reflectors()));
        *budget = most / WRITTEN;
        if !is_whole || !spend(budget, self.lists.iter().map(|list| list.objects.len()).sum()) {
            return None;
        }
        let bytes = self.checkpoint.take()?.into_bytes();
        self.checkpoint_length = bytes.len();
        Some(Effect::WriteCheckpoint(bytes))
    }

    /// What fails, where that is not what it was.
    pub(super) fn record_failures(&mut self) -> Option<Effect> {
        let trouble = |(list, kept): (&ListStore, &Reflector)| ListFailure {
            told: list.reported_failure,
            unreadable: list.unreadable,
            unwatched: list.unwatched,
            pause: kept.pause(),
            alone: list.failing_alone_since,
        };
        let lists: Vec<_> = self
            .lists
            .iter()
            .zip(self.scheduler.reflectors())
            .map(trouble)
            .collect();
        let is_well = lists.iter().all(|list| *list == ListFailure::default());
        let troubles = Failures {
            lists: if is_well { Vec::new() } else { lists },
        };
        if troubles == self.recorded_failures {
            return None;
        }
        self.recorded_failures = troubles.clone();
        Some(Effect::RecordFailures(troubles))
    }
}

/// The namespaces whose policies may not be read, as names of bad objects in them: such a list says nothing, and not that
/// there is no policy. `None` where it is of all namespaces.
fn unread(lists: &[(&Source, &ListStore)]) -> Option<Vec<(String, String)>> {
    let unread = lists.iter().filter(|(_, list)| list.read_at.is_none());
    let bad = |(source, _): &(&Source, _)| {
        let namespace = source.namespace.as_ref()?;
        Some((format!("{namespace}/"), format!("cannot list {source}")))
    };
    unread.map(bad).collect()
}

/// Takes the writing, or sharing, of so many rows from what may be done; whether that is possible. It always is where
/// nothing else was done.
fn spend(budget: &mut usize, written: usize) -> bool {
    let cost = written / WRITTEN;
    let may = *budget == MOST_ROWS || cost <= *budget;
    if may {
        *budget = budget.saturating_sub(cost);
    }
    may
}
