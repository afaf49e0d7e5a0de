//! How long requests wait, and how many there can be, with the filter and without it: `make bench` prints the table.
//!
//! h2load sends requests to a proxy with two workers, which forwards them to another Envoy. All of them share the machine,
//! so a proxy on its own machine has other numbers: compare only the rows of one run.
#![allow(missing_docs, reason = "a program")]

mod h2load;

use burst_bench_kit::{
    Backends, Table,
    proxy::{self, FilterUnderTest, PATIENCE, Ports},
};
use burst_testkit::{
    Envoy,
    http::{Connection, Request},
    wait,
};
use h2load::{Measured, Rate};

const SERVICES: usize = 1_000;

const RATES: [(&str, Rate); 2] = [
    ("1,600 requests a second", Rate::Fixed { per_connection: 100 }),
    ("as many as possible", Rate::Full),
];

/// Slices of each row.
const ROUNDS: usize = 9;

fn main() {
    let backends = Backends::start(SERVICES);
    let proxies = FilterUnderTest::ALL.map(|(label, filter)| (label, ready(filter, backends.ports())));
    let mut table = Table::new("load");
    for (rate_name, rate) in RATES {
        let mut measured = FilterUnderTest::ALL.map(|_| Vec::with_capacity(ROUNDS));
        for round in 1..=ROUNDS {
            eprint!("\r{rate_name}: round {round} of {ROUNDS} ");
            for ((_, proxy), measured) in proxies.iter().zip(&mut measured) {
                measured.push(h2load::run(proxy::address(proxy), rate));
            }
        }
        eprintln!();
        println!("{rate_name}:");
        for ((label, _), measured) in proxies.iter().zip(&measured) {
            report(&format!("{rate_name}: {label}"), measured, &mut table);
        }
    }
    table.save(env!("CARGO_TARGET_TMPDIR"));
}

/// Starts a proxy, and waits until its responses have the header if they should.
fn ready(filter: FilterUnderTest, ports: Ports) -> Envoy {
    let envoy = proxy::start(filter, 2, ports);
    let mut connections = [(); 2].map(|()| Connection::open(proxy::address(&envoy)).expect("a connection"));
    for connection in &mut connections {
        wait::until(PATIENCE, "the header", || {
            let answer = connection.ask(&Request::get("/")).expect("an answer");
            answer.header("x-burst").is_some() == (filter == FilterUnderTest::BurstMetrics)
        });
    }
    envoy
}

fn report(label: &str, measured: &[Measured], table: &mut Table) {
    table.counts(
        format!("{label}: a second"),
        measured.iter().map(|measured| measured.per_second).collect(),
    );
    for (index, name) in ["p50", "p99", "p99.9"].into_iter().enumerate() {
        let times = measured.iter().map(|measured| measured.percentiles[index]);
        table.durations(format!("{label}: {name}"), times.collect());
    }
}
