//! The memory of watches that stay open, as a fleet of proxies keeps them.

use std::{process::Command, time::Duration};

use burst_bench_kit::{Table, process::resident_bytes};
use burst_testkit::{Process, wait};

use crate::{
    KINDS,
    server::{ApiServer, PATIENCE},
};

/// Connections, each of one proxy.
const PROXIES: usize = 500;

/// Connections that are opened in a second. The server queues few requests of one user at the same time.
const RATE: u32 = 50;

/// How long the watches stay open.
const LIFETIME: &str = "timeoutSeconds=600";

/// The memory of the API server.
#[derive(Clone, Copy)]
struct Memory {
    /// What its program uses, after a garbage collection: the heap and the stacks.
    live: u64,
    resident: u64,
}

/// Measures the memory of a watch, and that of a connection. Each proxy has one connection for all its watches.
pub(crate) fn measure(server: &ApiServer, table: &mut Table) {
    // The first connections of a kind make the server grow once.
    let _ = open(server, KINDS.len());
    let [one, all] = [1, KINDS.len()].map(|watches| open(server, watches));
    let [of_one, of_all] = [one, all].map(|(before, after)| after.live.saturating_sub(before.live) / PROXIES as u64);
    let each = of_all.saturating_sub(of_one) / (KINDS.len() as u64 - 1);
    table.counts("bytes of an open watch", vec![each]);
    table.counts(
        "bytes of a connection with TLS and HTTP/2",
        vec![of_one.saturating_sub(each)],
    );
    table.counts("bytes of a proxy with four watches", vec![of_one + 3 * each]);
    let (before, after) = all;
    let resident = after.resident.saturating_sub(before.resident) / PROXIES as u64;
    table.counts(
        format!("resident bytes of a proxy with {} watches", KINDS.len()),
        vec![resident],
    );
}

/// Opens so many watches on each connection. Returns the memory before and meanwhile.
fn open(server: &ApiServer, watches: usize) -> (Memory, Memory) {
    let before = memory(server);
    let others = server.open_watches();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new("h2load");
    command.args([
        format!("--clients={PROXIES}"),
        format!("--rate={RATE}"),
        format!("--max-concurrent-streams={watches}"),
        format!("--requests={}", PROXIES * watches),
        format!("--header=authorization: Bearer {}", server.token()),
    ]);
    for (_, kind) in &KINDS[..watches] {
        let version = server.resource_version(*kind);
        let query = format!("watch=1&allowWatchBookmarks=true&resourceVersion={version}&{LIFETIME}");
        command.arg(server.url(&format!("{}/{}?{query}", kind.path, kind.plural)));
    }
    let clients = Process::start("h2load", folder.path(), &mut command);
    wait::for_ok(PATIENCE, "the watches are open", || {
        let open = server.open_watches().saturating_sub(others);
        let wanted = (PROXIES * watches) as u64;
        if open >= wanted {
            Ok(())
        } else {
            Err(format!("{open} of {wanted} are open"))
        }
    });
    let meanwhile = memory(server);
    drop(clients);
    wait::for_ok(PATIENCE, "the watches have ended", || {
        let open = server.open_watches().saturating_sub(others);
        if open < PROXIES as u64 / 10 {
            Ok(())
        } else {
            Err(format!("{open} are open"))
        }
    });
    (before, meanwhile)
}

fn memory(server: &ApiServer) -> Memory {
    let resident = resident_bytes(server.process());
    // The profile of the heap begins with a garbage collection, if it is asked for one. Twice, because the first one may
    // be in the middle of another.
    for _ in 0..2 {
        server.get("/debug/pprof/heap?gc=1");
        std::thread::sleep(Duration::from_secs(1));
    }
    let metrics = server.get("/metrics");
    let of = |name: &str| metric(&metrics, name);
    Memory {
        live: of("go_memstats_heap_alloc_bytes ") + of("go_memstats_stack_inuse_bytes "),
        resident,
    }
}

/// Returns the sum of the samples that begin like that.
pub(crate) fn metric(metrics: &str, start: &str) -> u64 {
    let samples = metrics.lines().filter(|line| line.starts_with(start));
    let values = samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bytes, or a count"
    )]
    let sum = values.sum::<f64>() as u64;
    sum
}
