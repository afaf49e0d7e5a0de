//! After an outage of the API server, an answer has all services or is a 503, and all services return soon.

use super::kube::Kube;
use super::{SECOND, envoy};
use crate::host::{Answer, Jump, Request, Response, Route, Vm};
use std::time::Duration;

const RESOURCES: [&str; 4] = ["horizontalpodautoscalers", "services", "deployments", "statefulsets"];

const HOUR: Duration = Duration::from_secs(3_600);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);

fn fail(kube: &Kube, how: fn() -> Answer) {
    for resource in RESOURCES {
        kube.fail(resource, how);
    }
}

/// The body of `/burstmetrics/services`, or `None` if the snapshot is stale.
fn services(worker: &Vm) -> Option<String> {
    let seen = worker.request(Request::get("/burstmetrics/services"), Route::to("somewhere"));
    match seen.status() {
        200 => Some(seen.text().to_owned()),
        503 => None,
        status => panic!("{status}: {}", seen.text()),
    }
}

fn shop() -> Kube {
    Kube::new().with("shop/api", 1, 5).with("shop/cart", 1, 5)
}

fn configuration(mode: &str) -> String {
    format!(r#"{{"cluster":"kube_api","sync":{{"mode":"{mode}"}}}}"#)
}

const FAILURES: [fn() -> Answer; 4] = [
    || Answer::Unreachable,
    || Answer::Timeout,
    || Response::status(503).body("no healthy upstream").into(),
    || Response::status(429).header("retry-after", "1").body("slow").into(),
];

#[test]
fn after_an_outage_all_services_return_together_and_soon() {
    for mode in ["list", "watch"] {
        for (row, failure) in FAILURES.into_iter().enumerate() {
            for seconds in [70, 100, 131] {
                let case = format!("{mode}, row {row}, {seconds} s");
                let kube = shop();
                let envoy = envoy(&configuration(mode), &kube);
                let worker = envoy.worker();
                envoy.advance(SECOND * 3).answer();
                let whole = services(&worker).expect("a snapshot");
                assert_eq!(whole.matches("\"shop/").count(), 3, "{whole}");
                fail(&kube, failure);
                envoy.advance(SECOND * seconds).answer();
                assert_eq!(services(&worker), None, "{case}");
                kube.heal();
                let mut back = None;
                for second in 1..120 {
                    envoy.advance(SECOND).answer();
                    let served = services(&worker);
                    assert!(
                        served.as_ref().is_none_or(|served| *served == whole),
                        "{case}: {served:?}"
                    );
                    assert!(
                        back.is_none() || served.is_some(),
                        "{case}: gone again after {second} s"
                    );
                    back = back.or(served.map(|_| second));
                }
                assert!(back.is_some_and(|second| second <= 12), "{case}: back after {back:?} s");
            }
        }
    }
}

#[test]
fn a_thread_that_takes_over_in_an_outage_serves_all_services_or_none() {
    for mode in ["list", "watch"] {
        let kube = shop();
        let envoy = envoy(&configuration(mode), &kube);
        let (main, worker) = (envoy.main_thread(), envoy.worker());
        main.tick().answer();
        envoy.advance(SECOND * 3).answer();
        let whole = services(&worker).expect("a snapshot");
        fail(&kube, || Answer::Unreachable);
        envoy.advance(SECOND * 70).answer();
        main.kill();
        envoy.advance(SECOND * 40).answer();
        assert!(
            envoy
                .log()
                .iter()
                .filter(|line| line.text.starts_with("this thread polls"))
                .count()
                > 1
        );
        kube.heal();
        for second in 1..90 {
            envoy.advance(SECOND).answer();
            let served = services(&worker);
            assert!(
                served.as_ref().is_none_or(|served| *served == whole),
                "{mode}, {second} s: {served:?}"
            );
            assert!(served.is_some() || second < 12, "{mode}, {second} s");
        }
    }
}

const JUMPS: [Jump; 10] = [
    Jump::Ahead(Duration::from_secs(120)),
    Jump::Back(Duration::from_secs(60)),
    Jump::Ahead(HOUR),
    Jump::Back(Duration::from_secs(1_800)),
    Jump::Back(HOUR),
    Jump::Ahead(Duration::from_secs(24 * 3_600)),
    Jump::Ahead(YEAR),
    Jump::Back(Duration::from_secs(3)),
    Jump::Ahead(Duration::from_secs(7 * YEAR.as_secs())),
    Jump::Back(Duration::from_secs(9 * YEAR.as_secs())),
];

#[test]
fn clock_jumps_never_leave_a_stale_header_and_the_header_returns() {
    let current = |worker: &Vm| {
        let response = worker.response("web.shop");
        let header = response.header("x-burst")?.split_once("current-load=")?.1;
        header.split(',').next()?.parse::<u32>().ok()
    };
    for (mode, is_api_down) in [("list", false), ("watch", false), ("list", true), ("watch", true)] {
        let kube = shop();
        let configuration = format!(
            r#"{{"cluster":"kube_api","poll_interval":"3s","max_staleness":"15s",
                "sync":{{"mode":"{mode}","window":"3s","workload_window":"3s"}}}}"#
        );
        let envoy = envoy(&configuration, &kube);
        let worker = envoy.worker();
        envoy.advance(SECOND * 5).answer();
        for (turn, jump) in JUMPS.into_iter().enumerate() {
            let case = format!("{mode}, API down: {is_api_down}, {jump:?}");
            let replicas = u32::try_from(turn).unwrap() + 2;
            if is_api_down {
                fail(&kube, || Answer::Unreachable);
                envoy.advance(SECOND * 2).answer();
            }
            // The clock jumps before any thread reads this change.
            kube.scale("shop/web", replicas);
            envoy.jump(jump);
            envoy.advance(SECOND * 17).answer();
            let expected = (!is_api_down).then_some(replicas);
            assert_eq!(current(&worker), expected, "{case}");
            kube.heal();
            envoy.advance(SECOND * 12).answer();
            assert_eq!(current(&worker), Some(replicas), "{case}: after the outage");
        }
    }
}
