//! What requests wait for, and how many there can be, with the filter and without it: `make bench` prints the table.
//!
//! h2load asks a proxy with two workers, which passes the request on to another Envoy. All of them share the machine,
//! so this says little of a proxy that has one of its own: compare the rows of one run.
#![allow(missing_docs, reason = "a program")]

#[path = "../crowd.rs"]
mod crowd;
#[path = "../proxy.rs"]
mod proxy;
#[path = "../table.rs"]
mod table;

mod h2load;

use std::time::Duration;

use burst_testkit::{
    Envoy,
    filter::Backend,
    http::{Connection, Request},
    wait,
};
use crowd::Crowd;
use h2load::{Found, Pace};
use proxy::{Filter, Ports};
use table::Table;

const SERVICES: usize = 1_000;

const FILTERS: [(&str, Filter); 3] = [
    ("Envoy alone", Filter::None),
    ("the empty filter", Filter::Empty),
    ("this filter", Filter::Ours),
];

const PACES: [(&str, Pace); 2] = [
    ("1,600 requests a second", Pace::Steady { each: 100 }),
    ("as many as it can", Pace::Full),
];

/// Slices of each row.
const ROUNDS: usize = 9;

/// For the filter to read everything.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() {
    let world = Backend::of(Crowd::new(SERVICES).cluster);
    let upstream = proxy::upstream();
    let ports = Ports {
        api: world.kube_port(),
        upstream: proxy::address(&upstream).port(),
    };
    let proxies = FILTERS.map(|(what, filter)| (what, ready(filter, ports)));
    let mut table = Table::new("load");
    for (pace_name, pace) in PACES {
        let mut found = FILTERS.map(|_| Vec::with_capacity(ROUNDS));
        for round in 1..=ROUNDS {
            eprint!("\r{pace_name}: round {round} of {ROUNDS} ");
            for ((_, proxy), found) in proxies.iter().zip(&mut found) {
                found.push(h2load::run(proxy::address(proxy), pace));
            }
        }
        eprintln!();
        println!("{pace_name}:");
        for ((what, _), found) in proxies.iter().zip(&found) {
            report(&format!("{pace_name}: {what}"), found, &mut table);
        }
    }
    table.keep(env!("CARGO_TARGET_TMPDIR"));
}

/// A proxy that serves what it should.
fn ready(filter: Filter, ports: Ports) -> Envoy {
    let envoy = proxy::start(filter, 2, ports);
    let mut connections = [(); 2].map(|()| Connection::open(proxy::address(&envoy)).expect("a connection"));
    for connection in &mut connections {
        wait::until(PATIENCE, "the header", || {
            let answer = connection.ask(&Request::get("/")).expect("an answer");
            answer.header("x-burst").is_some() == (filter == Filter::Ours)
        });
    }
    envoy
}

fn report(what: &str, found: &[Found], table: &mut Table) {
    table.counts(
        format!("{what}: a second"),
        found.iter().map(|found| found.per_second).collect(),
    );
    for (place, name) in ["p50", "p99", "p99.9"].into_iter().enumerate() {
        let times = found.iter().map(|found| found.percentiles[place]);
        table.times(format!("{what}: {name}"), times.collect());
    }
}
