//! The results of a run.

use crate::run::Run;
use crate::scenario::Scenario;
use crate::tally::{Ages, Seconds};
use std::ops::Range;
use std::time::Duration;

/// The results of a run.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// The load of the API server before the outage.
    pub steady: Load,
    /// The load of the hubs before the outage.
    pub hubs: Load,
    /// The most watches that were open at the API server before the outage, without windows.
    pub streams: u64,
    /// Requests in the busiest second of the start, when all proxies list at once.
    pub first_peak: u64,
    /// The time until 99 of 100 proxies had a snapshot. `None` if they never had.
    pub first_snapshot: Option<Duration>,
    /// Requests in the busiest second after the outage.
    pub peak: u64,
    /// Requests in the busiest second of the last minute: near the mean, unless the proxies send their requests at the
    /// same time.
    pub last_peak: u64,
    /// The time from the end of the outage until 99 of 100 proxies have read everything again. `None` if they never have.
    pub recovery: Option<Duration>,
    /// The greatest age of a snapshot.
    pub oldest: Duration,
}

/// The mean load of a server in a second.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Requests.
    pub requests: f64,
    /// Busy cores.
    pub cores: f64,
    /// Bytes.
    pub bytes: f64,
    /// The worst 99th percentile of the ages of the snapshots.
    pub p99_age: Duration,
}

impl Summary {
    /// Returns the results of a run.
    #[must_use]
    pub fn of(scenario: &Scenario, run: &Run) -> Self {
        let outage = scenario.outage;
        let up = outage.start + outage.duration;
        let before = outage.start.saturating_sub(scenario.steady)..outage.start;
        let steady = Load::of(&run.api, run, &before);
        let last = scenario.duration.saturating_sub(Duration::from_secs(60))..scenario.duration;
        let have_snapshots = |_, ages: &Ages| ages.without * 100 <= scenario.proxies;
        let have_read_again = |since, ages: &Ages| have_snapshots(since, ages) && ages.p99 < since;
        let share = scenario.share as u64;
        Self {
            steady: steady.times(scenario.share),
            hubs: Load::of(&run.hub, run, &before),
            streams: run.api.streams(&before) * share,
            first_peak: run.api.peak(&(Duration::ZERO..before.start)) * share,
            first_snapshot: first(run, Duration::ZERO, have_snapshots),
            peak: run.api.peak(&(up..scenario.duration)) * share,
            last_peak: run.api.peak(&last) * share,
            recovery: first(run, up, have_read_again),
            oldest: run.ages.iter().map(|ages| ages.oldest).max().unwrap_or_default(),
        }
    }
}

impl Load {
    #[allow(clippy::cast_precision_loss, reason = "a small number")]
    fn times(self, share: usize) -> Self {
        let share = share as f64;
        Self {
            requests: self.requests * share,
            cores: self.cores * share,
            bytes: self.bytes * share,
            ..self
        }
    }

    fn of(server: &Seconds, run: &Run, span: &Range<Duration>) -> Self {
        let ages = seconds(run, span).map(|ages| ages.p99);
        Self {
            requests: server.rate(span),
            cores: server.cores(span),
            bytes: server.bytes(span),
            p99_age: ages.max().unwrap_or_default(),
        }
    }
}

fn seconds<'a>(run: &'a Run, span: &Range<Duration>) -> impl Iterator<Item = &'a Ages> {
    let [from, to] = [span.start, span.end].map(|end| usize::try_from(end.as_secs()).unwrap_or(usize::MAX));
    run.ages.iter().take(to).skip(from)
}

/// Returns the time from `from` until `is_so` holds for the rest of the run.
fn first(run: &Run, from: Duration, is_so: impl Fn(Duration, &Ages) -> bool) -> Option<Duration> {
    let since = (0..).map(Duration::from_secs);
    let mut last = None;
    for (since, ages) in since.zip(seconds(run, &(from..Duration::MAX))) {
        last = match is_so(since, ages) {
            true => last.or(Some(since)),
            false => None,
        };
    }
    last
}
