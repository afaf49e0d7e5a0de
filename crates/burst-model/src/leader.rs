//! The elected VM's work: reads every list of the configuration, keeps its objects, and publishes a snapshot when a
//! served value changed. It returns [`Effect`]s; the shell carries them out.

mod checkpoint_reader;
mod checkpoint_writer;
mod checkpointing;
mod effect;
mod exclusion;
mod handover;
mod health;
mod pacing;
mod publish;
mod response;
mod store;
mod streaming;
mod successor;
mod sync_mode;
mod watched_list;

use crate::config::Config;
use crate::index::{Delta, IncrementalJoin};
use crate::kube::{Object, Source};
use crate::policies::PolicyCollector;
use crate::quota::Quota;
use crate::records::Failures;
use crate::sync::limits::{MAX_LIST_BYTES, MAX_TOTAL_BYTES};
use crate::sync::scheduler::{self, Scheduler, SourceId};
use crate::time::Time;
use checkpointing::Checkpointer;
pub use effect::{Effect, Readable, Totals};
use exclusion::CoreLists;
pub use handover::Handover;
use publish::Publisher;
use std::rc::Rc;
pub use successor::Successor;
use sync_mode::ModeReporter;
use watched_list::WatchedList;

/// Messages a minute about invalid objects, and as many about policies. A broken controller, or an object that changes
/// all the time, must not flood the proxy's log.
const MAX_MESSAGES: usize = 10;

/// Rows that one call joins. They take two or three milliseconds of a thread that also serves requests.
const MAX_ROWS: usize = 500;

/// Reads the cluster and publishes what it finds.
#[derive(Debug)]
pub struct Leader {
    config: Rc<Config>,
    scheduler: Scheduler,
    /// In the order of the configuration.
    lists: Vec<WatchedList>,
    /// `None` while HPAs, or Services, cannot be read.
    core_lists: Option<CoreLists>,
    join: IncrementalJoin,
    publisher: Publisher,
    checkpointer: Checkpointer,
    /// The failures that are in shared data.
    recorded_failures: Failures,
    policies: PolicyCollector,
    object_messages: Quota,
    policy_messages: Quota,
    mode: ModeReporter,
    last_tick: Time,
}

impl Leader {
    /// Takes over from the last leader. If that left all its objects, each list is read when it would have been read
    /// anyway.
    #[must_use]
    pub fn new(config: Rc<Config>, handover: Handover, now: Time) -> Self {
        let publisher = Publisher::resume(handover.snapshot.as_ref(), handover.confirmed.as_ref());
        let recorded_failures = handover.failures.clone().unwrap_or_default();
        let policies = PolicyCollector::new(handover.policies.clone());
        let mut lists = handover.restore_lists(&config, now);
        for list in &mut lists {
            list.store.set_endpoints_back(now);
        }
        let mut leader = Self {
            scheduler: Scheduler::new(config.sync.max_windows),
            core_lists: None,
            join: join_of(&config, &lists),
            publisher,
            checkpointer: Checkpointer::default(),
            recorded_failures,
            policies,
            object_messages: Quota::new(MAX_MESSAGES),
            policy_messages: Quota::new(MAX_MESSAGES),
            mode: ModeReporter::default(),
            last_tick: Time::default(),
            lists,
            config,
        };
        // Objects of another configuration with the same lists are served until newer ones are read.
        if !leader.publisher.has_published() && leader.lists.iter().any(|list| list.store.read_at.is_some()) {
            leader.publisher.request_confirmation();
        }
        leader.restore_core_lists();
        leader
    }

    /// Returns whether no work is under way or about to begin, so that another VM may take over.
    #[must_use]
    pub fn is_idle(&self, now: Time) -> bool {
        scheduler::is_idle(&self.lists, now) && !self.is_busy() && !self.is_publication_wanted()
    }

    /// Returns whether there is work left that waits for no answer. Each call of [`advance`](Self::advance) does only as
    /// much of it as a thread has time for.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.join.is_up_to_date()
            || !self.publisher.is_idle()
            || !self.checkpointer.is_idle()
            || self.is_publication_due()
            || self.lists.iter().any(|list| list.reflector.is_stream_busy())
    }

    /// Does a part of that work.
    pub fn advance(&mut self, now: Time) -> Vec<Effect> {
        self.publish(MAX_ROWS, now)
    }

    /// Drops a part of the objects of a leader that was deposed. Returns whether any are left. Dropping all objects of a
    /// large cluster at once would block the thread for tens of milliseconds.
    pub fn release(&mut self) -> bool {
        self.checkpointer.cancel();
        for list in &mut self.lists {
            list.store.release(MAX_ROWS);
        }
        let has_objects = self.lists.iter().any(|list| !list.store.objects.is_empty());
        self.join.release(MAX_ROWS) || has_objects
    }

    /// Returns the source that has this id, or `None` if there is no such source.
    #[must_use]
    pub fn source(&self, id: SourceId) -> Option<&Source> {
        self.lists.get(id.0).map(WatchedList::source)
    }

    /// Starts the requests that are due. To be called once a second.
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        self.correct_clock(now);
        let mut effects = self.exclude_failing(now);
        self.confirm_streamed(now);
        self.start_relists();
        effects.extend(self.publish(MAX_ROWS, now));
        effects.extend(self.due_requests(now));
        effects.extend(self.due_probes(now));
        effects.extend(self.mode.report(&self.config, now));
        self.with_closed_streams(effects)
    }

    /// Has lists read in full if objects of them were not parsed: the set of objects that may be parsed has changed.
    pub fn requeue_skipped(&mut self) {
        for list in &mut self.lists {
            list.store.requeue_skipped();
        }
    }

    fn due_requests(&mut self, now: Time) -> impl Iterator<Item = Effect> {
        let requests = self.scheduler.due_requests(&mut self.lists, now);
        requests.into_iter().map(Effect::Request)
    }

    fn start_relists(&mut self) {
        for list in &mut self.lists {
            list.start_relist();
        }
    }

    /// The bytes that a list may take: what the other lists leave of the total, but at least an equal share of it.
    fn max_bytes(&self, id: SourceId) -> usize {
        let total: usize = self.lists.iter().map(|list| list.store.bytes()).sum();
        let own = self.lists.get(id.0).map_or(0, |list| list.store.bytes());
        let share = MAX_TOTAL_BYTES / self.lists.len().max(1);
        MAX_TOTAL_BYTES
            .saturating_sub(total.saturating_sub(own))
            .max(share)
            .min(MAX_LIST_BYTES)
    }

    /// Corrects the times that were noted before the clock was set back. During an outage the data would otherwise count
    /// as fresh until the old time comes again.
    fn correct_clock(&mut self, now: Time) {
        let last = std::mem::replace(&mut self.last_tick, now);
        self.core_lists = self.core_lists.map(|core| core.set_back(last, now));
        for list in &mut self.lists {
            if list.set_back(last, now) {
                self.publisher.request_confirmation();
            }
        }
        if now < last {
            for (index, list) in self.lists.iter_mut().enumerate() {
                self.join.enqueue(index, list.store.set_endpoints_back(now));
            }
        }
    }
}

/// A join of all objects of these lists.
fn join_of(config: &Config, lists: &[WatchedList]) -> IncrementalJoin {
    let mut join = IncrementalJoin::new(config.content.sources.as_slice().into(), config.content.target);
    for (index, list) in lists.iter().enumerate() {
        join.enqueue(index, list.store.objects.iter().map(added));
    }
    join
}

fn added(object: &Rc<Object>) -> Delta {
    Delta::new(None, Some(object.clone()))
}

#[cfg(test)]
mod tests;
