//! The counters of a run.

use crate::costs::Cost;
use crate::server::Micros;
use std::ops::Range;
use std::time::Duration;

const SECOND: Micros = 1_000_000;

/// A second of the API server, or of all hubs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    /// Requests that arrived, served or not.
    pub requests: u64,
    /// The cost of the requests that were served.
    pub cost: Cost,
    /// Watches that are open and stay open.
    pub streams: u64,
}

/// The seconds of a run.
#[derive(Debug, Default)]
pub struct Seconds(Vec<Second>);

impl Seconds {
    /// Returns the second of a time.
    pub fn at(&mut self, now: Micros) -> &mut Second {
        let index = usize::try_from(now / SECOND).unwrap_or(usize::MAX);
        if self.0.len() <= index {
            self.0.resize(index + 1, Second::default());
        }
        &mut self.0[index]
    }

    /// Returns the seconds of a span.
    fn of(&self, span: &Range<Duration>) -> impl Iterator<Item = &Second> {
        let [from, to] = [span.start, span.end].map(|end| usize::try_from(end.as_secs()).unwrap_or(usize::MAX));
        self.0.iter().take(to).skip(from)
    }

    /// Returns the mean number of requests a second.
    #[must_use]
    pub fn rate(&self, span: &Range<Duration>) -> f64 {
        self.mean(span, |second| count(second.requests))
    }

    /// Returns the mean number of busy cores.
    #[must_use]
    pub fn cores(&self, span: &Range<Duration>) -> f64 {
        self.mean(span, |second| second.cost.cpu.as_secs_f64())
    }

    /// Returns the mean number of bytes a second.
    #[must_use]
    pub fn bytes(&self, span: &Range<Duration>) -> f64 {
        self.mean(span, |second| count(second.cost.bytes))
    }

    /// Returns the requests of the busiest second.
    #[must_use]
    pub fn peak(&self, span: &Range<Duration>) -> u64 {
        self.of(span).map(|second| second.requests).max().unwrap_or_default()
    }

    /// Returns the most watches that were open.
    #[must_use]
    pub fn streams(&self, span: &Range<Duration>) -> u64 {
        self.of(span).map(|second| second.streams).max().unwrap_or_default()
    }

    fn mean(&self, span: &Range<Duration>, of: impl Fn(&Second) -> f64) -> f64 {
        self.of(span).map(of).sum::<f64>() / span.end.saturating_sub(span.start).as_secs_f64()
    }
}

/// The ages of the snapshots of all proxies at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ages {
    /// The 99th percentile of the proxies that have a snapshot.
    pub p99: Duration,
    /// The greatest age.
    pub oldest: Duration,
    /// Proxies without a snapshot.
    pub without: usize,
}

impl Ages {
    /// Summarizes the ages of all proxies.
    #[must_use]
    pub fn of(ages: impl Iterator<Item = Option<Duration>>) -> Self {
        let (mut known, mut without) = (Vec::new(), 0);
        for age in ages {
            match age {
                Some(age) => known.push(age),
                None => without += 1,
            }
        }
        known.sort_unstable();
        let p99 = known.get(known.len() * 99 / 100).copied().unwrap_or_default();
        Self {
            p99,
            oldest: known.last().copied().unwrap_or_default(),
            without,
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "small numbers, printed with few digits")]
fn count(number: u64) -> f64 {
    number as f64
}
