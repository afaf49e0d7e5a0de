//! The cost of keeping the snapshot up to date, by the size of the cluster: `make bench` prints the table.
//!
//! The API server is simulated; its objects are as large as those of a real one. The proxies of all sizes run at the same
//! time, so other work of the machine affects them alike. CPU times are those of the proxy alone.
#![allow(missing_docs, reason = "a program")]

mod phases;
mod proxy_under_test;

use burst_bench_kit::{FixtureCluster, Table};
use phases::{Label, Run, WORKLOADS};
use proxy_under_test::{Mode, ProxyUnderTest, Startup};

/// Services, each with an HPA and a Deployment. `SIZES=10000` measures only that size.
const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// Proxies that are started for each size.
const STARTS: usize = 5;

fn main() {
    let mut table = Table::new("sync");
    let mut runs: Vec<_> = wanted_sizes()
        .into_iter()
        .map(|services| start(services, &mut table))
        .collect();
    for workload in &WORKLOADS {
        eprintln!("{}", workload.name);
        phases::run_workload(&mut runs, workload, &mut table);
    }
    eprintln!("one change at a time");
    phases::propagate_changes(&mut runs, &mut table);
    println!("over all phases:");
    for run in &mut runs {
        run.report_totals(&mut table);
    }
    eprintln!("full lists every 5 s");
    phases::poll(runs, &mut table);
    table.save(env!("CARGO_TARGET_TMPDIR"));
}

fn wanted_sizes() -> Vec<usize> {
    let variable = std::env::var("SIZES").unwrap_or_default();
    let wanted: Vec<usize> = variable.split(',').filter_map(|size| size.parse().ok()).collect();
    let is_wanted = |size: &usize| wanted.is_empty() || wanted.contains(size);
    SIZES.into_iter().filter(is_wanted).collect()
}

/// Starts proxies for a cluster of that size one after the other, and keeps the last one.
fn start(services: usize, table: &mut Table) -> Run {
    eprintln!("{services} services: starting");
    let mut fixtures = FixtureCluster::new(services);
    let mut startups: Vec<Startup> = Vec::with_capacity(STARTS);
    let proxy = loop {
        let proxy = ProxyUnderTest::start(fixtures, Mode::Watch);
        startups.push(proxy.startup);
        if startups.len() == STARTS {
            break proxy;
        }
        fixtures = proxy.fixtures;
    };
    let label = Label(services);
    table.durations(
        label.of("from start to the first header"),
        startups.iter().map(|startup| startup.time).collect(),
    );
    table.durations(
        label.of("CPU until then"),
        startups.iter().map(|startup| startup.cpu).collect(),
    );
    let bytes = table.counts(
        label.of("bytes until then"),
        startups.iter().map(|startup| startup.bytes).collect(),
    );
    for (thread, longest) in [
        ("main", startups.iter().map(|startup| startup.longest.main).collect()),
        (
            "a worker",
            startups.iter().map(|startup| startup.longest.worker).collect(),
        ),
    ] {
        table.durations(label.of(&format!("longest burst of {thread} until then")), longest);
    }
    Run::new(label, proxy, bytes)
}
