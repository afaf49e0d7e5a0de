//! Peers: proxies of other clusters, whose Services are answered beside the own ones.

use super::kube::Kube;
use super::spoke::{HubLink, pass, spoke};
use super::{FULL, SECOND, logged};
use crate::host::{FakeEnvoy, Request, Route, Seen, Vm};
use serde_json::{Value, json};

const BULK: &str = "/burstmetrics/services?scope=all&format=json";

/// A proxy of the cluster `name` that reads `peer` over this connection.
fn proxy(name: &str, peer: &str, kube: &Kube, link: &HubLink) -> FakeEnvoy {
    let configuration = json!({
        "cluster": "kube_api",
        "sync": {"mode": "list"},
        "poll_interval": "1s",
        "max_staleness": "20s",
        "peers": {"self": name, "read": [{"name": peer, "cluster": "peer"}]},
    });
    let (kube, link) = (kube.clone(), link.clone());
    let envoy = FakeEnvoy::new(FULL)
        .config(configuration.to_string())
        .cluster("kube_api")
        .cluster("peer");
    envoy.kube(move |callout| match callout.cluster.as_str() {
        "peer" => link.send(callout),
        _ => kube.answer(callout),
    })
}

fn get(worker: &Vm, path: &str) -> Seen {
    worker.request(Request::get(path), Route::to("somewhere"))
}

fn all(worker: &Vm) -> Value {
    let seen = get(worker, BULK);
    assert_eq!(seen.status(), 200, "{}", seen.text());
    serde_json::from_str(seen.text()).unwrap()
}

/// The replicas of `shop/web` in each cluster of the answer, and in the sum.
fn web(worker: &Vm) -> Value {
    let all = all(worker);
    let web = &all["services"]["shop/web"];
    let by_cluster = web["clusters"].as_object().unwrap().iter();
    let mut current: serde_json::Map<_, _> = by_cluster
        .map(|(cluster, load)| (cluster.clone(), load["current"].clone()))
        .collect();
    current.insert("sum".into(), web["sum"]["current"].clone());
    Value::Object(current)
}

/// The clusters `east` and `west`, which are peers of each other.
struct TwoClusters {
    kube_east: Kube,
    kube_west: Kube,
    east: FakeEnvoy,
    west: FakeEnvoy,
    east_worker: Vm,
    west_worker: Vm,
    to_east: HubLink,
    to_west: HubLink,
}

impl TwoClusters {
    fn start() -> Self {
        let (kube_east, kube_west) = (Kube::new(), Kube::default().with("shop/web", 3, 10));
        let (to_east, to_west) = (HubLink::default(), HubLink::default());
        let east = proxy("east", "west", &kube_east, &to_west);
        let west = proxy("west", "east", &kube_west, &to_east);
        // So that `west` has read its cluster when `east` first asks it.
        let west_worker = west.worker();
        pass(&[&west], 3);
        to_west.connect(Some(&west_worker));
        let east_worker = east.worker();
        to_east.connect(Some(&east_worker));
        let clusters = Self {
            kube_east,
            kube_west,
            east,
            west,
            east_worker,
            west_worker,
            to_east,
            to_west,
        };
        clusters.pass(10);
        clusters
    }

    fn pass(&self, seconds: u64) {
        pass(&[&self.east, &self.west], seconds);
    }
}

#[test]
fn peers_of_each_other_serve_the_sum_and_ask_only_for_own_numbers() {
    let clusters = TwoClusters::start();
    for worker in [&clusters.east_worker, &clusters.west_worker] {
        assert_eq!(web(worker), json!({"east": 1, "west": 3, "sum": 4}));
    }
    clusters.kube_west.scale("shop/web", 7);
    clusters.pass(3);
    for worker in [&clusters.east_worker, &clusters.west_worker] {
        assert_eq!(web(worker), json!({"east": 1, "west": 7, "sum": 8}));
    }
    let own = get(&clusters.east_worker, "/burstmetrics/services/shop/web");
    assert_eq!(
        own.text(),
        "service=shop/web, current-load=1, target-load=4, max-load=5"
    );
    for link in [&clusters.to_east, &clusters.to_west] {
        link.paths();
    }
    clusters.pass(100);
    for link in [&clusters.to_east, &clusters.to_west] {
        let paths = link.paths();
        assert!(paths.iter().all(|path| !path.contains("scope")), "{paths:?}");
        let statuses = link.statuses();
        assert!(statuses.len() <= 120, "{} requests in 100 s", statuses.len());
    }
    let stats = ["burst_peers_unavailable", "burst_peer_poll_failed_total"];
    assert_eq!(stats.map(|stat| clusters.east.stat(stat)), [Some(0), Some(0)]);
    assert!(clusters.east.stat("burst_peer_poll_ok_total") > Some(3));
    assert!(logged(&clusters.east).is_empty(), "{:?}", logged(&clusters.east));
}

#[test]
fn a_lost_peer_leaves_the_sum_when_it_is_stale_and_is_logged_once() {
    let clusters = TwoClusters::start();
    clusters.to_west.connect(None);
    clusters.pass(10);
    assert_eq!(web(&clusters.east_worker)["sum"], 4, "not yet");
    clusters.pass(30);
    assert_eq!(web(&clusters.east_worker), json!({"east": 1, "sum": 1}));
    assert_eq!(all(&clusters.east_worker)["clusters"]["west"]["state"], "stale");
    let lines = logged(&clusters.east);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("cannot read the peer west (peer): it cannot be reached: "),
        "{lines:?}"
    );
    assert_eq!(clusters.east.stat("burst_peers_unavailable"), Some(1));
    assert!(clusters.east.stat("burst_peer_poll_failed_total") > Some(2));
    assert_eq!(web(&clusters.west_worker)["sum"], 4, "the other way works");
    assert!(clusters.east_worker.response("web.shop").header("x-burst").is_some());

    clusters.to_west.connect(Some(&clusters.west_worker));
    clusters.pass(15);
    assert_eq!(web(&clusters.east_worker)["sum"], 4);
    assert_eq!(
        logged(&clusters.east)[1..],
        ["reading the peer west (peer) works again"]
    );
    assert_eq!(clusters.east.stat("burst_peers_unavailable"), Some(0));
}

#[test]
fn all_workers_answer_the_same_and_a_new_leader_continues() {
    let clusters = TwoClusters::start();
    let other = clusters.east.worker();
    clusters.pass(3);
    let expected = json!({"east": 1, "west": 3, "sum": 4});
    assert_eq!(
        (web(&clusters.east_worker), web(&other)),
        (expected.clone(), expected.clone())
    );
    clusters.to_west.statuses();
    clusters.east_worker.kill();
    clusters.pass(3);
    assert_eq!(web(&other), expected, "before there is a new leader");
    clusters.pass(15);
    assert_eq!(web(&other), expected);
    let statuses = clusters.to_west.statuses();
    assert!(
        !statuses.is_empty() && statuses.iter().all(|status| *status == 304),
        "the new leader has the entity tag: {statuses:?}"
    );
    clusters.kube_west.scale("shop/web", 9);
    clusters.pass(3);
    assert_eq!(web(&other)["west"], 9);
    clusters.kube_east.scale("shop/web", 2);
    clusters.pass(3);
    assert_eq!(web(&other)["sum"], 11);
}

/// The lines of a proxy of `east` with the peer `west`, whose connection leads to a proxy of `cluster`.
fn misled_to(cluster: &str) -> Vec<String> {
    let (kube, nowhere) = (Kube::new(), HubLink::default());
    let other = proxy(cluster, "some-peer", &kube, &nowhere);
    let other_worker = other.worker();
    let east = proxy("east", "west", &kube, &HubLink::to(&other_worker));
    let worker = east.worker();
    pass(&[&other, &east], 20);
    assert_eq!(web(&worker), json!({"east": 1, "sum": 1}), "it counts once");
    assert_eq!(all(&worker)["clusters"]["west"], json!({"state": "unread"}));
    logged(&east)
}

#[test]
fn a_peer_that_leads_back_to_the_own_cluster_does_not_count() {
    let found = |cluster: &str| {
        format!(
            "cannot read the peer west (peer): the answer is not a peer's: it is of the cluster \"{cluster}\", and not of \
             \"west\"; check that `cluster` is a proxy with this filter, and its version"
        )
    };
    assert_eq!(misled_to("east"), [found("east")]);
    assert_eq!(misled_to("north"), [found("north")]);
}

#[test]
fn a_proxy_whose_hub_is_of_another_cluster_does_not_take_its_numbers() {
    let (kube, nowhere) = (Kube::new(), HubLink::default());
    let east = proxy("east", "north", &kube, &nowhere);
    let east_worker = east.worker();
    let configuration = json!({
        "cluster": "hub",
        "source": "hub",
        "peers": {"self": "west", "read": [{"name": "east", "cluster": "peer"}]},
    });
    let link = HubLink::to(&east_worker);
    let (west, west_worker) = spoke(&configuration.to_string(), &link);
    pass(&[&east, &west], 10);
    assert_eq!(get(&west_worker, "/burstmetrics/services").status(), 503);
    let lines = logged(&west);
    let line = lines.iter().find(|line| line.starts_with("cannot read the hub hub: "));
    let words = "it is of the cluster \"east\", and not of \"west\"";
    assert!(line.is_some_and(|line| line.contains(words)), "{lines:?}");
}

#[test]
fn a_proxy_without_peers_neither_asks_nor_names_its_cluster() {
    let kube = Kube::new();
    let envoy = super::envoy(super::EVERY_SECOND, &kube);
    let worker = envoy.worker();
    envoy.advance(SECOND * 5).answer();
    let own = get(&worker, "/burstmetrics/services");
    assert_eq!((own.status(), own.header("x-burst-cluster")), (200, None));
    let refused = get(&worker, BULK);
    assert_eq!(
        (refused.status(), refused.text()),
        (
            400,
            "scope=all needs other clusters to read, and this proxy has no peers in its configuration\n"
        )
    );
}
