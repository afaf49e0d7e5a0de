//! Load reports steer traffic: an Envoy in front of two clusters moves requests to the one with headroom. Each cluster is the
//! shipped example before an application of limited capacity. docs/signals.md shows the tables that these tests print.

use std::{
    fs,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use burst_lab::{
    api::Reply,
    server::{Handler, Server},
};
use burst_testkit::{
    Envoy, Version,
    filter::{Backend, PATIENCE, serve},
    http::{Answer, KeepAlive, Request},
    repository, wait, wasm,
};
use bytes::Bytes;

use super::front;

const SERVICE: &str = "default/ngsa-svc-1";

/// The maximum of the service's HPA.
const MAX: u32 = 5;

/// The requests that a front sends in a round.
const REQUESTS: usize = 100;

/// The users of a cluster keep this many requests of a round on each of its replicas.
const REQUESTS_OF_A_REPLICA: usize = 25;

/// What five replicas can take in a round.
const CAPACITY: usize = 140;

/// Requests with this header count in no round, and the application always answers them.
const PROBE: &str = "x-probe";

/// The application of a cluster. It answers 503 when a round has more requests than its replicas have capacity left.
#[derive(Clone)]
struct Shop {
    name: &'static str,
    left: Arc<AtomicUsize>,
}

impl Handler for Shop {
    fn handle(&self, request: &::http::Request<Bytes>) -> Reply {
        let take = || {
            let taken = |left: usize| left.checked_sub(1);
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken)
        };
        let status = if request.headers().contains_key(PROBE) || take().is_ok() {
            200
        } else {
            503
        };
        let answer = ::http::Response::builder().status(status);
        Reply::Response(
            answer
                .body(Bytes::from_static(self.name.as_bytes()))
                .expect("an answer"),
        )
    }
}

/// A cluster: its API, its application, and the gateway of the shipped example.
struct Region {
    backend: Backend,
    shop: Shop,
    gateway: Envoy,
    _server: Server,
}

impl Region {
    fn start(name: &'static str, orca: &str) -> Self {
        let backend = Backend::sample();
        let shop = Shop {
            name,
            left: Arc::default(),
        };
        let server = serve(shop.clone());
        let file = repository().join("filter-config/24-orca.yaml");
        let shipped = fs::read_to_string(file).expect("the example");
        let changes = [
            ("target/wasm/", format!("{}/", wasm("").display())),
            ("port_value: 8080}}", "port_value: 0}}\n      name: main".to_owned()),
            ("port_value: 8002", format!("port_value: {}", server.addr().port())),
            ("port_value: 8001", format!("port_value: {}", backend.kube_port())),
            ("\"shop/web\"", format!("\"{SERVICE}\"")),
            (r#""orca": {"when": "always"}"#, orca.to_owned()),
            (
                r#""requests": {}"#,
                r#""requests": {"window": "10s", "report_interval": "1s"}"#.to_owned(),
            ),
        ];
        let bootstrap = changes.into_iter().fold(shipped, |text, (ships, here)| {
            assert!(text.contains(ships), "`{ships}` is not in the example");
            text.replace(ships, &here)
        });
        Self {
            backend,
            shop,
            gateway: Envoy::start(Version::Tested, &bootstrap, 1),
            _server: server,
        }
    }

    fn addr(&self) -> SocketAddr {
        self.gateway.listener("main")
    }

    fn ask(&self) -> Answer {
        let (answer, _) = KeepAlive::to(self.addr()).ask(&probe()).expect("an answer");
        answer
    }

    /// Begins a round in which so many replicas are busy with the users of this cluster.
    fn scale(&self, current: u32) {
        let hpa = "default/ngsa-hpa-1";
        self.backend
            .cluster
            .set_current_replicas(hpa, current)
            .expect("the HPA");
        let busy = REQUESTS_OF_A_REPLICA * current as usize;
        self.shop.left.store(CAPACITY - busy, Ordering::Relaxed);
        wait::until(PATIENCE, "the gateway knows the replicas", || {
            let value = format!("current-load={current}, ");
            let answer = self.ask();
            answer.header("x-burst").is_some_and(|header| header.contains(&value))
        });
    }
}

fn probe() -> Request {
    Request::get("/").header(PROBE, "1")
}

/// The Envoy in front of both clusters.
struct Front {
    envoy: Envoy,
    client: KeepAlive,
    regions: [Region; 2],
}

/// A load balancing policy of docs/signals.md, and the times of a test.
struct Policy {
    name: &'static str,
    times: &'static [(&'static str, &'static str)],
}

const LOAD_AWARE_LOCALITY: Policy = Policy {
    name: "load_aware_locality",
    times: &[
        ("weight_update_period: 1s", "weight_update_period: 0.1s"),
        ("smoothing_time_constant: 5s", "smoothing_time_constant: 0.01s"),
    ],
};

const CLIENT_SIDE_WEIGHTED_ROUND_ROBIN: Policy = Policy {
    name: "client_side_weighted_round_robin",
    times: &[
        ("weight_update_period: 1s", "weight_update_period: 0.1s"),
        ("blackout_period: 10s", "blackout_period: 0.1s"),
    ],
};

impl Front {
    fn start(policy: &Policy, regions: [Region; 2]) -> Self {
        let typed = format!("name: envoy.load_balancing_policies.{}\n", policy.name);
        let block = front::block_of_guide("signals.md", |block| block.contains(&typed));
        let localities = regions.each_ref().map(|region| {
            let (name, endpoint) = (region.shop.name, front::endpoint(region.addr().port()));
            format!("{{locality: {{region: {name}}}, lb_endpoints: [{endpoint}]}}")
        });
        let settings = front::with_times(block, policy.times);
        let envoy = front::start(Version::Tested, "", &settings, &localities);
        let client = KeepAlive::to(envoy.listener("main"));
        Self { envoy, client, regions }
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let (answer, _) = self.client.ask(request).expect("an answer");
        answer
    }

    /// How many of a hundred probes come to the first cluster.
    fn probed_share(&mut self) -> usize {
        let answers = (0..100).map(|_| self.ask(&probe()).body == "east");
        answers.filter(|is_east| *is_east).count()
    }

    /// Waits until the share of the first cluster fits twice in a row.
    fn settle(&mut self, what: &str, fits: impl Fn(usize) -> bool) {
        wait::for_ok(PATIENCE, what, || {
            let shares = [self.probed_share(), self.probed_share()];
            if shares.into_iter().all(&fits) {
                Ok(())
            } else {
                Err(format!("{shares:?} %"))
            }
        });
    }

    /// Waits until both gateways report how many requests they get.
    fn wait_for_rates(&mut self) {
        wait::for_ok(PATIENCE, "both gateways know their rates", || {
            self.probed_share();
            let reports = self.regions.each_ref().map(|region| {
                let answer = region.ask();
                answer.header("endpoint-load-metrics").unwrap_or_default().to_owned()
            });
            if reports.iter().all(|report| report.contains("rps_fractional=")) {
                Ok(())
            } else {
                Err(format!("{reports:?}"))
            }
        });
    }

    /// Envoy's own counters of each cluster: requests, and those that failed.
    fn counters(&self) -> [[u64; 2]; 2] {
        let clusters = self.envoy.admin("/clusters").body;
        self.regions.each_ref().map(|region| {
            ["rq_total", "rq_error"].map(|name| {
                let prefix = format!("web::{}::{name}::", region.addr());
                let value = clusters.lines().find_map(|line| line.strip_prefix(&prefix));
                value
                    .and_then(|value| value.parse().ok())
                    .unwrap_or_else(|| panic!("{prefix}: {clusters}"))
            })
        })
    }

    /// Sends the requests of a round.
    fn round(&mut self) -> Round {
        let before = self.counters();
        (0..REQUESTS).for_each(|_| drop(self.ask(&Request::get("/"))));
        let [[total, failed], [other_total, other_failed]] = self.counters();
        let share = total - before[0][0];
        assert_eq!(
            share + other_total - before[1][0],
            REQUESTS as u64,
            "a retry, or a lost request"
        );
        Round {
            share,
            failed: failed + other_failed - before[0][1] - before[1][1],
        }
    }
}

/// What a front did in a round.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The percent of the requests that went to the first cluster.
    share: u64,
    /// Responses with 503.
    failed: u64,
}

/// The first cluster fills up from 1 to 5 replicas, and the second stays at 1. With reports, each round begins when the share of
/// the first is below the percentage for it; that is what its load means to the policy, and some more.
fn rounds(front: &mut Front, bounds: Option<[usize; MAX as usize]>) -> Vec<Round> {
    let mut rounds = Vec::new();
    for current in 1..=MAX {
        front.regions[0].scale(current);
        front.regions[1].scale(1);
        if let Some(bound) = bounds.and_then(|bounds| bounds.get(current as usize - 1).copied()) {
            front.settle(&format!("a share below {bound} % at {current} replicas"), |share| {
                share < bound
            });
        }
        rounds.push(front.round());
    }
    rounds
}

fn print(policy: &str, with: &[Round], without: &[Round]) {
    println!("| replicas of 5 in the fuller cluster | its share with reports | 503 | its share without | 503 |");
    println!("|---|---|---|---|---|");
    for (current, (with, without)) in (1..).zip(with.iter().zip(without)) {
        let [with, without] = [with, without].map(|round| format!("{} % | {}", round.share, round.failed));
        println!("| {current} | {with} | {without} |");
    }
    println!("{policy}, of {REQUESTS} requests a round");
}

const ON: &str = r#""orca": {"when": "always"}"#;

/// What it would do is counted, so this is the same gateway without reports.
const OFF: &str = r#""orca": {"when": "always", "dry_run": true}"#;

fn regions(orca: &str) -> [Region; 2] {
    ["east", "west"].map(|name| Region::start(name, orca))
}

/// Without reports half of the requests go to the fuller cluster to the end, and so does what it cannot take.
#[track_caller]
fn rounds_without(policy: &Policy) -> Vec<Round> {
    let mut front = Front::start(policy, regions(OFF));
    let rounds = rounds(&mut front, None);
    assert!(
        rounds.iter().all(|round| (30..=70).contains(&round.share)),
        "{rounds:?}"
    );
    let failed: u64 = rounds.iter().map(|round| round.failed).sum();
    assert!(failed >= 20, "{rounds:?}");
    for region in &front.regions {
        wait::until(PATIENCE, "the dry run is counted", || {
            region.gateway.filter_stat("burst_orca_dry_run_total") > 0
        });
        assert_eq!(region.gateway.filter_stat("burst_orca_added_total"), 0);
        assert_eq!(region.ask().header("endpoint-load-metrics"), None);
    }
    rounds
}

#[track_caller]
fn check_spills_in_time(rounds: &[Round]) {
    assert!(rounds.iter().all(|round| round.failed == 0), "{rounds:?}");
    let shares: Vec<_> = rounds.iter().map(|round| round.share).collect();
    assert!(shares.last() <= Some(&15) && shares[3] <= 40, "{rounds:?}");
}

#[test]
fn load_aware_locality_leaves_a_cluster_before_its_first_503_and_comes_back() {
    let mut front = Front::start(&LOAD_AWARE_LOCALITY, regions(ON));
    // A cluster has the weight 1 - utilization: 50, 43, 33, 20 and 1 %.
    let with = rounds(&mut front, Some([70, 65, 50, 30, 10]));
    print(LOAD_AWARE_LOCALITY.name, &with, &rounds_without(&LOAD_AWARE_LOCALITY));
    check_spills_in_time(&with);
    assert!(with[0].share >= 30, "{with:?}");
    front.regions[0].scale(1);
    front.settle("the first cluster has its share again", |share| share >= 30);
}

#[test]
fn client_side_weighted_round_robin_leaves_a_cluster_before_its_first_503() {
    let mut front = Front::start(&CLIENT_SIDE_WEIGHTED_ROUND_ROBIN, regions(ON));
    front.wait_for_rates();
    // A cluster has the weight rate ÷ utilization, so what moved away moves more: less than 50, 33, 25, 20 and 17 % in the end.
    let with = rounds(&mut front, Some([101, 80, 55, 27, 12]));
    print(
        CLIENT_SIDE_WEIGHTED_ROUND_ROBIN.name,
        &with,
        &rounds_without(&CLIENT_SIDE_WEIGHTED_ROUND_ROBIN),
    );
    check_spills_in_time(&with);
}
