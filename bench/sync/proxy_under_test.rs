//! A proxy, and a cluster of so many Services that it keeps up with.

use std::{
    thread,
    time::{Duration, Instant},
};

use burst_bench_kit::{
    FixtureCluster,
    cpu_bursts::{BurstSampler, LongestBursts},
    fixture_cluster,
    process::cpu_time,
};
use burst_testkit::{
    Version,
    filter::{Backend, Client, Module, Plugin, Proxy, UpstreamProtocol},
    http::Request,
    wait,
};
use serde_json::json;

/// How long the first read of everything, and a change, may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// The Service that requests go to. Only [`ProxyUnderTest::propagate`] changes its number of replicas.
const REQUESTED: usize = 0;

/// Time between two requests while a change is awaited.
const ASK_INTERVAL: Duration = Duration::from_millis(2);

/// How the lists are kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// With watches that stay open, of which each change is read as it comes.
    Streams,
    /// With watches of some seconds.
    Windows,
    /// The same with the header-only module, which has no other way to watch.
    HeaderOnly,
    /// With full lists every 5 s.
    Lists,
}

impl Mode {
    /// Returns the name in the rows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Streams => "streams",
            Self::Windows => "windows",
            Self::HeaderOnly => "windows, header-only",
            Self::Lists => "lists every 5 s",
        }
    }

    fn plugin(self) -> Plugin {
        let with = |mode, interval| Plugin::new("main", json!({"sync": {"mode": mode}, "poll_interval": interval}));
        match self {
            Self::Streams => with("stream", "15s").upstream_filter(UpstreamProtocol::Http2),
            Self::Windows => with("watch", "15s"),
            Self::HeaderOnly => with("watch", "15s").module(Module::HeaderOnly),
            Self::Lists => with("list", "5s"),
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
    /// The part of it after the first worker had the change.
    pub(crate) spread: Duration,
}

/// The cost of a slice of time.
pub(crate) struct Slice {
    /// To the API server.
    pub(crate) requests: u64,
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
            .plugin(mode.plugin())
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
        let (requests, bytes, misses) = (self.requests(), received(&self.proxy), self.watchdog_misses());
        let before = cpu_time(process).process;
        slice(&mut self.fixtures);
        Slice {
            cpu: cpu_time(process).process - before,
            longest: self.bursts.take(),
            requests: self.requests() - requests,
            bytes: received(&self.proxy) - bytes,
            misses: self.watchdog_misses() - misses,
        }
    }

    /// Changes an HPA, and waits until every worker has the change in its header.
    ///
    /// # Panics
    /// If one does not in time.
    pub(crate) fn propagate(&mut self, replicas: u32) -> Propagation {
        let request = Request::to(&fixture_cluster::envoy_cluster(REQUESTED));
        let text = format!("current-load={replicas},");
        let changed = Instant::now();
        self.fixtures.set_current_replicas(REQUESTED, replicas);
        let mut first = None;
        loop {
            let answers = self.client.ask_each(&request);
            let has_change = |value: &str| value.contains(&text);
            let with_change = answers
                .iter()
                .filter(|answer| answer.header("x-burst").is_some_and(has_change))
                .count();
            if with_change > 0 {
                first.get_or_insert_with(Instant::now);
            }
            let time = changed.elapsed();
            if with_change == answers.len() {
                let spread = first.map_or(Duration::ZERO, |first| first.elapsed());
                return Propagation { time, spread };
            }
            assert!(time < PATIENCE, "waited {time:?} for {text}");
            thread::sleep(ASK_INTERVAL);
        }
    }

    /// Requests to the API server so far.
    pub(crate) fn requests(&self) -> u64 {
        upstream_stat(&self.proxy, "rq_total")
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
    upstream_stat(proxy, "cx_rx_bytes_total")
}

fn upstream_stat(proxy: &Proxy, name: &str) -> u64 {
    let stat = format!("cluster.kube_api.upstream_{name}");
    proxy.envoy.stat(&stat).unwrap_or_default()
}
