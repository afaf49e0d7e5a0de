//! Simulates many proxies and one API server, for each way to read the cluster: `make bench` prints the table.
#![allow(missing_docs, reason = "a program")]

use burst_bench_fleet::run::Run;
use burst_bench_fleet::scenario::{Mode, Scenario};
use burst_bench_fleet::summary::Summary;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const FLEETS: [usize; 3] = [10, 1_000, 50_000];

fn main() {
    println!(
        "| proxies | read by | open watches | requests/s | cores | MB/s | age, p99 | peak/s at the start | first snapshot after | \
         peak/s after the outage | everything read again after | peak/s in the last minute |"
    );
    println!("|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut rows = Vec::new();
    for proxies in FLEETS {
        for mode in Mode::ALL {
            let scenario = Scenario::new(mode, proxies);
            let summary = Summary::of(&scenario, &Run::new(scenario.clone()).to_end());
            print(&scenario, &summary);
            rows.push(row(&scenario, &summary));
        }
    }
    println!("one of several API servers restarts: requests in the busiest second after it, and in the steady state");
    for mode in [Mode::Windows, Mode::Streams] {
        let scenario = Scenario::new(mode, FLEETS[2]).with_restart();
        let summary = Summary::of(&scenario, &Run::new(scenario.clone()).to_end());
        println!("{}: {} and {:.0}", mode.name(), summary.peak, summary.steady.requests);
        let peak = summary.peak;
        rows.push(json!({"mode": mode.name(), "proxies": scenario.fleet(), "peak_after_restart_per_second": peak}));
    }
    save(&rows);
}

fn print(scenario: &Scenario, summary: &Summary) {
    let Summary { steady, hubs, .. } = summary;
    println!(
        "| {} | {} | {} | {:.1} | {:.3} | {:.2} | {} | {} | {} | {} | {} | {} |",
        scenario.fleet(),
        scenario.mode.name(),
        summary.streams,
        steady.requests,
        steady.cores,
        steady.bytes / 1e6,
        seconds(Some(steady.p99_age)),
        summary.first_peak,
        seconds(summary.first_snapshot),
        summary.peak,
        seconds(summary.recovery),
        summary.last_peak,
    );
    if scenario.mode == Mode::Spokes {
        let each = |all: f64| all / count(scenario.hubs);
        println!(
            "| | each of {} hubs | | {:.1} | {:.3} | {:.2} | | | | | | |",
            scenario.hubs * scenario.share,
            each(hubs.requests),
            each(hubs.cores),
            each(hubs.bytes) / 1e6
        );
    }
}

fn row(scenario: &Scenario, summary: &Summary) -> Value {
    let Summary { steady, .. } = summary;
    json!({
        "proxies": scenario.fleet(),
        "mode": scenario.mode.name(),
        "open_watches": summary.streams,
        "requests_per_second": steady.requests,
        "cores": steady.cores,
        "bytes_per_second": steady.bytes,
        "age_p99_s": steady.p99_age.as_secs_f64(),
        "first_snapshot_s": summary.first_snapshot.map(|time| time.as_secs()),
        "peak_after_outage_per_second": summary.peak,
        "recovery_s": summary.recovery.map(|time| time.as_secs()),
    })
}

fn seconds(time: Option<Duration>) -> String {
    time.map_or_else(|| "never".into(), |time| format!("{} s", time.as_secs()))
}

#[allow(clippy::cast_precision_loss, reason = "printed with few digits")]
fn count(number: usize) -> f64 {
    number as f64
}

fn save(rows: &[Value]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("fleet.json"), serde_json::to_vec_pretty(rows).unwrap()).unwrap();
}
