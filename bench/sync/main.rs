//! What it costs to keep the picture of a cluster up to date, by its size: `make bench` prints the table.
//!
//! The cluster is a stand-in; its objects are as large as a real API server sends them. The proxies of all sizes run at
//! the same time, so what else the machine does happens to all of them. CPU times are those of the proxy alone.
#![allow(missing_docs, reason = "a program")]

#[path = "../crowd.rs"]
mod crowd;
#[path = "../process.rs"]
mod process;
#[path = "../stretch.rs"]
mod stretch;
#[path = "../table.rs"]
mod table;

mod phases;
mod town;

use crowd::Crowd;
use phases::{CHANGES, Row, Run};
use table::Table;
use town::{First, Mode, Town};

/// Services, each with an HPA and a Deployment; `SIZES=10000` leaves the others out.
const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// Starts of a proxy.
const STARTS: usize = 5;

fn main() {
    let mut table = Table::new("sync");
    let wanted = std::env::var("SIZES").unwrap_or_default();
    let wanted: Vec<usize> = wanted.split(',').filter_map(|size| size.parse().ok()).collect();
    let is_wanted = |size: &usize| wanted.is_empty() || wanted.contains(size);
    let sizes = SIZES.into_iter().filter(is_wanted);
    let mut sizes: Vec<_> = sizes.map(|services| start(services, &mut table)).collect();
    for (what, change) in &CHANGES {
        eprintln!("{what}");
        phases::change(&mut sizes, what, change, &mut table);
    }
    eprintln!("one change at a time");
    phases::changes_show(&mut sizes, &mut table);
    println!("over all of it:");
    for size in &mut sizes {
        size.over_all(&mut table);
    }
    eprintln!("everything again every 5 s");
    phases::poll(sizes, &mut table);
    table.keep(env!("CARGO_TARGET_TMPDIR"));
}

/// Starts proxies of that size one after the other, and keeps the last one.
fn start(services: usize, table: &mut Table) -> Run {
    eprintln!("{services} services: starting");
    let mut crowd = Crowd::new(services);
    let mut firsts: Vec<First> = Vec::with_capacity(STARTS);
    let town = loop {
        let town = Town::start(crowd, Mode::Watch);
        firsts.push(town.first);
        if firsts.len() == STARTS {
            break town;
        }
        crowd = town.crowd;
    };
    let row = Row(services);
    table.times(
        row.of("from start to the first header"),
        firsts.iter().map(|first| first.time).collect(),
    );
    table.times(row.of("CPU until then"), firsts.iter().map(|first| first.cpu).collect());
    let bytes = table.counts(
        row.of("bytes until then"),
        firsts.iter().map(|first| first.bytes).collect(),
    );
    for (who, longest) in [
        ("main", firsts.iter().map(|first| first.longest.main).collect()),
        ("a worker", firsts.iter().map(|first| first.longest.worker).collect()),
    ] {
        table.times(row.of(&format!("longest stretch of {who} until then")), longest);
    }
    Run::new(row, town, bytes)
}
