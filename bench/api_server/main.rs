//! The CPU time that a real API server spends on the filter's requests: `make bench` prints the table.
//! The simulation in `bench/fleet` uses these costs. With the argument `memory` it measures only the memory of open watches,
//! and saves nothing.
#![allow(missing_docs, reason = "a program")]

mod open_watches;
mod server;

use std::{thread, time::Duration};

use burst_bench_kit::{FixtureCluster, Table};
use server::{ApiServer, Kind};

/// Objects of each kind.
const OBJECTS: usize = 1_000;

/// Slices of each row.
const ROUNDS: usize = 9;

/// Pages in a slice.
const PAGES: u32 = 5;

/// Objects in a page.
const PAGE: u32 = 500;

/// Simultaneous watches that begin with all objects, fewer than the server would queue.
const WATCH_LISTS: u32 = 10;

/// Simultaneous watches.
const WATCHES: u32 = 200;

/// The length of a watch. The changes come within it.
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
    let server = ApiServer::start();
    let fixtures = FixtureCluster::new(OBJECTS);
    for (_, kind) in KINDS {
        server.create(kind, &fixtures.cluster);
    }
    let mut table = Table::new("api-server");
    if std::env::args().any(|argument| argument == "memory") {
        return open_watches::measure(&server, &mut table);
    }
    println!("CPU time that requests add to an idle API server:");
    for (label, kind) in KINDS {
        let pages = |limit| (0..ROUNDS).map(|_| page(&server, kind, limit)).collect::<Vec<_>>();
        let (full, single) = (pages(PAGE), pages(1));
        table.counts(
            format!("{label}: bytes of a page of {PAGE}"),
            vec![server.list(kind, PAGE)],
        );
        let objects = full
            .iter()
            .zip(&single)
            .map(|(full, single)| full.saturating_sub(*single) / (PAGE - 1));
        table.durations(format!("{label}: an object in a page"), objects.collect());
        table.durations(format!("{label}: a page of {PAGE}"), full);
        table.durations(format!("{label}: a page of one"), single);
    }
    watches(&server, &mut table);
    watch_lists(&server, &mut table);
    println!("memory of watches that stay open:");
    open_watches::measure(&server, &mut table);
    table.save(env!("CARGO_TARGET_TMPDIR"));
}

fn page(server: &ApiServer, kind: Kind, limit: u32) -> Duration {
    let spent = server.cpu_time_of(|| {
        for _ in 0..PAGES {
            server.list(kind, limit);
        }
    });
    spent / PAGES
}

/// Measures the cost of a watch, and of a change in a watch. The second is the cost of watches with changes, minus the
/// cost of the same watches without changes and of the same changes without watches.
fn watches(server: &ApiServer, table: &mut Table) {
    let (_, hpas) = KINDS[0];
    let (mut unchanged, mut changed) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let [idle, writes, watches, both] = [(0, 0), (0, CHANGES), (WATCHES, 0), (WATCHES, CHANGES)]
            .map(|(watches, changes)| server.cpu_time_of(|| window(server, hpas, watches, changes, round)));
        unchanged.push(watches.saturating_sub(idle) / WATCHES);
        changed.push((both + idle).saturating_sub(writes + watches) / WATCHES / CHANGES);
    }
    table.durations("a watch, from start to end", unchanged);
    table.durations("an object in a watch", changed);
}

/// Measures the cost of an object that a watch begins with: that of watches with all objects, minus that of as many watches
/// without.
fn watch_lists(server: &ApiServer, table: &mut Table) {
    for (label, kind) in KINDS {
        let objects = (0..ROUNDS).map(|round| {
            let idle = server.cpu_time_of(|| window(server, kind, WATCH_LISTS, 0, round));
            let all = server.cpu_time_of(|| {
                thread::scope(|scope| {
                    for _ in 0..WATCH_LISTS {
                        scope.spawn(|| server.watch_list(kind, WINDOW));
                    }
                });
            });
            let count = u32::try_from(OBJECTS).unwrap_or(u32::MAX);
            all.saturating_sub(idle) / WATCH_LISTS / count
        });
        table.durations(
            format!("{label}: an object at the beginning of a watch"),
            objects.collect(),
        );
    }
}

fn window(server: &ApiServer, kind: Kind, watches: u32, changes: u32, round: usize) {
    let version = server.resource_version(kind);
    thread::scope(|scope| {
        for _ in 0..watches {
            scope.spawn(|| server.watch(kind, &version, WINDOW));
        }
        scope.spawn(|| {
            for change in 0..changes {
                server.change(kind, change, round);
            }
            // Every window has the same length, with watches and without.
            thread::sleep(WINDOW);
        });
    });
}
