//! Timers of root contexts, and the order in which they fire.

use super::callout::Callout;
use super::state::VmState;
use std::time::Duration;

#[derive(Clone, Copy)]
pub(super) struct Timer {
    pub(super) period: Duration,
    pub(super) due: Duration,
}

/// The next event that is due.
#[derive(Clone, Copy)]
pub(super) enum Event {
    Tick { root: u32 },
    Timeout { token: u32 },
}

impl VmState {
    pub(super) fn set_tick_period(&mut self, period: Duration) {
        let due = self.proxy.now() + period;
        if let Some(root) = self.root() {
            root.timer = (!period.is_zero()).then_some(Timer { period, due });
        }
    }

    /// Restarts the tick period, unless the handler switched it off or the context is gone.
    pub(super) fn rearm(&mut self, root: u32) {
        let now = self.proxy.now();
        if let Some(timer) = self.roots.get_mut(&root).and_then(|root| root.timer.as_mut()) {
            timer.due = now + timer.period;
        }
    }

    /// The root contexts that have a timer.
    pub(super) fn ticking(&self) -> Vec<u32> {
        self.roots
            .iter()
            .filter(|(_, root)| root.timer.is_some())
            .map(|(&id, _)| id)
            .collect()
    }

    /// The next event and its time.
    pub(super) fn next_event(&self) -> Option<(Duration, Event)> {
        let ticks = self
            .roots
            .iter()
            .filter_map(|(&root, at)| Some((at.timer?.due, Event::Tick { root })));
        let timeout = |callout: &Callout| Some((callout.deadline()?, Event::Timeout { token: callout.token }));
        let timeouts = self
            .roots
            .values()
            .flat_map(|root| root.callouts.iter().filter_map(timeout));
        timeouts.chain(ticks).min_by_key(|&(due, _)| due)
    }
}
