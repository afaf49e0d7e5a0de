//! `format=prometheus`: gauges in the text-based exposition format.
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>

use super::{Rows, push, push_milli, push_number};
use crate::index::SERVICES;
use crate::load::Load;
use crate::time::Time;
use std::borrow::Cow;

/// A sample of short names, with its line break.
const TYPICAL_SAMPLE: usize = 72;

/// A gauge of each row. The names and meanings are those of the metrics APIs.
struct Gauge {
    name: &'static str,
    help: &'static str,
    value: fn(Load) -> Value,
}

enum Value {
    Replicas(u32),
    Milli(Option<u64>),
}

const GAUGES: [Gauge; 5] = [
    Gauge {
        name: "burst_current_load",
        help: "Current replicas.",
        value: |load| Value::Replicas(load.current),
    },
    Gauge {
        name: "burst_target_load",
        help: "Replicas that callers should aim for.",
        value: |load| Value::Replicas(load.target),
    },
    Gauge {
        name: "burst_max_load",
        help: "Maximum replicas.",
        value: |load| Value::Replicas(load.max),
    },
    Gauge {
        name: "burst_headroom",
        help: "Replicas that can still be added: maximum minus current, at least 0.",
        value: |load| Value::Replicas(load.headroom()),
    },
    Gauge {
        name: "burst_utilization",
        help: "Current replicas divided by maximum replicas.",
        value: |load| Value::Milli(load.utilization_milli()),
    },
];

pub(super) fn render(kind: &str, rows: &Rows<'_>, as_of: Time) -> String {
    const READ: &str = "burst_read_timestamp_seconds";
    let mut body = String::with_capacity(1024 + GAUGES.len() * rows.len() * TYPICAL_SAMPLE);
    push_head(&mut body, READ, "Unix time of the last read of the cluster.");
    push(&mut body, &[READ, " "]);
    push_number(&mut body, as_of.unix_seconds());
    body.push('\n');
    for gauge in &GAUGES {
        push_head(&mut body, gauge.name, gauge.help);
        for row in rows.iter() {
            body.push_str(gauge.name);
            push_labels(&mut body, kind, row.name);
            match (gauge.value)(row.load) {
                Value::Replicas(count) => push_number(&mut body, count),
                Value::Milli(Some(milli)) => push_milli(&mut body, milli),
                Value::Milli(None) => body.push_str("NaN"),
            }
            body.push('\n');
        }
    }
    body
}

fn push_head(body: &mut String, name: &str, help: &str) {
    push(body, &["# HELP ", name, " ", help, "\n# TYPE ", name, " gauge\n"]);
}

/// `{namespace="shop",service="web"} `. A row of another kind has the labels `kind` and `name`, because a workload is no
/// Service.
fn push_labels(body: &mut String, kind: &str, name: &str) {
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    push(body, &["{namespace=\"", &escaped(namespace)]);
    if kind == SERVICES {
        push(body, &["\",service=\"", &escaped(name), "\"} "]);
    } else {
        push(
            body,
            &["\",kind=\"", &escaped(kind), "\",name=\"", &escaped(name), "\"} "],
        );
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
