//! Counted requests: of the VMs of one proxy, and of several proxies at a hub.

use super::*;
use burst_model::request_rates::Tally;

const PROXY: &str = r#"{"cluster":"k","clusters":[{"name":"{service}.{namespace}"}],"requests":{}}"#;
const HUB: &str =
    r#"{"cluster":"k","clusters":[{"name":"{service}.{namespace}"}],"requests":{"accept":{"filter_chain":"reports"}}}"#;
const SPOKE: &str =
    r#"{"cluster":"k","clusters":[{"name":"{service}.{namespace}"}],"requests":{"hub":{"cluster":"hub"}}}"#;

fn request_keys(config: &Config) -> RequestCountKeys {
    RequestCountKeys::new(config.metrics_hash())
}

/// A VM counts that many requests in the 40 s before `now`, and publishes them.
fn count(config: &Config, requests: usize, now: u64) -> RequestCounter<Memory> {
    let settings = config.requests.as_deref().unwrap();
    let counter = RequestCounter::new(request_keys(config), settings, at(now - 40));
    (now - 40..now).for_each(|second| counter.tick(Duration::MAX, at(second)));
    for _ in 0..requests {
        counter.answered(&config.upstreams, b"web.shop", &(), b"200", || None);
    }
    counter.tick(Duration::ZERO, at(now));
    counter
}

fn guard() -> LeaderGuard<Memory> {
    LeaderGuard::new(&keys(), Rc::default())
}

fn aggregator(config: &Config) -> Aggregator<Memory> {
    Aggregator::start(config, &term(1)).unwrap().unwrap()
}

/// The requests of the sum that is published; `None` if there is no sum.
fn sum(config: &Config) -> Option<u64> {
    let text = bytes(&request_keys(config).sum);
    Tally::parse(&text).ok().map(|tally| tally.services[0].1.requests)
}

#[test]
fn the_leader_publishes_the_sum_of_all_vms() {
    let config = config(PROXY);
    count(&config, 2, 1000);
    count(&config, 3, 1000);
    let aggregation = aggregator(&config).tick(at(1000), &guard(), || 42).unwrap();
    assert_eq!((aggregation.taken_at, aggregation.published), (Some(at(1000)), Ok(())));
    assert_eq!((aggregation.hub, aggregation.report), (None, None));
    assert_eq!(sum(&config), Some(5));
}

#[test]
fn the_count_of_a_vm_that_is_gone_is_dropped_and_its_slot_emptied() {
    let config = config(PROXY);
    count(&config, 2, 1000);
    count(&config, 3, 2000);
    aggregator(&config).tick(at(2000), &guard(), || 42).unwrap();
    assert_eq!(sum(&config), Some(3));
    let slots = Slots::<Memory>::new(request_keys(&config).vms, 9);
    let is_empty: Vec<_> = slots.all().map(|(_, found)| found.bytes.is_empty()).collect();
    assert_eq!(is_empty, [true, false]);
}

#[test]
fn a_deposed_leader_publishes_no_sum() {
    let config = config(PROXY);
    count(&config, 2, 1000);
    let mut old = aggregator(&config);
    drop(Aggregator::start(&config, &term(2)).unwrap());
    let aggregation = old.tick(at(1000), &guard(), || 42).unwrap();
    assert_eq!(aggregation.published, Err(CasConflict));
    assert_eq!(sum(&config), None);
}

#[test]
fn a_request_is_in_flight_until_its_guard_is_dropped() {
    let config = config(PROXY);
    let settings = config.requests.as_deref().unwrap();
    let counter = Rc::new(RequestCounter::<Memory>::new(request_keys(&config), settings, at(100)));
    let in_flight = |request: Option<_>, now: u64| {
        counter.tick(Duration::ZERO, at(now));
        drop(request);
        let text = bytes(&format!("{}/0", request_keys(&config).vms));
        Tally::parse(&text).unwrap().services[0].1.in_flight_milli
    };
    let request = counter.clone().begin(&config.upstreams, b"web.shop", &());
    assert_eq!(in_flight(request, 110), Some(1000));
    assert_eq!(in_flight(None, 120), Some(500), "half of the time");
}

/// The report of a proxy, as its aggregator sends it.
fn report(requests: usize, now: u64) -> String {
    let config = config(SPOKE);
    count(&config, requests, now);
    let report = aggregator(&config)
        .tick(at(now), &guard(), || 42)
        .unwrap()
        .report
        .unwrap();
    assert_eq!(report.cluster, "hub");
    report.tally
}

fn send(config: &Config, tally: &str, now: u64) -> Result<usize, ReportRefusal> {
    let request = ReportRequest {
        method: b"POST",
        path: b"/burst-metrics/report",
        tally: tally.as_bytes(),
        reporter: Some(7),
    };
    accept_report::<Memory>(config, config.requests.as_deref().unwrap(), request, at(now))
}

#[test]
fn a_hub_adds_up_its_own_counts_and_recent_reports() {
    let hub = config(HUB);
    let text = report(5, 1000);
    let mut aggregator = aggregator(&hub);
    for now in [1000, 1100] {
        count(&hub, 2, now);
        assert_eq!(send(&hub, &text, now), Ok(0));
        let found = aggregator.tick(at(now), &guard(), || 43).unwrap().hub.unwrap();
        assert_eq!(
            found.reports.bytes,
            text.len() + 6,
            "with the time in the place of the age"
        );
    }
    assert_eq!(sum(&hub), Some(7));
    count(&hub, 2, 1200);
    let late = aggregator.tick(at(1200), &guard(), || 43).unwrap().hub.unwrap();
    assert_eq!((late.reports.late, late.proxies, sum(&hub)), (1, 1, Some(2)));
}

#[test]
fn a_request_that_is_no_report_is_refused_and_says_why() {
    let hub = config(HUB);
    let settings = hub.requests.as_deref().unwrap();
    let report = ReportRequest {
        method: b"POST",
        path: b"/burst-metrics/report",
        tally: b"x",
        reporter: Some(7),
    };
    for (request, status, is_report) in [
        (ReportRequest { path: b"/", ..report }, 404, false),
        (
            ReportRequest {
                method: b"GET",
                ..report
            },
            405,
            false,
        ),
        (
            ReportRequest {
                reporter: None,
                ..report
            },
            403,
            true,
        ),
        (report, 400, true),
    ] {
        let refusal = accept_report::<Memory>(&hub, settings, request, at(1000)).unwrap_err();
        assert_eq!(
            (refusal.to_reply().status, refusal.is_report()),
            (status, is_report),
            "{refusal}"
        );
    }
    assert!(used_keys().is_empty());
}

#[test]
fn a_report_of_which_the_index_was_lost_leaves_its_slot() {
    let hub = config(HUB);
    let keys = request_keys(&hub);
    assert_eq!(send(&hub, &report(5, 1000), 1000), Ok(0));
    let slot = format!("{}/0", keys.reports);
    assert!(!bytes(&slot).is_empty());
    Memory::overwrite(&keys.report_index, b"");
    aggregator(&hub);
    assert!(bytes(&slot).is_empty());
}
