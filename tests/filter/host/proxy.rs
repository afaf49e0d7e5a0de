//! The state that all VMs of one proxy share: clock, shared data, queues, stats, clusters and log.

use super::callout::{Answer, BODY_LIMIT, Callout};
use super::log::LogLine;
use super::plugin::Plugin;
use super::queues::Queues;
use super::shared_data::SharedData;
use super::stats::Stats;
use super::upstream_filter::UpstreamFilter;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// 2026-01-01T00:00:00Z, as time since the epoch.
const START: Duration = Duration::from_secs(1_767_225_600);

/// The treatment of a thread's requests after its VM has trapped: FAIL_CLOSED, FAIL_OPEN or FAIL_RELOAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailurePolicy {
    /// 503 until a restart: Envoy's default.
    Closed,
    /// Requests bypass the filter.
    Open,
    /// 503, until a request at least a second after the last load rebuilds the VM.
    Reload,
}

/// How a VM accesses a value of shared data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

pub(super) type Fatal = Box<dyn FnMut(Access, &str, &[u8]) -> bool + Send>;

pub(super) type StandIn = Box<dyn FnMut(&Callout) -> Answer + Send>;

/// The state that all threads of a proxy share. No lock is ever held while guest code runs.
pub(super) struct Proxy {
    state: Mutex<ProxyState>,
    stand_in: Mutex<Option<StandIn>>,
    fatal: Mutex<Option<Fatal>>,
}

pub(super) struct ProxyState {
    /// The monotonic clock, which drives the timers.
    pub(super) now: Duration,
    /// How far the wall clock was moved forward and back.
    pub(super) ahead: Duration,
    pub(super) back: Duration,
    pub(super) data: SharedData,
    pub(super) queues: Queues,
    pub(super) stats: Stats,
    pub(super) log: Vec<LogLine>,
    /// The lines whose text was checked.
    checked: usize,
    /// Clusters by name, and whether each has hosts.
    pub(super) clusters: BTreeMap<String, bool>,
    /// The clusters that have the filter as an upstream filter.
    pub(super) upstream_filters: BTreeMap<String, UpstreamFilter>,
    pub(super) body_limit: usize,
    pub(super) failure_policy: FailurePolicy,
    /// Plugins that passed their canary, by VM id.
    pub(super) accepted: Vec<(String, Plugin)>,
}

impl Proxy {
    pub(super) fn new() -> Self {
        let state = ProxyState {
            now: START,
            ahead: Duration::ZERO,
            back: Duration::ZERO,
            data: SharedData::default(),
            queues: Queues::default(),
            stats: Stats::default(),
            log: Vec::new(),
            checked: 0,
            clusters: BTreeMap::new(),
            upstream_filters: BTreeMap::new(),
            body_limit: BODY_LIMIT,
            failure_policy: FailurePolicy::Reload,
            accepted: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            stand_in: Mutex::new(None),
            fatal: Mutex::new(None),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_stand_in(&self, stand_in: StandIn) {
        *self.stand_in.lock().unwrap_or_else(PoisonError::into_inner) = Some(stand_in);
    }

    pub(super) fn has_stand_in(&self) -> bool {
        self.stand_in.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The fake server's answer, if there is a fake server.
    pub(super) fn ask(&self, callout: &Callout) -> Option<Answer> {
        let mut stand_in = self.stand_in.lock().unwrap_or_else(PoisonError::into_inner);
        stand_in.as_mut().map(|answer| answer(callout))
    }

    pub(super) fn set_fatal(&self, fatal: Fatal) {
        *self.fatal.lock().unwrap_or_else(PoisonError::into_inner) = Some(fatal);
    }

    /// Whether this access traps the VM.
    pub(super) fn is_fatal(&self, access: Access, key: &str, value: &[u8]) -> bool {
        let mut fatal = self.fatal.lock().unwrap_or_else(PoisonError::into_inner);
        fatal.as_mut().is_some_and(|fatal| fatal(access, key, value))
    }

    pub(super) fn now(&self) -> Duration {
        self.state().now
    }
}

impl ProxyState {
    /// The time that the filter reads.
    pub(super) fn wall_clock(&self) -> Duration {
        self.now + self.ahead - self.back
    }

    /// The lines since the last call.
    pub(super) fn take_unchecked(&mut self) -> Vec<LogLine> {
        let lines = self.log.get(self.checked..).unwrap_or_default().to_vec();
        self.checked = self.log.len();
        lines
    }

    /// Keeps the line and prints it: the test harness shows the output of a failed test.
    pub(super) fn log(&mut self, line: LogLine) {
        eprintln!("{line}");
        self.log.push(line);
    }
}
