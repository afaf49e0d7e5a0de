//! Answers whether there were enough pods.

use serde_json::{Value, json};

use super::metric_load::MetricLoad;
use super::timeline::{Span, Timeline};
use crate::duration::format_seconds;
use crate::unit::format_milli;

/// What a simulation assumes besides the HPA and the load.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumptions {
    /// The seconds until a new pod is ready.
    pub startup: u32,
    /// What a pod serves.
    pub metrics: Vec<MetricLoad>,
    /// The lowest and the highest load of each metric, in thousandths; `None` without any.
    pub loads: Vec<Option<(i64, i64)>>,
    /// `spec.maxReplicas`.
    pub max: i32,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Whether there were enough pods.
    pub verdict: Verdict,
    /// The most replicas at a time.
    pub peak_replicas: i32,
    /// The seconds in which the load was unknown.
    pub unknown_seconds: u32,
    assumptions: Assumptions,
}

/// Whether there were enough pods.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// All the time in which the load is known.
    Enough {
        /// The most replicas that the load needed.
        peak_needed: i32,
    },
    /// Not always.
    TooFew(Shortage),
    /// The load never says how many pods it needs.
    Unknown,
}

/// The times at which there were too few pods.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortage {
    /// The share of the demand that was served, from 0 to 1.
    pub served: f64,
    /// The seconds with too few pods.
    pub seconds: u32,
    /// The longest time without a break: its first second and its length.
    pub longest: (u32, u32),
    /// The most replicas that the load needed.
    pub peak_needed: i32,
    /// The seconds of each cause.
    pub causes: Causes,
}

/// How many seconds each cause had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// The load needed more than maxReplicas, and the workload had as many.
    pub max_replicas: u32,
    /// Enough pods existed, and were not ready yet.
    pub not_ready: u32,
    /// The controller had not asked for enough replicas yet.
    pub not_scaled: u32,
}

impl Summary {
    /// Returns the answer for a timeline.
    #[must_use]
    pub fn of(timeline: &Timeline, assumptions: Assumptions) -> Self {
        let spans = timeline.spans();
        let unknown = spans.iter().filter(|span| span.demand.is_none());
        Self {
            verdict: verdict(spans, assumptions.max),
            peak_replicas: spans.iter().map(|span| span.replicas).max().unwrap_or(0),
            unknown_seconds: unknown.map(Span::seconds).sum(),
            assumptions,
        }
    }

    /// Returns the answer in one line.
    #[must_use]
    pub fn headline(&self) -> String {
        let peak = match self.peak_replicas {
            1 => "peak 1 replica".to_owned(),
            replicas => format!("peak {replicas} replicas"),
        };
        match &self.verdict {
            Verdict::Enough { .. } => format!("Enough pods: 100 % of demand served, {peak}"),
            Verdict::TooFew(shortage) => format!(
                "Too few pods: {} % of demand served, longest shortage {}, {peak}",
                percent(shortage.served),
                format_seconds(shortage.longest.1),
            ),
            Verdict::Unknown => format!("Enough pods? Unknown, as no load says how many it needs; {peak}"),
        }
    }

    /// Returns the lines below the headline: times, causes and assumptions.
    #[must_use]
    pub fn details(&self) -> Vec<String> {
        let Assumptions {
            startup,
            metrics,
            loads,
            max,
        } = &self.assumptions;
        let mut lines = Vec::new();
        match &self.verdict {
            Verdict::Enough { peak_needed } => lines.push(format!("needed at most {peak_needed} of maxReplicas {max}")),
            Verdict::TooFew(shortage) => {
                let (from, _) = shortage.longest;
                let (all, from) = (format_seconds(shortage.seconds), format_seconds(from));
                lines.push(format!("short for {all} in all, for the longest time from {from} on:"));
                lines.extend(shortage.causes.lines(*max));
                lines.push(format!("needed at most {} of maxReplicas {max}", shortage.peak_needed));
            }
            Verdict::Unknown => {}
        }
        if self.unknown_seconds > 0 && self.verdict != Verdict::Unknown {
            lines.push(format!(
                "the load is unknown for {}",
                format_seconds(self.unknown_seconds)
            ));
        }
        let loads = metrics.iter().zip(loads);
        lines.extend(loads.filter_map(|(metric, load)| (*load).map(|range| metric.describe_load(range))));
        lines.push(format!(
            "assumed: a new pod is ready after {} (--startup)",
            format_seconds(*startup)
        ));
        lines.extend(metrics.iter().map(|metric| match metric.capacity {
            Some(_) => format!("assumed: {metric}"),
            None => format!("not counted: {metric}"),
        }));
        lines.into_iter().map(|line| format!("  {line}")).collect()
    }

    /// Returns the answer for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let (enough, served, seconds, longest, needed, causes) = match &self.verdict {
            Verdict::Enough { peak_needed } => (Some(true), Some(1.0), 0, None, Some(*peak_needed), Causes::default()),
            Verdict::TooFew(shortage) => (
                Some(false),
                Some(shortage.served),
                shortage.seconds,
                Some(shortage.longest),
                Some(shortage.peak_needed),
                shortage.causes,
            ),
            Verdict::Unknown => (None, None, 0, None, None, Causes::default()),
        };
        let capacity = |metric: &MetricLoad| {
            let amount = metric.capacity.map(|capacity| format_milli(capacity.milli.into()));
            json!({"metric": metric.label(), "amount": amount, "unit": metric.unit().trim()})
        };
        let capacities: Vec<Value> = self.assumptions.metrics.iter().map(capacity).collect();
        json!({"summary": {
            "enough": enough, "servedShare": served.map(rounded_share), "shortSeconds": seconds,
            "longestShortage": longest.map(|(from, seconds)| json!({"from": from, "seconds": seconds})),
            "reasons": {
                "maxReplicas": causes.max_replicas, "notReady": causes.not_ready, "notScaled": causes.not_scaled,
            },
            "unknownSeconds": self.unknown_seconds, "peakReplicas": self.peak_replicas, "peakNeeded": needed,
            "startupSeconds": self.assumptions.startup, "podCapacity": capacities,
        }})
    }
}

fn verdict(spans: &[Span], max: i32) -> Verdict {
    let Some(peak_needed) = spans
        .iter()
        .filter_map(|span| span.demand.map(|demand| demand.replicas))
        .max()
    else {
        return Verdict::Unknown;
    };
    let (mut demanded, mut served) = (0.0, 0.0);
    let mut causes = Causes::default();
    let (mut longest, mut current) = ((0, 0), (0, 0));
    for span in spans {
        let seconds = f64::from(span.seconds());
        if let Some(demand) = span.demand {
            demanded += demand.pods * seconds;
            served += demand.pods.min(span.ready.into()) * seconds;
        }
        if span.missing() == 0 {
            current = (span.end, 0);
            continue;
        }
        causes.add(span, max);
        current = match current {
            (_, 0) => (span.start, span.seconds()),
            (from, seconds) => (from, seconds + span.seconds()),
        };
        if current.1 > longest.1 {
            longest = current;
        }
    }
    match causes.seconds() {
        0 => Verdict::Enough { peak_needed },
        seconds => Verdict::TooFew(Shortage {
            served: served / demanded,
            seconds,
            longest,
            peak_needed,
            causes,
        }),
    }
}

impl Causes {
    fn add(&mut self, span: &Span, max: i32) {
        let needed = span.demand.map_or(0, |demand| demand.replicas);
        let cause = if span.ready >= max {
            &mut self.max_replicas
        } else if span.replicas >= needed.min(max) {
            &mut self.not_ready
        } else {
            &mut self.not_scaled
        };
        *cause += span.seconds();
    }

    fn seconds(self) -> u32 {
        self.max_replicas + self.not_ready + self.not_scaled
    }

    fn lines(self, max: i32) -> impl Iterator<Item = String> {
        let causes = [
            (self.not_scaled, "before the HPA scaled up".to_owned()),
            (self.not_ready, "until pods were ready".to_owned()),
            (self.max_replicas, format!("with all {max} pods ready")),
        ];
        let causes = causes.into_iter().filter(|(seconds, _)| *seconds > 0);
        causes.map(|(seconds, text)| format!("  {} {text}", format_seconds(seconds)))
    }
}

/// Rounds down, so that only all is 100 %.
fn percent(share: f64) -> String {
    format!("{:.1}", (share * 1000.0).floor() / 10.0)
}

fn rounded_share(share: f64) -> f64 {
    (share * 1e6).floor() / 1e6
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::timeline;
    use super::*;

    fn summary(spans: &[(u32, Option<i32>, i32, i32)]) -> Summary {
        let assumptions = Assumptions {
            startup: 30,
            metrics: Vec::new(),
            loads: Vec::new(),
            max: 10,
        };
        Summary::of(&timeline(spans), assumptions)
    }

    #[test]
    fn a_shortage_is_measured_and_explained() {
        let summary = summary(&[
            (100, Some(2), 2, 2),
            (10, Some(8), 2, 2),
            (30, Some(8), 2, 8),
            (60, Some(8), 8, 8),
            (20, Some(20), 10, 10),
        ]);
        // 200 + 80 + 240 + 480 + 400 pod seconds are needed, and 200 + 20 + 60 + 480 + 200 served.
        assert_eq!(
            summary.headline(),
            "Too few pods: 68.5 % of demand served, longest shortage 40s, peak 10 replicas"
        );
        assert_eq!(
            summary.details(),
            [
                "  short for 1m in all, for the longest time from 1m40s on:",
                "    10s before the HPA scaled up",
                "    30s until pods were ready",
                "    20s with all 10 pods ready",
                "  needed at most 20 of maxReplicas 10",
                "  assumed: a new pod is ready after 30s (--startup)",
            ]
        );
        let json = summary.json();
        assert_eq!(json["summary"]["enough"], false);
        assert_eq!(json["summary"]["servedShare"], 0.685714);
        assert_eq!(json["summary"]["longestShortage"], json!({"from": 100, "seconds": 40}));
    }

    #[test]
    fn only_all_of_the_demand_is_100_percent() {
        let short = summary(&[(100_000, Some(10), 10, 10), (1, Some(10), 9, 9)]);
        assert!(short.headline().contains(" 99.9 % "), "{}", short.headline());
        let enough = summary(&[(5, Some(1), 1, 1), (5, None, 1, 1)]);
        assert_eq!(enough.headline(), "Enough pods: 100 % of demand served, peak 1 replica");
        assert_eq!(enough.details()[1], "  the load is unknown for 5s");
    }

    #[test]
    fn a_load_without_replicas_has_no_answer() {
        let summary = summary(&[(5, None, 1, 1)]);
        assert_eq!(
            summary.headline(),
            "Enough pods? Unknown, as no load says how many it needs; peak 1 replica"
        );
        assert_eq!(summary.json()["summary"]["enough"], Value::Null);
    }
}
