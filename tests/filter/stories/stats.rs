//! The stats, compared with the table of docs/stats.md.

use super::kube::Kube;
use super::{EVERY_SECOND, SECOND, envoy};
use crate::host::{FakeEnvoy, Request, Response, Route};
use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../../docs/stats.md");
const TROUBLESHOOTING: &str = include_str!("../../../docs/troubleshooting.md");

/// The names in the first column of the tables of a page.
pub(super) fn documented(page: &'static str) -> BTreeSet<&'static str> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let names = |row: &'static str| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2);
    rows.flat_map(names).collect()
}

#[test]
fn the_guide_has_a_reason_for_every_response_without_a_header() {
    let is_absence = |name: &&str| name.starts_with("burst_header_absent_");
    let explained = documented(TROUBLESHOOTING);
    assert!(
        documented(TABLE)
            .into_iter()
            .filter(is_absence)
            .eq(explained.iter().copied().filter(is_absence))
    );
    let stats = explained.iter().filter(|name| name.starts_with("burst_"));
    let unknown: Vec<_> = stats.filter(|name| !documented(TABLE).contains(*name)).collect();
    assert_eq!(unknown, Vec::<&&str>::new());
}

fn synced() -> FakeEnvoy {
    let envoy = envoy(EVERY_SECOND, &Kube::new());
    envoy.worker();
    envoy.advance(SECOND).answer();
    envoy
}

#[test]
fn the_table_names_every_stat_and_no_other() {
    let envoy = synced();
    let defined = envoy.stats();
    assert_eq!(documented(TABLE), defined.iter().map(String::as_str).collect());
}

#[test]
fn the_documented_limits_name_existing_stats() {
    let limits = include_str!("../../../docs/limits.md");
    // Patterns for the stats of each resource and of each kind of failure.
    let families = ["burst_unreadable_KIND", "burst_poll_*_total"];
    let named: Vec<_> = limits.split('`').filter(|word| word.starts_with("burst_")).collect();
    assert!(named.len() > 30, "{named:?}");
    for stat in named {
        assert!(documented(TABLE).contains(stat) || families.contains(&stat), "{stat}");
    }
}

#[test]
fn the_version_is_a_number() {
    let version = env!("CARGO_PKG_VERSION")
        .split('.')
        .map(|part| part.parse::<u64>().unwrap());
    let number = version.fold(0, |number, part| number * 1000 + part);
    assert_eq!(synced().stat("burst_filter_version"), Some(number));
}

#[test]
fn responses_are_counted_by_the_outcome_for_their_header() {
    let envoy = synced();
    let worker = &envoy.vms()[0];
    for route in [
        Route::istio("web", "shop"),
        Route::istio("web", "shop"),
        Route::istio("other", "shop"),
        Route::to("somewhere"),
        Route::to("PassthroughCluster"),
        Route::to("outbound|443||api.example.org"),
        Route::to("outbound|80||web.shop.svc.example.org"),
        Route::to("inbound|8080||"),
        Route::to("httproute/shop/web/rule/0"),
        Route::direct_response(Response::ok()),
    ] {
        worker.request(Request::get("/"), route);
    }
    worker.request(Request::get("/burstmetrics/pods"), Route::istio("web", "shop"));
    envoy.advance(SECOND);
    for (stat, count) in [
        ("burst_header_added_total", 2),
        ("burst_header_absent_no_entry_total", 1),
        ("burst_header_absent_unmapped_total", 1),
        ("burst_header_absent_passthrough_total", 1),
        ("burst_header_absent_external_total", 1),
        ("burst_header_absent_other_domain_total", 1),
        ("burst_header_absent_inbound_total", 1),
        ("burst_header_absent_route_total", 1),
        ("burst_header_absent_no_cluster_total", 1),
        ("burst_reply_404_total", 1),
        ("burst_reply_200_total", 0),
    ] {
        assert_eq!(envoy.stat(stat), Some(count), "{stat}");
    }
}

#[test]
fn gauges_show_the_age_and_the_totals() {
    let kube = Kube::new().with("shop/api", 2, 4);
    let envoy = envoy(EVERY_SECOND, &kube);
    envoy.worker();
    envoy.advance(SECOND).answer();
    let read = envoy.now().as_secs();
    envoy.advance(std::time::Duration::from_millis(500));
    for (stat, value) in [
        ("burst_objects", 6),
        ("burst_services", 2),
        ("burst_bad_objects", 0),
        ("burst_leader_changes_total", 1),
    ] {
        assert_eq!(envoy.stat(stat), Some(value), "{stat}");
    }
    envoy.advance(SECOND).answer();
    assert!(envoy.stat("burst_snapshot_timestamp_seconds").unwrap() >= read);
    assert_eq!(envoy.stat("burst_snapshot_generation"), Some(1));
}

#[test]
fn the_time_of_the_leader_stops_when_it_dies_and_goes_on_with_its_successor() {
    let envoy = envoy(EVERY_SECOND, &Kube::new());
    let (main, worker) = (envoy.main_thread(), envoy.worker());
    main.tick().answer();
    let led = || envoy.stat("burst_leader_timestamp_seconds").unwrap();
    let last = envoy.now().as_secs();
    assert_eq!(led(), last);
    main.kill();
    envoy.advance(SECOND * 3).answer();
    assert_eq!(led(), last, "the worker waits for five of its ticks");
    envoy.advance(SECOND * 5).answer();
    assert!(led() >= last + 5, "{} s after {last}", led() - last);
    assert!(worker.response("web.shop").header("x-burst").is_some());
}
