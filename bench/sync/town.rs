//! A proxy beside a cluster of so many Services.

use std::time::{Duration, Instant};

use burst_testkit::{
    Version,
    filter::{Backend, Client, Proxy},
    http::Request,
    wait,
};
use serde_json::{Value, json};

use crate::{
    crowd::{self, Crowd},
    process::spent,
    stretch::{Longest, Stretches},
};

/// For the first read of everything, and for a change, on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(180);

/// The Service that is asked for. No change but those of [`Town::change_shows`] has its number of replicas.
const ASKED: usize = 0;

/// How the lists are kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As it is by default, by windows.
    Watch,
    /// Everything again every 5 s.
    Poll,
}

impl Mode {
    fn keys(self) -> Value {
        match self {
            Self::Watch => json!({"sync": {"mode": "watch"}, "poll_interval": "15s"}),
            Self::Poll => json!({"sync": {"mode": "list"}, "poll_interval": "5s"}),
        }
    }
}

/// A proxy and its cluster.
pub(crate) struct Town {
    pub(crate) crowd: Crowd,
    pub(crate) proxy: Proxy,
    pub(crate) first: First,
    stretches: Stretches,
    client: Client,
    _world: Backend,
}

/// What it took until every worker could serve.
#[derive(Clone, Copy)]
pub(crate) struct First {
    /// From the start of the process.
    pub(crate) time: Duration,
    pub(crate) cpu: Duration,
    pub(crate) bytes: u64,
    pub(crate) longest: Longest,
}

/// How long a change took.
pub(crate) struct Shown {
    /// From the API server to the header of every worker.
    pub(crate) time: Duration,
    /// Of that, since the first VM had the snapshot it is in.
    pub(crate) spread: Duration,
}

/// What a slice of time cost.
pub(crate) struct Slice {
    pub(crate) bytes: u64,
    pub(crate) cpu: Duration,
    pub(crate) longest: Longest,
    /// How often one of Envoy's watchdogs found a thread that had not answered for 200 ms.
    pub(crate) misses: u64,
}

impl Town {
    pub(crate) fn start(crowd: Crowd, mode: Mode) -> Self {
        let world = Backend::of(crowd.cluster.clone());
        let asked = crowd::upstream(ASKED);
        let started = Instant::now();
        let proxy = Proxy::of(Version::Tested)
            .listener("main", mode.keys())
            .cluster(burst_testkit::filter::cluster(&asked, world.upstream_port()))
            .start(&world);
        let stretches = Stretches::watch(proxy.envoy.id());
        let mut client = proxy.client("main");
        wait::until(PATIENCE, "the header on every worker", || {
            let answers = client.ask_each(&Request::to(&asked));
            answers.iter().all(|answer| answer.header("x-burst").is_some())
        });
        let first = First {
            time: started.elapsed(),
            cpu: spent(proxy.envoy.id()).process,
            bytes: received(&proxy),
            longest: stretches.take(),
        };
        // The workers have served by now: the lease drifts to who has not.
        proxy.wait_for_main_thread();
        stretches.take();
        Self {
            crowd,
            proxy,
            first,
            stretches,
            client,
            _world: world,
        }
    }

    /// What is spent within the slice that ends when `slice` does.
    pub(crate) fn slice(&mut self, slice: impl FnOnce(&mut Crowd)) -> Slice {
        let process = self.proxy.envoy.id();
        self.stretches.take();
        let (bytes, misses) = (received(&self.proxy), self.watchdog_misses());
        let before = spent(process).process;
        slice(&mut self.crowd);
        Slice {
            cpu: spent(process).process - before,
            longest: self.stretches.take(),
            bytes: received(&self.proxy) - bytes,
            misses: self.watchdog_misses() - misses,
        }
    }

    /// A change at the API server, until every worker has it in its header.
    pub(crate) fn change_shows(&mut self, replicas: u32) -> Shown {
        let request = Request::to(&crowd::upstream(ASKED));
        let text = format!("current-load={replicas},");
        let before = self.generation();
        let changed = Instant::now();
        self.crowd.scale(ASKED, replicas);
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
        Shown {
            time: changed.elapsed(),
            spread: published.map_or(Duration::ZERO, |published| published.elapsed()),
        }
    }

    /// As the first VM shows it that has it.
    fn generation(&self) -> u64 {
        self.proxy.stat("burst_snapshot_generation")
    }

    fn watchdog_misses(&self) -> u64 {
        // Beside these there are sums of them.
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
