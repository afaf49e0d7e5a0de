//! Spokes: proxies that read another proxy instead of the Kubernetes API.

use super::kube::Kube;
use super::{EVERY_SECOND, FULL, SECOND, envoy, logged};
use crate::host::{Answer, Callout, FakeEnvoy, OpenStream, Request, Response, Route, Seen, Vm};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SPOKE: &str = r#"{"cluster":"hub","source":"hub","poll_interval":"1s","max_staleness":"20s"}"#;
const PATH: &str = "/burstmetrics/services";
const WEB: &str = "service=shop/web, current-load=1, target-load=4, max-load=5";

/// The connection from a spoke to a worker of a hub, or from a proxy to a peer.
#[derive(Clone, Default)]
pub(super) struct HubLink(Arc<Mutex<LinkState>>);

#[derive(Default)]
struct LinkState {
    /// `None` while the hub is down.
    hub: Option<Vm>,
    /// The hub does not know the parameter `wait`.
    is_older: bool,
    /// The requests of callouts that the hub has not answered.
    held: BTreeMap<(Duration, u32), OpenStream>,
    statuses: Vec<u16>,
    /// The paths that the spoke asked for.
    paths: Vec<String>,
}

impl HubLink {
    pub(super) fn to(hub: &Vm) -> Self {
        let link = Self::default();
        link.connect(Some(hub));
        link
    }

    fn to_older(hub: &Vm) -> Self {
        let link = Self::to(hub);
        link.0.lock().unwrap().is_older = true;
        link
    }

    pub(super) fn connect(&self, hub: Option<&Vm>) {
        self.0.lock().unwrap().hub = hub.cloned();
    }

    /// The statuses of the answers since the last call.
    pub(super) fn statuses(&self) -> Vec<u16> {
        std::mem::take(&mut self.0.lock().unwrap().statuses)
    }

    /// The paths that the spoke has asked for since the last call.
    pub(super) fn paths(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().paths)
    }

    /// The number of requests that the hub has not answered.
    fn held(&self) -> usize {
        self.0.lock().unwrap().held.len()
    }

    pub(super) fn send(&self, callout: &Callout) -> Answer {
        let link = &mut *self.0.lock().unwrap();
        let id = (callout.sent(), callout.token());
        let held = link.held.remove(&id);
        let Some(hub) = &link.hub else {
            held.into_iter().for_each(OpenStream::abandon);
            return Answer::Unreachable;
        };
        let stream = held.unwrap_or_else(|| {
            assert_eq!(callout.method(), "GET");
            let path = callout.path();
            let query = path.strip_prefix(PATH).unwrap_or(path);
            let is_known = ["", "?format=json"].contains(&query) || query.contains("wait=");
            assert!(is_known, "a spoke does not ask for {path}");
            link.paths.push(path.to_owned());
            let path = if link.is_older { PATH } else { path };
            let mut request = Request::get(path).host(callout.authority());
            if let Some(tag) = callout.headers.first("if-none-match") {
                request = request.header("if-none-match", tag);
            }
            hub.open(request, Route::to("somewhere"))
        });
        if !stream.is_answered() {
            link.held.insert(id, stream);
            return Answer::Later;
        }
        let seen = stream.finish();
        link.statuses.push(seen.status());
        let mut response = Response::status(seen.status()).body(seen.body());
        for (name, value) in seen.headers().iter().filter(|(name, _)| !name.starts_with(':')) {
            response = response.header(name, value);
        }
        response.into()
    }
}

/// A spoke that reads the hub over this connection, with one worker.
pub(super) fn spoke(configuration: &str, link: &HubLink) -> (FakeEnvoy, Vm) {
    let link = link.clone();
    let envoy = FakeEnvoy::new(FULL).config(configuration).cluster("hub");
    let envoy = envoy.kube(move |callout| link.send(callout));
    let worker = envoy.worker();
    (envoy, worker)
}

fn hub(kube: &Kube) -> (FakeEnvoy, Vm) {
    let envoy = envoy(EVERY_SECOND, kube);
    let worker = envoy.worker();
    (envoy, worker)
}

/// Advances all proxies by the same time.
pub(super) fn pass(envoys: &[&FakeEnvoy], seconds: u64) {
    for _ in 0..seconds {
        for envoy in envoys {
            envoy.advance(SECOND).answer();
        }
    }
}

fn header(worker: &Vm) -> Option<String> {
    worker.response("web.shop").header("x-burst").map(str::to_owned)
}

fn bulk(worker: &Vm) -> Seen {
    worker.request(Request::get(PATH), Route::to("somewhere"))
}

fn fail(kube: &Kube) {
    for resource in ["horizontalpodautoscalers", "services", "deployments", "statefulsets"] {
        kube.fail(resource, || Answer::Unreachable);
    }
}

#[test]
fn a_spoke_serves_the_answers_of_its_hub() {
    let kube = Kube::new().with("shop/api", 2, 4);
    let (hub, hub_worker) = hub(&kube);
    let (spoke, spoke_worker) = spoke(SPOKE, &HubLink::to(&hub_worker));
    pass(&[&hub, &spoke], 3);
    assert_eq!(
        (header(&spoke_worker).as_deref(), header(&hub_worker).as_deref()),
        (Some(WEB), Some(WEB))
    );
    let (of_hub, of_spoke) = (bulk(&hub_worker), bulk(&spoke_worker));
    assert_eq!(of_spoke.text(), of_hub.text());
    assert_eq!(of_spoke.header("etag"), of_hub.header("etag"));
    kube.scale("shop/web", 4);
    pass(&[&hub, &spoke], 3);
    assert_eq!(
        header(&spoke_worker),
        Some(WEB.replace("current-load=1", "current-load=4"))
    );
    assert_eq!(
        (spoke.stat("burst_services"), spoke.stat("burst_objects")),
        (Some(2), Some(2))
    );
}

#[test]
fn spokes_of_each_other_serve_nothing_and_say_so() {
    let (to_first, to_second) = (HubLink::default(), HubLink::default());
    let (first, first_worker) = spoke(SPOKE, &to_second);
    let (second, second_worker) = spoke(SPOKE, &to_first);
    to_first.connect(Some(&first_worker));
    to_second.connect(Some(&second_worker));
    pass(&[&first, &second], 60);
    for (envoy, worker, link) in [
        (&first, &first_worker, &to_second),
        (&second, &second_worker, &to_first),
    ] {
        assert_eq!((header(worker), bulk(worker).status()), (None, 503));
        let lines = logged(envoy);
        assert_eq!(lines.len(), 1, "{lines:?}");
        let unsynced = "not synced yet: the hub was never read in full";
        assert!(
            lines[0].starts_with("cannot read the hub hub: ") && lines[0].contains(unsynced),
            "{lines:?}"
        );
        let asked = link.paths().len();
        assert!((5..=20).contains(&asked), "{asked} requests in a minute");
    }
}

#[test]
fn unchanged_entries_are_not_sent_again() {
    let kube = Kube::new();
    let (hub, hub_worker) = hub(&kube);
    pass(&[&hub], 2);
    let link = HubLink::to(&hub_worker);
    let (spoke, _worker) = spoke(SPOKE, &link);
    pass(&[&hub, &spoke], 5);
    let statuses = link.statuses();
    assert_eq!(statuses[..2], [200, 304]);
    assert!(statuses[1..].iter().all(|status| *status == 304), "{statuses:?}");
    let generation = spoke.stat("burst_snapshot_generation");
    let before = spoke.stat("burst_snapshot_timestamp_seconds").unwrap();
    pass(&[&hub, &spoke], 5);
    assert_eq!(spoke.stat("burst_snapshot_generation"), generation);
    assert!(
        spoke.stat("burst_snapshot_timestamp_seconds").unwrap() >= before + 4,
        "a 304 confirms the snapshot"
    );
}

#[test]
fn a_change_reaches_the_spoke_as_soon_as_the_hub_has_it() {
    let kube = Kube::new();
    let (hub, hub_worker) = hub(&kube);
    pass(&[&hub], 2);
    let link = HubLink::to(&hub_worker);
    let (spoke, worker) = spoke(&SPOKE.replace("1s", "15s"), &link);
    pass(&[&hub, &spoke], 2);
    for current in 2..6 {
        assert_eq!((link.held(), link.paths().len()), (1, if current == 2 { 2 } else { 1 }));
        kube.scale("shop/web", current);
        hub.advance(SECOND).answer();
        let expected = WEB.replace("current-load=1", &format!("current-load={current}"));
        assert_eq!(header(&hub_worker), Some(expected.clone()));
        // No time passes for the spoke.
        spoke.answer();
        assert_eq!(header(&worker), Some(expected));
        spoke.advance(SECOND);
    }
}

#[test]
fn a_spoke_asks_a_quiet_hub_every_ten_seconds_and_its_snapshot_is_as_recent() {
    let (hub, hub_worker) = hub(&Kube::new());
    pass(&[&hub], 2);
    let link = HubLink::to(&hub_worker);
    let (spoke, worker) = spoke(r#"{"cluster":"hub","source":"hub","max_staleness":"15s"}"#, &link);
    pass(&[&hub, &spoke], 2);
    link.paths();
    for _ in 0..100 {
        pass(&[&hub, &spoke], 1);
        assert!(header(&worker).is_some());
        let age = spoke.now().as_secs() - spoke.stat("burst_snapshot_timestamp_seconds").unwrap();
        assert!(age <= 12, "{age} s");
    }
    let paths = link.paths();
    assert_eq!((paths.len(), &*paths[0]), (10, "/burstmetrics/services?wait=10s"));
    assert!(link.statuses()[1..].iter().all(|status| *status == 304));
}

#[test]
fn an_older_hub_is_polled_once_per_interval() {
    let kube = Kube::new();
    let (hub, hub_worker) = hub(&kube);
    pass(&[&hub], 2);
    let link = HubLink::to_older(&hub_worker);
    let (spoke, worker) = spoke(&SPOKE.replace("1s", "5s"), &link);
    pass(&[&hub, &spoke], 2);
    link.paths();
    pass(&[&hub, &spoke], 60);
    assert_eq!(link.paths().len(), 12);
    kube.scale("shop/web", 4);
    pass(&[&hub, &spoke], 7);
    assert_eq!(header(&worker), Some(WEB.replace("current-load=1", "current-load=4")));
    assert!(logged(&spoke).is_empty());
}

#[test]
fn a_spoke_that_may_not_wait_polls_and_reports_no_failure() {
    let kube = Kube::new();
    let (hub, hub_worker) = hub(&kube);
    pass(&[&hub], 2);
    let tag = bulk(&hub_worker).header("etag").unwrap().to_owned();
    let others: Vec<_> = (0..256)
        .map(|_| {
            let request = Request::get(format!("{PATH}?wait=30s")).header("if-none-match", &tag);
            hub_worker.open(request, Route::to("somewhere"))
        })
        .collect();
    let link = HubLink::to(&hub_worker);
    let (spoke, worker) = spoke(&SPOKE.replace("1s", "5s"), &link);
    pass(&[&hub, &spoke], 25);
    let statuses = link.statuses();
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    assert!(
        (5..=10).contains(&count(429)) && count(304) == count(429),
        "{statuses:?}"
    );
    assert_eq!(header(&worker).as_deref(), Some(WEB));
    assert!(logged(&spoke).is_empty(), "{:?}", logged(&spoke));
    assert_eq!(spoke.stat("burst_poll_throttled_total"), Some(count(429) as u64));
    // The others leave, and the spoke follows the hub again.
    others.into_iter().for_each(OpenStream::abandon);
    pass(&[&hub, &spoke], 6);
    kube.scale("shop/web", 4);
    hub.advance(SECOND).answer();
    spoke.answer();
    assert_eq!(header(&worker), Some(WEB.replace("current-load=1", "current-load=4")));
}

#[test]
fn a_hub_that_goes_while_a_request_waits_is_asked_again_at_once() {
    let (hub, hub_worker) = hub(&Kube::new());
    pass(&[&hub], 2);
    let link = HubLink::to(&hub_worker);
    let (spoke, worker) = spoke(&SPOKE.replace("1s", "15s"), &link);
    pass(&[&hub, &spoke], 2);
    let others_worker = hub.worker();
    pass(&[&hub], 2);
    // The connection breaks, and the next one leads to another worker.
    let [waiting] = &worker.callouts()[..] else {
        panic!("one long poll")
    };
    link.connect(Some(&others_worker));
    worker.reply(waiting, Answer::Reset).answer();
    assert_eq!(link.statuses().last(), Some(&304));
    assert!(logged(&spoke).is_empty(), "{:?}", logged(&spoke));
    pass(&[&hub, &spoke], 2);
    assert_eq!(spoke.stat("burst_snapshot_generation"), Some(1));
}

#[test]
fn an_unreachable_hub_is_logged_once_and_its_last_snapshot_is_served_until_it_is_too_old() {
    let kube = Kube::new();
    let (hub, hub_worker) = hub(&kube);
    let link = HubLink::to(&hub_worker);
    let (spoke, worker) = spoke(SPOKE, &link);
    pass(&[&hub, &spoke], 3);
    link.connect(None);
    pass(&[&hub, &spoke], 18);
    assert_eq!(header(&worker).as_deref(), Some(WEB));
    pass(&[&hub, &spoke], 4);
    assert_eq!(header(&worker), None);
    let words = bulk(&worker);
    assert_eq!(words.status(), 503);
    assert!(
        words
            .text()
            .starts_with("too stale: the Kubernetes API was last read by the hub "),
        "{}",
        words.text()
    );
    let lines = logged(&spoke);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("cannot read the hub hub: it cannot be reached: "),
        "{lines:?}"
    );
    assert!(spoke.stat("burst_poll_unreachable_total").unwrap() > 1);
    link.connect(Some(&hub_worker));
    pass(&[&hub, &spoke], 31);
    assert_eq!(header(&worker).as_deref(), Some(WEB));
    assert_eq!(logged(&spoke)[1..], ["reading the hub hub works again"]);
}

#[test]
fn a_spoke_applies_its_own_max_staleness_to_the_age_of_its_hubs_snapshot() {
    // The hub serves its snapshot for a minute, and always sends the snapshot's age.
    for (limit, ahead) in [(20, 0), (20, 3_600), (40, 0)] {
        let kube = Kube::new();
        let (hub, hub_worker) = hub(&kube);
        pass(&[&hub], 2);
        let configuration = SPOKE.replace("20s", &format!("{limit}s"));
        let (spoke, worker) = spoke(&configuration, &HubLink::to(&hub_worker));
        spoke.advance(Duration::from_secs(ahead));
        pass(&[&hub, &spoke], 3);
        fail(&kube);
        pass(&[&hub, &spoke], limit - 2);
        assert_eq!(header(&worker).as_deref(), Some(WEB), "{limit} s, {ahead} s ahead");
        pass(&[&hub, &spoke], 4);
        assert_eq!(header(&worker), None, "{limit} s, {ahead} s ahead");
        assert!(header(&hub_worker).is_some(), "the hub has a limit of its own");
        kube.heal();
        pass(&[&hub, &spoke], 32);
        assert_eq!(header(&worker).as_deref(), Some(WEB));
    }
}

#[test]
fn a_spoke_reports_that_its_hub_has_no_snapshot() {
    let kube = Kube::new();
    let (hub, hub_worker) = hub(&kube);
    let link = HubLink::to(&hub_worker);
    fail(&kube);
    let (spoke, worker) = spoke(SPOKE, &link);
    pass(&[&hub, &spoke], 3);
    assert_eq!(header(&worker), None);
    let unsynced = "cannot read the hub hub: 503: not synced yet: the Kubernetes API was never read in full; \
                    asking again later";
    assert_eq!(logged(&spoke), [unsynced]);
    assert!(spoke.stat("burst_poll_server_error_total").unwrap() > 0);
    assert_eq!(bulk(&worker).text(), "not synced yet: the hub was never read in full\n");
    kube.heal();
    pass(&[&hub, &spoke], 31);
    assert_eq!(header(&worker).as_deref(), Some(WEB));
}

#[test]
fn the_age_is_passed_on_from_spoke_to_spoke() {
    let kube = Kube::new();
    let (hub, hub_worker) = hub(&kube);
    let as_of = r#"{"cluster":"hub","source":"hub","poll_interval":"1s","header":{"extra_keys":["as-of"]}}"#;
    let (first, first_worker) = spoke(as_of, &HubLink::to(&hub_worker));
    let (second, second_worker) = spoke(as_of, &HubLink::to(&first_worker));
    pass(&[&hub, &first, &second], 4);
    fail(&kube);
    pass(&[&hub, &first, &second], 5);
    let read = hub.stat("burst_snapshot_timestamp_seconds").unwrap();
    let expected = Some(format!("{WEB}, as-of={read}"));
    assert_eq!(
        (header(&first_worker), header(&second_worker)),
        (expected.clone(), expected)
    );
}

#[test]
fn an_entry_that_ended_a_thread_does_not_end_its_successor() {
    let kube = Kube::new().with("shop/api", 2, 4);
    let (hub, hub_worker) = hub(&kube);
    pass(&[&hub], 2);
    let link = HubLink::to(&hub_worker);
    let (envoy, worker) = spoke(SPOKE, &link);
    let main = envoy.main_thread();
    // The thread dies after it has taken the lease, ticked, and begun both entries of the response.
    for _ in 0..7 {
        main.before_write("parsing", || {});
    }
    main.before_write("parsing", || panic!("a bug in the middle of an entry"));
    main.tick().answer();
    assert!(!main.alive());
    pass(&[&hub, &envoy], 15);
    assert!(worker.alive());
    assert!(worker.response("api.shop").header("x-burst").is_some());
    assert_eq!(header(&worker), None, "only that entry is missing");
    pass(&[&hub, &envoy], 60);
    let excluded = "excluded Service shop/web: a proxy thread died while it parsed these bytes";
    assert!(
        logged(&envoy).iter().any(|line| line == excluded),
        "{:?}",
        logged(&envoy)
    );
    kube.scale("shop/web", 2);
    pass(&[&hub, &envoy], 3);
    assert!(header(&worker).is_some(), "changed bytes of the entry are parsed");
}

#[test]
fn a_successor_sends_the_etag_of_the_published_snapshot() {
    let (hub, hub_worker) = hub(&Kube::new());
    pass(&[&hub], 2);
    let link = HubLink::to(&hub_worker);
    let (envoy, worker) = spoke(SPOKE, &link);
    let main = envoy.main_thread();
    main.tick().answer();
    assert_eq!(link.statuses(), [200]);
    main.kill();
    pass(&[&hub, &envoy], 15);
    assert_eq!(header(&worker).as_deref(), Some(WEB));
    let statuses = link.statuses();
    assert!(
        !statuses.is_empty() && statuses.iter().all(|status| *status == 304),
        "{statuses:?}"
    );
}

/// A response with the header that only a hub sends, and a body that no hub sends.
fn confirmed(body: impl Into<Vec<u8>>) -> Answer {
    Response::json(body).header("x-burst-confirmed", "at=1, age=0").into()
}

#[test]
fn invalid_answers_of_a_hub_keep_the_last_good_snapshot() {
    let answers: [fn() -> Answer; 6] = [
        || Response::json("{}").into(),
        || confirmed("{\"a/b\": "),
        || confirmed([0xff; 1000]),
        || confirmed(" ".repeat((16 << 20) + 1)),
        || Response::status(404).body("no such path").into(),
        || Answer::Reset,
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let (hub, hub_worker) = hub(&Kube::new());
        let link = HubLink::to(&hub_worker);
        let bad = Arc::new(Mutex::new(false));
        let (carrying, is_bad) = (link.clone(), bad.clone());
        let envoy = FakeEnvoy::new(FULL).config(SPOKE).cluster("hub");
        let envoy = envoy.kube(move |callout| match *is_bad.lock().unwrap() {
            true => answer(),
            false => carrying.send(callout),
        });
        let worker = envoy.worker();
        pass(&[&hub, &envoy], 3);
        *bad.lock().unwrap() = true;
        pass(&[&hub, &envoy], 10);
        assert_eq!(header(&worker).as_deref(), Some(WEB), "{number}");
        assert_eq!(logged(&envoy).len(), 1, "{number}: {:?}", logged(&envoy));
        *bad.lock().unwrap() = false;
        pass(&[&hub, &envoy], 31);
        assert_eq!(logged(&envoy)[1..], ["reading the hub hub works again"], "{number}");
    }
}

#[test]
fn a_hub_with_many_invalid_entries_writes_few_log_lines_and_its_valid_entries_are_served() {
    let reads = Arc::new(Mutex::new(0));
    let envoy = FakeEnvoy::new(FULL).config(SPOKE).cluster("hub").kube(move |_| {
        let mut read = reads.lock().unwrap();
        *read += 1;
        let bad: String = (0..2_000).map(|n| format!("\"\\u001b[31m{read}-{n}\":{n},")).collect();
        Response::json(format!(r#"{{{bad}"shop/web":"{WEB}"}}"#)).header("x-burst-confirmed", "at=5, age=7")
    });
    let worker = envoy.worker();
    envoy.advance(SECOND * 20).answer();
    assert_eq!(header(&worker).as_deref(), Some(WEB));
    assert_eq!(
        (envoy.stat("burst_bad_objects"), envoy.stat("burst_services")),
        (Some(2_000), Some(1))
    );
    let lines = envoy.log();
    assert!((10..=12).contains(&lines.len()), "{} lines", lines.len());
    assert!(
        lines
            .iter()
            .all(|line| line.text.len() < 1_000 && !line.text.contains('\u{1b}'))
    );
}

const ALL_SIGNALS: &str = concat!(
    r#""header":{"extra_keys":["ready","demand","state"]},"#,
    r#""endpoints":{"extra_fields":["ready","demand","state"]}"#
);

#[test]
fn a_spoke_shows_the_signals_of_its_hub() {
    let kube = Kube::new();
    kube.set_status("shop/web", 1, 600);
    let hub = envoy(&EVERY_SECOND.replacen('{', &format!("{{{ALL_SIGNALS},"), 1), &kube);
    let hub_worker = hub.worker();
    let configuration = SPOKE.replacen('{', &format!("{{{ALL_SIGNALS},"), 1);
    let link = HubLink::to(&hub_worker);
    let (spoke, worker) = spoke(&configuration, &link);
    pass(&[&hub, &spoke], 3);
    assert_eq!(
        header(&worker),
        Some(format!("{WEB}, ready=1, demand=6, state=limited"))
    );
    assert_eq!(header(&worker), header(&hub_worker));
    assert_eq!(link.paths()[0], "/burstmetrics/services?format=json");
    kube.set_status("shop/web", 1, 300);
    pass(&[&hub, &spoke], 3);
    assert_eq!(header(&worker), Some(format!("{WEB}, ready=1, demand=3, state=ok")));
    let one = Request::get("/burstmetrics/services/shop/web?format=json");
    let json = worker.request(one, Route::to("somewhere"));
    let signals = r#""ready": 1, "demand": 3, "state": "ok""#;
    assert!(json.text().contains(signals), "{}", json.text());
}

#[test]
fn an_older_hub_has_no_signals_and_its_spoke_shows_the_rest() {
    let kube = Kube::new();
    kube.set_status("shop/web", 1, 600);
    let (hub, hub_worker) = hub(&kube);
    let link = HubLink::to_older(&hub_worker);
    let (spoke, worker) = spoke(&SPOKE.replacen('{', &format!("{{{ALL_SIGNALS},"), 1), &link);
    pass(&[&hub, &spoke], 3);
    assert_eq!(header(&worker).as_deref(), Some(WEB));
}
