//! Who reads what how, and what happens.

use crate::costs::{self, Cost};
use burst_model::config::{Artifact, Config};
use std::rc::Rc;
use std::time::Duration;

/// How a proxy keeps its picture up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every list whole, each `poll_interval`.
    Poll,
    /// By watch windows.
    Watch,
    /// A few watch, and all others ask one of those.
    Spokes,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Poll, Self::Watch, Self::Spokes];

    /// As the documentation calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Watch => "watch",
            Self::Spokes => "hub and spokes",
        }
    }
}

/// What becomes of the API server, between two moments.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    /// When it ends, from the beginning.
    pub begins: Duration,
    /// How long it is away. Connections are refused meanwhile.
    pub lasts: Duration,
    /// Whether it knows afterwards what happened before: a single server does not, of several another one does.
    pub remembers: bool,
}

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How the proxies read.
    pub mode: Mode,
    /// How many.
    pub proxies: usize,
    /// Those of them that watch where the others are spokes.
    pub hubs: usize,
    /// Services, each with an HPA and a Deployment.
    pub services: u64,
    /// Of a thousand HPAs, those whose status changes each second.
    pub changing: u64,
    /// Cores of the API server.
    pub cores: usize,
    /// What happens to it.
    pub outage: Outage,
    /// How long all of it takes.
    pub lasts: Duration,
    /// Chance.
    pub seed: u64,
}

impl Scenario {
    /// A cluster of 1,000 Services, of whose HPAs 1 % change every 15 s, and an API server with 16 cores that is away
    /// for a minute.
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
                begins: Duration::from_secs(400),
                lasts: Duration::from_secs(60),
                remembers: false,
            },
            lasts: Duration::from_secs(900),
            seed: 7,
        }
    }

    /// The configuration of who reads the API server.
    ///
    /// # Panics
    /// Never: it is one.
    #[must_use]
    pub fn config(&self) -> Rc<Config> {
        let mode = match self.mode {
            Mode::Poll => "list",
            Mode::Watch | Mode::Spokes => "watch",
        };
        parsed(&format!(r#"{{"cluster": "kube_api", "sync": {{"mode": "{mode}"}}}}"#))
    }

    /// The configuration of who reads a hub.
    ///
    /// # Panics
    /// Never: it is one.
    #[must_use]
    pub fn spokes(&self) -> Rc<Config> {
        parsed(r#"{"cluster": "hub", "source": "hub"}"#)
    }

    /// What a page of so many objects costs.
    #[must_use]
    pub fn page(&self, objects: u64) -> Cost {
        costs::PAGE.and(costs::LISTED.times(objects))
    }

    /// What a window costs in which so many objects changed.
    #[must_use]
    pub fn window(&self, objects: u64) -> Cost {
        costs::WATCH.and(costs::WATCHED.times(objects))
    }

    /// HPAs that change within a time.
    #[must_use]
    pub fn changed(&self, within: Duration) -> u64 {
        let millis = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        self.services * self.changing * millis / 1_000_000
    }
}

fn parsed(json: &str) -> Rc<Config> {
    Rc::new(Config::parse(json.as_bytes(), Artifact::Full).expect("a configuration"))
}
