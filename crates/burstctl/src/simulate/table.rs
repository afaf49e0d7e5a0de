//! A line for each sync, for people and for programs.

use serde_json::{Value, json};

use super::play::Tick;
use crate::unit::shown;

/// Columns for people, in lines; syncs in which nothing changed are left out.
#[must_use]
pub fn table(ticks: &[Tick], names: &[String]) -> Vec<String> {
    let mut head = vec!["seconds".to_owned()];
    head.extend(names.iter().cloned());
    head.extend(["ready", "proposal", "replicas", "held by", "why"].map(str::to_owned));
    let mut rows = vec![head];
    let mut before: Option<&Tick> = None;
    for tick in ticks {
        if before.is_none_or(|before| !is_like(before, tick)) {
            rows.push(cells(tick));
        }
        before = Some(tick);
    }
    if let (Some(last), Some(row)) = (ticks.last(), rows.last())
        && row.first() != Some(&last.seconds.to_string())
    {
        rows.push(cells(last));
    }
    aligned(&rows)
}

fn is_like(one: &Tick, other: &Tick) -> bool {
    let story = |tick: &Tick| {
        (
            tick.loads.clone(),
            tick.ready,
            tick.proposal,
            tick.replicas,
            tick.held_by,
            tick.reason.clone(),
        )
    };
    story(one) == story(other)
}

fn cells(tick: &Tick) -> Vec<String> {
    let mut cells = vec![tick.seconds.to_string()];
    cells.extend(
        tick.loads
            .iter()
            .map(|load| load.map_or("-".to_owned(), |milli| shown(milli.into()))),
    );
    cells.push(tick.ready.to_string());
    cells.push(tick.proposal.map_or("-".to_owned(), |proposal| proposal.to_string()));
    cells.push(tick.replicas.to_string());
    cells.push(tick.held_by.unwrap_or_default().to_owned());
    cells.push(tick.reason.clone().unwrap_or_default());
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
            // Numbers to the right, words to the left.
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

/// An object for every sync.
#[must_use]
pub fn json(ticks: &[Tick], names: &[String]) -> Vec<Value> {
    let line = |tick: &Tick| {
        let load = |load: &Option<i64>| load.map_or(Value::Null, |milli| shown(milli.into()).into());
        let loads: serde_json::Map<String, Value> = names.iter().cloned().zip(tick.loads.iter().map(load)).collect();
        json!({
            "seconds": tick.seconds, "load": loads, "ready": tick.ready, "proposals": tick.proposals,
            "proposal": tick.proposal, "stabilized": tick.stabilized, "replicas": tick.replicas,
            "heldBy": tick.held_by, "reason": tick.reason,
        })
    };
    ticks.iter().map(line).collect()
}
