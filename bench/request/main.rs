//! The CPU time that the filter adds to a request, compared with other ways to put a header on a response: `make bench`
//! prints the tables.
//! With keys of variants as arguments (`cargo bench … --bench request -- empty header_only`) it measures only these, and
//! saves nothing.
//!
//! One Envoy with one worker has a listener for each variant, and one without a filter, all with the same clusters. The
//! benchmark measures the CPU time of the whole process, over short slices of the same requests to one listener after
//! the other.
#![allow(missing_docs, reason = "a program")]

mod client;
mod modules;
mod proxy;
mod requests;
mod services;
mod slices;
mod upstream;
mod variants;

use std::{collections::BTreeMap, time::Duration};

use burst_bench_kit::Table;
use burst_lab::{api::KubeApi, server::Server};
use tokio::runtime::Runtime;

use crate::{
    client::Client,
    proxy::Proxy,
    requests::RequestKind,
    slices::Slices,
    variants::{VARIANTS, Variant},
};

/// Services with an HPA each; keys of the Lua table.
const SERVICES: usize = 10_000;

/// Requests before the measurement, so that V8 has optimized the code.
const WARM_UP: u32 = 300;

fn main() {
    // Cargo adds `--bench`.
    let named: Vec<_> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let variants: Vec<_> = VARIANTS
        .into_iter()
        .filter(|variant| is_wanted(variant, &named))
        .collect();
    let runtime = Runtime::new().expect("a runtime");
    let api = KubeApi::new(services::cluster(SERVICES));
    let any_port = ([127, 0, 0, 1], 0).into();
    let api = runtime.block_on(Server::start(any_port, api)).expect("a listener");
    let upstream = upstream::start();
    let proxy = Proxy::start(&variants, upstream.port(), api.addr().port());
    let clients = variants.iter().map(|variant| {
        eprintln!("warming up: {}", variant.label);
        let mut client = Client::connect(proxy.address(*variant), *variant);
        for kind in RequestKind::ALL {
            client.send(kind, WARM_UP.min(10 * kind.rounds().1));
        }
        client
    });
    let mut slices = Slices::new(proxy.id(), clients.collect());
    let mut table = Table::new("request");
    let added = RequestKind::ALL.map(|kind| {
        let rounds = slices.of(kind);
        (kind.key(), print(&mut table, kind, &variants, &rounds))
    });
    if named.is_empty() {
        table.save_with(env!("CARGO_TARGET_TMPDIR"), BTreeMap::from(added));
    }
}

/// Returns whether a variant is named, or none is. The two that others are compared with are always wanted.
fn is_wanted(variant: &Variant, named: &[String]) -> bool {
    let is_named = named.iter().any(|name| name == variant.key);
    named.is_empty() || is_named || ["bare", "empty"].contains(&variant.key)
}

/// Prints the tables for one kind of request. Returns the median that each variant adds, in microseconds.
fn print(
    table: &mut Table,
    kind: RequestKind,
    variants: &[Variant],
    rounds: &[Vec<Duration>],
) -> BTreeMap<&'static str, f64> {
    let name = kind.name();
    println!("CPU time of one request:");
    for (index, variant) in variants.iter().enumerate() {
        let times = rounds.iter().map(|round| round[index]);
        table.durations(format!("{name}: {}", variant.label), times.collect());
    }
    println!("of it beyond Envoy alone in the same round:");
    let mut added = BTreeMap::new();
    for (index, variant) in variants.iter().enumerate().skip(1) {
        let beyond = rounds.iter().map(|round| round[index].saturating_sub(round[0]));
        let median = table.durations(format!("{name}: added: {}", variant.label), beyond.collect());
        added.insert(variant.key, median.as_secs_f64() * 1e6);
    }
    println!("times what the empty filter adds:");
    for variant in &variants[1..] {
        let ratio = added[variant.key] / added["empty"];
        table.ratio(format!("{name}: ÷ empty: {}", variant.label), ratio);
    }
    added
}
