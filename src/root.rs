//! The root context: configured once, then a tick a second. Each tick it looks at the lease, does the leader's work if
//! that is its own, and looks at what there is to serve.
//!
//! Nothing that comes from the cluster may trap a VM again after its reload, neither in `configure` nor in a tick: whatever
//! is taken from shared data here is taken under a mark of [`crate::quarantine`].

use crate::host::{self, SharedValue};
use crate::http::View;
use crate::leader::LeaderTask;
use crate::log;
use crate::metrics_apis;
use crate::quarantine::trap_on;
use crate::streams;
use crate::vm::{self, PollerGroup};
use burst_model::config::{Artifact, Config, Role};
use burst_model::quarantine::{Item, ItemKind};
use burst_model::records::{Confirmed, ID_KEY, Record, RequestCountKeys, SharedKeys};
use burst_model::sync::election::{self, Decision, Elector, ElectorState, Lease, VmId};
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// Fine enough that a change shows within a second, and nothing is done in it that costs when nothing happened.
///
/// A shared queue would wake the other threads at once. It would save half a second on average, behind a window of five;
/// and each thread needs a queue of its own, known to the leader by a list in shared data. Envoy never takes a queue away:
/// those of threads that died fill up for as long as the proxy lives. The tick is needed anyway, as it finds what no
/// wake-up told of.
const TICK: Duration = Duration::from_secs(1);

/// While the leader has work left, a part of it comes this soon after the one before: in between the thread sees to
/// everybody else.
const SOON: Duration = Duration::from_millis(10);

const ARTIFACT: Artifact = if cfg!(feature = "header-only") {
    Artifact::HeaderOnly
} else {
    Artifact::Full
};

/// A root context, before and after its configuration.
pub(crate) struct RootContext {
    context_id: u32,
    configured: Option<ActiveRoot>,
}

impl RootContext {
    pub(crate) fn new(context_id: u32) -> Self {
        Self {
            context_id,
            configured: None,
        }
    }

    /// Takes the configuration that the host has; whether it can be.
    pub(crate) fn configure(&mut self) -> bool {
        match Config::parse(&host::configuration(), ARTIFACT) {
            Ok(config) => {
                let mut configured = ActiveRoot::new(self.context_id, config);
                // Without it a reload would serve nothing until its first tick. All that it takes it takes under a mark:
                // what traps here would trap each reload.
                configured.refresh(host::now());
                streams::show(self.context_id, &configured.view);
                self.configured = Some(configured);
                host::tick_every(TICK);
                true
            }
            // Envoy refuses the listener with this, keeps the one before, and does not say why; the log does.
            Err(error) => {
                log::error(format_args!("the configuration is refused: {error}"));
                false
            }
        }
    }

    pub(crate) fn tick(&mut self) {
        if let Some(configured) = &mut self.configured {
            configured.tick();
        }
    }

    /// Takes note of a bell that rang.
    pub(crate) fn on_wake(&mut self, bell: u32) {
        host::drain_wake_queue(bell);
        if let Some(configured) = &self.configured {
            metrics_apis::send(&configured.view);
        }
    }

    /// Takes the answer to a callout.
    pub(crate) fn answer(&mut self, token: u32, has_headers: bool, body_size: usize) {
        let Some(configured) = &mut self.configured else { return };
        if metrics_apis::take_review(&configured.view, token, has_headers, body_size) {
            return;
        }
        let now = host::now();
        configured.work(now, |office| office.answer(token, has_headers, body_size, now));
        configured.refresh(now);
        configured.set_tick_period();
    }
}

/// The end of a drain. The host says so by `on_done` and, at once after that, by `on_delete`: a module has the second one
/// at most, so that a stream, too, is a call shorter (`xtask/src/artifact.rs`).
impl Drop for RootContext {
    fn drop(&mut self) {
        if let Some(configured) = &mut self.configured {
            configured.release();
        }
    }
}

struct ActiveRoot {
    context_id: u32,
    pollers: PollerGroup,
    keys: SharedKeys,
    /// What the proxies count of requests, where the metrics APIs serve it.
    sum: Option<String>,
    view: Rc<View>,
    /// Made in the first tick: the canary that a configuration is tried on has none, and must leave no traces.
    candidate: Option<Elector>,
    /// Ticks without a beat after which a leader is gone.
    patience: u32,
    office: Option<LeaderTask>,
    /// What is left of an office that this context has no more.
    left: Option<LeaderTask>,
    /// When the last whole tick was, and whether there are others between two of them.
    ticked: Time,
    hurries: bool,
    /// When what is served was read: not the last time, while a newer snapshot is left alone.
    confirmed: Option<Confirmed>,
}

impl ActiveRoot {
    fn new(context_id: u32, config: Config) -> Self {
        let settings = config.settings_hash();
        let (keys, pollers) = (
            SharedKeys::new(settings, config.lists_hash()),
            PollerGroup::of(settings),
        );
        if config.role == Role::Auto {
            pollers.join(context_id);
        }
        let serves = config.requests.is_some() && config.metrics_apis.is_some();
        let sum = serves.then(|| RequestCountKeys::new(config.counting_hash()).sum);
        Self {
            context_id,
            pollers,
            sum,
            view: Rc::new(View::new(config, &keys)),
            keys,
            candidate: None,
            patience: election::EXPIRY_TICKS,
            office: None,
            left: None,
            ticked: Time::default(),
            hurries: false,
            confirmed: None,
        }
    }

    fn tick(&mut self) {
        let now = host::now();
        let is_between = self.hurries && now >= self.ticked && now.since(self.ticked) < TICK;
        if is_between {
            self.work(now, |office| office.advance(now));
            // What was published is served here too, as soon as after an answer.
            let has_news = |office: &LeaderTask| office.has_published() || !office.is_busy();
            if self.office.as_ref().is_none_or(has_news) {
                self.refresh(now);
            }
        } else {
            self.ticked = now;
            self.whole_tick(now);
        }
        if !self.left.as_mut().is_some_and(LeaderTask::release) {
            self.left = None;
        }
        self.set_tick_period();
    }

    /// Leaves the office, and what it holds to later.
    fn leave(&mut self) {
        if let Some(office) = self.office.take() {
            self.left = Some(office);
        }
    }

    /// Ticks as soon as the leader's work wants it.
    fn set_tick_period(&mut self) {
        let hurries = self.left.is_some() || self.office.as_ref().is_some_and(LeaderTask::is_busy);
        if hurries != self.hurries {
            self.hurries = hurries;
            host::tick_every(if hurries { SOON } else { TICK });
        }
    }

    fn whole_tick(&mut self, now: Time) {
        if let Some((counter, requests)) = self.view.counting() {
            counter.tick(requests.report_interval, now);
        }
        let marks = self.view.quarantine.tick();
        self.patience = election::expiry_ticks_after(marks.leader_pause(now));
        if let Some(office) = &mut self.office {
            office.observe_marks(&marks, now);
        }
        self.elect(now);
        self.work(now, |office| office.tick(now));
        self.refresh(now);
        metrics_apis::send(&self.view);
        let stats = vm::stats();
        stats.show_age(&self.view.picture.borrow());
        stats.flush();
    }

    /// Looks at the lease, and takes, keeps or leaves the office.
    fn elect(&mut self, now: Time) {
        let Some(candidate) = self.candidate.take().or_else(|| unique_id().map(Elector::new)) else {
            return;
        };
        let candidate = self.candidate.insert(candidate);
        let found = SharedValue::read(&self.keys.lease);
        let standing = ElectorState {
            has_served: vm::has_served(),
            // Who has just taken the lease is about to begin.
            is_idle: self.office.as_ref().is_some_and(|office| office.is_idle(now)),
            is_eligible: self.pollers.is_newest(self.context_id),
        };
        match candidate.observe(found.record().as_ref(), self.patience, standing) {
            Decision::Hold(lease) => match write(&self.keys, &lease, &found) {
                Ok(()) => self.hold(&lease, now),
                Err(host::CasConflict) => self.leave(),
            },
            Decision::Succeed(lease) => match write(&self.keys, &lease, &found) {
                Ok(()) => {
                    self.view.quarantine.suspect(now);
                    self.hold(&lease, now);
                }
                Err(host::CasConflict) => self.leave(),
            },
            Decision::Release(lease) => {
                let _ = write(&self.keys, &lease, &found);
                self.leave();
            }
            Decision::Wait => self.leave(),
        }
    }

    fn hold(&mut self, lease: &Lease, now: Time) {
        if self.office.is_some() {
            return;
        }
        log::info(format_args!(
            "this thread polls {} from now on",
            self.view.config.origin
        ));
        self.office = LeaderTask::start(self.view.clone(), &self.keys, lease, now).ok();
        vm::stats().leader_changes.count();
    }

    /// Does something as the leader, if that is what this context is; a leader that was outrun is none any more.
    fn work(&mut self, now: Time, work: impl FnOnce(&mut LeaderTask) -> Result<(), host::CasConflict>) {
        let Some(office) = &mut self.office else { return };
        let was_resting = office.is_idle(now);
        let outrun = office.guarded(work).is_err();
        let turned = office.is_idle(now) != was_resting;
        if outrun {
            self.leave();
        } else if turned {
            // The lease says at all times whether a round is under way, or about to be: nobody takes over then.
            self.elect(now);
        }
    }

    /// Takes up what the leader published, and looks at the age of it.
    fn refresh(&mut self, now: Time) {
        let confirmed: Option<Confirmed> = SharedValue::read(&self.keys.confirmed).record();
        self.take_snapshot(confirmed.as_ref());
        let mut picture = self.view.picture.borrow_mut();
        picture.refresh(&self.view.config, self.confirmed.as_ref(), now);
        drop(picture);
        self.take_policies(confirmed.as_ref());
        if let (Some(sum), Some(requests)) = (&self.sum, &self.view.config.requests) {
            let mut rates = self.view.rates.borrow_mut();
            rates.refresh(SharedValue::read(sum).bytes, requests.window, requests.max_age(), now);
        }
        if self.view.config.metrics_apis.is_some() {
            let mut others = self.view.others.borrow_mut();
            others.look(&self.keys.adapter_resources, &self.view.quarantine);
        }
    }

    /// Takes a snapshot that is newer than the one that is held. One that is left alone leaves the one that is held as it
    /// is, and as old as it is.
    fn take_snapshot(&mut self, confirmed: Option<&Confirmed>) {
        let mut picture = self.view.picture.borrow_mut();
        if let Some(newer) = confirmed.filter(|confirmed| picture.is_behind(confirmed)) {
            let own = self.office.as_mut().and_then(LeaderTask::take_published);
            let item = Item {
                kind: ItemKind::Snapshot,
                hash: newer.generation,
            };
            let taken = self.view.quarantine.take(item, || {
                picture.drop_snapshot();
                let bytes = own.unwrap_or_else(|| SharedValue::read(&self.keys.snapshot).bytes);
                trap_on(ItemKind::Snapshot, &bytes);
                picture.take(bytes)
            });
            match taken {
                None => return,
                Some(Ok(())) => {}
                Some(Err(damaged)) => log::warn(format_args!("{damaged}")),
            }
        }
        self.confirmed = confirmed.cloned();
    }

    /// Takes policies that are others than those in force. Those that are left alone leave these in force.
    fn take_policies(&self, confirmed: Option<&Confirmed>) {
        let Some(root) = self.view.config.root_namespace() else {
            return;
        };
        let (quarantine, mut enforced) = (&self.view.quarantine, self.view.enforced.borrow_mut());
        let taken = &self.view.policies;
        let mut is_marked = false;
        enforced.look(root, confirmed, || {
            let bytes = SharedValue::read(&self.keys.policies).bytes;
            let item = Item::of_bytes(ItemKind::Policies, &bytes);
            if taken.get() == item.hash {
                return bytes;
            }
            is_marked = quarantine.begin(item);
            if !is_marked {
                return Vec::new();
            }
            taken.set(item.hash);
            trap_on(ItemKind::Policies, &bytes);
            bytes
        });
        if is_marked {
            quarantine.end();
        }
    }

    /// Leaves the office in order: the next tick of any other context takes it.
    fn release(&mut self) {
        self.pollers.leave(self.context_id);
        self.view.quarantine.tick();
        let found = SharedValue::read(&self.keys.lease);
        let standing = ElectorState {
            has_served: false,
            is_idle: true,
            is_eligible: false,
        };
        let leave = self
            .candidate
            .as_mut()
            .map(|candidate| candidate.observe(found.record().as_ref(), self.patience, standing));
        if let Some(Decision::Release(lease)) = leave {
            let _ = write(&self.keys, &lease, &found);
        }
        self.office = None;
        vm::stats().flush();
    }
}

fn write(keys: &SharedKeys, lease: &Lease, found: &SharedValue) -> Result<(), host::CasConflict> {
    host::compare_and_set(&keys.lease, &lease.to_bytes(), found.cas)
}

/// A number that no other root context of this proxy has: a counter in shared data. `None` where others are faster
/// this time; the next tick tries again.
pub(crate) fn unique_id() -> Option<VmId> {
    let last = SharedValue::read(ID_KEY);
    let next = last
        .bytes
        .first_chunk()
        .copied()
        .map_or(0, u32::from_le_bytes)
        .wrapping_add(1);
    host::compare_and_set(ID_KEY, &next.to_le_bytes(), last.cas)
        .ok()
        .map(|()| VmId(next))
}
