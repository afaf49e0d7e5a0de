//! How the lists are kept up to date at the moment, for the log: by streams, or in windows, and why.

use super::effect::Effect;
use crate::config::duration::DurationText;
use crate::config::{Config, NoStreams, SyncMode};
use crate::time::Time;
use std::time::Duration;

/// The time between two lines. Where several proxies' filters serve one cluster, each request may find another one.
const MIN_INTERVAL: Duration = Duration::from_secs(60);

/// What became of a request that could have been a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModeInUse {
    /// It is a stream, and the server has accepted it.
    Streams,
    /// It was answered in one piece: this filter is not an upstream filter of the cluster.
    Windows,
    /// Streams are not possible with this configuration or module.
    OnlyWindows(NoStreams),
}

impl ModeInUse {
    /// The mode that a successful answer shows which came in one piece. `offers_stream`: it could have come as a stream.
    pub(super) fn of_whole_answer(offers_stream: bool, config: &Config) -> Option<Self> {
        let only_windows = config.no_streams().map(Self::OnlyWindows);
        only_windows.or(offers_stream.then_some(Self::Windows))
    }
}

/// Reports the mode, and each change of it.
#[derive(Debug, Default)]
pub(super) struct ModeReporter {
    /// The mode of the last request that succeeded.
    current: Option<ModeInUse>,
    reported: Option<(ModeInUse, Time)>,
}

impl ModeReporter {
    /// Notes what became of a request. Returns a line for the log if one is due.
    pub(super) fn note(&mut self, mode: ModeInUse, config: &Config, now: Time) -> Option<Effect> {
        self.current = Some(mode);
        self.report(config, now)
    }

    /// Returns a line for the log if the mode is another one than in the last line.
    pub(super) fn report(&mut self, config: &Config, now: Time) -> Option<Effect> {
        let mode = self.current?;
        let is_reported = self
            .reported
            .is_some_and(|(reported, at)| reported == mode || (at <= now && now.since(at) < MIN_INTERVAL));
        if is_reported {
            return None;
        }
        self.reported = Some((mode, now));
        Some(message(mode, config))
    }
}

fn message(mode: ModeInUse, config: &Config) -> Effect {
    let cluster = &config.api.cluster;
    let missing =
        || format!("this filter is not an upstream filter of the Envoy cluster {cluster:?} in the same Wasm VM");
    let reason = match mode {
        ModeInUse::Streams => {
            return Effect::LogInfo(format!(
                "reading the Kubernetes API by streams: this filter is also an upstream filter of the Envoy cluster \
                 {cluster:?}"
            ));
        }
        ModeInUse::Windows if config.sync.mode == SyncMode::Stream => {
            return Effect::LogError(format!(
                "nothing is read: `sync.mode` is `stream`, and {}; add it to the cluster as docs/configuration.md shows, or \
                 set `sync.mode` to `auto`",
                missing()
            ));
        }
        ModeInUse::Windows => missing(),
        ModeInUse::OnlyWindows(no_streams) => no_streams.reason(),
    };
    let [window, workload_window] = [config.sync.window, config.sync.workload_window].map(DurationText);
    Effect::LogInfo(format!(
        "watching in windows of {window}, and {workload_window} for workloads: {reason}"
    ))
}
