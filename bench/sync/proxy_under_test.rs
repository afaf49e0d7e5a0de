//! A proxy, and a cluster of so many Services that it keeps up with.

use std::time::{Duration, Instant};

use burst_bench_kit::{
    FixtureCluster,
    cpu_bursts::{BurstSampler, LongestBursts},
    fixture_cluster,
    process::cpu_time,
};
use burst_testkit::{
    Version,
    filter::{Backend, Client, Proxy},
    http::Request,
    wait,
};
use serde_json::{Value, json};

/// How long the first read of everything, and a change, may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// The Service that requests go to. Only [`ProxyUnderTest::propagate`] changes its number of replicas.
const REQUESTED: usize = 0;

/// How the lists are kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// With watches, as it is by default.
    Watch,
    /// With full lists every 5 s.
    Poll,
}

impl Mode {
    fn configuration(self) -> Value {
        match self {
            Self::Watch => json!({"sync": {"mode": "watch"}, "poll_interval": "15s"}),
            Self::Poll => json!({"sync": {"mode": "list"}, "poll_interval": "5s"}),
        }
    }
}

/// A proxy and its cluster.
pub(crate) struct ProxyUnderTest {
    pub(crate) fixtures: FixtureCluster,
    pub(crate) proxy: Proxy,
    pub(crate) startup: Startup,
    bursts: BurstSampler,
    client: Client,
    _backend: Backend,
}

/// The cost until every worker could serve.
#[derive(Clone, Copy)]
pub(crate) struct Startup {
    /// From the start of the process.
    pub(crate) time: Duration,
    pub(crate) cpu: Duration,
    pub(crate) bytes: u64,
    pub(crate) longest: LongestBursts,
}

/// How long a change took to reach the headers.
pub(crate) struct Propagation {
    /// From the API server to the header of every worker.
    pub(crate) time: Duration,
    /// The part of it after the first VM had the snapshot with the change.
    pub(crate) spread: Duration,
}

/// The cost of a slice of time.
pub(crate) struct Slice {
    pub(crate) bytes: u64,
    pub(crate) cpu: Duration,
    pub(crate) longest: LongestBursts,
    /// How often one of Envoy's watchdogs found a thread that had not answered for 200 ms.
    pub(crate) misses: u64,
}

impl ProxyUnderTest {
    pub(crate) fn start(fixtures: FixtureCluster, mode: Mode) -> Self {
        let backend = Backend::of(fixtures.cluster.clone());
        let requested = fixture_cluster::envoy_cluster(REQUESTED);
        let started = Instant::now();
        let proxy = Proxy::of(Version::Tested)
            .listener("main", mode.configuration())
            .cluster(burst_testkit::filter::cluster(&requested, backend.upstream_port()))
            .start(&backend);
        let bursts = BurstSampler::start(proxy.envoy.id());
        let mut client = proxy.client("main");
        wait::until(PATIENCE, "the header on every worker", || {
            let answers = client.ask_each(&Request::to(&requested));
            answers.iter().all(|answer| answer.header("x-burst").is_some())
        });
        let startup = Startup {
            time: started.elapsed(),
            cpu: cpu_time(proxy.envoy.id()).process,
            bytes: received(&proxy),
            longest: bursts.take(),
        };
        // The lease moves to a thread that serves no requests. The workers have served some by now.
        proxy.wait_for_main_thread();
        bursts.reset();
        Self {
            fixtures,
            proxy,
            startup,
            bursts,
            client,
            _backend: backend,
        }
    }

    /// Measures the cost for the proxy while `slice` runs.
    pub(crate) fn slice(&mut self, slice: impl FnOnce(&mut FixtureCluster)) -> Slice {
        let process = self.proxy.envoy.id();
        self.bursts.reset();
        let (bytes, misses) = (received(&self.proxy), self.watchdog_misses());
        let before = cpu_time(process).process;
        slice(&mut self.fixtures);
        Slice {
            cpu: cpu_time(process).process - before,
            longest: self.bursts.take(),
            bytes: received(&self.proxy) - bytes,
            misses: self.watchdog_misses() - misses,
        }
    }

    /// Changes an HPA, and waits until every worker has the change in its header.
    pub(crate) fn propagate(&mut self, replicas: u32) -> Propagation {
        let request = Request::to(&fixture_cluster::envoy_cluster(REQUESTED));
        let text = format!("current-load={replicas},");
        let before = self.generation();
        let changed = Instant::now();
        self.fixtures.set_current_replicas(REQUESTED, replicas);
        let mut published = None;
        wait::until(PATIENCE, &text, || {
            if published.is_none() && self.generation() > before {
                published = Some(Instant::now());
            }
            let answers = self.client.ask_each(&request);
            answers
                .iter()
                .all(|answer| answer.header("x-burst").is_some_and(|value| value.contains(&text)))
        });
        Propagation {
            time: changed.elapsed(),
            spread: published.map_or(Duration::ZERO, |published| published.elapsed()),
        }
    }

    /// The generation of the newest snapshot that any VM has.
    fn generation(&self) -> u64 {
        self.proxy.stat("burst_snapshot_generation")
    }

    fn watchdog_misses(&self) -> u64 {
        // The filter leaves out the sums, which count each miss again.
        let stats = self.proxy.envoy.admin("/stats?filter=^server.*watchdog_miss").body;
        stats
            .lines()
            .filter_map(|line| line.rsplit(": ").next()?.parse::<u64>().ok())
            .sum()
    }
}

/// Bytes that came from the API server so far.
fn received(proxy: &Proxy) -> u64 {
    proxy
        .envoy
        .stat("cluster.kube_api.upstream_cx_rx_bytes_total")
        .unwrap_or_default()
}
