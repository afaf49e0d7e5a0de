//! What a real API server spends on what the filter asks of it: `make bench` prints the table.
//! `crates/burst-fleet` reckons with these costs.
#![allow(missing_docs, reason = "a program")]

use burst_bench_kit::fixture_cluster as crowd;
use burst_bench_kit::process;
use burst_bench_kit as table;

mod server;

use std::{thread, time::Duration};

use crowd::Crowd;
use server::{Kind, Server};
use table::Table;

/// Objects of each kind.
const OBJECTS: usize = 1_000;

/// Slices of each row.
const ROUNDS: usize = 9;

/// Pages in a slice.
const PAGES: u32 = 5;

/// Objects in a page.
const PAGE: u32 = 500;

/// Watches that are open at the same time.
const WATCHES: u32 = 200;

/// How long they are. The changes come within that.
const WINDOW: Duration = Duration::from_secs(3);

/// Changes within a window.
const CHANGES: u32 = 40;

const KINDS: [(&str, Kind); 3] = [
    ("HPAs", Kind::HPAS),
    ("Services", Kind::SERVICES),
    ("Deployments", Kind::DEPLOYMENTS),
];

fn main() {
    eprintln!("starting a control plane with {OBJECTS} Services, HPAs and Deployments");
    let server = Server::start();
    let crowd = Crowd::new(OBJECTS);
    for (_, kind) in KINDS {
        server.create(kind, &crowd.cluster);
    }
    let mut table = Table::new("api-server");
    println!("CPU of the API server, over what it spends anyway:");
    for (what, kind) in KINDS {
        let pages = |limit| (0..ROUNDS).map(|_| page(&server, kind, limit)).collect::<Vec<_>>();
        let (whole, one) = (pages(PAGE), pages(1));
        table.counts(
            format!("{what}: bytes of a page of {PAGE}"),
            vec![server.list(kind, PAGE)],
        );
        let objects = whole
            .iter()
            .zip(&one)
            .map(|(whole, one)| whole.saturating_sub(*one) / (PAGE - 1));
        table.times(format!("{what}: an object in a page"), objects.collect());
        table.times(format!("{what}: a page of {PAGE}"), whole);
        table.times(format!("{what}: a page of one"), one);
    }
    watches(&server, &mut table);
    table.keep(env!("CARGO_TARGET_TMPDIR"));
}

fn page(server: &Server, kind: Kind, limit: u32) -> Duration {
    let spent = server.spends(|| {
        for _ in 0..PAGES {
            server.list(kind, limit);
        }
    });
    spent / PAGES
}

/// A window, and a change in it: what both cost together, less what each does without the other.
fn watches(server: &Server, table: &mut Table) {
    let (_, hpas) = KINDS[0];
    let (mut quiet, mut changed) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let [idle, writes, watches, both] = [(0, 0), (0, CHANGES), (WATCHES, 0), (WATCHES, CHANGES)]
            .map(|(watches, changes)| server.spends(|| window(server, hpas, watches, changes, round)));
        quiet.push(watches.saturating_sub(idle) / WATCHES);
        changed.push((both + idle).saturating_sub(writes + watches) / WATCHES / CHANGES);
    }
    table.times("a watch, from its beginning to its end", quiet);
    table.times("an object in a watch", changed);
}

fn window(server: &Server, kind: Kind, watches: u32, changes: u32, round: usize) {
    let version = server.version(kind);
    thread::scope(|scope| {
        for _ in 0..watches {
            scope.spawn(|| server.watch(kind, &version, WINDOW));
        }
        scope.spawn(|| {
            for change in 0..changes {
                server.change(kind, change, round);
            }
            // Every window is as long, with watches and without.
            thread::sleep(WINDOW);
        });
    });
}
