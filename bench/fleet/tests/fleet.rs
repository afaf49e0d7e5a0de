//! Claims that hold for every fleet, whatever the costs. `docs/performance.md` has the numbers.

use burst_bench_fleet::run::Run;
use burst_bench_fleet::scenario::{Mode, Outage, Scenario};
use burst_bench_fleet::summary::Summary;
use std::time::Duration;

/// Returns a scenario with an outage of so many seconds after two minutes, and three minutes after it.
fn scenario(mode: Mode, proxies: usize, outage: u64) -> Scenario {
    let outage = Outage {
        start: Duration::from_secs(120),
        duration: Duration::from_secs(outage),
        keeps_history: true,
    };
    Scenario {
        steady: outage.start,
        outage,
        duration: outage.start + outage.duration + Duration::from_secs(180),
        ..Scenario::new(mode, proxies)
    }
}

fn summary(scenario: &Scenario) -> Summary {
    Summary::of(scenario, &Run::new(scenario.clone()).to_end())
}

#[allow(clippy::cast_precision_loss, reason = "small numbers")]
fn times_steady(requests: u64, summary: &Summary) -> f64 {
    requests as f64 / summary.steady.requests
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let of = |seed| {
        let scenario = Scenario {
            seed,
            ..scenario(Mode::Windows, 50, 10)
        };
        format!("{:?}", summary(&scenario))
    };
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

#[test]
fn after_an_outage_of_a_minute_the_proxies_return_one_by_one() {
    for keeps_history in [true, false] {
        let mut scenario = scenario(Mode::Windows, 300, 60);
        scenario.outage.keeps_history = keeps_history;
        let summary = summary(&scenario);
        // Each proxy reads all its lists twice, spread over 8 s. In one second it would be twenty times as many.
        let peak = times_steady(summary.peak, &summary);
        assert!(peak < 6.0, "{peak} times as many as before: {summary:?}");
        let recovery = summary.recovery.expect("a snapshot");
        assert!(recovery <= Duration::from_secs(15), "{summary:?}");
    }
}

#[test]
fn proxies_that_start_together_do_not_stay_in_step() {
    // They start together, and again after an outage so short that no proxy waits for long.
    let summary = summary(&scenario(Mode::Windows, 300, 2));
    let last = times_steady(summary.last_peak, &summary);
    assert!(last < 2.5, "{last} times the mean: {summary:?}");
}

#[test]
fn an_overloaded_server_serves_every_proxy_in_the_end() {
    for mode in [Mode::Windows, Mode::Spokes] {
        let mut scenario = scenario(mode, 300, 20);
        scenario.outage.keeps_history = false;
        // The server needs 22 s for all first lists, and no proxy waits for more than 5 s.
        scenario.cores = 1;
        scenario.duration += Duration::from_secs(600);
        let summary = summary(&scenario);
        assert!(
            summary.first_snapshot.is_some() && summary.recovery.is_some(),
            "{mode:?}: {summary:?}"
        );
    }
}

#[test]
fn spokes_send_no_requests_to_the_api_server() {
    let rates = [20, 200].map(|proxies| summary(&scenario(Mode::Spokes, proxies, 10)).steady.requests);
    assert!((rates[0] - rates[1]).abs() < 0.2, "{rates:?}");
}

#[test]
fn a_snapshot_is_as_old_as_the_outage_with_the_watches_around_it() {
    let scenario = scenario(Mode::Windows, 100, 60);
    let summary = summary(&scenario);
    // The longest watch before, the longest pause, and the longest watch after.
    let most = scenario.outage.duration + Duration::from_secs(30 + 30 + 30);
    assert!(
        summary.oldest >= scenario.outage.duration && summary.oldest <= most,
        "{summary:?}"
    );
}
