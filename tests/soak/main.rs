//! The filter under load in a real Envoy, while everything around it fails at random: `make soak`. It reads by streams most of
//! the time. At the end it prints a table of its promises; the exit code says whether they held.
//!
//! A run of some seconds, with the same code, is a test. `SOAK_SEED` repeats the faults of another run.
#![allow(missing_docs, reason = "a program")]

mod faults;
mod load;
mod memory;
mod promises;
mod screen;

use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use burst_testkit::{
    Version,
    filter::{Backend, NGSA_1, NGSA_1_CLUSTER, Plugin, Proxy, UpstreamProtocol},
    http::Request,
    port,
};
use serde_json::{Value, json};

use crate::faults::{Faults, KINDS};
use crate::load::Load;
use crate::memory::Memory;
use crate::promises::Report;
use crate::screen::Screen;

/// The length of the test, which is the run without `SOAK`. The length excludes the warm-up.
const SHORT: Duration = Duration::from_secs(20);

/// The age at which a snapshot is stale: the least with streams.
const LIMIT: Duration = Duration::from_secs(30);

/// How often the run updates the screen and measures memory.
const LOOK: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let seed = burst_testkit::seed();
    let length = minutes().unwrap_or(SHORT);
    let report = soak(length, seed);
    report.print();
    report.keep(env!("CARGO_TARGET_TMPDIR"));
    if report.is_kept() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn minutes() -> Option<Duration> {
    let text = env::var("SOAK").ok().filter(|text| !text.is_empty())?;
    let minutes: f64 = text
        .parse()
        .unwrap_or_else(|error| panic!("SOAK={text} is no number of minutes: {error}"));
    Some(Duration::from_secs_f64(minutes * 60.0))
}

fn soak(length: Duration, seed: u64) -> Report {
    let port = port::free();
    let plugin = |variant| {
        let plugin = Plugin::new("main", keys(variant)).port(port);
        plugin.upstream_filter(UpstreamProtocol::Http2WithKeepalive)
    };
    let mut backend = Backend::sample();
    let proxy = Proxy::of(Version::Tested)
        .plugin(plugin(0))
        .argument("--drain-time-s")
        .argument("2")
        .start(&backend);
    let mut main = proxy.client("main");
    let request = Request::to(NGSA_1_CLUSTER);
    main.wait(&request, "a header", |answer| answer.header("x-burst").is_some());
    // A change of the listeners would close this idle connection.
    drop(main);

    let load = Load::start(proxy.envoy.listener("main"));
    let (mut faults, mut memory) = (Faults::new(seed, length), Memory::of(proxy.envoy.id()));
    let mut screen = Screen::new(length);
    let (started, mut warm) = (Instant::now(), None);
    // The warm-up takes longer on a slow machine.
    while warm.is_none_or(|warm| started.elapsed() < warm + length) {
        faults.step(started.elapsed(), &mut backend, |variant| {
            proxy.replace_listeners(&[plugin(variant)]);
        });
        if warm.is_none() && faults.each_has_occurred() {
            warm = Some(started.elapsed());
        }
        let since = warm.map(|warm| started.elapsed().saturating_sub(warm));
        memory.measure(since);
        screen.show(since, &load.tally(), memory.now(), faults.what());
        std::thread::sleep(LOOK);
    }
    screen.end();
    faults.end(&mut backend);
    let tally = load.stop();

    // After the faults, the filter serves the current cluster. It would notice a silent stream within 90 s.
    backend.refuse_connections();
    backend.accept_connections();
    backend.scale_ngsa_1(3);
    let risen = NGSA_1.replace("current-load=1", "current-load=3");
    let has_risen = |header: Option<&str>| header.is_some_and(|header| header.starts_with(&risen));
    proxy.client("main").wait(&request, "the cluster as it is", |answer| {
        has_risen(answer.header("x-burst"))
    });
    Report {
        seed,
        length,
        tally,
        faults: KINDS
            .iter()
            .zip(faults.counts())
            .map(|(kind, count)| (kind.name, *count))
            .collect(),
        memory: memory.growth(length),
        dead: proxy.log_lines("Uncaught").len() as u64,
        swaps: faults.swaps(),
    }
}

/// The keys of one of four configurations that replace each other. Two read by streams, one in windows, and one lists. They
/// differ in the header's text, too.
fn keys(variant: u64) -> Value {
    let mut keys = json!({
        "max_staleness": format!("{}s", LIMIT.as_secs()),
        "request_timeout": "1s",
        "sync": {"window": "3s", "workload_window": "3s"},
        "header": {"extra_keys": ["as-of"]},
    });
    match variant % 4 {
        1 => keys["header"] = json!({"extra_keys": ["as-of", "stale"]}),
        2 => keys["sync"] = json!({"mode": "list"}),
        3 => keys["sync"]["mode"] = json!("watch"),
        _ => {}
    }
    keys
}
