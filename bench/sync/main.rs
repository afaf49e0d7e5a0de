//! The cost of keeping the snapshot up to date, by the size of the cluster and by the mode: `make bench` prints the table.
//!
//! The API server is simulated; its objects are as large as those of a real one. The proxies of all sizes and modes run at
//! the same time, so other work of the machine affects them alike. CPU times are those of the proxy alone.
#![allow(missing_docs, reason = "a program")]

mod phases;
mod proxy_under_test;

use std::time::Duration;

use burst_bench_kit::{FixtureCluster, Table};
use phases::{Label, Run, WORKLOADS};
use proxy_under_test::{Mode, ProxyUnderTest, Startup};

/// Services, each with an HPA and a Deployment. `SIZES=10000` measures only that size.
const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// Proxies that are started for each size and mode.
const STARTS: usize = 5;

const MODES: [Mode; 2] = [Mode::Streams, Mode::Windows];

fn main() {
    let mut table = Table::new("sync");
    let mut runs: Vec<_> = wanted_sizes()
        .into_iter()
        .flat_map(|services| start(services, &mut table))
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

/// Starts proxies of all modes for a cluster of that size, in turns, and keeps the last one of each mode.
fn start(services: usize, table: &mut Table) -> Vec<Run> {
    eprintln!("{services} services: starting");
    // The header-only module is only of interest where there is much to do.
    let header_only = (services == SIZES[SIZES.len() - 1]).then_some(Mode::HeaderOnly);
    let modes: Vec<_> = MODES.into_iter().chain(header_only).collect();
    let start = |mode: &Mode, fixtures| ProxyUnderTest::start(fixtures, *mode);
    let mut proxies: Vec<_> = modes
        .iter()
        .map(|mode| start(mode, FixtureCluster::new(services)))
        .collect();
    let mut startups: Vec<Vec<Startup>> = proxies.iter().map(|proxy| vec![proxy.startup]).collect();
    for _ in 1..STARTS {
        let again = proxies.into_iter().zip(&modes);
        proxies = again.map(|(proxy, mode)| start(mode, proxy.fixtures)).collect();
        for (startups, proxy) in startups.iter_mut().zip(&proxies) {
            startups.push(proxy.startup);
        }
    }
    let started = modes.into_iter().zip(proxies).zip(startups);
    started
        .map(|((mode, proxy), startups)| {
            let label = Label { services, mode };
            let bytes = report_startups(label, &startups, table);
            Run::new(label, proxy, bytes)
        })
        .collect()
}

/// Returns the bytes of reading everything once.
fn report_startups(label: Label, startups: &[Startup], table: &mut Table) -> u64 {
    let mut report = |row_name, of: fn(&Startup) -> Duration| {
        table.durations(label.of(row_name), startups.iter().map(of).collect());
    };
    report("from start to the first header", |startup| startup.time);
    report("CPU until then", |startup| startup.cpu);
    report("longest burst of main until then", |startup| startup.longest.main);
    report("longest burst of a worker until then", |startup| startup.longest.worker);
    let bytes = startups.iter().map(|startup| startup.bytes);
    table.counts(label.of("bytes until then"), bytes.collect())
}
