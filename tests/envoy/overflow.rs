//! `filter-config/19-overflow.yaml`: what a cluster cannot serve goes to another one, and comes back.
//!
//! Time passes in rounds: each client sends a request in each, and the HPA then measures the requests of the round. So no
//! assertion depends on how fast the machine is.

use std::{
    collections::BTreeSet,
    fs, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use burst_lab::{api::Reply, cluster::HPAS, server::Handler};
use burst_testkit::{
    Envoy, Version,
    filter::{Backend, PATIENCE, serve},
    http::{Answer, KeepAlive, Request},
    repository, wait, wasm,
};
use bytes::Bytes;
use serde_json::json;

on_each_envoy!(
    what_exceeds_a_cluster_goes_to_the_other_one_and_comes_back,
    a_clients_own_header_is_not_believed,
);

/// The maximum of the HPA. A replica answers one request in a round.
const MAX: usize = 50;

/// Clients that are twice as many as the replicas can serve.
const TOO_MANY: usize = 2 * MAX;

/// Rounds in which a share settles.
const ROUNDS: usize = 60;

/// The header is only seen by a cluster that Envoy has chosen by it.
const HEADER: &str = "x-burst-overflow";

/// A cluster that answers 503 when it is full.
#[derive(Clone, Default)]
struct Gateway(Arc<Mutex<Round>>);

#[derive(Default)]
struct Round {
    users: BTreeSet<String>,
    refused: usize,
    /// Requests with [`HEADER`].
    marked: usize,
}

impl Gateway {
    fn round(&self) -> MutexGuard<'_, Round> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handler for Gateway {
    fn handle(&self, request: &http::Request<Bytes>) -> Reply {
        let mut round = self.round();
        let user = request.headers().get("x-user").and_then(|user| user.to_str().ok());
        round.users.insert(user.unwrap_or_default().to_owned());
        round.marked += usize::from(request.headers().contains_key(HEADER));
        let is_full = round.users.len() > MAX;
        round.refused += usize::from(is_full);
        let mut answer = http::Response::new(Bytes::from_static(b"served\n"));
        if is_full {
            *answer.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
        }
        Reply::Response(answer)
    }
}

/// Two clusters, and an Envoy with the shipped configuration before the first.
struct Clusters {
    backend: Backend,
    here: Gateway,
    west: Gateway,
    client: KeepAlive,
    _envoy: Envoy,
    _servers: [burst_lab::server::Server; 2],
}

impl Clusters {
    fn start(version: Version) -> Self {
        let backend = Backend::sample();
        let target = json!({"type": "Utilization", "averageUtilization": 100});
        let metrics = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
        let spec = json!({"spec": {"maxReplicas": MAX, "metrics": metrics}});
        let patched = backend.cluster.patch(HPAS, "default/ngsa-hpa-1", &spec);
        patched.expect("the HPA");
        let [here, west] = [Gateway::default(), Gateway::default()];
        let servers = [serve(here.clone()), serve(west.clone())];
        let [here_port, west_port] = [&servers[0], &servers[1]].map(|server| server.addr().port());
        let file = repository().join("filter-config/19-overflow.yaml");
        let shipped = fs::read_to_string(file).expect("the example");
        let changes = [
            ("target/wasm/", format!("{}/", wasm("").display())),
            ("port_value: 8080}}", "port_value: 0}}\n      name: main".to_owned()),
            ("port_value: 8002", format!("port_value: {here_port}")),
            ("port_value: 8003", format!("port_value: {west_port}")),
            ("port_value: 8001", format!("port_value: {}", backend.kube_port())),
            ("\"shop/web\"", "\"default/ngsa-svc-1\"".to_owned()),
            // A round takes some seconds here.
            ("\"from\": \"80%\"", "\"from\": \"80%\", \"ramp\": \"3s\"".to_owned()),
        ];
        let bootstrap = changes.into_iter().fold(shipped, |text, (ships, here)| {
            assert!(text.contains(ships), "`{ships}` is not in the example");
            text.replace(ships, &here)
        });
        let envoy = Envoy::start(version, &bootstrap, 1);
        let client = KeepAlive::to(envoy.listener("main"));
        let mut clusters = Self {
            backend,
            here,
            west,
            client,
            _envoy: envoy,
            _servers: servers,
        };
        clusters.measure(1);
        clusters
    }

    fn ask(&mut self, request: &Request) -> Answer {
        self.client.ask(request).expect("an answer").0
    }

    /// Sends a request of each client, and lets the HPA measure those that came here. Returns what both clusters have seen.
    fn round(&mut self, clients: usize) -> [Round; 2] {
        self.take_rounds();
        for client in 0..clients {
            self.ask(&Request::get("/").header("x-user", format!("user-{client}")));
        }
        let rounds = self.take_rounds();
        self.measure(rounds[0].users.len());
        rounds
    }

    fn take_rounds(&self) -> [Round; 2] {
        [&self.here, &self.west].map(|gateway| mem::take(&mut *gateway.round()))
    }

    /// Writes that demand as the HPA controller does, and waits until the filter has read it.
    fn measure(&mut self, demand: usize) {
        let demand = demand.max(1);
        let replicas = demand.min(MAX);
        // A little less than 1 % for each request: the filter rounds up, and so do the floats of both.
        let utilization = (demand * 100 - 1).div_euclid(replicas);
        let cpu = json!({"name": "cpu", "current": {"averageUtilization": utilization}});
        let status = json!({
            "currentReplicas": replicas, "desiredReplicas": replicas,
            "currentMetrics": [{"type": "Resource", "resource": cpu}],
        });
        let status = json!({"status": status});
        let patched = self.backend.cluster.patch(HPAS, "default/ngsa-hpa-1", &status);
        patched.expect("the HPA");
        let end = format!(", demand={demand}");
        // A request with the header is never sent on, so its response is that of this cluster.
        let probe = Request::get("/").header("x-user", "probe").header(HEADER, "1");
        wait::for_ok(PATIENCE, &end, || {
            let answer = self.ask(&probe);
            let header = answer.header("x-burst").unwrap_or_default();
            header.ends_with(&end).then_some(()).ok_or(format!("{answer:?}"))
        });
    }
}

fn what_exceeds_a_cluster_goes_to_the_other_one_and_comes_back(version: Version) {
    let mut clusters = Clusters::start(version);
    let [here, west] = clusters.round(MAX / 2);
    assert_eq!((here.users.len(), west.users.len()), (MAX / 2, 0), "half full");

    // Twice the maximum: in the first round the cluster refuses half of it.
    let [here, _] = clusters.round(TOO_MANY);
    assert!(here.refused > 0, "the replicas are full");
    let mut settled = 0;
    let mut away = BTreeSet::new();
    for round in 0..ROUNDS {
        let [here, west] = clusters.round(TOO_MANY);
        let is_nested = west.users.is_superset(&away) || west.users.is_subset(&away);
        assert!(is_nested, "round {round}: clients change places");
        assert_eq!(here.marked, 0, "the routes match the header");
        assert_eq!(west.marked, west.users.len(), "the routes match the header");
        away = west.users;
        // 40 replicas are the mark.
        let is_settled = (35..=MAX).contains(&here.users.len()) && here.refused == 0;
        settled = if is_settled { settled + 1 } else { 0 };
        if settled == 5 {
            break;
        }
    }
    assert_eq!(settled, 5, "five rounds without a 503");
    assert!((50..=65).contains(&away.len()), "the excess: {}", away.len());

    let back = (0..ROUNDS).any(|_| clusters.round(MAX / 2)[1].users.is_empty());
    assert!(back, "the share returns to zero");
}

fn a_clients_own_header_is_not_believed(version: Version) {
    let mut clusters = Clusters::start(version);
    clusters.take_rounds();
    for value in ["1", "", "yes"] {
        let request = Request::get("/").header("x-user", "user").header(HEADER, value);
        assert_eq!(clusters.ask(&request).status, 200);
    }
    let twice = Request::get("/").header(HEADER, "1").header(HEADER, "1");
    assert_eq!(clusters.ask(&twice).status, 200);
    let [here, west] = clusters.take_rounds();
    assert_eq!((west.users.len(), west.marked), (0, 0));
    assert_eq!((here.users.len(), here.marked), (2, 0), "the header is gone");
}
