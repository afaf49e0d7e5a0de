//! A run in a few numbers.

use crate::run::Run;
use crate::scenario::Scenario;
use crate::tally::{Ages, Seconds};
use std::ops::Range;
use std::time::Duration;

/// How long before the outage everything counts as steady.
const STEADY: Duration = Duration::from_secs(120);

/// What a run showed.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Before the outage.
    pub steady: Load,
    /// The same at the hubs.
    pub hubs: Load,
    /// Requests in the busiest second of the beginning, when all proxies come at once.
    pub first_peak: u64,
    /// Until 99 of 100 proxies had a picture; `None` where they never had.
    pub first_picture: Option<Duration>,
    /// Requests in the busiest second after the outage.
    pub peak: u64,
    /// Requests in the busiest second of the last minute: near the mean, unless the proxies ask in step.
    pub last_peak: u64,
    /// From the end of the outage until the pictures of 99 of 100 proxies were read after it; `None` where they never
    /// were.
    pub recovery: Option<Duration>,
    /// The oldest picture of all.
    pub oldest: Duration,
}

/// What a server had to do in a second, in the mean.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Requests.
    pub requests: f64,
    /// Cores at work.
    pub cores: f64,
    /// Bytes.
    pub bytes: f64,
    /// The age that the pictures of 99 of 100 proxies do not exceed, at worst.
    pub p99_age: Duration,
}

impl Summary {
    /// Of a run.
    #[must_use]
    pub fn of(scenario: &Scenario, run: &Run) -> Self {
        let outage = scenario.outage;
        let up = outage.begins + outage.lasts;
        let before = outage.begins.saturating_sub(STEADY)..outage.begins;
        let steady = Load::of(&run.api, run, &before);
        let last = scenario.lasts.saturating_sub(Duration::from_secs(60))..scenario.lasts;
        let pictured = |_, ages: &Ages| ages.without * 100 <= scenario.proxies;
        let anew = |since, ages: &Ages| pictured(since, ages) && ages.p99 < since;
        Self {
            steady,
            hubs: Load::of(&run.hub, run, &before),
            first_peak: run.api.peak(&(Duration::ZERO..before.start)),
            first_picture: first(run, Duration::ZERO, pictured),
            peak: run.api.peak(&(up..scenario.lasts)),
            last_peak: run.api.peak(&last),
            recovery: first(run, up, anew),
            oldest: run.ages.iter().map(|ages| ages.oldest).max().unwrap_or_default(),
        }
    }
}

impl Load {
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

/// The time from a moment until all is so, and stays so.
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
