//! How the lists are kept up to date: by reading them whole, or by watching them.

use super::check::{bad, time, within};
use super::duration::Written;
use super::words::{self, SyncMode};
use super::{BadConfig, Config};
use crate::kube::{ObjectKind, Source};
use crate::sync::reflector::Schedule;
use std::time::Duration;

/// Half as long a header would be fresher than anyone looks; twice as long saves a request in ten seconds.
const WINDOW: Duration = Duration::from_secs(5);
/// Workloads change all the time, and only the labels of their pods count, which hardly ever do.
const WORKLOAD_WINDOW: Duration = Duration::from_secs(30);
/// The API server says how far a quiet window went 2 s before its end, and only in windows that long.
const LEAST_WINDOW: Duration = Duration::from_secs(3);
/// Every kind of the default configuration, and a namespace or two.
const MAX_WINDOWS: u32 = 8;
/// Each is a request that stays open at the API server.
const LARGEST_MAX_WINDOWS: u32 = 100;

/// How the lists are kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sync {
    /// By reading them whole, or by watching them.
    pub mode: SyncMode,
    /// How long a watch of HPAs and Services lasts.
    pub window: Duration,
    /// How long a watch of workloads lasts.
    pub workload_window: Duration,
    /// How many watches are open at once.
    pub most_windows: usize,
    /// Lists that watch in turn, for each of these, at most.
    turns: u32,
}

impl Sync {
    /// Windows that are not given are short enough that none of them makes the picture too old; and where so many lists
    /// cannot watch at once, all are as much shorter as it takes for each to come as often.
    pub(super) fn check(words: &words::Sync, lists: usize, max_staleness: Duration) -> Result<Self, BadConfig> {
        let longest = Duration::from_secs(max_staleness.as_secs() / 2);
        let window = |key, text: &Option<String>, default: Duration| {
            let window = time(key, text.as_deref(), default.min(longest), LEAST_WINDOW)?;
            // The API takes whole seconds.
            match window.subsec_nanos() {
                0 => Ok(window),
                _ => Err(bad(
                    key,
                    format_args!("{} is not a whole number of seconds", Written(window)),
                )),
            }
        };
        let max_windows = words.max_windows.unwrap_or(MAX_WINDOWS);
        let most_windows = within("sync.max_windows", max_windows, 1, LARGEST_MAX_WINDOWS)?;
        let most_windows = usize::try_from(most_windows).unwrap_or(usize::MAX);
        let turns = u32::try_from(lists.div_ceil(most_windows).max(1)).unwrap_or(u32::MAX);
        let in_turn = |window: Duration| Duration::from_secs((window / turns).as_secs()).max(LEAST_WINDOW);
        Ok(Self {
            mode: words.mode.unwrap_or_default(),
            window: in_turn(window("sync.window", &words.window, WINDOW)?),
            workload_window: in_turn(window("sync.workload_window", &words.workload_window, WORKLOAD_WINDOW)?),
            most_windows,
            turns,
        })
    }

    /// The longest time that a list goes without a word, where windows are what keeps it up to date.
    pub(super) fn slowest(&self) -> Duration {
        match self.mode {
            SyncMode::List => Duration::ZERO,
            SyncMode::Watch => self.window.max(self.workload_window).saturating_mul(self.turns),
        }
    }
}

impl Config {
    /// How a list of that source is kept up to date.
    #[must_use]
    pub fn pace(&self, source: &Source) -> Schedule {
        let window = match source.kind {
            ObjectKind::Hpas | ObjectKind::Services | ObjectKind::Policies => self.sync.window,
            ObjectKind::Workloads => self.sync.workload_window,
        };
        Schedule {
            interval: self.poll_interval,
            window: (self.sync.mode == SyncMode::Watch).then_some(window),
        }
    }
}
