//! What is counted of a run.

use crate::costs::Cost;
use crate::server::Micros;
use std::ops::Range;
use std::time::Duration;

const SECOND: Micros = 1_000_000;

/// A second at the API server, or at the hubs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    /// Requests that came, served or not.
    pub requests: u64,
    /// What was served.
    pub cost: Cost,
}

/// Second by second.
#[derive(Debug, Default)]
pub struct Seconds(Vec<Second>);

impl Seconds {
    /// The second of that moment.
    pub fn at(&mut self, now: Micros) -> &mut Second {
        let place = usize::try_from(now / SECOND).unwrap_or(usize::MAX);
        if self.0.len() <= place {
            self.0.resize(place + 1, Second::default());
        }
        &mut self.0[place]
    }

    /// Those of a span of time.
    fn of(&self, span: &Range<Duration>) -> impl Iterator<Item = &Second> {
        let [from, to] = [span.start, span.end].map(|end| usize::try_from(end.as_secs()).unwrap_or(usize::MAX));
        self.0.iter().take(to).skip(from)
    }

    /// Requests a second, in the mean.
    #[must_use]
    pub fn rate(&self, span: &Range<Duration>) -> f64 {
        self.mean(span, |second| count(second.requests))
    }

    /// Cores at work, in the mean.
    #[must_use]
    pub fn cores(&self, span: &Range<Duration>) -> f64 {
        self.mean(span, |second| second.cost.cpu.as_secs_f64())
    }

    /// Bytes a second, in the mean.
    #[must_use]
    pub fn bytes(&self, span: &Range<Duration>) -> f64 {
        self.mean(span, |second| count(second.cost.bytes))
    }

    /// Requests in the busiest second.
    #[must_use]
    pub fn peak(&self, span: &Range<Duration>) -> u64 {
        self.of(span).map(|second| second.requests).max().unwrap_or_default()
    }

    fn mean(&self, span: &Range<Duration>, of: impl Fn(&Second) -> f64) -> f64 {
        self.of(span).map(of).sum::<f64>() / span.end.saturating_sub(span.start).as_secs_f64()
    }
}

/// How old the pictures of all proxies are, at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ages {
    /// Of the proxies that have one, all but one of a hundred are younger.
    pub p99: Duration,
    /// The oldest.
    pub oldest: Duration,
    /// Proxies that have none.
    pub without: usize,
}

impl Ages {
    /// Of these.
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

/// For people.
#[allow(clippy::cast_precision_loss, reason = "for people")]
fn count(number: u64) -> f64 {
    number as f64
}
