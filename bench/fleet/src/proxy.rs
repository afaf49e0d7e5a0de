//! A simulated proxy: the filter's model.

use crate::server::Micros;
use burst_model::config::Config;
use burst_model::hub_client::{self, HubClient};
use burst_model::kube::{Failure, Payload, Source};
use burst_model::leader::{Effect, Handover, Leader};
use burst_model::sync::reflector::ApiRequest;
use burst_model::sync::scheduler::{ScheduledRequest, SourceId};
use burst_model::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// The period of the filter's root context.
pub const TICK: Duration = Duration::from_secs(1);

/// The path of a hub's Services.
const PATH: &str = "/burstmetrics/services";

/// A request of a proxy.
#[derive(Debug)]
pub enum ProxyRequest {
    /// To the API server, for a list.
    Api(SourceId, ApiRequest),
    /// To a hub.
    Hub,
}

/// An answer to a proxy.
#[derive(Debug)]
pub enum ProxyResponse {
    /// From the API server.
    Api(SourceId, Result<Payload, Failure>),
    /// From a hub.
    Hub(Result<hub_client::HubPayload, Failure>),
}

/// A proxy.
#[derive(Debug)]
pub struct Proxy {
    reader: Reader,
    /// When the oldest list of its snapshot was read.
    pub read: Option<Time>,
}

#[derive(Debug)]
enum Reader {
    Leader(Box<Leader>),
    Spoke(Box<HubClient>),
}

impl Proxy {
    /// Makes a proxy that reads the API server.
    #[must_use]
    pub fn leader(config: Rc<Config>, now: Time) -> Self {
        let leader = Leader::new(config, Handover::default(), now);
        Self {
            reader: Reader::Leader(Box::new(leader)),
            read: None,
        }
    }

    /// Makes a proxy that reads a hub.
    #[must_use]
    pub fn spoke(config: Rc<Config>, now: Time) -> Self {
        let spoke = HubClient::new(config, PATH, Handover::default(), now);
        Self {
            reader: Reader::Spoke(Box::new(spoke)),
            read: None,
        }
    }

    /// Returns the source of a list.
    #[must_use]
    pub fn source(&self, id: SourceId) -> Option<&Source> {
        match &self.reader {
            Reader::Leader(leader) => leader.source(id),
            Reader::Spoke(_) => None,
        }
    }

    /// Ticks, and returns the requests to send. Call it once a second.
    pub fn tick(&mut self, now: Time) -> Vec<ProxyRequest> {
        let effects = match &mut self.reader {
            Reader::Leader(leader) => leader.tick(now),
            Reader::Spoke(spoke) => spoke.tick(now),
        };
        self.follow(effects, now)
    }

    /// Handles an answer, and returns the requests to send.
    pub fn answer(&mut self, answered: ProxyResponse, now: Time, chance: u32) -> Vec<ProxyRequest> {
        let effects = match (&mut self.reader, answered) {
            (Reader::Leader(leader), ProxyResponse::Api(id, answer)) => leader.answer(id, answer, now, chance),
            (Reader::Spoke(spoke), ProxyResponse::Hub(answer)) => spoke.handle_response(answer, now, chance),
            _ => Vec::new(),
        };
        self.follow(effects, now)
    }

    fn follow(&mut self, mut effects: Vec<Effect>, now: Time) -> Vec<ProxyRequest> {
        // The steps of a leader take milliseconds, which the simulation ignores.
        if let Reader::Leader(leader) = &mut self.reader {
            while leader.is_busy() {
                effects.extend(leader.advance(now));
            }
        }
        let mut requests = Vec::new();
        for effect in effects {
            match effect {
                Effect::Request(ScheduledRequest { source, request }) => {
                    requests.push(ProxyRequest::Api(source, request));
                }
                Effect::RequestHub(_) => requests.push(ProxyRequest::Hub),
                Effect::Confirm(confirmed) => self.read = confirmed.oldest(),
                _ => {}
            }
        }
        requests
    }
}

/// Converts a time of the simulation for the model.
#[must_use]
pub fn time(at: Micros) -> Time {
    // Far from the epoch, so that no time is before it.
    Time::from_unix_millis(1_700_000_000_000 + at / 1_000)
}
