//! What the metrics APIs cost beside an adapter: `make bench` prints the table.
//!
//! Both answer the same questions over connections that are kept. The filter's cluster is a stand-in, which is asked
//! once; the adapter lists from a real API server at each question for `*`, and the API server's part is not counted.
#![allow(missing_docs, reason = "a program")]

#[path = "../process.rs"]
mod process;
#[path = "../table.rs"]
mod table;

mod rows;
mod seed;
mod sides;

use crate::{rows::ROWS, sides::Sides, table::Table};

/// Objects of each kind.
const OBJECTS: usize = 10_000;

/// Slices of each row; one of every row makes a round.
const ROUNDS: usize = 15;

fn main() {
    // The adapter takes values on every address.
    burst_testkit::network_namespace::run("metrics-apis", || {
        let sides = Sides::start(OBJECTS);
        let mut slices = ROWS.map(|row| {
            row.run(&sides);
            Vec::with_capacity(ROUNDS)
        });
        for round in 1..=ROUNDS {
            eprint!("\rround {round} of {ROUNDS} ");
            for (row, slices) in ROWS.iter().zip(&mut slices) {
                slices.push(row.run(&sides));
            }
        }
        eprintln!();
        print(&sides, &slices);
    });
}

fn place(what: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.what == what)
}

fn print(sides: &Sides, slices: &[Vec<rows::Slice>]) {
    let mut table = Table::new("metrics-apis");
    println!("CPU time of one request:");
    let medians: Vec<_> = ROWS
        .iter()
        .zip(slices)
        .map(|(row, slices)| table.times(row.what, slices.iter().map(|slice| slice.process).collect()))
        .collect();
    println!("of it by the worker that answers; no callback is longer:");
    for (row, slices) in ROWS.iter().zip(slices).filter(|(row, _)| row.ready_made.is_some()) {
        let times = slices.iter().map(|slice| slice.busiest_worker).collect();
        table.times(format!("{}: worker", row.what), times);
    }
    println!("… less what Envoy alone takes for the same bytes; about the longest callback:");
    for (row, ours) in ROWS.iter().zip(slices) {
        if let Some(ready) = row.ready_made.and_then(place) {
            let own = ours.iter().zip(&slices[ready]);
            let own = own.map(|(ours, ready)| ours.busiest_worker.saturating_sub(ready.busiest_worker));
            table.times(format!("{}: beyond ready-made", row.what), own.collect());
        }
    }
    println!("CPU time of one for that of the other:");
    for (row, median) in ROWS.iter().zip(&medians) {
        if let Some(peer) = row.peer.and_then(place) {
            let ratio = medians[peer].as_secs_f64() / median.as_secs_f64();
            table.ratio(row.what.replace("filter: ", "adapter ÷ filter: "), ratio);
        }
    }
    println!("resident memory:");
    sides.footprint(&mut table);
    table.keep(env!("CARGO_TARGET_TMPDIR"));
}
