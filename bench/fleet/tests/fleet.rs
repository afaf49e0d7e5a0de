//! What holds of every fleet, whatever the costs: the numbers themselves are in `docs/performance.md`.

use burst_bench_fleet::run::Run;
use burst_bench_fleet::scenario::{Mode, Outage, Scenario};
use burst_bench_fleet::summary::Summary;
use std::time::Duration;

/// So many proxies, an outage of so many seconds after two minutes, and three minutes more.
fn scenario(mode: Mode, proxies: usize, outage: u64) -> Scenario {
    let outage = Outage {
        begins: Duration::from_secs(120),
        lasts: Duration::from_secs(outage),
        remembers: true,
    };
    Scenario {
        outage,
        lasts: outage.begins + outage.lasts + Duration::from_secs(180),
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
            ..scenario(Mode::Watch, 50, 10)
        };
        format!("{:?}", summary(&scenario))
    };
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

#[test]
fn after_a_minute_without_the_server_proxies_come_back_one_by_one() {
    for remembers in [true, false] {
        let mut scenario = scenario(Mode::Watch, 300, 60);
        scenario.outage.remembers = remembers;
        let summary = summary(&scenario);
        // Each proxy asks for all its lists, twice, and they come within 8 s; in one second it would be twenty times.
        let peak = times_steady(summary.peak, &summary);
        assert!(peak < 6.0, "{peak} times as many as before: {summary:?}");
        let recovery = summary.recovery.expect("a picture");
        assert!(recovery <= Duration::from_secs(15), "{summary:?}");
    }
}

#[test]
fn proxies_that_began_together_do_not_ask_in_step() {
    // They begin together at first, and again after an outage that is over before anybody waits for long.
    let summary = summary(&scenario(Mode::Watch, 300, 2));
    let last = times_steady(summary.last_peak, &summary);
    assert!(last < 2.5, "{last} times the mean: {summary:?}");
}

#[test]
fn a_server_that_cannot_serve_all_at_once_serves_all_in_the_end() {
    for mode in [Mode::Watch, Mode::Spokes] {
        let mut scenario = scenario(mode, 300, 20);
        scenario.outage.remembers = false;
        // To read everything for the first time takes it 22 s, and nobody waits for more than 5 s.
        scenario.cores = 1;
        scenario.lasts += Duration::from_secs(600);
        let summary = summary(&scenario);
        assert!(
            summary.first_picture.is_some() && summary.recovery.is_some(),
            "{mode:?}: {summary:?}"
        );
    }
}

#[test]
fn spokes_ask_the_server_for_nothing() {
    let rates = [20, 200].map(|proxies| summary(&scenario(Mode::Spokes, proxies, 10)).steady.requests);
    assert!((rates[0] - rates[1]).abs() < 0.2, "{rates:?}");
}

#[test]
fn a_picture_is_as_old_as_an_outage_and_what_comes_before_and_after() {
    let scenario = scenario(Mode::Watch, 100, 60);
    let summary = summary(&scenario);
    // The longest window before, the longest pause and the longest window after.
    let most = scenario.outage.lasts + Duration::from_secs(30 + 30 + 30);
    assert!(
        summary.oldest >= scenario.outage.lasts && summary.oldest <= most,
        "{summary:?}"
    );
}
