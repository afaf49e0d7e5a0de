//! Publication: the leader writes snapshots, confirmations and policies to shared data for the VMs that serve.

use super::effect::{Effect, Totals};
use super::pacing::PublicationPacer;
use super::watched_list::WatchedList;
use super::{Leader, MAX_ROWS};
use crate::index::SERVICES;
use crate::kube::{Object, ObjectKind, PolicyObject};
use crate::records::{Confirmed, Failures, ListFailure};
use crate::snapshot::{Snapshot, SnapshotWriter};
use crate::sync::scheduler;
use crate::time::Time;
use std::rc::Rc;

/// Rows, or objects, that are written or shared in the time that one row takes to be joined.
const WRITES_PER_JOIN: usize = 20;

/// The last publication, the current one, and whether another one is due.
#[derive(Debug)]
pub(super) struct Publisher {
    publication: Publication,
    /// The generation of the last snapshot that was published.
    generation: u64,
    /// The content hash of that snapshot; `None` if there was none.
    content_hash: Option<u64>,
    /// A list was read since the last confirmation was begun.
    is_confirmation_due: bool,
    /// Rows may have changed since the last snapshot was begun.
    is_snapshot_due: bool,
    pub(super) pacer: PublicationPacer,
    /// When each list was read, as of the last confirmation that was begun.
    pub(super) read_at: Vec<Option<Time>>,
}

/// One publication: a snapshot if a served value changed, and a confirmation.
#[derive(Debug, Default)]
enum Publication {
    #[default]
    Idle,
    /// Being serialized, a few thousand rows in each call.
    Writing(Draft),
    /// Complete. A large snapshot is shared in a call of its own.
    Ready(Vec<Effect>),
}

#[derive(Debug)]
struct Draft {
    /// `None` if no row changed.
    snapshot: Option<SnapshotWriter>,
    /// When each list in it was read.
    read_at: Vec<Option<Time>>,
}

impl Publisher {
    /// Continues after the snapshot and the confirmation of the last leader. A generation that was given out is not given
    /// to other bytes, even if the snapshot that had it is gone.
    pub(super) fn resume(snapshot: Option<&Snapshot>, confirmed: Option<&Confirmed>) -> Self {
        let confirmed_generation = confirmed.map_or(0, |confirmed| confirmed.generation);
        Self {
            publication: Publication::Idle,
            generation: snapshot.map_or(0, Snapshot::generation).max(confirmed_generation),
            content_hash: snapshot.map(Snapshot::content_hash),
            is_confirmation_due: false,
            // An empty cluster must be published too if nothing was served before; and the served snapshot may be of
            // older or newer objects than those in the checkpoint.
            is_snapshot_due: true,
            pacer: PublicationPacer::default(),
            read_at: Vec::new(),
        }
    }

    /// Has a confirmation published: a list was read.
    pub(super) fn request_confirmation(&mut self) {
        self.is_confirmation_due = true;
    }

    pub(super) fn has_published(&self) -> bool {
        self.content_hash.is_some()
    }

    /// The content hash of the last snapshot, for a checkpoint.
    pub(super) fn content_hash(&self) -> u64 {
        self.content_hash.unwrap_or_default()
    }

    /// The generation of that snapshot.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.publication, Publication::Idle)
    }

    #[cfg(test)]
    pub(super) fn is_writing(&self) -> bool {
        matches!(self.publication, Publication::Writing(_))
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(self.publication, Publication::Ready(_))
    }

    /// Returns the bytes of a complete snapshot, or `None` if it equals the last one that was published.
    fn changed_snapshot(&mut self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let snapshot = Snapshot::open(bytes).ok()?;
        let content_hash = Some(snapshot.content_hash());
        if content_hash == self.content_hash {
            return None;
        }
        (self.content_hash, self.generation) = (content_hash, snapshot.generation());
        Some(snapshot.into_bytes())
    }
}

impl Leader {
    /// Joins what changed, and publishes: a snapshot if a served value changed, and a confirmation in any case. Both wait
    /// until every list was read or cannot be read, and until nothing that another leader published is newer. Each call
    /// does as much as `budget` rows allow. So a large cluster takes several calls to join, to write and to share; what
    /// is published is complete.
    pub(super) fn publish(&mut self, mut budget: usize, now: Time) -> Vec<Effect> {
        self.publisher.pacer.observe(now);
        let mut effects = self.take_ready(&mut budget);
        if !self.publisher.is_ready() {
            self.write(&mut budget, now);
            effects.extend(self.take_ready(&mut budget));
        }
        if self.publisher.is_idle() && self.join.is_up_to_date() {
            effects.extend(self.write_checkpoint(&mut budget, now));
        }
        effects
    }

    /// Writes a part of the current publication, or of a new one if one is due.
    fn write(&mut self, budget: &mut usize, now: Time) {
        let draft = match std::mem::take(&mut self.publisher.publication) {
            Publication::Idle => self.begin_draft(budget, now),
            Publication::Writing(draft) => Some(draft),
            ready @ Publication::Ready(_) => {
                self.publisher.publication = ready;
                None
            }
        };
        let Some(mut draft) = draft else { return };
        if let Some(snapshot) = &mut draft.snapshot {
            let table = self.join.table();
            if !write_within(budget, |max_rows| snapshot.advance(table, max_rows)) {
                self.publisher.publication = Publication::Writing(draft);
                return;
            }
        }
        let effects = self.complete(draft, now);
        self.publisher.publication = Publication::Ready(effects);
    }

    /// Begins a publication if everything is joined and one is due. Nothing else is joined until it is written.
    fn begin_draft(&mut self, budget: &mut usize, now: Time) -> Option<Draft> {
        let has_changed = self.join.advance(budget);
        self.publisher.is_snapshot_due |= has_changed;
        // A change that streamed in requests no confirmation unless it shows.
        self.publisher.is_confirmation_due |= has_changed && self.is_live();
        if !self.join.is_up_to_date() || !self.is_publication_due() {
            return None;
        }
        self.publisher.is_confirmation_due = false;
        self.update_read_times(now);
        let is_snapshot_due = std::mem::take(&mut self.publisher.is_snapshot_due);
        let generation = self.publisher.generation.wrapping_add(1);
        if is_snapshot_due {
            self.publisher.pacer.begin();
        }
        self.publisher.read_at = self.lists.iter().map(|list| list.store.read_at).collect();
        Some(Draft {
            snapshot: is_snapshot_due.then(|| SnapshotWriter::begin(self.join.table(), generation)),
            read_at: self.publisher.read_at.clone(),
        })
    }

    fn complete(&mut self, draft: Draft, now: Time) -> Vec<Effect> {
        let bytes = draft.snapshot.map(SnapshotWriter::finish);
        if bytes.is_some() {
            self.publisher.pacer.end();
        }
        let snapshot = bytes.and_then(|bytes| self.publisher.changed_snapshot(bytes));
        self.request_checkpoint_if_due(snapshot.is_some(), now);
        let mut effects = Vec::from_iter(snapshot.map(Effect::PublishSnapshot));
        let policies = self.publish_policies(now);
        effects.push(Effect::SetGauges(self.totals()));
        effects.extend(policies);
        effects.push(Effect::Confirm(Confirmed {
            generation: self.publisher.generation,
            lists: draft.read_at,
        }));
        effects
    }

    /// Returns a complete publication, unless it has a snapshot that the budget does not allow to be shared now.
    fn take_ready(&mut self, budget: &mut usize) -> Vec<Effect> {
        match std::mem::take(&mut self.publisher.publication) {
            Publication::Ready(effects) if !has_snapshot(&effects) || spend(budget, self.row_count()) => effects,
            other => {
                self.publisher.publication = other;
                Vec::new()
            }
        }
    }

    fn row_count(&self) -> usize {
        self.join.table().values().map(Vec::len).sum()
    }

    /// Returns whether there is something to publish or to confirm, and nothing to wait for.
    pub(super) fn is_publication_due(&self) -> bool {
        self.is_publication_wanted() && (self.publisher.pacer.wait_until().is_none() || !self.is_live())
    }

    /// Returns the same, even if changes that stream in are being gathered.
    pub(super) fn is_publication_wanted(&self) -> bool {
        let has_read_any = self.lists.iter().any(|list| list.store.read_at.is_some());
        let would_go_back = self.publisher.has_published() && scheduler::is_behind(&self.lists);
        let is_complete = has_read_any && !would_go_back && !self.lists.iter().any(WatchedList::is_missing);
        self.publisher.is_confirmation_due && is_complete && scheduler::is_between_rounds(&self.lists)
    }

    /// Returns the policies if they changed.
    fn publish_policies(&mut self, now: Time) -> Vec<Effect> {
        let config = self.config.clone();
        let Some(root_namespace) = config.root_namespace() else {
            return Vec::new();
        };
        let lists: Vec<&WatchedList> = self.lists.iter().filter(|list| is_of_policies(list)).collect();
        let Some(unread) = unread_namespaces(&lists).filter(|_| !lists.is_empty()) else {
            return Vec::new();
        };
        let unread = unread.iter().map(|(name, message)| (name.as_str(), message.as_str()));
        let excluded = lists.iter().flat_map(|list| list.store.excluded.messages());
        let policies = lists.iter().flat_map(|list| &list.store.objects).filter_map(as_policy);
        let root_namespace = Some(root_namespace.as_str());
        let (sets, messages) = self.policies.update(root_namespace, policies, unread.chain(excluded));
        let mut effects = Vec::new();
        for message in messages {
            if self.policy_messages.take(now).0 {
                effects.push(Effect::LogWarning(message));
            }
        }
        effects.extend(sets.map(Effect::PublishPolicies));
        effects
    }

    fn totals(&self) -> Totals {
        let services = self.join.table().get(SERVICES).map_or(0, Vec::len);
        Totals {
            objects: self.count(|list| list.store.objects.len()),
            bad_objects: self.count(|list| list.store.excluded.len()),
            over_limits: self.count(|list| list.store.excluded.over_limit()),
            services: services as u64,
            // The code behind it is not in a module that has no policies.
            refused_policies: self
                .config
                .root_namespace()
                .map_or(0, |_| self.policies.refused() as u64),
            findings: self.join.findings(),
        }
    }

    fn count(&self, count: fn(&WatchedList) -> usize) -> u64 {
        self.lists.iter().map(count).sum::<usize>() as u64
    }

    /// Returns the failures of all lists if they differ from those in shared data.
    pub(super) fn record_failures(&mut self) -> Option<Effect> {
        let mut lists: Vec<_> = self.lists.iter().map(WatchedList::failure_record).collect();
        if lists.iter().all(|list| *list == ListFailure::default()) {
            lists.clear();
        }
        let failures = Failures { lists };
        if failures == self.recorded_failures {
            return None;
        }
        self.recorded_failures = failures.clone();
        Some(Effect::RecordFailures(failures))
    }
}

fn has_snapshot(effects: &[Effect]) -> bool {
    effects
        .iter()
        .any(|effect| matches!(effect, Effect::PublishSnapshot(_)))
}

fn is_of_policies(list: &WatchedList) -> bool {
    list.source().kind == ObjectKind::Policies
}

fn as_policy(object: &Rc<Object>) -> Option<&PolicyObject> {
    match &**object {
        Object::Policy(policy) => Some(policy),
        Object::Hpa(_) | Object::Service(_) | Object::Workload(_) | Object::EndpointSlice(_) | Object::Pod(_) => None,
    }
}

/// The namespaces whose policies may not be read, each as the name of an invalid object in it: such a list does not say
/// that there is no policy. Returns `None` if the policies of all namespaces may not be read.
fn unread_namespaces(lists: &[&WatchedList]) -> Option<Vec<(String, String)>> {
    let mut unread = Vec::new();
    for list in lists.iter().filter(|list| list.store.read_at.is_none()) {
        let source = list.source();
        let namespace = source.namespace.as_ref()?;
        unread.push((format!("{namespace}/"), format!("cannot list {source}")));
    }
    Some(unread)
}

/// Takes the cost of writing, or sharing, that many rows from the budget. Returns whether the budget allows it. A budget
/// of which nothing was spent always does.
pub(super) fn spend(budget: &mut usize, written: usize) -> bool {
    let cost = written / WRITES_PER_JOIN;
    let is_allowed = *budget == MAX_ROWS || cost <= *budget;
    if is_allowed {
        *budget = budget.saturating_sub(cost);
    }
    is_allowed
}

/// Runs `write` with the number of rows, or objects, that the budget allows to be written, and takes from the budget what
/// it used. Returns what `write` returns: whether it is complete.
pub(super) fn write_within(budget: &mut usize, write: impl FnOnce(&mut usize) -> bool) -> bool {
    let mut max_rows = budget.saturating_mul(WRITES_PER_JOIN);
    let is_complete = write(&mut max_rows);
    *budget = max_rows / WRITES_PER_JOIN;
    is_complete
}
