//! A load by its shape, as `--load` describes it: `100rps`, `spike:10x,for=5m`, `ramp`, `daily`.

use std::f64::consts::TAU;
use std::str::FromStr;

use super::amount::{AmountError, Level};
use super::metric_load::{LevelError, MetricLoad};
use super::trace::{LoadPoint, MAX_SECONDS, Trace};
use crate::duration::parse_seconds;

/// The load before a spike or a ramp.
const LEAD: u32 = 60;
/// The load after a spike, and at the top of a ramp. It is longer than the five minutes for which scale-down waits.
const TAIL: u32 = 600;
/// The time between two points of a curve, unless it has too many of them: the period of the controller.
const POINT: u32 = 15;
/// The most points of a curve.
const MAX_POINTS: u32 = 1440;

/// A load by its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadShape {
    curve: Curve,
    /// The load before and after; the default is what the initial replicas carry at their target.
    from: Option<Level>,
    /// The highest load; the default is what maxReplicas carry at their target.
    peak: Option<Level>,
    seconds: u32,
}

/// How the load gets from its base to its peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Curve {
    /// The peak all the time.
    Constant,
    /// At once, and back.
    Spike,
    /// Linear, and it stays.
    Ramp,
    /// A cosine, and back.
    Daily,
}

/// Why a text is not a shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A level that cannot be read.
    #[error("expected spike, ramp, daily or a load such as 100rps, and then from= and for=; {0}")]
    Level(#[from] AmountError),
    /// An option of the shape that does not exist.
    #[error("{0:?}: expected from= or for=")]
    Option(String),
    /// Not a duration.
    #[error("for={0:?} is not a duration such as 5m")]
    Duration(String),
    /// Zero, or longer than a simulation.
    #[error("for={0:?} is not between 1s and 6d")]
    Length(String),
    /// Two values for one thing.
    #[error("{0:?}: it is given twice")]
    Twice(String),
    /// A constant load has no base.
    #[error("a constant load has no from=")]
    From,
}

impl FromStr for LoadShape {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Self, ShapeError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let (curve, items, seconds) = match kind {
            "spike" => (Curve::Spike, rest, 600),
            "ramp" => (Curve::Ramp, rest, 600),
            "daily" => (Curve::Daily, rest, 24 * 3600),
            _ => (Curve::Constant, text, 1800),
        };
        let mut shape = Self {
            curve,
            from: None,
            peak: None,
            seconds,
        };
        let mut length = None;
        for item in items.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let before = match item.split_once('=') {
                Some(("from", level)) => shape.from.replace(level.parse()?).is_some(),
                Some(("for", text)) => length.replace(parse_length(text)?).is_some(),
                Some(_) => return Err(ShapeError::Option(item.to_owned())),
                None => shape.peak.replace(item.parse()?).is_some(),
            };
            if before {
                return Err(ShapeError::Twice(item.to_owned()));
            }
        }
        if curve == Curve::Constant {
            if shape.from.is_some() {
                return Err(ShapeError::From);
            }
            if shape.peak.is_none() {
                return Err(AmountError::Unreadable(text.to_owned()).into());
            }
        }
        shape.seconds = length.unwrap_or(shape.seconds);
        Ok(shape)
    }
}

fn parse_length(text: &str) -> Result<u32, ShapeError> {
    let length = parse_seconds(text).ok_or_else(|| ShapeError::Duration(text.to_owned()))?;
    match length {
        1..=518_400 => Ok(length),
        _ => Err(ShapeError::Length(text.to_owned())),
    }
}

impl LoadShape {
    /// Returns the load of each metric over time, for an HPA that starts with `replicas` and has at most `max`.
    ///
    /// # Errors
    /// A level has no meaning for a metric.
    pub fn trace(&self, metrics: &[MetricLoad], replicas: i32, max: i32) -> Result<Trace, LevelError> {
        let levels: Vec<Levels> = metrics
            .iter()
            .map(|metric| self.levels(metric, metrics.len(), replicas, max))
            .collect::<Result<_, _>>()?;
        let at = |seconds: u32, share: f64| LoadPoint {
            seconds,
            loads: levels.iter().map(|levels| Some(levels.at(share))).collect(),
        };
        let end = LEAD + self.seconds;
        let points = match self.curve {
            Curve::Constant => vec![at(0, 1.0), at(self.seconds, 1.0)],
            Curve::Spike => vec![at(0, 0.0), at(LEAD, 1.0), at(end, 0.0), at(end + TAIL, 0.0)],
            Curve::Ramp => {
                let rise = self.shares().map(|(seconds, share)| at(LEAD + seconds, share));
                std::iter::once(at(0, 0.0))
                    .chain(rise)
                    .chain([at(end, 1.0), at(end + TAIL, 1.0)])
                    .collect()
            }
            Curve::Daily => {
                let cosine = |(seconds, share): (u32, f64)| at(seconds, (1.0 - (TAU * share).cos()) / 2.0);
                self.shares().map(cosine).chain([at(self.seconds, 0.0)]).collect()
            }
        };
        debug_assert!(points.last().is_some_and(|last| last.seconds <= MAX_SECONDS));
        Ok(Trace::new(metrics.iter().map(MetricLoad::label).collect(), points))
    }

    /// The points of a curve, before its end, and the share of the time that has passed.
    fn shares(&self) -> impl Iterator<Item = (u32, f64)> {
        let length = self.seconds;
        let step = POINT.max(length.div_ceil(MAX_POINTS));
        (0..length)
            .step_by(usize::try_from(step).unwrap_or(usize::MAX))
            .map(move |seconds| (seconds, f64::from(seconds) / f64::from(length)))
    }

    fn levels(&self, metric: &MetricLoad, metrics: usize, replicas: i32, max: i32) -> Result<Levels, LevelError> {
        let at_target = |replicas: i32| metric.at_target(replicas.max(1));
        let from = match self.from {
            Some(level) => metric.level(level, metrics, || at_target(replicas))?,
            // A constant load has no base, and an HPA with a total as its target needs none for it.
            None if self.curve == Curve::Constant => 0,
            None => at_target(replicas)?,
        };
        let peak = match (self.peak, self.curve) {
            (Some(level), Curve::Constant) => metric.level(level, metrics, || at_target(replicas))?,
            (Some(level), _) => metric.level(level, metrics, || Ok(from))?,
            (None, _) => at_target(max)?,
        };
        Ok(Levels { from, peak })
    }
}

/// The loads of one metric, in thousandths.
#[derive(Clone, Copy)]
struct Levels {
    from: i64,
    peak: i64,
}

impl Levels {
    /// The load after a share of the way from the base to the peak.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a curve needs no more than 15 digits, and the result is between two loads"
    )]
    fn at(self, share: f64) -> i64 {
        match share {
            0.0 => self.from,
            1.0 => self.peak,
            _ => (self.from as f64 + (self.peak as f64 - self.from as f64) * share).round() as i64,
        }
    }
}
