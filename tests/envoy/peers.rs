//! Two clusters, each with a control plane and an Envoy, that are peers of each other by the example that ships.

use std::fs;

use burst_testkit::{
    Envoy, Version,
    filter::{Backend, NGSA_1, PATIENCE},
    http::{Answer, Request, ask},
    port, repository, wait, wasm,
};
use serde_json::{Value, json};

on_each_envoy!(two_clusters_serve_their_sum_and_one_alone_serves_its_own);

const FILE: &str = "20-peers.yaml";

/// The Service that takes the place of `shop/web`.
const SERVICE: &str = "default/ngsa-svc-1";

/// A cluster: its name, its control plane, and the port of its proxy.
struct Cluster {
    name: &'static str,
    backend: Backend,
    port: u16,
}

impl Cluster {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            backend: Backend::sample(),
            port: port::free(),
        }
    }

    /// Starts the proxy of the cluster by the example, with this peer.
    fn start(&self, version: Version, peer: &Self) -> Envoy {
        let path = repository().join("filter-config").join(FILE);
        let shipped = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let own_port = format!("port_value: {}}}}}\n      name: main", self.port);
        let changes = [
            ("target/wasm/", format!("{}/", wasm("").display())),
            ("port_value: 8080}}", own_port),
            (
                "port_value: 8002",
                format!("port_value: {}", self.backend.upstream_port()),
            ),
            ("port_value: 8001", format!("port_value: {}", self.backend.kube_port())),
            ("port_value: 8081", format!("port_value: {}", peer.port)),
            ("\"shop/web\"", format!("\"{SERVICE}\"")),
            ("\"self\": \"east\"", format!("\"self\": \"{}\"", self.name)),
            ("\"name\": \"west\"", format!("\"name\": \"{}\"", peer.name)),
            // So that a lost peer is stale soon.
            (
                "\"cluster\": \"kube_api\"",
                "\"cluster\": \"kube_api\", \"poll_interval\": \"2s\", \"max_staleness\": \"12s\"".to_owned(),
            ),
        ];
        let bootstrap = changes.into_iter().fold(shipped, |text, (ships, here)| {
            assert!(text.contains(ships), "`{ships}` is not in {FILE}");
            text.replacen(ships, &here, 1)
        });
        Envoy::start(version, &bootstrap, 1)
    }

    fn ask(&self, path: &str) -> Answer {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        ask(&Request::of("GET", &url).host("burst.internal")).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Waits until the proxy answers these current replicas of the Service, by cluster, and their sum.
    #[track_caller]
    fn wait_for(&self, expected: &Value) -> Value {
        wait::for_ok(PATIENCE, &format!("{expected} at {}", self.name), || {
            let answer = self.ask(&format!("/burstmetrics/services/{SERVICE}?scope=all&format=json"));
            let all: Value = serde_json::from_str(&answer.body).map_err(|_| format!("{answer:?}"))?;
            let service = &all["services"][SERVICE];
            let by_cluster = service["clusters"].as_object().ok_or_else(|| all.to_string())?;
            let mut current: serde_json::Map<_, _> = by_cluster
                .iter()
                .map(|(cluster, load)| (cluster.clone(), load["current"].clone()))
                .collect();
            current.insert("sum".to_owned(), service["sum"]["current"].clone());
            if Value::Object(current) == *expected {
                Ok(all)
            } else {
                Err(all.to_string())
            }
        })
    }
}

fn two_clusters_serve_their_sum_and_one_alone_serves_its_own(version: Version) {
    let (east, west) = (Cluster::new("east"), Cluster::new("west"));
    let (of_east, of_west) = (east.start(version, &west), west.start(version, &east));
    let both = json!({"east": 1, "west": 1, "sum": 2});
    east.wait_for(&both);
    west.wait_for(&both);

    west.backend.scale_ngsa_1(3);
    let risen = json!({"east": 1, "west": 3, "sum": 4});
    west.wait_for(&risen);
    let all = east.wait_for(&risen);
    assert_eq!(all["services"][SERVICE]["sum"]["headroom"], 6);
    let prometheus = east.ask("/burstmetrics/services?scope=all&format=prometheus");
    let sample = r#"burst_current_load{cluster="west",namespace="default",service="ngsa-svc-1"} 3"#;
    assert!(
        prometheus.body.lines().any(|line| line == sample),
        "{}",
        prometheus.body
    );
    let own = east.ask(&format!("/burstmetrics/services/{SERVICE}"));
    assert_eq!(
        (own.body.as_str(), own.header("x-burst-cluster")),
        (NGSA_1, Some("east"))
    );

    drop(of_west);
    let all = east.wait_for(&json!({"east": 1, "sum": 1}));
    assert_eq!(all["clusters"]["west"]["state"], "stale");
    of_east.wait_for_log(
        PATIENCE,
        "cannot read the peer west (burst_west): it cannot be reached: ",
    );
    let _of_west = west.start(version, &east);
    east.wait_for(&risen);
    of_east.wait_for_log(PATIENCE, "reading the peer west (burst_west) works again");
}
