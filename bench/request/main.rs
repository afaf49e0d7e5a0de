//! What the filter adds to a request beside other ways to put a header on a response: `make bench` prints the tables.
//! With keys of variants as arguments (`cargo bench … --bench request -- empty header_only`) it is these alone, and
//! nothing is kept.
//!
//! One Envoy with one worker has a listener for each variant, and one without anything, all to the same clusters. What
//! is counted is the CPU time of the whole process, over short slices of the same requests to one listener after the
//! other.
#![allow(missing_docs, reason = "a program")]

use burst_bench_kit::process;
use burst_bench_kit as table;

mod client;
mod services;
use services as cluster;
mod modules;
mod proxy;
mod slices;
mod requests;
use requests as traffic;
mod upstream;
mod variants;

use std::{collections::BTreeMap, time::Duration};

use burst_lab::{api::KubeApi, server::Server};
use tokio::runtime::Runtime;

use crate::{
    client::Client,
    proxy::Proxy,
    slices::Slices,
    table::Table,
    traffic::Traffic,
    variants::{VARIANTS, Variant},
};

/// Services with an HPA each; keys of the Lua table.
const SERVICES: usize = 10_000;

/// Enough that V8 has compiled whatever it will.
const WARM_UP: u32 = 300;

fn main() {
    // Cargo adds `--bench`.
    let named: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let variants: Vec<_> = VARIANTS
        .into_iter()
        .filter(|variant| is_wanted(variant, &named))
        .collect();
    let runtime = Runtime::new().expect("a runtime");
    let api = KubeApi::new(cluster::of(SERVICES));
    let anywhere = ([127, 0, 0, 1], 0).into();
    let api = runtime.block_on(Server::start(anywhere, api)).expect("a listener");
    let upstream = upstream::start();
    let proxy = Proxy::start(&variants, upstream.port(), api.addr().port());
    let clients = variants.iter().map(|variant| {
        eprintln!("warming up: {}", variant.what);
        let mut client = Client::connect(proxy.address(*variant), *variant);
        for traffic in Traffic::ALL {
            client.send(traffic, WARM_UP);
        }
        client
    });
    let mut slices = Slices::new(proxy.id(), clients.collect());
    let mut table = Table::new("request");
    let added = Traffic::ALL.map(|traffic| {
        let rounds = slices.of(traffic);
        (traffic.key(), print(&mut table, traffic, &variants, &rounds))
    });
    if named.is_empty() {
        table.keep_with(env!("CARGO_TARGET_TMPDIR"), BTreeMap::from(added));
    }
}

/// Those that are named, or all; and always what they are compared with.
fn is_wanted(variant: &Variant, named: &[String]) -> bool {
    let is_named = named.iter().any(|name| name == variant.key);
    named.is_empty() || is_named || ["bare", "empty"].contains(&variant.key)
}

/// The tables of one kind of traffic. The medians of what each variant adds, in microseconds.
fn print(
    table: &mut Table,
    traffic: Traffic,
    variants: &[Variant],
    rounds: &[Vec<Duration>],
) -> BTreeMap<&'static str, f64> {
    let name = traffic.name();
    println!("CPU time of one request:");
    for (place, variant) in variants.iter().enumerate() {
        let times = rounds.iter().map(|round| round[place]);
        table.times(format!("{name}: {}", variant.what), times.collect());
    }
    println!("of it beyond Envoy alone in the same round:");
    let mut added = BTreeMap::new();
    for (place, variant) in variants.iter().enumerate().skip(1) {
        let beyond = rounds.iter().map(|round| round[place].saturating_sub(round[0]));
        let median = table.times(format!("{name}: added: {}", variant.what), beyond.collect());
        added.insert(variant.key, median.as_secs_f64() * 1e6);
    }
    println!("times what the empty filter adds:");
    for variant in &variants[1..] {
        let ratio = added[variant.key] / added["empty"];
        table.ratio(format!("{name}: ÷ empty: {}", variant.what), ratio);
    }
    added
}
