//! Several proxies report to the hub, which adds up the requests of all of them.

use super::kube::Kube;
use super::requests::sum;
use super::{SECOND, envoy, logged};
use crate::host::{Answer, By, Callout, FakeEnvoy, Request, Response, Route, Vm};
use burst_model::request_rates::report::{HEADER, PATH};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HUB: &str = r#"{"cluster":"kube_api","requests":{"report_interval":"1s","accept":{"filter_chain":"reports"}}}"#;
const GATEWAY: &str = r#"{"cluster":"kube_api","requests":{"report_interval":"1s","hub":{"cluster":"hub"}}}"#;

/// How long a report counts, and how long a new hub waits for all reports: four intervals and three seconds.
const REPORT_LIFETIME: Duration = Duration::from_secs(7);

/// The connection to a worker of the hub. It can be down.
#[derive(Clone, Default)]
struct HubLink(Arc<Mutex<Option<Vm>>>);

impl HubLink {
    fn connect(&self, vm: &Vm) {
        *self.0.lock().unwrap() = Some(vm.clone());
    }

    fn send(&self, callout: &Callout) -> Answer {
        let Some(hub) = self.0.lock().unwrap().clone() else {
            return Answer::Unreachable;
        };
        let mut request = Request::new(callout.method(), callout.path()).host(callout.authority());
        for (name, value) in callout.headers.iter().filter(|(name, _)| name.starts_with("x-burst")) {
            request = request.header(name, value);
        }
        let seen = hub.request(request, reports());
        Response::status(seen.status()).body(seen.body()).into()
    }
}

/// The filter chain of the reports, with mutual TLS.
fn reports() -> Route {
    on_chain("reports").property(&["connection", "mtls"], [1])
}

fn on_chain(name: &str) -> Route {
    Route::to("somewhere").property(&["xds", "filter_chain_name"], name)
}

/// A proxy that reports to the hub, with one worker. Its clock differs from the hub's.
fn gateway(configuration: &str, link: &HubLink, ahead: u64) -> (FakeEnvoy, Vm) {
    let (kube, link) = (Kube::new(), link.clone());
    let envoy = envoy(configuration, &kube)
        .cluster("hub")
        .kube(move |callout| match callout.cluster.as_str() {
            "hub" => link.send(callout),
            _ => kube.answer(callout),
        });
    envoy.advance(Duration::from_secs(ahead));
    let worker = envoy.worker();
    (envoy, worker)
}

fn hub() -> (FakeEnvoy, Vm, HubLink) {
    let envoy = envoy(HUB, &Kube::new());
    let (worker, link) = (envoy.worker(), HubLink::default());
    link.connect(&worker);
    (envoy, worker, link)
}

/// Advances all proxies by the same time.
fn pass(envoys: &[&FakeEnvoy], time: Duration) {
    for _ in 0..time.as_secs() {
        for envoy in envoys {
            envoy.advance(Duration::from_secs(1)).answer();
        }
    }
}

fn serve(vm: &Vm, requests: usize) {
    for _ in 0..requests {
        vm.response("web.shop");
    }
}

fn web(envoy: &FakeEnvoy) -> Option<u64> {
    Some(sum(envoy)?.get("shop/web")?.requests)
}

#[test]
fn the_hub_serves_the_requests_of_all_proxies_and_a_spoke_only_its_own() {
    let (hub, hub_worker, link) = hub();
    let (one, one_worker) = gateway(GATEWAY, &link, 3_600);
    let (two, two_worker) = gateway(GATEWAY, &link, 7_200);
    let all = [&hub, &one, &two];
    pass(&all, REPORT_LIFETIME + Duration::from_secs(2));
    serve(&hub_worker, 1);
    serve(&one_worker, 20);
    serve(&two_worker, 300);
    pass(&all, Duration::from_secs(4));
    assert_eq!((web(&hub), web(&one), web(&two)), (Some(321), Some(20), Some(300)));
    assert_eq!(hub.stat("burst_hub_proxies"), Some(3));
    assert_eq!(hub.stat("burst_hub_report_refused_total"), Some(0));
    let sent = [&one, &two].map(|envoy| envoy.stat("burst_report_ok_total").unwrap());
    assert!(sent.iter().all(|sent| *sent >= 8), "{sent:?}");
    assert!(hub.stat("burst_hub_report_taken_total").unwrap() >= 16);
}

#[test]
fn a_new_hub_serves_no_rates_until_every_proxy_could_report() {
    let (hub, hub_worker, link) = hub();
    let (one, one_worker) = gateway(GATEWAY, &link, 10);
    serve(&hub_worker, 1);
    serve(&one_worker, 20);
    pass(&[&hub, &one], REPORT_LIFETIME - Duration::from_secs(2));
    assert_eq!(sum(&hub), None);
    pass(&[&hub, &one], Duration::from_secs(4));
    assert_eq!(web(&hub), Some(21));
}

#[test]
fn the_report_of_a_proxy_that_is_gone_is_dropped() {
    let (hub, _, link) = hub();
    let (one, one_worker) = gateway(GATEWAY, &link, 10);
    let (two, two_worker) = gateway(GATEWAY, &link, 20);
    pass(&[&hub, &one, &two], REPORT_LIFETIME);
    serve(&one_worker, 20);
    serve(&two_worker, 300);
    pass(&[&hub, &one, &two], Duration::from_secs(4));
    assert_eq!(web(&hub), Some(320));
    pass(&[&hub, &one], REPORT_LIFETIME + Duration::from_secs(2));
    assert_eq!((web(&hub), hub.stat("burst_hub_proxies")), (Some(20), Some(2)));
    assert_eq!(hub.stat("burst_hub_report_late_total"), Some(1));
    pass(&[&hub, &one, &two], Duration::from_secs(4));
    assert_eq!(
        hub.stat("burst_hub_proxies"),
        Some(3),
        "its reports count again after its return"
    );
    let shared = hub.shared_data("burst-metrics/");
    let places = shared.keys().filter(|key| key.contains("/requests/report/")).count();
    assert_eq!(places, 2);
}

#[test]
fn among_identical_proxies_the_one_that_receives_its_own_reports_is_the_hub() {
    const ALIKE: &str = r#"{"cluster":"kube_api",
        "requests":{"report_interval":"1s","hub":{"cluster":"hub"},"accept":{"filter_chain":"reports"}}}"#;
    let link = HubLink::default();
    let (one, one_worker) = gateway(ALIKE, &link, 10);
    let (two, two_worker) = gateway(ALIKE, &link, 20);
    link.connect(&one_worker);
    pass(&[&one, &two], REPORT_LIFETIME + Duration::from_secs(3));
    serve(&one_worker, 1);
    serve(&two_worker, 20);
    pass(&[&one, &two], Duration::from_secs(4));
    assert_eq!((web(&one), sum(&two)), (Some(21), None));
    link.connect(&two_worker);
    pass(&[&one, &two], REPORT_LIFETIME + Duration::from_secs(3));
    assert_eq!(
        (sum(&one), web(&two)),
        (None, Some(21)),
        "the proxy that now receives the reports is the hub"
    );
}

/// A report that the hub accepts.
fn good() -> Request {
    let share = "1;0000000000000007;500;30000;shop/web=5,0";
    Request::new("POST", PATH).header(HEADER, share)
}

#[test]
fn malformed_reports_are_refused_and_change_nothing() {
    let (hub, worker, _) = hub();
    pass(&[&hub], Duration::from_secs(1));
    let header = |share: &str| Request::new("POST", PATH).header(HEADER, share);
    let seen = |request, route| -> (u16, String) {
        let seen = worker.request(request, route);
        assert_eq!(seen.by, By::Filter);
        (seen.status(), seen.text().to_owned())
    };
    for (request, route, status, words) in [
        (good(), on_chain("reports"), 403, "a report must come over mutual TLS\n"),
        (
            good(),
            on_chain("reports").property(&["connection", "mtls"], [0]),
            403,
            "a report must come over mutual TLS\n",
        ),
        (Request::get(PATH), reports(), 405, "a report is a POST\n"),
        (
            Request::get("/burstmetricsx"),
            reports(),
            404,
            "only reports are accepted here\n",
        ),
        (
            Request::get("/burstmetrics/services"),
            reports(),
            200,
            "{\n    \"shop/web\": ",
        ),
        (
            Request::new("POST", PATH),
            reports(),
            400,
            "the report is not a tally of version 1\n",
        ),
        (
            header("1;0000000000000007;500;30000;shop/web=5,6"),
            reports(),
            400,
            "the report service 0: is not",
        ),
        (
            header("1;0000000000000007;60000;30000"),
            reports(),
            400,
            "the report is of 60 s ago\n",
        ),
        (
            header("1;0000000000000007;500;90000"),
            reports(),
            400,
            "the report is of 90 s, and the window here is 30 s",
        ),
    ] {
        let (code, body) = seen(request, route);
        assert!(
            code == status && body.starts_with(words),
            "{code} {body:?}, not {status} {words:?}"
        );
    }
    let invalid = Request::new("POST", PATH).header(HEADER, b"1;\xff");
    assert_eq!(seen(invalid, reports()).0, 400);
    let shared = hub.shared_data("burst-metrics/");
    assert!(
        shared.keys().all(|key| !key.contains("/requests/report/")),
        "{:?}",
        shared.keys()
    );
    assert_eq!(seen(good(), reports()).0, 204);
    pass(&[&hub], Duration::from_secs(1));
    assert_eq!(hub.stat("burst_hub_report_refused_total"), Some(7));
    assert_eq!(hub.stat("burst_hub_report_taken_total"), Some(1));
}

/// A report of the largest size, about Services that no other proxy reports.
fn large(id: u64) -> Vec<u8> {
    let half = "x".repeat(240);
    let services = (0..4_000).map(|n| format!(";{id:05}{n:05}{half}/{half}=1,0"));
    format!("1;{id:016x};500;30000{}", services.collect::<String>()).into()
}

#[test]
fn reports_under_one_certificate_are_limited_and_displace_no_other_certificate() {
    const MOST: usize = 32 << 20;
    let (hub, hub_worker, link) = hub();
    let (one, one_worker) = gateway(GATEWAY, &link, 10);
    pass(&[&hub, &one], REPORT_LIFETIME + SECOND);
    serve(&one_worker, 20);
    pass(&[&hub, &one], Duration::from_secs(2));
    let from_one_certificate = || reports().property(&["connection", "uri_san_peer_certificate"], "spiffe://evil");
    let (mut sent, mut accepted) = (0, 0);
    for id in 0.. {
        let report = large(id);
        sent += report.len();
        let status = hub_worker
            .request(
                Request::new("POST", PATH).header(HEADER, report),
                from_one_certificate(),
            )
            .status();
        assert!([204, 507].contains(&status), "{status}");
        accepted += usize::from(status == 204);
        if sent > 10 * MOST {
            break;
        }
    }
    assert!((14..17).contains(&accepted), "{accepted} are accepted");
    // The report of another proxy still fits.
    let (two, two_worker) = gateway(GATEWAY, &link, 20);
    pass(&[&hub, &one, &two], Duration::from_secs(1));
    serve(&two_worker, 300);
    pass(&[&hub, &one, &two], Duration::from_secs(3));
    assert_eq!(
        (web(&hub), hub.stat("burst_hub_proxies")),
        (Some(320), Some(3 + accepted as u64))
    );
    let kept = hub.stat("burst_hub_report_bytes").unwrap();
    assert!((MOST as u64 / 2..=MOST as u64).contains(&kept), "{kept} bytes");
    assert!(hub.stat("burst_requests_left_out_services") > Some(1_000));
    let shared: usize = hub.shared_data("burst-metrics/").values().map(Vec::len).sum();
    assert!(shared < MOST + (8 << 20), "{shared} bytes of shared data");
    pass(&[&hub, &one, &two], REPORT_LIFETIME + Duration::from_secs(2));
    assert_eq!((web(&hub), hub.stat("burst_hub_proxies")), (Some(320), Some(3)));
    assert!(
        hub.stat("burst_hub_report_bytes") < Some(1_000),
        "late reports are dropped"
    );
    assert_eq!(hub.stat("burst_requests_left_out_services"), Some(0));
}

#[test]
fn reports_of_other_certificates_replace_many_reports_of_one() {
    let (hub, worker, _) = hub();
    pass(&[&hub], Duration::from_secs(1));
    let post = |id: u64, name: &str| {
        let report = format!("1;{id:016x};500;30000;shop/web=5,0");
        let route = reports().property(&["connection", "subject_peer_certificate"], name);
        worker
            .request(Request::new("POST", PATH).header(HEADER, report), route)
            .status()
    };
    let refused = (0..600).filter(|id| post(*id, "CN=evil") == 507).count();
    assert_eq!(refused, 600 - 512);
    let honest = (1_000..1_100).map(|id| post(id, &format!("CN=gateway-{id}")));
    assert!(honest.into_iter().all(|status| status == 204));
    assert_eq!(post(9_999, "CN=evil"), 507);
    pass(&[&hub], Duration::from_secs(1));
    assert_eq!(hub.stat("burst_hub_report_evicted_total"), Some(100));
    let places = hub.shared_data("burst-metrics/");
    assert_eq!(
        places.keys().filter(|key| key.contains("/requests/report/")).count(),
        512
    );
}

#[test]
fn no_other_filter_chain_accepts_a_report() {
    let (hub, worker, _) = hub();
    pass(&[&hub], Duration::from_secs(1));
    for route in [
        Route::to("somewhere"),
        on_chain("public").property(&["connection", "mtls"], [1]),
    ] {
        assert!(matches!(worker.request(good(), route).by, By::Upstream));
    }
    let (gateway, worker) = gateway(GATEWAY, &HubLink::default(), 0);
    pass(&[&gateway], Duration::from_secs(1));
    assert!(
        matches!(worker.request(good(), reports()).by, By::Upstream),
        "a proxy that is not a hub forwards the report"
    );
}

#[test]
fn an_unreachable_hub_is_logged_once_and_so_is_its_return() {
    let (_hub, hub_worker, _) = hub();
    let link = HubLink::default();
    let (gateway, _worker) = gateway(GATEWAY, &link, 0);
    pass(&[&gateway], Duration::from_secs(5));
    let failed = gateway.stat("burst_report_failed_total").unwrap();
    assert!(failed >= 3, "{failed}");
    link.connect(&hub_worker);
    pass(&[&gateway], Duration::from_secs(3));
    let lines: Vec<_> = logged(&gateway)
        .into_iter()
        .filter(|line| line.starts_with("the hub "))
        .collect();
    let trouble = "the hub does not know the requests of this proxy: nothing answers as the hub does; \
                   check the cluster, its certificates and the hub's `requests.accept`";
    assert_eq!(lines, [trouble, "the hub knows the requests of this proxy again"]);
    assert!(gateway.stat("burst_report_ok_total") >= Some(2));
}

#[test]
fn a_hub_that_never_answers_delays_no_request() {
    let kube = Kube::new();
    let envoy = envoy(GATEWAY, &kube)
        .cluster("hub")
        .kube(move |callout| match callout.cluster.as_str() {
            "hub" => Answer::Never,
            _ => kube.answer(callout),
        });
    let worker = envoy.worker();
    envoy.advance(Duration::from_secs(30)).answer();
    assert!(worker.callouts().len() <= 1, "one report at a time");
    assert!(worker.response("web.shop").header("x-burst").is_some());
    assert!(envoy.stat("burst_report_failed_total").unwrap() >= 5);
}
