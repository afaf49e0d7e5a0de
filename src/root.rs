//! A root context: it is configured once and ticks once a second. In each tick it takes part in the election, does the
//! leader's work if it leads, and takes what the leader published.

use crate::callouts::{CalloutEvent, Purpose};
use crate::candidacy::Candidacy;
use crate::host;
use crate::http::Handler;
use crate::leader::LeaderTask;
use crate::log;
use crate::shared_data::{View, WakeQueues};
use crate::vm;
use burst_model::config::{Config, Part, RequestPath};
use burst_model::failure_state::FailureState;
use burst_model::snapshot::InvalidSnapshot;
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// A VM takes a new snapshot when the leader wakes it, or else in its next tick. A tick without news costs almost nothing.
const TICK: Duration = Duration::from_secs(1);

/// The time between two parts of the leader's work. The thread does its other work in between.
const BUSY_TICK: Duration = Duration::from_millis(10);

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
        match Config::parse(&host::configuration(), vm::ARTIFACT) {
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
            Purpose::Leader(part, purpose) => {
                let now = host::now();
                if let Some(candidacy) = active.candidacy(part) {
                    candidacy.work(now, |leader| leader.on_callout(purpose, event, now));
                }
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
    view: Rc<View>,
    handler: Rc<Handler>,
    candidacy: Candidacy,
    /// For the part of the metrics APIs, if the configuration has one.
    metrics_candidacy: Option<Candidacy>,
    /// What is wrong with the newest snapshot.
    damage: FailureState<InvalidSnapshot>,
    last_tick: Time,
    tick_period: Duration,
    wake_queues: WakeQueues,
}

impl ActiveRoot {
    fn new(id: u32, config: Config) -> Self {
        let metrics_part = config.metrics_part().map(RequestPath::into_inner);
        let view = Rc::new(View::new(config, vm::id()));
        let metrics_view = metrics_part.map(|part| Rc::new(View::new(part, vm::id())));
        let wake_queues = WakeQueues::new(&view.keys.wake_queues);
        Self {
            id,
            handler: Rc::new(Handler::new(&view, metrics_view.as_ref().unwrap_or(&view))),
            candidacy: Candidacy::new(id, &view),
            metrics_candidacy: metrics_view.map(|view| Candidacy::new(id, &view)),
            view,
            damage: FailureState::default(),
            last_tick: Time::default(),
            tick_period: TICK,
            wake_queues,
        }
    }

    fn candidacies(&mut self) -> impl Iterator<Item = &mut Candidacy> {
        [&mut self.candidacy].into_iter().chain(&mut self.metrics_candidacy)
    }

    fn candidacy(&mut self, part: Part) -> Option<&mut Candidacy> {
        match part {
            Part::Snapshot => Some(&mut self.candidacy),
            Part::Metrics => self.metrics_candidacy.as_mut(),
        }
    }

    fn tick(&mut self) {
        let now = host::now();
        let is_busy_tick = self.tick_period < TICK && now >= self.last_tick && now.since(self.last_tick) < TICK;
        if is_busy_tick {
            self.candidacies().for_each(|candidacy| candidacy.advance(now));
            // Serve at once what was published.
            let has_news = |leader: &LeaderTask| leader.has_published() || !leader.is_busy();
            if self.candidacy.leader().is_none_or(has_news) {
                self.refresh(now);
            }
        } else {
            self.last_tick = now;
            self.full_tick(now);
        }
        self.candidacies().for_each(Candidacy::release);
        self.set_tick_period();
        self.log_notices();
    }

    fn full_tick(&mut self, now: Time) {
        self.handler.tick(now);
        self.wake_queues.tick(vm::register_wake_queue, now);
        self.candidacies().for_each(|candidacy| candidacy.tick(now));
        self.refresh(now);
        self.handler.send_reviews();
        let stats = vm::stats();
        if self.candidacy.leader().is_some() {
            stats.show_leader(now);
        }
        let leads_metrics = self
            .metrics_candidacy
            .as_ref()
            .is_some_and(|part| part.leader().is_some());
        if leads_metrics && self.view.config.peers.is_some() {
            stats.show_unavailable_peers(self.view.cache.borrow().peers().unavailable().count());
        }
        stats.show_age(&self.view.cache.borrow());
        stats.flush();
    }

    /// Ticks more often while a leader has work left, in time for changes that it gathers, for a snapshot that could not be
    /// taken, and for requests that have waited long enough.
    fn set_tick_period(&mut self) {
        let is_busy = self.candidacies().any(|candidacy| candidacy.is_busy());
        let due = self.candidacies().filter_map(|candidacy| candidacy.next_due()).min();
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

    /// Takes what the leaders published, and the age of it, and answers requests that wait for that. If this VM has published
    /// a snapshot, wakes the others.
    fn refresh(&mut self, now: Time) {
        if let Some(metrics) = &self.metrics_candidacy {
            metrics.view().refresh(|| None, now);
        }
        let candidacy = &mut self.candidacy;
        let has_published = candidacy.leader().is_some_and(LeaderTask::has_published);
        if let Some(taken) = self.view.refresh(|| candidacy.take_published(), now) {
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
    fn log_notices(&mut self) {
        for notice in self
            .candidacies()
            .flat_map(|candidacy| candidacy.view().quarantine.take_notices())
        {
            vm::stats().quarantined_records.count();
            log::warn(format_args!("{notice}"));
        }
    }

    /// Releases the leases, so that other VMs lead after their next tick.
    fn resign(&mut self) {
        self.candidacies().for_each(Candidacy::resign);
        vm::stats().flush();
    }
}
