//! A client: it sends requests at its rate, whether or not earlier ones were answered.

use std::time::{Duration, Instant};

use burst_lab::sample::Service;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::demand::Demand;
use super::request::{Outcome, Proxy};
use super::steering::{Place, Steering};
use crate::run::Update;
use crate::run::header::Load;

/// Requests of a client that may be in flight: far more than a working Envoy ever has.
const MAX_IN_FLIGHT: usize = 32;

/// A service, and its index on the dashboard.
pub(super) type Target = (usize, Service);

/// The clients that the dashboard compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientKind {
    IgnoresHeader,
    ReadsHeader,
}

/// Where a client sends its requests.
pub(super) enum Behaviour {
    /// One service, always; not shown on its own.
    Other(Target),
    /// One service, always.
    Ignores(Target),
    /// Two services, by their headers.
    Reads {
        home: Target,
        elsewhere: Target,
        steering: Steering,
    },
}

pub(super) struct Client {
    pub(super) demand: Demand,
    pub(super) behaviour: Behaviour,
}

impl Client {
    /// Sends requests until nobody receives the updates.
    pub(super) async fn run(mut self, proxy: Proxy, started: Instant, updates: mpsc::UnboundedSender<Update>) {
        let mut in_flight = JoinSet::new();
        let mut seconds = interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut unheard = Unheard::default();
        let next = tokio::time::sleep(Duration::ZERO);
        tokio::pin!(next);
        loop {
            tokio::select! {
                () = &mut next => {
                    if in_flight.len() < MAX_IN_FLIGHT {
                        let ((index, service), place) = self.behaviour.next();
                        let proxy = proxy.clone();
                        in_flight.spawn(async move { (index, place, proxy.request(&service).await) });
                    }
                    let pause = self.demand.pause(started.elapsed()).div_f64(self.behaviour.rate());
                    next.as_mut().reset(tokio::time::Instant::now() + pause);
                }
                Some(Ok((index, place, outcome))) = in_flight.join_next() => {
                    unheard.heard(place);
                    self.behaviour.observe(place, &outcome);
                    let update = Update::Answer { service: index, client: self.behaviour.kind(), outcome };
                    if updates.send(update).is_err() {
                        return;
                    }
                }
                _ = seconds.tick() => self.behaviour.step(&mut unheard, &proxy).await,
            }
        }
    }
}

/// The services that sent no response since the last second.
#[derive(Default)]
struct Unheard {
    home: bool,
    elsewhere: bool,
}

impl Unheard {
    fn heard(&mut self, place: Place) {
        match place {
            Place::Home => self.home = false,
            Place::Elsewhere => self.elsewhere = false,
        }
    }

    /// Returns the services, and begins the next second.
    fn next_second(&mut self) -> impl Iterator<Item = Place> {
        let before = std::mem::replace(
            self,
            Unheard {
                home: true,
                elsewhere: true,
            },
        );
        let home = before.home.then_some(Place::Home);
        home.into_iter().chain(before.elsewhere.then_some(Place::Elsewhere))
    }
}

impl Behaviour {
    fn kind(&self) -> Option<ClientKind> {
        match self {
            Self::Other(_) => None,
            Self::Ignores(_) => Some(ClientKind::IgnoresHeader),
            Self::Reads { .. } => Some(ClientKind::ReadsHeader),
        }
    }

    fn next(&mut self) -> (Target, Place) {
        match self {
            Self::Other(target) | Self::Ignores(target) => (target.clone(), Place::Home),
            Self::Reads {
                home,
                elsewhere,
                steering,
            } => match steering.next() {
                Place::Home => (home.clone(), Place::Home),
                Place::Elsewhere => (elsewhere.clone(), Place::Elsewhere),
            },
        }
    }

    fn rate(&self) -> f64 {
        match self {
            Self::Other(_) | Self::Ignores(_) => 1.0,
            Self::Reads { steering, .. } => steering.rate(),
        }
    }

    /// Every response has the header, a 503 too.
    fn observe(&mut self, place: Place, outcome: &Outcome) {
        if let (Self::Reads { steering, .. }, Outcome::Answered { header, .. }) = (self, outcome) {
            steering.observe(place, header.as_deref().and_then(Load::parse));
        }
    }

    /// Once a second the client asks Envoy for the header of a service that it sends nothing to: it would never learn
    /// otherwise that there is room again.
    async fn step(&mut self, unheard: &mut Unheard, proxy: &Proxy) {
        let Self::Reads {
            home,
            elsewhere,
            steering,
        } = self
        else {
            return;
        };
        for place in unheard.next_second() {
            let (_, service) = match place {
                Place::Home => &*home,
                Place::Elsewhere => &*elsewhere,
            };
            let header = proxy.header_of(service).await;
            steering.observe(place, header.as_deref().and_then(Load::parse));
        }
        steering.step();
    }
}
