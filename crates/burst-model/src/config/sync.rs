//! `sync`: whether lists are polled, watched in windows, or streamed.

use super::duration::DurationText;
use super::raw::{RawSync, SyncMode};
use super::request_path::NEEDS_FULL_MODULE;
use super::value::{invalid, time, within};
use super::{Artifact, Config, ConfigError};
use crate::kube::{ObjectKind, Source};
use crate::sync::reflector::{Schedule, StreamPolicy};
use std::time::Duration;

/// Clients do not notice a shorter window; one of twice the length saves only one request in ten seconds.
const WINDOW: Duration = Duration::from_secs(5);
/// Workloads change all the time, but the filter uses only their pod labels, which rarely change.
const WORKLOAD_WINDOW: Duration = Duration::from_secs(30);
/// The API server sends the bookmark of a watch 2 s before its end, and only if the watch is long enough.
const MIN_WINDOW: Duration = Duration::from_secs(3);
/// Enough for every resource of the default configuration, in one or two namespaces.
const MAX_WINDOWS: u32 = 8;
/// Each window is a request that stays open at the API server.
const MAX_MAX_WINDOWS: u32 = 100;

/// The least `max_staleness` with which a quiet stream does not become stale.
const MIN_STREAM_STALENESS: Duration = Duration::from_secs(30);

/// How the lists are kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncConfig {
    /// Whether lists are polled, watched or streamed.
    pub mode: SyncMode,
    /// Whether responses are read as they come.
    pub streams: StreamPolicy,
    /// The duration of a watch of HPAs, Services or policies.
    pub window: Duration,
    /// The duration of a watch of workloads.
    pub workload_window: Duration,
    /// The largest number of open watches.
    pub max_windows: usize,
    /// The largest number of lists that share one watch slot and take turns.
    lists_per_window: u32,
}

impl SyncConfig {
    /// Checks `sync`. A default window is short enough that the snapshot does not become stale in it. If there are more
    /// lists than watch slots, all windows are shortened so that each list is updated as often.
    pub(super) fn check(
        raw: &RawSync,
        lists: usize,
        max_staleness: Duration,
        artifact: Artifact,
    ) -> Result<Self, ConfigError> {
        let longest = Duration::from_secs(max_staleness.as_secs() / 2);
        let window = |key, text: &Option<String>, default: Duration| {
            let window = time(key, text.as_deref(), default.min(longest), MIN_WINDOW)?;
            // `timeoutSeconds` of the Kubernetes API is a whole number.
            match window.subsec_nanos() {
                0 => Ok(window),
                _ => Err(invalid(
                    key,
                    format_args!("{} is not a whole number of seconds", DurationText(window)),
                )),
            }
        };
        let max_windows = raw.max_windows.unwrap_or(MAX_WINDOWS);
        let max_windows = within("sync.max_windows", max_windows, 1, MAX_MAX_WINDOWS)?;
        let max_windows = usize::try_from(max_windows).unwrap_or(usize::MAX);
        let lists_per_window = u32::try_from(lists.div_ceil(max_windows).max(1)).unwrap_or(u32::MAX);
        let in_turn = |window: Duration| Duration::from_secs((window / lists_per_window).as_secs()).max(MIN_WINDOW);
        let mode = raw.mode.unwrap_or_default();
        Ok(Self {
            mode,
            streams: stream_policy(mode, max_staleness, artifact)?,
            window: in_turn(window("sync.window", &raw.window, WINDOW)?),
            workload_window: in_turn(window("sync.workload_window", &raw.workload_window, WORKLOAD_WINDOW)?),
            max_windows,
            lists_per_window,
        })
    }

    /// Returns the longest time between two updates of a watched list.
    pub(super) fn longest_update_gap(&self) -> Duration {
        match self.mode {
            SyncMode::List => Duration::ZERO,
            SyncMode::Auto | SyncMode::Stream | SyncMode::Watch => self
                .window
                .max(self.workload_window)
                .saturating_mul(self.lists_per_window),
        }
    }
}

/// Returns whether responses are read as they come. A stream without changes shows its list as of up to 25 s ago.
fn stream_policy(mode: SyncMode, max_staleness: Duration, artifact: Artifact) -> Result<StreamPolicy, ConfigError> {
    match mode {
        SyncMode::Watch | SyncMode::List => Ok(StreamPolicy::Never),
        SyncMode::Stream if artifact == Artifact::HeaderOnly => {
            Err(invalid("sync.mode", format_args!("`stream` {NEEDS_FULL_MODULE}")))
        }
        SyncMode::Auto if artifact == Artifact::HeaderOnly => Ok(StreamPolicy::Never),
        SyncMode::Auto if max_staleness < MIN_STREAM_STALENESS => Ok(StreamPolicy::Never),
        SyncMode::Auto => Ok(StreamPolicy::Preferred),
        SyncMode::Stream if max_staleness < MIN_STREAM_STALENESS => Err(invalid(
            "sync.mode",
            format_args!(
                "`stream` needs a max_staleness of at least {}: a stream without changes shows no more than that its list \
                 was current 25s ago",
                DurationText(MIN_STREAM_STALENESS)
            ),
        )),
        SyncMode::Stream => Ok(StreamPolicy::Required),
    }
}

/// Why `sync.mode: auto` uses no streams, wherever the filter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStreams {
    /// The module cannot be an upstream filter.
    HeaderOnlyModule,
    /// `max_staleness` is shorter than the age that a quiet stream shows.
    ShortStaleness,
}

impl NoStreams {
    /// The reason as text.
    #[must_use]
    pub fn reason(self) -> String {
        match self {
            Self::HeaderOnlyModule => "the header-only module cannot be an upstream filter".to_owned(),
            Self::ShortStaleness => format!(
                "streams need a max_staleness of at least {}",
                DurationText(MIN_STREAM_STALENESS)
            ),
        }
    }
}

impl Config {
    /// Returns why `sync.mode: auto` uses no streams with this configuration. `None` if it may use them.
    #[must_use]
    pub fn no_streams(&self) -> Option<NoStreams> {
        let is_windows = self.sync.mode == SyncMode::Auto && self.sync.streams == StreamPolicy::Never;
        is_windows.then_some(match self.max_staleness < MIN_STREAM_STALENESS {
            true => NoStreams::ShortStaleness,
            false => NoStreams::HeaderOnlyModule,
        })
    }

    /// Returns how the list of a source is kept up to date.
    #[must_use]
    pub fn schedule(&self, source: &Source) -> Schedule {
        let window = match source.kind {
            ObjectKind::Hpas
            | ObjectKind::Services
            | ObjectKind::Policies
            | ObjectKind::EndpointSlices
            | ObjectKind::Pods => self.sync.window,
            ObjectKind::Workloads => self.sync.workload_window,
        };
        Schedule {
            interval: self.poll_interval,
            window: (self.sync.mode != SyncMode::List).then_some(window),
        }
    }
}
