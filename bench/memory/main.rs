//! What the filter holds in memory with 10,000 Services, and what it adds to Envoy's start: `make bench` prints the
//! table.
//!
//! Each worker has a VM of its own, and so has the main thread. What a VM holds is what an Envoy with more workers
//! holds more, less what it does so without a filter.
#![allow(missing_docs, reason = "a program")]

#[path = "../crowd.rs"]
mod crowd;
#[path = "../process.rs"]
mod process;
#[path = "../proxy.rs"]
mod proxy;
#[path = "../table.rs"]
mod table;

use std::time::{Duration, Instant};

use burst_testkit::{
    Envoy,
    filter::Backend,
    http::{Connection, Request},
    wait,
};
use crowd::Crowd;
use process::{resident, spent};
use proxy::{Filter, Ports};
use table::Table;

const SERVICES: usize = 10_000;

const FILTERS: [(&str, Filter); 3] = [
    ("Envoy alone", Filter::None),
    ("the empty filter", Filter::Empty),
    ("this filter", Filter::Ours),
];

/// Workers of the smaller and of the larger proxy.
const FEW: u32 = 1;
const MANY: u32 = 7;

/// Proxies of each kind.
const ROUNDS: usize = 5;

/// For the filter to read everything on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// Snapshots that a proxy takes up before it is weighed: what it holds does not grow from then on.
const CHANGES: u32 = 3;

fn main() {
    let mut table = Table::new("memory");
    eprintln!("making {SERVICES} Services");
    let crowd = Crowd::new(SERVICES);
    let world = Backend::of(crowd.cluster.clone());
    let ports = Ports {
        api: world.kube_port(),
        upstream: world.upstream_port(),
    };
    starts(ports, &mut table);
    println!("resident memory, with 10,000 Services:");
    let mut a_vm = Vec::new();
    for (what, filter) in FILTERS {
        eprintln!("{what}: memory");
        let [few, many]: [Vec<_>; 2] = [FEW, MANY].map(|workers| {
            let weigh = |round| weighed(filter, workers, ports, &crowd, round);
            (0..ROUNDS).map(weigh).collect()
        });
        let each = few
            .iter()
            .zip(&many)
            .map(|(few, many)| many.saturating_sub(*few) / u64::from(MANY - FEW));
        a_vm.push(table.counts(format!("{what}: a worker more, bytes"), each.collect()));
        table.counts(format!("{what}: 1 worker, bytes"), few);
        table.counts(format!("{what}: {MANY} workers, bytes"), many);
    }
    if let [_, empty, ours] = a_vm[..] {
        table.memory("a VM, above the empty filter", ours.saturating_sub(empty));
    }
    table.keep(env!("CARGO_TARGET_TMPDIR"));
}

/// From the start of the process until Envoy is live, with two workers; the kinds take turns.
fn starts(ports: Ports, table: &mut Table) {
    eprintln!("starts");
    let mut found = FILTERS.map(|_| (Vec::new(), Vec::new()));
    for _ in 0..=2 * ROUNDS {
        for ((_, filter), (times, cpu)) in FILTERS.into_iter().zip(&mut found) {
            let started = Instant::now();
            let envoy = proxy::start(filter, 2, ports);
            times.push(started.elapsed());
            cpu.push(spent(envoy.id()).process);
        }
    }
    for ((what, _), (times, cpu)) in FILTERS.into_iter().zip(found) {
        table.times(format!("{what}: from start to live"), times);
        table.times(format!("{what}: CPU until then"), cpu);
    }
}

/// What a proxy holds after some changes of the cluster, every one of which each worker has served.
fn weighed(filter: Filter, workers: u32, ports: Ports, crowd: &Crowd, round: usize) -> u64 {
    let envoy = proxy::start(filter, workers, ports);
    let mut connections: Vec<_> = (0..workers).map(|_| connect(&envoy)).collect();
    let first = 10 * u32::try_from(round).unwrap_or_default();
    for replicas in first + 1..=first + CHANGES {
        crowd.scale(0, replicas);
        let load = format!("current-load={replicas},");
        for connection in &mut connections {
            wait::until(PATIENCE, &load, || {
                let answer = connection.ask(&Request::get("/")).expect("an answer");
                filter != Filter::Ours || answer.header("x-burst").is_some_and(|value| value.contains(&load))
            });
        }
    }
    resident(envoy.id())
}

fn connect(envoy: &Envoy) -> Connection {
    Connection::open(proxy::address(envoy)).expect("a connection")
}
