//! A simulated proxy: the filter's model.

use crate::server::Micros;
use burst_model::config::Config;
use burst_model::hub_client::{self, HubClient, HubSource};
use burst_model::kube::{Failure, Payload, Source};
use burst_model::leader::{Effect, Handover, Leader};
use burst_model::sync::reflector::{ApiRequest, StreamId};
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
    /// The end of a stream that the proxy has given up.
    Close(StreamId),
}

/// What happens to a request that the proxy reads as a stream.
#[derive(Debug)]
pub enum StreamEvent {
    /// It was sent.
    Opened,
    /// The response begins.
    Accepted,
    /// A part of the body.
    Chunk(String),
    /// The response is complete, or broken.
    Ended(Result<(), Failure>),
}

/// An answer to a proxy.
#[derive(Debug)]
pub enum ProxyResponse {
    /// From the API server.
    Api(SourceId, Result<Payload, Failure>),
    /// From the API server, to a probe of a silent stream.
    Probe(SourceId, Result<Payload, Failure>),
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
        let hub = HubSource::hub(&config, PATH);
        let spoke = HubClient::new(config, hub, Handover::default(), now);
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
    pub fn tick(&mut self, now: Time, chance: u32) -> Vec<ProxyRequest> {
        let effects = match &mut self.reader {
            Reader::Leader(leader) => {
                let mut effects = leader.read_streams(&mut (), now, chance);
                effects.extend(leader.tick(now));
                effects
            }
            Reader::Spoke(spoke) => spoke.tick(now),
        };
        self.follow(effects, now, chance)
    }

    /// Handles an event of a stream, and returns the requests to send.
    pub fn stream(
        &mut self,
        id: SourceId,
        stream: StreamId,
        event: StreamEvent,
        now: Time,
        chance: u32,
    ) -> Vec<ProxyRequest> {
        let Reader::Leader(leader) = &mut self.reader else {
            return Vec::new();
        };
        let effects = match event {
            StreamEvent::Opened => leader.stream_opened(id, stream, now),
            StreamEvent::Accepted => {
                leader.stream_accepted(id, stream, now);
                Vec::new()
            }
            StreamEvent::Chunk(chunk) => leader.on_chunk(id, stream, chunk.as_bytes(), &mut (), now, chance),
            StreamEvent::Ended(end) => leader.on_stream_end(id, stream, end, &mut (), now, chance),
        };
        self.follow(effects, now, chance)
    }

    /// Handles an answer, and returns the requests to send.
    pub fn answer(&mut self, answered: ProxyResponse, now: Time, chance: u32) -> Vec<ProxyRequest> {
        let effects = match (&mut self.reader, answered) {
            (Reader::Leader(leader), ProxyResponse::Api(id, answer)) => leader.answer(id, answer, now, chance),
            (Reader::Spoke(spoke), ProxyResponse::Hub(answer)) => spoke.handle_response(answer, now, chance),
            (Reader::Leader(leader), ProxyResponse::Probe(id, answer)) => leader.on_probe(id, answer, now, chance),
            _ => Vec::new(),
        };
        self.follow(effects, now, chance)
    }

    fn follow(&mut self, mut effects: Vec<Effect>, now: Time, chance: u32) -> Vec<ProxyRequest> {
        // The steps of a leader take milliseconds, which the simulation ignores.
        if let Reader::Leader(leader) = &mut self.reader {
            while leader.is_busy() {
                effects.extend(leader.read_streams(&mut (), now, chance));
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
                Effect::CloseStream(stream) => requests.push(ProxyRequest::Close(stream)),
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
