//! `format=prometheus`: gauges in the text-based exposition format.
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>

use super::{Rows, push, push_milli, push_number};
use crate::index::SERVICES;
use crate::metric::{ReplicaMetric, ServedMetric};
use crate::signals::{Signal, SignalSet, Signals};
use crate::snapshot::Entry;
use crate::time::Time;
use std::borrow::Cow;

/// A sample of short names, with its line break.
const TYPICAL_SAMPLE: usize = 72;

/// The time of the last read.
pub(super) const READ: &str = "burst_read_timestamp_seconds";
pub(super) const READ_HELP: &str = "Unix time of the last read of the cluster.";

/// The gauges of each row, with their help.
pub(super) const GAUGES: [(ReplicaMetric, &str); 5] = [
    (ReplicaMetric::Current, "Current replicas."),
    (ReplicaMetric::Target, "Replicas that callers should aim for."),
    (ReplicaMetric::Max, "Maximum replicas."),
    (
        ReplicaMetric::Headroom,
        "Replicas that can still be added: maximum minus current, at least 0.",
    ),
    (
        ReplicaMetric::Utilization,
        "Current replicas divided by maximum replicas.",
    ),
];

/// The gauges of the signals that are numbers, with their help.
type SignalGauge = (Signal, fn(Signals) -> Option<u32>, &'static str, &'static str);
const SIGNAL_GAUGES: [SignalGauge; 2] = [
    (
        Signal::Ready,
        |signals| signals.ready,
        "burst_ready_load",
        "Ready replicas.",
    ),
    (
        Signal::Demand,
        |signals| signals.demand,
        "burst_demand_load",
        "Replicas that the metrics of the HPA ask for; it may exceed the maximum.",
    ),
];

/// The rows of one cluster.
#[derive(Clone, Copy)]
pub(super) struct Group<'r, 'a> {
    /// The value of the label `cluster`; `None` without that label.
    pub(super) cluster: Option<&'r str>,
    pub(super) rows: &'r Rows<'a>,
}

pub(super) fn render(kind: &str, rows: &Rows<'_>, shown: SignalSet, as_of: Time) -> String {
    let mut body = String::with_capacity(1024 + GAUGES.len() * rows.len() * TYPICAL_SAMPLE);
    push_head(&mut body, READ, READ_HELP);
    push(&mut body, &[READ, " "]);
    push_number(&mut body, as_of.unix_seconds());
    body.push('\n');
    push_gauges(&mut body, kind, &[Group { cluster: None, rows }], shown);
    body
}

/// The gauges of all rows.
pub(super) fn push_gauges(body: &mut String, kind: &str, groups: &[Group<'_, '_>], shown: SignalSet) {
    for (metric, help) in GAUGES {
        let name = ServedMetric::Replicas(metric).name();
        push_head(body, name, help);
        for (cluster, row) in rows(groups) {
            body.push_str(name);
            push_labels(body, cluster, kind, row.name);
            match metric.milli(row.load) {
                Some(milli) => push_milli(body, milli),
                None => body.push_str("NaN"),
            }
            body.push('\n');
        }
    }
    for (_, count, name, help) in SIGNAL_GAUGES.iter().filter(|(signal, ..)| shown.contains(*signal)) {
        push_head(body, name, help);
        for (cluster, row) in rows(groups) {
            if let Some(count) = count(row.signals) {
                body.push_str(name);
                push_labels(body, cluster, kind, row.name);
                push_number(body, count);
                body.push('\n');
            }
        }
    }
    if shown.contains(Signal::State) {
        push_states(body, kind, groups);
    }
}

fn rows<'r, 'a>(groups: &'r [Group<'r, 'a>]) -> impl Iterator<Item = (Option<&'r str>, Entry<'a>)> {
    groups
        .iter()
        .flat_map(|group| group.rows.iter().map(|row| (group.cluster, row)))
}

/// The present state of each row. Another state has no sample, so that `count by (state)` needs no filter.
fn push_states(body: &mut String, kind: &str, groups: &[Group<'_, '_>]) {
    const STATE: &str = "burst_state";
    push_head(
        body,
        STATE,
        "1 for the present state of the HPA, which is the label state.",
    );
    for (cluster, row) in rows(groups) {
        if let Some(state) = row.signals.state {
            body.push_str(STATE);
            push_object(body, cluster, kind, row.name);
            push(body, &["\",state=\"", state.name(), "\"} 1\n"]);
        }
    }
}

pub(super) fn push_head(body: &mut String, name: &str, help: &str) {
    push(body, &["# HELP ", name, " ", help, "\n# TYPE ", name, " gauge\n"]);
}

/// `{namespace="shop",service="web"} `. A row of another kind has the labels `kind` and `name`, because a workload is no
/// Service.
pub(super) fn push_labels(body: &mut String, cluster: Option<&str>, kind: &str, name: &str) {
    push_object(body, cluster, kind, name);
    body.push_str("\"} ");
}

/// The labels without their end, so that another may follow.
fn push_object(body: &mut String, cluster: Option<&str>, kind: &str, name: &str) {
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    body.push('{');
    if let Some(cluster) = cluster {
        push(body, &["cluster=\"", cluster, "\","]);
    }
    push(body, &["namespace=\"", &escaped(namespace)]);
    if kind == SERVICES {
        push(body, &["\",service=\"", &escaped(name)]);
    } else {
        push(body, &["\",kind=\"", &escaped(kind), "\",name=\"", &escaped(name)]);
    }
}

/// The value of a label, with the characters escaped that would end it.
fn escaped(value: &str) -> Cow<'_, str> {
    if !value.contains(['\\', '"', '\n']) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_would_end_a_label_is_escaped() {
        for (value, text) in [
            ("web", "web"),
            ("a\"b", "a\\\"b"),
            ("a\\b", "a\\\\b"),
            ("a\nb", "a\\nb"),
        ] {
            assert_eq!(escaped(value), text);
        }
    }
}
