//! A scenario of the simulation: the proxies, the cluster and an outage.

use crate::costs::{self, Cost};
use crate::server::QUEUE_LENGTH;
use burst_model::config::{Artifact, Config};
use std::rc::Rc;
use std::time::Duration;

/// Cores of the API server.
const CORES: usize = 16;

/// Of a fleet of this size only one in [`SHARE`] is simulated.
const LARGE_FLEET: usize = 50_000;
const SHARE: usize = 8;

/// How a proxy keeps its snapshot up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// With full lists, every `poll_interval`.
    Poll,
    /// With watches of some seconds.
    Windows,
    /// With watches that stay open.
    Streams,
    /// A few hubs read by streams, and the others read one of them.
    Spokes,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Poll, Self::Windows, Self::Streams, Self::Spokes];

    /// Returns the name in the documentation.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Poll => "lists",
            Self::Windows => "windows",
            Self::Streams => "streams",
            Self::Spokes => "hub and spokes",
        }
    }
}

/// An outage of the API server.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    /// When the API server stops, since the start.
    pub start: Duration,
    /// How long it is down and refuses connections.
    pub duration: Duration,
    /// Whether it has its watch history afterwards: a single server does not, one of several does.
    pub keeps_history: bool,
}

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How the proxies read the cluster.
    pub mode: Mode,
    /// The number of proxies that are simulated.
    pub proxies: usize,
    /// A large fleet is so many times as large. Then only a share of its proxies is simulated, with the same share of the
    /// API server, which takes as much less time.
    pub share: usize,
    /// The number of them that are hubs in [`Mode::Spokes`].
    pub hubs: usize,
    /// Services, each with an HPA and a Deployment.
    pub services: u64,
    /// HPAs in a thousand whose status changes each second.
    pub changing: u64,
    /// Cores of the API server.
    pub cores: usize,
    /// How many requests wait for the API server at most.
    pub queue_length: usize,
    /// The time before the outage that counts as the steady state.
    pub steady: Duration,
    /// The outage.
    pub outage: Outage,
    /// The length of the simulation.
    pub duration: Duration,
    /// The seed of random numbers.
    pub seed: u64,
}

impl Scenario {
    /// Makes a cluster of 1,000 Services, of whose HPAs 1 % change every 15 s, and an API server with 16 cores that is
    /// down for a minute.
    #[must_use]
    pub fn new(mode: Mode, fleet: usize) -> Self {
        let share = if fleet < LARGE_FLEET { 1 } else { SHARE };
        let proxies = fleet / share;
        // The first streams end after ten minutes at the latest.
        let (start, steady) = match mode {
            Mode::Poll | Mode::Windows => (400, 120),
            Mode::Streams | Mode::Spokes => (1_300, 600),
        };
        Self {
            mode,
            proxies,
            share,
            hubs: (proxies / 1_000).max(2),
            services: 1_000,
            changing: 1,
            cores: CORES / share,
            queue_length: QUEUE_LENGTH / share,
            steady: Duration::from_secs(steady),
            outage: Outage {
                start: Duration::from_secs(start),
                duration: Duration::from_secs(60),
                keeps_history: false,
            },
            duration: Duration::from_secs(start + 500),
            seed: 7,
        }
    }

    /// The number of proxies of the whole fleet.
    #[must_use]
    pub fn fleet(&self) -> usize {
        self.proxies * self.share
    }

    /// Has one of several API servers restart instead: it closes its connections, and another one takes them at once.
    #[must_use]
    pub fn with_restart(mut self) -> Self {
        (self.outage.duration, self.outage.keeps_history) = (Duration::ZERO, true);
        self
    }

    /// Returns the configuration of a proxy that reads the API server.
    ///
    /// # Panics
    /// Never: the configuration is valid.
    #[must_use]
    pub fn config(&self) -> Rc<Config> {
        let mode = match self.mode {
            Mode::Poll => "list",
            Mode::Windows => "watch",
            Mode::Streams | Mode::Spokes => "stream",
        };
        parsed(&format!(r#"{{"cluster": "kube_api", "sync": {{"mode": "{mode}"}}}}"#))
    }

    /// Returns the configuration of a proxy that reads a hub.
    ///
    /// # Panics
    /// Never: the configuration is valid.
    #[must_use]
    pub fn spokes(&self) -> Rc<Config> {
        parsed(r#"{"cluster": "hub", "source": "hub"}"#)
    }

    /// Returns the cost of a page of so many objects.
    #[must_use]
    pub fn page(&self, objects: u64) -> Cost {
        costs::PAGE.plus(costs::LISTED.times(objects))
    }

    /// Returns the cost of so many objects at the beginning of a stream.
    #[must_use]
    pub fn initial_events(&self, objects: u64) -> Cost {
        costs::WATCH.plus(costs::LISTED_AS_EVENT.times(objects))
    }

    /// Returns the cost of a watch in which so many objects changed.
    #[must_use]
    pub fn window(&self, objects: u64) -> Cost {
        costs::WATCH.plus(costs::WATCHED.times(objects))
    }

    /// Returns how many HPAs change within a time.
    #[must_use]
    pub fn changed(&self, within: Duration) -> u64 {
        let millis = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        self.services * self.changing * millis / 1_000_000
    }
}

fn parsed(json: &str) -> Rc<Config> {
    Rc::new(Config::parse(json.as_bytes(), Artifact::Full).expect("a configuration"))
}
