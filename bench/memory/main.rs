//! The memory of the filter with 10,000 Services, and the time that it adds to Envoy's start: `make bench` prints the
//! table.
//!
//! Each worker has a VM, and so has the main thread. The memory of a VM is the difference between an Envoy with many workers
//! and one with few, divided by the number of additional workers, minus the same with a filter that does nothing.
#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use burst_bench_kit::{
    Backends, Table,
    process::{cpu_time, resident_bytes},
    proxy::{self, FilterUnderTest, PATIENCE, Ports},
};
use burst_testkit::{
    Envoy,
    http::{Connection, Request},
    wait,
};

const SERVICES: usize = 10_000;

/// Workers of the smaller and of the larger proxy.
const FEW: u32 = 1;
const MANY: u32 = 7;

/// Proxies of each kind.
const ROUNDS: usize = 5;

/// Snapshots that a proxy serves before its memory is measured. After that it does not grow any more.
const CHANGES: u32 = 3;

fn main() {
    let mut table = Table::new("memory");
    let backends = Backends::start(SERVICES);
    starts(backends.ports(), &mut table);
    println!("resident memory, with 10,000 Services:");
    let mut per_worker = Vec::new();
    for (label, filter) in FilterUnderTest::ALL {
        eprintln!("{label}: memory");
        let [few, many]: [Vec<_>; 2] = [FEW, MANY].map(|workers| {
            (0..ROUNDS)
                .map(|round| memory(filter, workers, &backends, round))
                .collect()
        });
        let each = few
            .iter()
            .zip(&many)
            .map(|(few, many)| many.saturating_sub(*few) / u64::from(MANY - FEW));
        per_worker.push(table.counts(format!("{label}: another worker, bytes"), each.collect()));
        table.counts(format!("{label}: 1 worker, bytes"), few);
        table.counts(format!("{label}: {MANY} workers, bytes"), many);
    }
    if let [_, empty, burst_metrics] = per_worker[..] {
        table.memory("a VM, beyond the empty filter", burst_metrics.saturating_sub(empty));
    }
    table.save(env!("CARGO_TARGET_TMPDIR"));
}

/// Measures the time from the start of the process until Envoy is live, with two workers. The filters take turns.
fn starts(ports: Ports, table: &mut Table) {
    eprintln!("starts");
    let mut measured = FilterUnderTest::ALL.map(|_| (Vec::new(), Vec::new()));
    for _ in 0..=2 * ROUNDS {
        for ((_, filter), (times, cpu)) in FilterUnderTest::ALL.into_iter().zip(&mut measured) {
            let started = Instant::now();
            let envoy = proxy::start(filter, 2, ports);
            times.push(started.elapsed());
            cpu.push(cpu_time(envoy.id()).process);
        }
    }
    for ((label, _), (times, cpu)) in FilterUnderTest::ALL.into_iter().zip(measured) {
        table.durations(format!("{label}: from start to live"), times);
        table.durations(format!("{label}: CPU until then"), cpu);
    }
}

/// Returns the memory of a proxy after some changes of the cluster, each of which every worker has served.
fn memory(filter: FilterUnderTest, workers: u32, backends: &Backends, round: usize) -> u64 {
    let envoy = proxy::start(filter, workers, backends.ports());
    let mut connections: Vec<_> = (0..workers).map(|_| connect(&envoy)).collect();
    let first = 10 * u32::try_from(round).unwrap_or_default();
    for replicas in first + 1..=first + CHANGES {
        backends.cluster.set_current_replicas(0, replicas);
        let load = format!("current-load={replicas},");
        for connection in &mut connections {
            wait::until(PATIENCE, &load, || {
                let answer = connection.ask(&Request::get("/")).expect("an answer");
                filter != FilterUnderTest::BurstMetrics
                    || answer.header("x-burst").is_some_and(|value| value.contains(&load))
            });
        }
    }
    resident_bytes(envoy.id())
}

fn connect(envoy: &Envoy) -> Connection {
    Connection::open(proxy::address(envoy)).expect("a connection")
}
