//! The CPU time of a request to the metrics APIs, compared with an adapter: `make bench` prints the table.
//!
//! Both answer the same requests over connections that stay open. The filter reads a stand-in for the API server once. The
//! adapter lists from a real API server for each request with `*`; the API server's own CPU time does not count.
#![allow(missing_docs, reason = "a program")]

mod contenders;
mod rows;
mod seed;

use burst_bench_kit::Table;

use crate::{contenders::Contenders, rows::ROWS};

/// Objects of each kind.
const OBJECTS: usize = 10_000;

/// Rounds. A round has a slice of every row.
const ROUNDS: usize = 15;

fn main() {
    // The adapter listens for values on every address.
    burst_testkit::network_namespace::run("metrics-apis", || {
        let contenders = Contenders::start(OBJECTS);
        let mut slices = ROWS.map(|row| {
            row.run(&contenders);
            Vec::with_capacity(ROUNDS)
        });
        for round in 1..=ROUNDS {
            eprint!("\rround {round} of {ROUNDS} ");
            for (row, slices) in ROWS.iter().zip(&mut slices) {
                slices.push(row.run(&contenders));
            }
        }
        eprintln!();
        print(&contenders, &slices);
    });
}

fn row_index(label: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.label == label)
}

fn print(contenders: &Contenders, slices: &[Vec<rows::Slice>]) {
    let mut table = Table::new("metrics-apis");
    println!("CPU time of one request:");
    let medians: Vec<_> = ROWS
        .iter()
        .zip(slices)
        .map(|(row, slices)| table.durations(row.label, slices.iter().map(|slice| slice.process).collect()))
        .collect();
    println!("of it the CPU time of the worker that answers, which no callback exceeds:");
    for (row, slices) in ROWS.iter().zip(slices).filter(|(row, _)| row.ready_made.is_some()) {
        let times = slices.iter().map(|slice| slice.busiest_worker).collect();
        table.durations(format!("{}: worker", row.label), times);
    }
    println!("… less the time of Envoy alone for the same bytes, which is near the longest callback:");
    for (row, row_slices) in ROWS.iter().zip(slices) {
        if let Some(ready) = row.ready_made.and_then(row_index) {
            let differences = row_slices
                .iter()
                .zip(&slices[ready])
                .map(|(slice, ready)| slice.busiest_worker.saturating_sub(ready.busiest_worker))
                .collect();
            table.durations(format!("{}: beyond ready-made", row.label), differences);
        }
    }
    println!("ratios of CPU times:");
    for (row, median) in ROWS.iter().zip(&medians) {
        if let Some(peer) = row.peer.and_then(row_index) {
            let ratio = medians[peer].as_secs_f64() / median.as_secs_f64();
            table.ratio(row.label.replace("filter: ", "adapter ÷ filter: "), ratio);
        }
    }
    println!("resident memory:");
    contenders.report_memory(&mut table);
    table.save(env!("CARGO_TARGET_TMPDIR"));
}
