//! What the polling root context does: asks for lists, keeps their objects, and publishes a snapshot when a served
//! value changed. It says what is to be done; the shell does it.

mod checkpoint_writer;
mod exclusion;
mod handover;
mod list_store;
mod publish;
mod successor;

use crate::config::Config;
use crate::config::duration::DurationText;
use crate::hub_request::HubRequest;
use crate::index::{Delta, IncrementalJoin, JoinFindings};
use crate::kube::{Failure, ListPage, Object, Payload, PollOutcome, Source, Verb};
use crate::policies::{PolicyCollector, PolicySets};
use crate::quota::Quota;
use crate::records::{Confirmed, Failures};
use crate::snapshot::Snapshot;
use crate::sync::limits::{MOST_OF_ALL, MOST_OF_LIST};
use crate::sync::reflector::{Reflector, ReflectorEvent};
use crate::sync::scheduler::{ScheduledRequest, Scheduler, SourceId};
use crate::time::Time;
use checkpoint_writer::CheckpointWriter;
use exclusion::CoreLists;
pub use handover::Handover;
use list_store::ListStore;
use publish::Draft;
use std::rc::Rc;
pub use successor::Successor;

/// Lines about bad objects in a minute, and as many about policies: a broken controller, or an object that changes all the
/// time, must not flood the proxy's log.
const MOST_LINES: usize = 10;

/// Rows that are joined at a time: two or three milliseconds of a thread that has other things to do.
const MOST_ROWS: usize = 500;

/// Rows that are joined in the time that an object takes to be parsed.
const PARSED: usize = 2;

/// What is to be done.
#[derive(Debug)]
pub enum Effect {
    /// Ask for a page.
    Request(ScheduledRequest),
    /// Ask the hub; only a spoke does.
    RequestHub(HubRequest),
    /// Put a new snapshot into shared data. Comes before its [`Effect::Confirm`].
    PublishSnapshot(Vec<u8>),
    /// Put the policies that are in force into shared data. Comes before its [`Effect::Confirm`].
    PublishPolicies(PolicySets),
    /// Put what a successor needs into shared data, the bytes of a [`Checkpoint`](crate::records::Checkpoint). Comes after
    /// [`Effect::Confirm`], which nobody can do who is not the leader any more.
    WriteCheckpoint(Vec<u8>),
    /// Put what fails into shared data.
    RecordFailures(Failures),
    /// Show what there is.
    SetGauges(Totals),
    /// Show whether a list can be read, or is no part of the picture.
    SetListGauge(Source, Readable),
    /// Say when the cluster was last read.
    Confirm(Confirmed),
    /// Count the end of a request.
    CountPoll(PollOutcome),
    /// Tell the operator that something is wrong.
    LogWarning(String),
    /// Tell the operator that something is well again.
    LogInfo(String),
}

/// Whether a list can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readable {
    /// It was, just now.
    Yes,
    /// The API says that it may not be, or is not there; or it failed for so long that it was left out.
    No,
}

/// What a snapshot was made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Objects that are kept, over all lists.
    pub objects: u64,
    /// Objects that are left out, in the last read of each list.
    pub bad_objects: u64,
    /// How many of them are more than a namespace or a list may have.
    pub over_limits: u64,
    /// Services with a load.
    pub services: u64,
    /// Namespaces whose policies are refused.
    pub refused_policies: u64,
    /// What the join noticed.
    pub findings: JoinFindings,
}

/// The polling root context.
#[derive(Debug)]
pub struct Leader {
    config: Rc<Config>,
    scheduler: Scheduler,
    lists: Vec<ListStore>,
    /// `None` where HPAs, or Services, cannot be read.
    core: Option<CoreLists>,
    generation: u64,
    /// The hash of what is published.
    content: Option<u64>,
    /// A list was read since the last publication.
    news: bool,
    join: IncrementalJoin,
    /// Rows may be others than those that are published.
    changed: bool,
    /// What is being written.
    draft: Option<Draft>,
    /// What is written and not shared yet.
    written: Vec<Effect>,
    /// A successor is to be told what to go on with.
    checkpoint_due: bool,
    /// What it is told, as far as that is written.
    checkpoint: Option<CheckpointWriter>,
    /// How long it was the last time.
    checkpoint_length: usize,
    /// When a successor was last told what to go on with.
    checkpointed_at: Option<Time>,
    /// What a successor was last told of what fails.
    recorded_failures: Failures,
    policies: PolicyCollector,
    object_lines: Quota,
    policy_lines: Quota,
    /// When the last tick was.
    last_tick: Time,
}

impl Leader {
    /// Takes over. Where the last leader left all its objects, lists are read again when they would have been anyway.
    #[must_use]
    pub fn new(config: Rc<Config>, estate: Handover, now: Time) -> Self {
        let snapshot = estate.snapshot.as_ref();
        let content = snapshot.map(Snapshot::content_hash);
        // A number that was given out is not given to other bytes, also where those that had it are gone.
        let confirmed = estate.confirmed.as_ref().map_or(0, |confirmed| confirmed.generation);
        let generation = snapshot.map_or(0, Snapshot::generation).max(confirmed);
        let admitted = estate.failures.clone().unwrap_or_default();
        let policies = PolicyCollector::new(estate.policies.clone());
        let (lists, kept): (Vec<_>, Vec<_>) = estate.lists(&config, now).into_iter().unzip();
        // What others with the same lists left is served until there is something newer.
        let mut joined = IncrementalJoin::new(config.content.sources.as_slice().into(), config.content.target);
        for (place, list) in lists.iter().enumerate() {
            let left = |object: &Rc<Object>| Delta::new(None, Some(object.clone()));
            joined.enqueue(place, list.objects.iter().map(left));
        }
        let is_heir = content.is_none() && lists.iter().any(|list| list.read_at.is_some());
        let mut leader = Self {
            scheduler: Scheduler::new(kept, config.sync.max_windows),
            lists,
            core: None,
            generation,
            content,
            news: is_heir,
            // An empty cluster is news too, where nothing was served before; and what is served may be of older objects
            // or newer ones than those that were left.
            changed: true,
            join: joined,
            draft: None,
            written: Vec::new(),
            checkpoint_due: false,
            checkpoint: None,
            checkpoint_length: 0,
            checkpointed_at: None,
            recorded_failures: admitted,
            policies,
            object_lines: Quota::new(MOST_LINES),
            policy_lines: Quota::new(MOST_LINES),
            last_tick: Time::default(),
            config,
        };
        leader.inherit_core();
        leader
    }

    /// Whether nothing is under way, and nothing about to begin: another may take over.
    #[must_use]
    pub fn is_idle(&self, now: Time) -> bool {
        self.scheduler.is_idle(now) && !self.is_busy()
    }

    /// Whether there is work left that waits for nobody: no call does more of it than a thread has time for.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let writes =
            self.draft.is_some() || !self.written.is_empty() || self.checkpoint_due || self.checkpoint.is_some();
        !self.join.is_up_to_date() || writes || self.is_due()
    }

    /// Does a part of that work.
    pub fn advance(&mut self, now: Time) -> Vec<Effect> {
        self.publish(MOST_ROWS, now)
    }

    /// Lets go of a part of what it holds; whether there was any left. Of a leader that is none any more: to drop all
    /// objects of a large cluster at once takes a thread tens of milliseconds.
    pub fn release(&mut self) -> bool {
        self.checkpoint = None;
        let lists = self.lists.iter_mut().map(|list| &mut list.objects);
        lists.for_each(|objects| objects.truncate(objects.len().saturating_sub(MOST_ROWS)));
        let has_objects = self.lists.iter().any(|list| !list.objects.is_empty());
        self.join.release(MOST_ROWS) || has_objects
    }

    /// What a list lists; `None` where there is no such list.
    #[must_use]
    pub fn source(&self, id: SourceId) -> Option<&Source> {
        self.scheduler.reflector(id).map(Reflector::source)
    }

    /// Once a tick.
    pub fn tick(&mut self, now: Time) -> Vec<Effect> {
        self.set_back(now);
        let mut effects = self.exclude_failing(now);
        self.start_relists();
        effects.extend(self.publish(MOST_ROWS, now));
        effects.extend(self.scheduler.begin(now).into_iter().map(Effect::Request));
        effects
    }

    /// Takes what a request brought.
    pub fn answer(&mut self, id: SourceId, answer: Result<Payload, Failure>, now: Time, chance: u32) -> Vec<Effect> {
        let mut effects = vec![Effect::CountPoll(
            answer.as_ref().map_or_else(PollOutcome::from, |_| PollOutcome::Ok),
        )];
        let Some(list) = self.scheduler.reflector(id) else {
            return effects;
        };
        // It has been parsed, in this same callback, and has taken its time.
        let parsed = PARSED * answer.as_ref().map_or(0, Payload::len);
        let source = list.source().clone();
        let may_lack = source.may_be_absent() && !list.is_watching();
        let (room, has_answer) = (self.byte_limit(id), answer.is_ok());
        let (answer, lacking) = match answer {
            Err(failure @ Failure::NotFound(_)) if may_lack => (Ok(Payload::Page(ListPage::default())), Some(failure)),
            answer => (answer, None),
        };
        match self.scheduler.handle_response(id, answer, now, chance) {
            Some(ReflectorEvent::Request(request)) => {
                effects.push(Effect::Request(ScheduledRequest { source: id, request }));
            }
            Some(ReflectorEvent::Relisted(listed)) => {
                // A first page is not yet a list that works.
                effects.extend(match &lacking {
                    Some(failure) => self.report_failure(id, &source, Verb::List, failure, false),
                    None => self.report_recovery(id, &source, Verb::List),
                });
                effects.extend(self.update_store(id, now, |list| list.replace(&source.resource, listed, room, now)));
                effects.extend(match lacking {
                    Some(_) => self.unreadable(id, &source),
                    None => self.readable(id, &source),
                });
            }
            Some(ReflectorEvent::Updated(window)) => {
                effects.extend(self.report_recovery(id, &source, Verb::Watch));
                effects.extend(self.update_store(id, now, |list| list.apply(&source.resource, window.changes, room)));
                effects.extend(self.readable(id, &source));
                if let Some(list) = self.lists.get_mut(id.0) {
                    list.relist_due |= list.is_to_be_listed(now);
                }
            }
            Some(ReflectorEvent::Failed {
                verb,
                failure,
                falls_back,
            }) => {
                if has_answer {
                    effects.push(Effect::CountPoll((&failure).into()));
                }
                effects.extend(self.report_failure(id, &source, verb, &failure, falls_back));
                if verb == Verb::List && failure.is_refusal() {
                    effects.extend(self.unreadable(id, &source));
                }
                self.note_failure(id, now);
                effects.extend(self.exclude_failing(now));
            }
            None => {}
        }
        self.start_relists();
        effects.extend(self.scheduler.begin(now).into_iter().map(Effect::Request));
        effects.extend(self.publish(MOST_ROWS.saturating_sub(parsed), now));
        effects.extend(self.record_failures());
        effects
    }

    /// What a list may take: what the others leave, and its share of all in any case.
    fn byte_limit(&self, id: SourceId) -> usize {
        let others = self.lists.iter().enumerate().filter(|(place, _)| *place != id.0);
        let others = others.map(|(_, list)| list.bytes()).sum();
        let share = MOST_OF_ALL / self.lists.len().max(1);
        MOST_OF_ALL.saturating_sub(others).max(share).min(MOST_OF_LIST)
    }

    /// What may be parsed is other than it was: lists that have objects which were not are read whole.
    pub fn requeue_skipped(&mut self) {
        self.lists.iter_mut().for_each(ListStore::requeue_skipped);
    }

    /// Not while a window is open, which would bring changes of a list that is not known, nor while a list is read, of which
    /// a part was parsed before.
    fn start_relists(&mut self) {
        for (place, list) in self.lists.iter_mut().enumerate() {
            let id = SourceId(place);
            let is_under_way = self.scheduler.reflector(id).is_some_and(Reflector::is_listing);
            if list.relist_due && !is_under_way && self.scheduler.relist(id) {
                list.relist_due = false;
            }
        }
    }

    /// One line for a change of state, not one for every failure.
    fn report_failure(
        &mut self,
        id: SourceId,
        source: &Source,
        verb: Verb,
        failure: &Failure,
        falls_back: bool,
    ) -> Option<Effect> {
        let list = self.lists.get_mut(id.0)?;
        let tells = list.fails(verb, failure.into()) | (falls_back && list.falls_back());
        if !tells {
            return None;
        }
        let advice = failure.advice(source, verb);
        let instead = match falls_back {
            true => format!(
                "; it is listed every {} meanwhile",
                DurationText(self.config.poll_interval)
            ),
            false => String::new(),
        };
        Some(Effect::LogWarning(format!(
            "cannot {verb} {source}: {failure}; {advice}{instead}"
        )))
    }

    fn report_recovery(&mut self, id: SourceId, source: &Source, verb: Verb) -> Option<Effect> {
        let works = self.lists.get_mut(id.0)?.works(verb);
        let what = match verb {
            Verb::List => "listing",
            Verb::Watch => "watching",
        };
        works.then(|| Effect::LogInfo(format!("{what} {source} works again")))
    }

    /// Has what was read before the clock was set back grow old by the clock as it is: in an outage it would be fresh
    /// until the old time comes again.
    fn set_back(&mut self, now: Time) {
        let last = std::mem::replace(&mut self.last_tick, now);
        self.core = self.core.map(|core| core.set_back(last, now));
        for list in &mut self.lists {
            list.failing_alone_since = list.failing_alone_since.map(|since| since.set_back(last, now));
            let by_now = list.read_at.map(|read| read.set_back(last, now));
            self.news |= std::mem::replace(&mut list.read_at, by_now) != by_now;
        }
    }

    /// Takes what was read of a list, as `take` does; that says what it moves, and what to complain of.
    fn update_store(
        &mut self,
        id: SourceId,
        now: Time,
        take: impl FnOnce(&mut ListStore) -> (Vec<Delta>, Vec<String>),
    ) -> Vec<Effect> {
        let Some(list) = self.lists.get_mut(id.0) else {
            return Vec::new();
        };
        let (moved, lines) = take(list);
        (list.read_at, list.failing, list.failing_alone_since) = (Some(now), false, None);
        self.news = true;
        self.join.enqueue(id.0, moved);
        let lines = self.object_lines.lines(lines, now);
        lines.into_iter().map(Effect::LogWarning).collect()
    }
}

#[cfg(test)]
mod tests;
