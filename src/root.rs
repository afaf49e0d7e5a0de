//! A root context: it is configured once and ticks once a second. In each tick it takes part in the election, does the
//! leader's work if it leads, and takes what the leader published.

use crate::callouts::{self, CalloutEvent, Purpose};
use crate::host;
use crate::http::Handler;
use crate::leader::LeaderTask;
use crate::log;
use crate::shared_data::{Election, View, WakeQueues};
use crate::vm::{self, Candidates};
use burst_model::config::{Artifact, Config, Role};
use burst_model::failure_state::FailureState;
use burst_model::snapshot::InvalidSnapshot;
use burst_model::sync::election::ElectorState;
use burst_model::time::Time;
use burst_shared_data::CasConflict;
use std::rc::Rc;
use std::time::Duration;

/// A VM takes a new snapshot when the leader wakes it, or else in its next tick. A tick without news costs almost nothing.
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
                active.log_notices();
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

    /// Handles an item in a shared queue: the leader has published something, or a stream waits for a review.
    pub(crate) fn on_queue_ready(&mut self, queue: u32) {
        host::drain_wake_queue(queue);
        if let Some(active) = &mut self.active {
            active.refresh(host::now());
            active.handler.send_reviews();
            active.set_tick_period();
            active.log_notices();
        }
    }

    /// Handles what happened to a callout.
    pub(crate) fn on_callout(&mut self, purpose: Purpose, event: CalloutEvent<'_>) {
        let Some(active) = &mut self.active else { return };
        match purpose {
            Purpose::Review(review) => {
                if let Some(answer) = event.into_answer() {
                    active.handler.on_review(&review, answer);
                }
            }
            Purpose::Leader(purpose) => {
                let now = host::now();
                active.work(now, |leader| leader.on_callout(purpose, event, now));
                active.refresh(now);
                active.set_tick_period();
                active.log_notices();
            }
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
    election: Election,
    leader: Option<LeaderTask>,
    /// What is wrong with the newest snapshot.
    damage: FailureState<InvalidSnapshot>,
    /// The task of a term that is over. Its memory is released part by part.
    former_leader: Option<LeaderTask>,
    last_tick: Time,
    tick_period: Duration,
    wake_queues: WakeQueues,
}

impl ActiveRoot {
    fn new(id: u32, config: Config) -> Self {
        let candidates = Candidates::of(config.settings_hash());
        if config.role == Role::Auto {
            candidates.add(id);
        }
        let view = Rc::new(View::new(config, vm::id()));
        let wake_queues = WakeQueues::new(&view.keys.wake_queues);
        Self {
            id,
            candidates,
            handler: Rc::new(Handler::new(&view)),
            election: Election::new(&view.keys, ARTIFACT),
            view,
            leader: None,
            damage: FailureState::default(),
            former_leader: None,
            last_tick: Time::default(),
            tick_period: TICK,
            wake_queues,
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
        self.log_notices();
    }

    fn full_tick(&mut self, now: Time) {
        self.handler.tick(now);
        let marks = self.view.quarantine.tick();
        self.election.set_pause(marks.leader_pause(now));
        if let Some(leader) = &mut self.leader {
            leader.observe_marks(&marks, now);
        }
        self.wake_queues.tick(vm::register_wake_queue, now);
        self.elect(now);
        self.work(now, |leader| leader.tick(now));
        self.refresh(now);
        self.handler.send_reviews();
        let stats = vm::stats();
        if self.leader.is_some() {
            stats.show_leader(now);
        }
        stats.show_age(&self.view.cache.borrow());
        stats.flush();
    }

    /// Ticks more often while the leader has work left, in time for changes that it gathers, for a snapshot that could not be
    /// taken, and for requests that have waited long enough.
    fn set_tick_period(&mut self) {
        let is_busy = self.former_leader.is_some() || self.leader.as_ref().is_some_and(LeaderTask::is_busy);
        let due = self.leader.as_ref().and_then(LeaderTask::next_due);
        let now = host::now();
        let due = [due, self.handler.next_long_poll(now)].into_iter().flatten().min();
        let until_due = due.map(|due| due.since(now).max(BUSY_TICK));
        let wanted = [
            is_busy.then_some(BUSY_TICK),
            until_due,
            self.view.retry_delay(),
            Some(TICK),
        ];
        let period = wanted.into_iter().flatten().min().unwrap_or(TICK);
        if period != self.tick_period {
            self.tick_period = period;
            host::tick_every(period);
        }
    }

    /// Takes what the leader published, and the age of it, and answers requests that wait for that. If this VM has published
    /// it, wakes the others.
    fn refresh(&mut self, now: Time) {
        let leader = &mut self.leader;
        let has_published = leader.as_ref().is_some_and(LeaderTask::has_published);
        let published = || leader.as_mut().and_then(LeaderTask::take_published);
        if let Some(taken) = self.view.refresh(published, now) {
            // The leader reads its snapshot first. If that traps, no other VM has to find out.
            if has_published {
                self.wake_queues.others(now).into_iter().for_each(host::wake);
            }
            log::state_change(
                self.damage.update(taken).as_ref(),
                "this thread has no snapshot",
                "this thread has a snapshot again",
            );
        }
        self.handler.refresh(now);
        if self.handler.answer_long_polls(now) {
            host::set_effective_context(self.id);
        }
    }

    /// Logs which items are refused from now on.
    fn log_notices(&self) {
        for notice in self.view.quarantine.take_notices() {
            vm::stats().quarantined_records.count();
            log::warn(format_args!("{notice}"));
        }
    }

    /// Observes the lease, and begins, continues or ends a term.
    fn elect(&mut self, now: Time) {
        let state = ElectorState {
            has_served: vm::has_served(),
            // A VM that has just taken the lease is about to begin, so it is not idle.
            is_idle: self.leader.as_ref().is_some_and(|leader| leader.is_idle(now)),
            is_eligible: self.candidates.is_newest(self.id),
        };
        let Some(lease) = self.election.observe(state, &self.view.quarantine, now) else {
            return self.end_term();
        };
        if self.leader.is_none() {
            log::info(format_args!(
                "this thread polls {} from now on",
                self.view.config.origin
            ));
            self.leader = LeaderTask::start(self.view.clone(), &lease, now).ok();
            vm::stats().leader_changes.count();
        }
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
        self.election.resign();
        self.leader = None;
        vm::stats().flush();
    }
}
