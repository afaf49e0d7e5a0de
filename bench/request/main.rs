//! What the filter adds to a request beside other ways to put a header on a response: `make bench` prints the table.
//!
//! One Envoy with one worker has a listener for each variant, and one without anything, all to the same clusters. What
//! is counted is the CPU time of the whole process, over short slices of the same requests to one listener after the
//! other.
#![allow(missing_docs, reason = "a program")]

#[path = "../process.rs"]
mod process;
#[path = "../table.rs"]
mod table;

mod client;
mod cluster;
mod proxy;
mod upstream;
mod variants;

use std::{collections::BTreeMap, time::Duration};

use burst_lab::{api::KubeApi, server::Server};
use tokio::runtime::Runtime;

use crate::{client::Client, process::spent, proxy::Proxy, table::Table, variants::VARIANTS};

/// Services with an HPA each; keys of the Lua table.
const SERVICES: usize = 10_000;

/// Slices of each variant; one of every variant makes a round.
const ROUNDS: usize = 301;

/// Requests in a slice, on each connection.
const REQUESTS: u32 = 12;

/// Enough that V8 has compiled whatever it will.
const WARM_UP: u32 = 300;

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    let upstream = runtime.block_on(upstream::start());
    let api = KubeApi::new(cluster::of(SERVICES));
    let anywhere = ([127, 0, 0, 1], 0).into();
    let api = runtime.block_on(Server::start(anywhere, api)).expect("a listener");
    let proxy = Proxy::start(upstream.port(), api.addr().port());
    let mut clients = VARIANTS.map(|variant| {
        eprintln!("warming up: {}", variant.what);
        let mut client = Client::connect(proxy.address(variant), variant);
        client.send(WARM_UP);
        client
    });
    let rounds = measure(proxy.id(), &mut clients);
    print(&rounds);
}

/// The CPU time of one request, for each variant of each round.
fn measure<const N: usize>(process: u32, clients: &mut [Client; N]) -> Vec<[Duration; N]> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        eprint!("\rround {} of {ROUNDS} ", round + 1);
        let mut slices = [Duration::ZERO; N];
        for place in 0..N {
            // Each variant follows every other one as often.
            let place = (place * step(round, N) + round) % N;
            let before = spent(process).process;
            let requests = clients[place].send(REQUESTS);
            slices[place] = (spent(process).process - before) / requests;
        }
        rounds.push(slices);
    }
    eprintln!();
    rounds
}

/// A number that has no divisor in common with `count`, another one in the next round.
fn step(round: usize, count: usize) -> usize {
    let coprime: Vec<_> = (1..count).filter(|step| divisor(*step, count) == 1).collect();
    coprime[round % coprime.len()]
}

fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}

fn print<const N: usize>(rounds: &[[Duration; N]]) {
    let mut table = Table::new("request");
    println!("CPU time of one request:");
    for (place, variant) in VARIANTS.iter().enumerate() {
        table.times(variant.what, rounds.iter().map(|round| round[place]).collect());
    }
    println!("of it beyond Envoy alone in the same round:");
    let mut added = BTreeMap::new();
    for (place, variant) in VARIANTS.iter().enumerate().skip(1) {
        let beyond = rounds.iter().map(|round| round[place].saturating_sub(round[0]));
        let median = table.times(format!("added: {}", variant.what), beyond.collect());
        added.insert(variant.key, median.as_secs_f64() * 1e6);
    }
    println!("times what the empty filter adds:");
    for variant in &VARIANTS[1..] {
        table.ratio(
            format!("÷ empty: {}", variant.what),
            added[variant.key] / added["empty"],
        );
    }
    table.keep_with(env!("CARGO_TARGET_TMPDIR"), "added_cpu_us", &added);
}
