//! A root context: it is configured once and ticks once a second. In each tick it takes part in the election, does the
//! leader's work if it leads, and takes what the leader published.

use crate::callouts::{self, LeaderPurpose, Purpose};
use crate::host::{self, CalloutAnswer};
use crate::http::Handler;
use crate::leader::LeaderTask;
use crate::log;
use crate::shared_data::{CasConflict, SharedValue, compare_and_set, new_vm_id};
use crate::view::View;
use crate::vm::{self, Candidates};
use burst_model::config::{Artifact, Config, Role};
use burst_model::records::Record;
use burst_model::sync::election::{self, Decision, Elector, ElectorState, Lease};
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// Short enough that a change shows within a second. A tick without news costs almost nothing.
///
/// A shared queue could wake the other threads at once. It would save half a second on average, after a watch of five
/// seconds. But each thread needs a queue of its own that the leader knows from a list in shared data, and Envoy never
/// removes a queue: those of threads that ended would fill up as long as the proxy runs.
const TICK: Duration = Duration::from_secs(1);

/// The time between two parts of the leader's work. The thread does its other work in between.
const BUSY_TICK: Duration = Duration::from_millis(10);

const ARTIFACT: Artifact = if cfg!(feature = "header-only") {
    Artifact::HeaderOnly
} else {
    Artifact::Full
};

/// A root context, before and after its configuration.
pub(crate) struct RootContext {
    id: u32,
    active: Option<ActiveRoot>,
}

impl RootContext {
    pub(crate) fn new(id: u32) -> Self {
        Self { id, active: None }
    }

    /// Reads the configuration. Returns the handler of its streams, or `None` if the configuration is refused.
    pub(crate) fn configure(&mut self) -> Option<Rc<Handler>> {
        match Config::parse(&host::configuration(), ARTIFACT) {
            Ok(config) => {
                let mut active = ActiveRoot::new(self.id, config);
                // Otherwise a VM would serve nothing after a reload until its first tick.
                active.refresh(host::now());
                let handler = active.handler.clone();
                self.active = Some(active);
                host::tick_every(TICK);
                Some(handler)
            }
            // Envoy refuses the listener then and keeps the previous one, but it does not say why.
            Err(error) => {
                log::error(format_args!("the configuration is refused: {error}"));
                None
            }
        }
    }

    pub(crate) fn tick(&mut self) {
        if let Some(active) = &mut self.active {
            active.tick();
        }
    }

    /// Handles an item in the shared queue: a stream waits for a review.
    pub(crate) fn on_queue_ready(&mut self, queue: u32) {
        host::drain_wake_queue(queue);
        if let Some(active) = &self.active {
            active.handler.send_reviews();
        }
    }

    /// Handles the answer to a callout, or why it could not be sent. `stream` is its upstream stream, if the filter reads it.
    pub(crate) fn on_callout(&mut self, purpose: Purpose, stream: Option<u32>, answer: Result<CalloutAnswer, String>) {
        match purpose {
            Purpose::Review(review) => {
                if let Some(active) = &self.active {
                    active.handler.on_review(&review, answer);
                }
            }
            Purpose::Leader(purpose) => {
                self.on_leader_event(|leader, now| leader.on_callout(purpose, stream, answer, now));
            }
        }
    }

    /// A callout of the leader is under way. `stream` is its upstream stream, if the filter reads it.
    pub(crate) fn on_sent(&mut self, purpose: LeaderPurpose, stream: Option<u32>) {
        if let Some(stream) = stream {
            self.on_leader_event(|leader, now| leader.on_stream_opened(purpose, stream, now));
        }
    }

    /// A callout of the leader has taken too long. Nothing waits for its answer any more.
    pub(crate) fn on_overdue(&mut self, purpose: Purpose) {
        if let Purpose::Leader(purpose) = purpose {
            self.on_leader_event(|leader, now| leader.on_overdue(purpose, now));
        }
    }

    /// The response of an upstream stream begins, and is a success.
    pub(crate) fn on_stream_accepted(&mut self, purpose: LeaderPurpose, stream: u32) {
        self.on_leader_event(|leader, now| leader.on_stream_accepted(purpose, stream, now));
    }

    /// Handles the next part of the body of an upstream stream.
    pub(crate) fn on_chunk(&mut self, purpose: LeaderPurpose, stream: u32, chunk: &[u8]) {
        self.on_leader_event(|leader, now| leader.on_chunk(purpose, stream, chunk, now));
    }

    fn on_leader_event(&mut self, work: impl FnOnce(&mut LeaderTask, Time) -> Result<(), CasConflict>) {
        if let Some(active) = &mut self.active {
            let now = host::now();
            active.work(now, |leader| work(leader, now));
            active.refresh(now);
            active.set_tick_period();
        }
    }
}

/// The end of a drain. The host announces it by `on_done`, and then calls `on_delete`. A module exports at most the second
/// one, so that a stream needs one call less (`xtask/src/artifact.rs`).
impl Drop for RootContext {
    fn drop(&mut self) {
        if let Some(active) = &mut self.active {
            active.resign();
        }
    }
}

struct ActiveRoot {
    id: u32,
    candidates: Candidates,
    view: Rc<View>,
    handler: Rc<Handler>,
    /// Made in the first tick. Envoy tries a configuration in a canary VM, which never ticks and must write nothing.
    elector: Option<Elector>,
    /// A leader is gone if its lease was not renewed for so many ticks.
    expiry_ticks: u32,
    leader: Option<LeaderTask>,
    /// The task of a term that is over. Its memory is released part by part.
    former_leader: Option<LeaderTask>,
    last_tick: Time,
    tick_period: Duration,
}

impl ActiveRoot {
    fn new(id: u32, config: Config) -> Self {
        let candidates = Candidates::of(config.settings_hash());
        if config.role == Role::Auto {
            candidates.add(id);
        }
        let view = Rc::new(View::new(config));
        Self {
            id,
            candidates,
            handler: Rc::new(Handler::new(&view)),
            view,
            elector: None,
            expiry_ticks: election::EXPIRY_TICKS,
            leader: None,
            former_leader: None,
            last_tick: Time::default(),
            tick_period: TICK,
        }
    }

    fn tick(&mut self) {
        let now = host::now();
        let is_busy_tick = self.tick_period < TICK && now >= self.last_tick && now.since(self.last_tick) < TICK;
        if is_busy_tick {
            self.work(now, |leader| leader.advance(now));
            // Serve at once what was published.
            let has_news = |leader: &LeaderTask| leader.has_published() || !leader.is_busy();
            if self.leader.as_ref().is_none_or(has_news) {
                self.refresh(now);
            }
        } else {
            self.last_tick = now;
            self.full_tick(now);
        }
        if !self.former_leader.as_mut().is_some_and(LeaderTask::release) {
            self.former_leader = None;
        }
        self.set_tick_period();
    }

    fn full_tick(&mut self, now: Time) {
        self.handler.tick(now);
        let marks = self.view.quarantine.tick();
        self.expiry_ticks = election::expiry_ticks_after(marks.leader_pause(now));
        if let Some(leader) = &mut self.leader {
            leader.observe_marks(&marks, now);
        }
        self.elect(now);
        self.work(now, |leader| leader.tick(now));
        self.refresh(now);
        self.handler.send_reviews();
        let stats = vm::stats();
        stats.show_age(&self.view.cache.borrow());
        stats.flush();
    }

    /// Ticks more often while the leader has work left, and in time for changes that it gathers.
    fn set_tick_period(&mut self) {
        let is_busy = self.former_leader.is_some() || self.leader.as_ref().is_some_and(LeaderTask::is_busy);
        let due = self.leader.as_ref().and_then(LeaderTask::next_due);
        let period = match due {
            _ if is_busy => BUSY_TICK,
            Some(due) => due.since(host::now()).clamp(BUSY_TICK, TICK),
            None => TICK,
        };
        if period != self.tick_period {
            self.tick_period = period;
            host::tick_every(period);
        }
    }

    /// Takes what the leader published, and the age of it.
    fn refresh(&mut self, now: Time) {
        let leader = &mut self.leader;
        self.view
            .refresh(|| leader.as_mut().and_then(LeaderTask::take_published), now);
        self.handler.refresh();
    }

    /// Observes the lease, and begins, continues or ends a term.
    fn elect(&mut self, now: Time) {
        let Some(elector) = self.elector.take().or_else(|| new_vm_id().map(Elector::new)) else {
            return;
        };
        let elector = self.elector.insert(elector);
        let found = SharedValue::read(&self.view.keys.lease);
        let state = ElectorState {
            has_served: vm::has_served(),
            // A VM that has just taken the lease is about to begin, so it is not idle.
            is_idle: self.leader.as_ref().is_some_and(|leader| leader.is_idle(now)),
            is_eligible: self.candidates.is_newest(self.id),
        };
        let decision = elector.observe(found.record().as_ref(), self.expiry_ticks, state);
        let (Decision::Hold(lease) | Decision::Succeed(lease) | Decision::Release(lease)) = &decision else {
            return self.end_term();
        };
        if self.write_lease(lease, &found).is_err() || matches!(decision, Decision::Release(_)) {
            return self.end_term();
        }
        if matches!(decision, Decision::Succeed(_)) {
            self.view.quarantine.suspect(now);
        }
        if self.leader.is_none() {
            log::info(format_args!(
                "this thread polls {} from now on",
                self.view.config.origin
            ));
            self.leader = LeaderTask::start(self.view.clone(), lease, now).ok();
            vm::stats().leader_changes.count();
        }
    }

    fn write_lease(&self, lease: &Lease, found: &SharedValue) -> Result<(), CasConflict> {
        compare_and_set(&self.view.keys.lease, &lease.to_bytes(), found.cas)
    }

    /// Ends the term, and keeps what its task holds to release it later.
    fn end_term(&mut self) {
        if let Some(leader) = self.leader.take() {
            callouts::forget_leader(self.id);
            self.former_leader = Some(leader);
        }
    }

    /// Does some work as the leader, if this root context leads.
    fn work(&mut self, now: Time, work: impl FnOnce(&mut LeaderTask) -> Result<(), CasConflict>) {
        let Some(leader) = &mut self.leader else { return };
        let was_idle = leader.is_idle(now);
        let begin = host::nanoseconds();
        let is_deposed = leader.guarded(work).is_err();
        let cost = host::nanoseconds().saturating_sub(begin);
        leader.note_cost(Duration::from_nanos(u64::try_from(cost).unwrap_or(u64::MAX)));
        if is_deposed {
            self.end_term();
        } else if leader.is_idle(now) != was_idle {
            // The lease always says whether the leader is idle, because another VM takes over only from an idle leader.
            self.elect(now);
        }
    }

    /// Releases the lease, so that another VM leads after its next tick.
    fn resign(&mut self) {
        self.candidates.remove(self.id);
        self.view.quarantine.tick();
        let found = SharedValue::read(&self.view.keys.lease);
        let state = ElectorState {
            has_served: false,
            is_idle: true,
            is_eligible: false,
        };
        let elector = self.elector.as_mut();
        let decision = elector.map(|elector| elector.observe(found.record().as_ref(), self.expiry_ticks, state));
        if let Some(Decision::Release(lease)) = decision {
            let _ = self.write_lease(&lease, &found);
        }
        self.leader = None;
        vm::stats().flush();
    }
}
