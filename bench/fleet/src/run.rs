//! The simulation in virtual time: the ticks of the proxies, their requests and the answers.

use crate::costs::{self, Cost};
use crate::proxy::{Proxy, ProxyRequest, ProxyResponse, time};
use crate::scenario::{Mode, Scenario};
use crate::server::{Micros, Outcome, Server};
use crate::tally::{Ages, Seconds};
use burst_model::config::Config;
use burst_model::confirmation::Confirmation;
use burst_model::hub_client;
use burst_model::kube::{Failure, ListPage, ObjectKind, Payload, Verb, WatchBatch};
use burst_model::sync::reflector::ApiRequest;
use burst_model::sync::scheduler::SourceId;
use burst_model::time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use std::time::Duration;

/// Network time of a request and its answer within a cluster.
const ROUND_TRIP: Micros = 1_000;

const MILLI: Micros = 1_000;

/// `Retry-After` of a hub.
const HUB_RETRY: Duration = Duration::from_secs(5);

/// Time between two samples of the ages of all snapshots.
const SAMPLE_INTERVAL: Micros = 1_000 * MILLI;

/// A simulation, running or finished.
#[derive(Debug)]
pub struct Run {
    scenario: Scenario,
    config: Rc<Config>,
    chance: fastrand::Rng,
    now: Micros,
    proxies: Vec<Proxy>,
    /// The proxies that tick in each millisecond of a second.
    ticking: Vec<Vec<usize>>,
    server: Server,
    hubs: Vec<Server>,
    /// The newest resource version that the API server has no history for.
    compacted: u64,
    /// Requests in flight, by their numbers.
    in_flight: BTreeMap<u64, (usize, InFlightRequest)>,
    /// When each of them is answered, unless the server restarts before.
    answer_times: BinaryHeap<Reverse<(Micros, u64)>>,
    sent: u64,
    /// The load of the API server.
    pub api: Seconds,
    /// The load of the hubs.
    pub hub: Seconds,
    /// The ages of all snapshots, second by second.
    pub ages: Vec<Ages>,
}

/// A request in flight, with its answer.
#[derive(Debug)]
struct InFlightRequest {
    of_api: bool,
    answer: ProxyResponse,
}

impl Run {
    /// Starts all proxies within the same second, as a configuration that is pushed to all of them does.
    #[must_use]
    pub fn new(scenario: Scenario) -> Self {
        let mut chance = fastrand::Rng::with_seed(scenario.seed);
        let (config, spokes) = (scenario.config(), scenario.spokes());
        let mut ticking = vec![Vec::new(); 1_000];
        for proxy in 0..scenario.proxies {
            ticking[chance.usize(..1_000)].push(proxy);
        }
        let hubs = match scenario.mode {
            Mode::Spokes => scenario.hubs,
            Mode::Poll | Mode::Watch => scenario.proxies,
        };
        let proxies = (0..scenario.proxies).map(|index| match index < hubs {
            true => Proxy::leader(config.clone(), time(0)),
            false => Proxy::spoke(spokes.clone(), time(0)),
        });
        Self {
            proxies: proxies.collect(),
            ticking,
            server: Server::new(scenario.cores),
            hubs: (0..scenario.hubs).map(|_| Server::new(1)).collect(),
            compacted: 0,
            in_flight: BTreeMap::new(),
            answer_times: BinaryHeap::new(),
            sent: 0,
            api: Seconds::default(),
            hub: Seconds::default(),
            ages: Vec::new(),
            now: 0,
            config,
            chance,
            scenario,
        }
    }

    /// Runs the simulation to its end.
    #[must_use]
    pub fn to_end(mut self) -> Self {
        let end = micros(self.scenario.duration);
        let outage = self.scenario.outage;
        let (down, up) = (micros(outage.start), micros(outage.start + outage.duration));
        while self.now < end {
            self.answer_until(self.now);
            if self.now == down {
                self.stop_api_server();
            }
            if self.now == up && !outage.keeps_history {
                self.compacted = version(up);
            }
            let slot = usize::try_from(self.now / MILLI % 1_000).unwrap_or_default();
            for proxy in std::mem::take(&mut self.ticking[slot]) {
                let requests = self.proxies[proxy].tick(time(self.now));
                self.send(proxy, requests);
                self.ticking[slot].push(proxy);
            }
            if self.now.is_multiple_of(SAMPLE_INTERVAL) {
                let now = time(self.now);
                let ages = self.proxies.iter().map(|proxy| proxy.read.map(|read| now.since(read)));
                self.ages.push(Ages::of(ages));
            }
            self.now += MILLI;
        }
        self
    }

    fn is_down(&self) -> bool {
        let outage = self.scenario.outage;
        (micros(outage.start)..micros(outage.start + outage.duration)).contains(&self.now)
    }

    /// Stops the API server, which closes every connection to it.
    fn stop_api_server(&mut self) {
        self.server.restart(self.now);
        let cut: Vec<_> = self
            .in_flight
            .iter()
            .filter(|(_, (_, request))| request.of_api)
            .map(|(number, _)| *number)
            .collect();
        for number in cut {
            if let Some((proxy, request)) = self.in_flight.remove(&number)
                && let ProxyResponse::Api(source, _) = request.answer
            {
                self.deliver(proxy, ProxyResponse::Api(source, Err(Failure::Disconnected)));
            }
        }
    }

    fn answer_until(&mut self, now: Micros) {
        while let Some(Reverse((at, number))) = self.answer_times.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            debug_assert!(at <= now);
            self.answer_times.pop();
            if let Some((proxy, request)) = self.in_flight.remove(&number) {
                self.deliver(proxy, request.answer);
            }
        }
    }

    fn deliver(&mut self, proxy: usize, answer: ProxyResponse) {
        let chance = self.chance.u32(..);
        let requests = self.proxies[proxy].answer(answer, time(self.now), chance);
        self.send(proxy, requests);
    }

    fn send(&mut self, proxy: usize, requests: Vec<ProxyRequest>) {
        for request in requests {
            let (end, in_flight) = match request {
                ProxyRequest::Api(source, request) => self.send_to_api(proxy, source, &request),
                ProxyRequest::Hub => self.send_to_hub(proxy),
            };
            self.sent += 1;
            self.in_flight.insert(self.sent, (proxy, in_flight));
            // An answer takes at least a millisecond.
            self.answer_times.push(Reverse((end.max(self.now + MILLI), self.sent)));
        }
    }

    /// Returns when a request is answered, and the answer.
    fn send_to_api(&mut self, proxy: usize, source: SourceId, request: &ApiRequest) -> (Micros, InFlightRequest) {
        let in_flight = |answer| InFlightRequest {
            of_api: true,
            answer: ProxyResponse::Api(source, answer),
        };
        if self.is_down() {
            let refused = Failure::Unreachable("connection refused".into());
            return (self.now + ROUND_TRIP, in_flight(Err(refused)));
        }
        let (cost, answer) = self.answer_of(proxy, source, request);
        let timeout = micros(self.config.api.timeout);
        let second = self.api.at(self.now);
        second.requests += 1;
        match self.server.take(cost, self.now, self.now + timeout) {
            Outcome::Answered(at) => {
                second.cost = second.cost.plus(cost);
                let open_for = if answer.is_ok() {
                    micros(request.watch_timeout)
                } else {
                    0
                };
                (at + open_for + ROUND_TRIP, in_flight(answer))
            }
            Outcome::Abandoned => (self.now + timeout, in_flight(Err(Failure::Timeout))),
            Outcome::Throttled => {
                let retry_after = Some(Duration::from_secs(1));
                (
                    self.now + ROUND_TRIP,
                    in_flight(Err(Failure::Throttled { retry_after })),
                )
            }
        }
    }

    fn answer_of(&self, proxy: usize, source: SourceId, request: &ApiRequest) -> (Cost, Result<Payload, Failure>) {
        let reads = self.proxies[proxy]
            .source(source)
            .map(|source| (source.kind, source.resource.plural.as_str()));
        let objects = match reads {
            None | Some((_, "statefulsets")) => 0,
            Some(_) => self.scenario.services,
        };
        match request.verb {
            Verb::List => self.page(objects, &request.path),
            Verb::Watch
                if number_after(&request.path, "resourceVersion=").is_some_and(|from| from < self.compacted) =>
            {
                (
                    self.scenario.window(0),
                    Err(Failure::Expired("too old resource version".into())),
                )
            }
            Verb::Watch => {
                let changed = match reads {
                    Some((ObjectKind::Hpas, _)) => self.scenario.changed(request.watch_timeout),
                    _ => 0,
                };
                let window = WatchBatch {
                    resource_version: Some(version(self.now + micros(request.watch_timeout)).to_string()),
                    ..WatchBatch::default()
                };
                (self.scenario.window(changed), Ok(Payload::WatchBatch(window)))
            }
        }
    }

    /// The continue token of a page is the number of objects before it.
    fn page(&self, objects: u64, path: &str) -> (Cost, Result<Payload, Failure>) {
        let before = number_after(path, "continue=").unwrap_or_default();
        let limit = number_after(path, "limit=").unwrap_or(objects);
        let end = (before + limit).min(objects);
        let page = ListPage {
            continue_token: (end < objects).then(|| end.to_string()),
            resource_version: version(self.now).to_string(),
            ..ListPage::default()
        };
        (self.scenario.page(end - before), Ok(Payload::Page(page)))
    }

    fn send_to_hub(&mut self, proxy: usize) -> (Micros, InFlightRequest) {
        let hub = proxy % self.hubs.len();
        let in_flight = |answer| InFlightRequest {
            of_api: false,
            answer: ProxyResponse::Hub(answer),
        };
        let read = self.proxies[hub].read;
        // If anything changes at all, it changes within an interval, so the answer is a full one.
        let cost = match self.scenario.changed(self.config.poll_interval) {
            0 => costs::UNCHANGED,
            _ => costs::BULK.plus(costs::BULK_SERVICE.times(self.scenario.services)),
        };
        let timeout = micros(self.config.api.timeout);
        let second = self.hub.at(self.now);
        second.requests += 1;
        match self.hubs[hub].take(cost, self.now, self.now + timeout) {
            Outcome::Answered(at) => {
                second.cost = second.cost.plus(cost);
                (
                    at + ROUND_TRIP,
                    in_flight(hub_answer(read, time(at), self.config.max_staleness)),
                )
            }
            Outcome::Abandoned | Outcome::Throttled => (self.now + timeout, in_flight(Err(Failure::Timeout))),
        }
    }
}

/// Returns the answer of a hub. It is a 503 with `Retry-After` if the hub has no snapshot, or one that is too old.
fn hub_answer(read: Option<Time>, now: Time, max_staleness: Duration) -> Result<hub_client::HubPayload, Failure> {
    match read.filter(|read| now.since(*read) <= max_staleness) {
        Some(read) => Ok(hub_client::HubPayload::Services {
            services: hub_client::HubServices::default(),
            tag: None,
            confirmation: Confirmation::new(read, now),
        }),
        None => Err(Failure::Server {
            status: 503,
            message: String::new(),
            retry_after: Some(HUB_RETRY),
        }),
    }
}

/// Returns the resource version at a time: a new one each millisecond.
fn version(at: Micros) -> u64 {
    1 + at / MILLI
}

fn number_after(path: &str, key: &str) -> Option<u64> {
    let (_, rest) = path.split_once(key)?;
    rest.split('&').next()?.parse().ok()
}

fn micros(span: Duration) -> Micros {
    u64::try_from(span.as_micros()).unwrap_or(Micros::MAX)
}
