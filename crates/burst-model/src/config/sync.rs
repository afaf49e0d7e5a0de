//! How the lists are kept up to date: by reading them whole, or by watching them.

use super::duration::DurationText;
use super::raw::{RawSync, SyncMode};
use super::validate::{invalid, time, within};
use super::{Config, ConfigError};
use crate::kube::{Reads, Source};
use crate::sync::life::Pace;
use std::time::Duration;

/// Half as long a header would be fresher than anyone looks; twice as long saves a request in ten seconds.
const WINDOW: Duration = Duration::from_secs(5);
/// Workloads change all the time, and only the labels of their pods count, which hardly ever do.
const WORKLOAD_WINDOW: Duration = Duration::from_secs(30);
/// The API server says how far a quiet window went 2 s before its end, and only in windows that long.
const MIN_WINDOW: Duration = Duration::from_secs(3);
/// Every kind of the default configuration, and a namespace or two.
const MAX_WINDOWS: u32 = 8;
/// Each is a request that stays open at the API server.
const MAX_MAX_WINDOWS: u32 = 100;

/// How the lists are kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncConfig {
    /// By reading them whole, or by watching them.
    pub mode: SyncMode,
    /// How long a watch of HPAs and Services lasts.
    pub window: Duration,
    /// How long a watch of workloads lasts.
    pub workload_window: Duration,
    /// How many watches are open at once.
    pub max_windows: usize,
    /// Lists that watch in turn, for each of these, at most.
    lists_per_window: u32,
}

impl SyncConfig {
    /// Windows that are not given are short enough that none of them makes the picture too old; and where so many lists
    /// cannot watch at once, all are as much shorter as it takes for each to come as often.
    pub(super) fn check(words: &RawSync, lists: usize, max_staleness: Duration) -> Result<Self, ConfigError> {
        let longest = Duration::from_secs(max_staleness.as_secs() / 2);
        let window = |key, text: &Option<String>, default: Duration| {
            let window = time(key, text.as_deref(), default.min(longest), MIN_WINDOW)?;
            // The API takes whole seconds.
            match window.subsec_nanos() {
                0 => Ok(window),
                _ => Err(invalid(
                    key,
                    format_args!("{} is not a whole number of seconds", DurationText(window)),
                )),
            }
        };
        let max_windows = words.max_windows.unwrap_or(MAX_WINDOWS);
        let max_windows = within("sync.max_windows", max_windows, 1, MAX_MAX_WINDOWS)?;
        let max_windows = usize::try_from(max_windows).unwrap_or(usize::MAX);
        let lists_per_window = u32::try_from(lists.div_ceil(max_windows).max(1)).unwrap_or(u32::MAX);
        let in_turn = |window: Duration| Duration::from_secs((window / lists_per_window).as_secs()).max(MIN_WINDOW);
        Ok(Self {
            mode: words.mode.unwrap_or_default(),
            window: in_turn(window("sync.window", &words.window, WINDOW)?),
            workload_window: in_turn(window("sync.workload_window", &words.workload_window, WORKLOAD_WINDOW)?),
            max_windows,
            lists_per_window,
        })
    }

    /// The longest time that a list goes without a word, where windows are what keeps it up to date.
    pub(super) fn longest_update_gap(&self) -> Duration {
        match self.mode {
            SyncMode::List => Duration::ZERO,
            SyncMode::Watch => self
                .window
                .max(self.workload_window)
                .saturating_mul(self.lists_per_window),
        }
    }
}

impl Config {
    /// How a list of that source is kept up to date.
    #[must_use]
    pub fn pace(&self, source: &Source) -> Pace {
        let window = match source.reads {
            Reads::Hpas | Reads::Services | Reads::Policies => self.sync.window,
            Reads::Workloads => self.sync.workload_window,
        };
        Pace {
            interval: self.poll_interval,
            window: (self.sync.mode == SyncMode::Watch).then_some(window),
        }
    }
}
