//! `format=json`: from `namespace/name` to the numbers of the row.

use super::{Rows, push, push_milli, push_number};
use crate::signals::{SignalSet, Signals};
use crate::snapshot::Entry;
use crate::time::Time;

/// A row of short names, with its line break.
const TYPICAL_ROW: usize = 192;

pub(super) fn render(rows: &Rows<'_>, shown: SignalSet, as_of: Time) -> String {
    let mut body = String::with_capacity(rows.len() * TYPICAL_ROW + 4);
    match rows {
        Rows::All(_) => push_all(&mut body, rows, shown, as_of),
        Rows::One(entry) => push_object(&mut body, entry, shown, as_of),
    }
    body.push('\n');
    body
}

fn push_all(body: &mut String, rows: &Rows<'_>, shown: SignalSet, as_of: Time) {
    body.push('{');
    let mut separator = "\n    \"";
    for entry in rows.iter() {
        // Names contain no character that JSON escapes, because they were validated when they were read.
        push(body, &[separator, entry.name, "\": "]);
        push_object(body, &entry, shown, as_of);
        separator = ",\n    \"";
    }
    body.push_str("\n}");
}

pub(super) fn push_object(body: &mut String, entry: &Entry<'_>, shown: SignalSet, as_of: Time) {
    let Entry { label, load, .. } = entry;
    push(body, &["{\"service\": \"", label, "\""]);
    for (key, count) in [
        (", \"current\": ", load.current),
        (", \"target\": ", load.target),
        (", \"max\": ", load.max),
        (", \"headroom\": ", load.headroom()),
    ] {
        body.push_str(key);
        push_number(body, count);
    }
    if let Some(milli) = load.utilization_milli() {
        body.push_str(", \"utilization\": ");
        push_milli(body, milli);
    }
    push_signals(body, entry.signals.only(shown));
    body.push_str(", \"asOf\": ");
    push_number(body, as_of.unix_seconds());
    body.push('}');
}

/// A value that is not known is left out.
fn push_signals(body: &mut String, signals: Signals) {
    let Signals { ready, demand, state } = signals;
    for (key, count) in [(", \"ready\": ", ready), (", \"demand\": ", demand)] {
        if let Some(count) = count {
            body.push_str(key);
            push_number(body, count);
        }
    }
    if let Some(state) = state {
        push(body, &[", \"state\": \"", state.name(), "\""]);
    }
}
