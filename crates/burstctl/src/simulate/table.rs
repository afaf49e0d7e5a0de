//! One line per sync, as a table or as JSON.

use serde_json::{Value, json};

use super::engine::SyncStep;
use crate::unit::format_milli;

/// Returns the lines of a table. It omits syncs in which nothing but the load changed.
#[must_use]
pub fn table(steps: &[SyncStep], names: &[String]) -> Vec<String> {
    let mut head = vec!["seconds".to_owned()];
    head.extend(names.iter().cloned());
    head.extend(["needed", "ready", "proposal", "replicas", "held by", "why"].map(str::to_owned));
    let mut rows = vec![head];
    let mut before: Option<&SyncStep> = None;
    for step in steps {
        if before.is_none_or(|before| !is_same(before, step)) {
            rows.push(cells(step));
        }
        before = Some(step);
    }
    if let (Some(last), Some(row)) = (steps.last(), rows.last())
        && row.first() != Some(&last.seconds.to_string())
    {
        rows.push(cells(last));
    }
    aligned(&rows)
}

fn is_same(one: &SyncStep, other: &SyncStep) -> bool {
    let summary = |step: &SyncStep| {
        (
            step.needed,
            step.ready,
            step.proposal,
            step.replicas,
            step.held_by,
            step.reason.clone(),
        )
    };
    summary(one) == summary(other)
}

fn cells(step: &SyncStep) -> Vec<String> {
    let mut cells = vec![step.seconds.to_string()];
    cells.extend(
        step.loads
            .iter()
            .map(|load| load.map_or("-".to_owned(), |milli| format_milli(milli.into()))),
    );
    let number = |replicas: Option<i32>| replicas.map_or("-".to_owned(), |replicas| replicas.to_string());
    cells.push(number(step.needed));
    cells.push(step.ready.to_string());
    cells.push(number(step.proposal));
    cells.push(step.replicas.to_string());
    cells.push(step.held_by.unwrap_or_default().to_owned());
    cells.push(step.reason.clone().unwrap_or_default());
    cells
}

fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let cell = |row: &Vec<String>, column: usize| row.get(column).map_or("", String::as_str).to_owned();
    let width = |column: usize| {
        rows.iter()
            .map(|row| cell(row, column).chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let padded = widths.iter().enumerate().map(|(column, width)| {
            let text = cell(row, column);
            // Align numbers to the right and text to the left.
            if column + 2 < columns {
                format!("{text:>width$}")
            } else {
                format!("{text:<width$}")
            }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Returns one JSON object per sync.
#[must_use]
pub fn json(steps: &[SyncStep], names: &[String]) -> Vec<Value> {
    let line = |step: &SyncStep| {
        let load = |load: &Option<i64>| load.map_or(Value::Null, |milli| format_milli(milli.into()).into());
        let loads: serde_json::Map<String, Value> = names.iter().cloned().zip(step.loads.iter().map(load)).collect();
        json!({
            "seconds": step.seconds, "load": loads, "needed": step.needed, "ready": step.ready, "proposals": step.proposals,
            "proposal": step.proposal, "stabilized": step.stabilized, "replicas": step.replicas,
            "heldBy": step.held_by, "reason": step.reason,
        })
    };
    steps.iter().map(line).collect()
}
