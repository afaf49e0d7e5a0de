//! A scenario of the simulation: the proxies, the cluster and an outage.

use crate::costs::{self, Cost};
use burst_model::config::{Artifact, Config};
use std::rc::Rc;
use std::time::Duration;

/// How a proxy keeps its snapshot up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// With full lists, every `poll_interval`.
    Poll,
    /// With watches.
    Watch,
    /// A few hubs watch, and the others read one of them.
    Spokes,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Poll, Self::Watch, Self::Spokes];

    /// Returns the name in the documentation.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Watch => "watch",
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
    /// The number of proxies.
    pub proxies: usize,
    /// The number of them that are hubs in [`Mode::Spokes`].
    pub hubs: usize,
    /// Services, each with an HPA and a Deployment.
    pub services: u64,
    /// HPAs in a thousand whose status changes each second.
    pub changing: u64,
    /// Cores of the API server.
    pub cores: usize,
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
    pub fn new(mode: Mode, proxies: usize) -> Self {
        Self {
            mode,
            proxies,
            hubs: (proxies / 1_000).max(2),
            services: 1_000,
            changing: 1,
            cores: 16,
            outage: Outage {
                start: Duration::from_secs(400),
                duration: Duration::from_secs(60),
                keeps_history: false,
            },
            duration: Duration::from_secs(900),
            seed: 7,
        }
    }

    /// Returns the configuration of a proxy that reads the API server.
    ///
    /// # Panics
    /// Never: the configuration is valid.
    #[must_use]
    pub fn config(&self) -> Rc<Config> {
        let mode = match self.mode {
            Mode::Poll => "list",
            Mode::Watch | Mode::Spokes => "watch",
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
