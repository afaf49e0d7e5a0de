//! The simulation in virtual time: the ticks of the proxies, their requests and the answers.

use crate::costs::{self, Cost};
use crate::proxy::{Proxy, ProxyRequest, ProxyResponse, StreamEvent, time};
use crate::scenario::{Mode, Scenario};
use crate::server::{Micros, Outcome, QUEUE_LENGTH, Server};
use crate::tally::{Ages, Seconds};
use burst_model::config::Config;
use burst_model::confirmation::Confirmation;
use burst_model::hub_client;
use burst_model::kube::{Failure, ListPage, ObjectKind, Payload, Verb, WatchBatch};
use burst_model::sync::reflector::{ApiRequest, StreamId};
use burst_model::sync::scheduler::SourceId;
use burst_model::time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::Duration;

/// Network time of a request and its answer within a cluster.
const ROUND_TRIP: Micros = 1_000;

const MILLI: Micros = 1_000;

/// `Retry-After` of a hub.
const HUB_RETRY: Duration = Duration::from_secs(5);

/// The time within which all proxies notice that the API server has closed their connections.
const CUT_SPREAD: Micros = 100 * MILLI;

/// The time between two bookmarks of an open watch.
const BOOKMARK_INTERVAL: Micros = 60_000 * MILLI;

/// How long a proxy waits for the beginning of a stream (`MAX_INITIAL_SILENCE` of the model).
const STREAM_PATIENCE: Micros = 15_000 * MILLI;

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
    in_flight: BTreeMap<u64, InFlightRequest>,
    /// When something happens to each of them, unless the server restarts before.
    event_times: BinaryHeap<Reverse<(Micros, u64)>>,
    sent: u64,
    /// Open watches that bring HPAs, and all open watches.
    hpa_streams: u64,
    streams: u64,
    /// The load of the API server.
    pub api: Seconds,
    /// The load of the hubs.
    pub hub: Seconds,
    /// The ages of all snapshots, second by second.
    pub ages: Vec<Ages>,
}

/// A request in flight.
#[derive(Debug)]
struct InFlightRequest {
    proxy: usize,
    of_api: bool,
    /// The list of which it is a watch that stays open.
    open_watch: Option<SourceId>,
    next: NextEvent,
}

/// What happens next to a request.
#[derive(Debug)]
enum NextEvent {
    Answer(ProxyResponse),
    Stream(SourceId, StreamStep),
    /// Nothing, because the client stops waiting first.
    Never,
}

/// What happens next to a request that is read as a stream.
#[derive(Debug)]
enum StreamStep {
    Fail(Failure),
    /// The response begins. The body follows, after so much time.
    Accept(Micros, StreamBody),
    Body(StreamBody),
    /// A bookmark. The watch ends at that time.
    Bookmark(Micros),
}

#[derive(Debug)]
enum StreamBody {
    /// A page, or a short watch.
    Complete(String),
    /// A watch that stays open for so long, with its first lines.
    Watch(String, Micros),
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
            Mode::Poll | Mode::Windows | Mode::Streams => scenario.proxies,
        };
        let proxies = (0..scenario.proxies).map(|index| match index < hubs {
            true => Proxy::leader(config.clone(), time(0)),
            false => Proxy::spoke(spokes.clone(), time(0)),
        });
        Self {
            proxies: proxies.collect(),
            ticking,
            server: Server::new(scenario.cores, scenario.queue_length),
            hubs: (0..scenario.hubs).map(|_| Server::new(1, QUEUE_LENGTH)).collect(),
            compacted: 0,
            in_flight: BTreeMap::new(),
            event_times: BinaryHeap::new(),
            sent: 0,
            hpa_streams: 0,
            streams: 0,
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
            self.handle_events();
            if self.now == down {
                self.stop_api_server();
            }
            if self.now == up && !outage.keeps_history {
                self.compacted = version(up);
            }
            let slot = usize::try_from(self.now / MILLI % 1_000).unwrap_or_default();
            for proxy in std::mem::take(&mut self.ticking[slot]) {
                let requests = self.proxies[proxy].tick(time(self.now), self.chance.u32(..));
                self.send(proxy, requests);
                self.ticking[slot].push(proxy);
            }
            if self.now.is_multiple_of(SAMPLE_INTERVAL) {
                self.send_changes();
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
        (self.hpa_streams, self.streams) = (0, 0);
        let mut cut = Vec::new();
        for (number, request) in self.in_flight.iter_mut().filter(|(_, request)| request.of_api) {
            request.next = match std::mem::replace(&mut request.next, NextEvent::Never) {
                NextEvent::Answer(ProxyResponse::Api(source, _)) => {
                    NextEvent::Answer(ProxyResponse::Api(source, Err(Failure::Disconnected)))
                }
                NextEvent::Answer(ProxyResponse::Probe(source, _)) => {
                    NextEvent::Answer(ProxyResponse::Probe(source, Err(Failure::Disconnected)))
                }
                NextEvent::Stream(source, _) => NextEvent::Stream(source, StreamStep::Fail(Failure::Disconnected)),
                other => other,
            };
            request.open_watch = None;
            cut.push((self.now + MILLI + self.chance.u64(..CUT_SPREAD), *number));
        }
        // The other events of these requests no longer happen.
        self.event_times
            .retain(|Reverse((_, number))| self.in_flight.get(number).is_some_and(|request| !request.of_api));
        self.event_times.extend(cut.into_iter().map(Reverse));
    }

    /// Sends what changes in a second to every watch that stays open.
    fn send_changes(&mut self) {
        let changes = self.scenario.changed(Duration::from_secs(1));
        let cost = costs::WATCHED.times(changes * self.hpa_streams);
        let second = self.api.at(self.now);
        second.cost = second.cost.plus(cost);
        second.streams = self.streams;
        self.server.work(cost, self.now);
    }

    fn handle_events(&mut self) {
        while let Some(Reverse((at, number))) = self
            .event_times
            .peek()
            .copied()
            .filter(|Reverse((at, _))| *at <= self.now)
        {
            debug_assert!(at <= self.now);
            self.event_times.pop();
            // A stream that was given up is no longer in flight.
            let Some(request) = self.in_flight.get_mut(&number) else {
                continue;
            };
            let proxy = request.proxy;
            let later = match std::mem::replace(&mut request.next, NextEvent::Never) {
                NextEvent::Answer(answer) => {
                    self.deliver(proxy, answer);
                    None
                }
                NextEvent::Stream(source, step) => {
                    let later = self.follow_stream(number, proxy, source, step);
                    later.map(|(at, step)| (at, NextEvent::Stream(source, step)))
                }
                NextEvent::Never => None,
            };
            match (later, self.in_flight.get_mut(&number)) {
                (Some((at, next)), Some(request)) => {
                    request.next = next;
                    self.event_times.push(Reverse((at, number)));
                }
                _ => self.close(number),
            }
        }
    }

    /// Delivers the next event of a stream. Returns the one after it, and its time.
    fn follow_stream(
        &mut self,
        number: u64,
        proxy: usize,
        source: SourceId,
        step: StreamStep,
    ) -> Option<(Micros, StreamStep)> {
        let (now, stream) = (self.now, stream_id(number));
        let mut deliver = |event| self.deliver_stream(proxy, source, stream, event);
        match step {
            StreamStep::Fail(failure) => {
                deliver(StreamEvent::Ended(Err(failure)));
                None
            }
            StreamStep::Accept(later, body) => {
                deliver(StreamEvent::Accepted);
                Some((now + later, StreamStep::Body(body)))
            }
            StreamStep::Body(StreamBody::Complete(body)) => {
                deliver(StreamEvent::Chunk(body));
                deliver(StreamEvent::Ended(Ok(())));
                None
            }
            StreamStep::Body(StreamBody::Watch(lines, lasts)) => {
                if !lines.is_empty() {
                    deliver(StreamEvent::Chunk(lines));
                }
                if let Some(request) = self.in_flight.get_mut(&number) {
                    request.open_watch = Some(source);
                    self.streams += 1;
                    self.hpa_streams += u64::from(self.is_of_hpas(proxy, source));
                }
                let ends = now + lasts;
                Some((ends.min(now + BOOKMARK_INTERVAL), StreamStep::Bookmark(ends)))
            }
            StreamStep::Bookmark(ends) => {
                deliver(StreamEvent::Chunk(bookmark(now, false)));
                let second = self.api.at(now);
                second.cost = second.cost.plus(costs::BOOKMARK);
                if now >= ends {
                    self.close(number);
                    self.deliver_stream(proxy, source, stream, StreamEvent::Ended(Ok(())));
                    return None;
                }
                Some((ends.min(now + BOOKMARK_INTERVAL), StreamStep::Bookmark(ends)))
            }
        }
    }

    fn deliver_stream(&mut self, proxy: usize, source: SourceId, stream: StreamId, event: StreamEvent) {
        let chance = self.chance.u32(..);
        let requests = self.proxies[proxy].stream(source, stream, event, time(self.now), chance);
        self.send(proxy, requests);
    }

    fn deliver(&mut self, proxy: usize, answer: ProxyResponse) {
        let chance = self.chance.u32(..);
        let requests = self.proxies[proxy].answer(answer, time(self.now), chance);
        self.send(proxy, requests);
    }

    fn send(&mut self, proxy: usize, requests: Vec<ProxyRequest>) {
        for request in requests {
            let mut opened = None;
            let (at, of_api, next) = match request {
                ProxyRequest::Close(stream) => {
                    self.close(stream.number().into());
                    continue;
                }
                ProxyRequest::Api(source, request) if request.stream.is_some() => {
                    opened = Some(source);
                    let (at, step) = self.send_stream(proxy, source, &request);
                    (
                        at,
                        true,
                        step.map_or(NextEvent::Never, |step| NextEvent::Stream(source, step)),
                    )
                }
                ProxyRequest::Api(source, request) => {
                    let (at, answer) = self.send_to_api(proxy, source, &request);
                    let answer = match request.is_probe {
                        true => ProxyResponse::Probe(source, answer),
                        false => ProxyResponse::Api(source, answer),
                    };
                    (at, true, NextEvent::Answer(answer))
                }
                ProxyRequest::Hub => {
                    let (at, answer) = self.send_to_hub(proxy);
                    (at, false, NextEvent::Answer(ProxyResponse::Hub(answer)))
                }
            };
            self.sent += 1;
            let number = self.sent;
            self.in_flight.insert(
                number,
                InFlightRequest {
                    proxy,
                    of_api,
                    open_watch: None,
                    next,
                },
            );
            // An answer takes at least a millisecond.
            self.event_times.push(Reverse((at.max(self.now + MILLI), number)));
            if let Some(source) = opened {
                self.deliver_stream(proxy, source, stream_id(number), StreamEvent::Opened);
            }
        }
    }

    /// Forgets a request that has ended, or a stream that its proxy has given up.
    fn close(&mut self, number: u64) {
        if let Some(InFlightRequest {
            open_watch: Some(source),
            proxy,
            ..
        }) = self.in_flight.remove(&number)
        {
            self.streams = self.streams.saturating_sub(1);
            self.hpa_streams = self.hpa_streams.saturating_sub(self.is_of_hpas(proxy, source).into());
        }
    }

    fn is_of_hpas(&self, proxy: usize, source: SourceId) -> bool {
        let source = self.proxies[proxy].source(source);
        source.is_some_and(|source| source.kind == ObjectKind::Hpas)
    }

    /// Returns when a request is answered, and the answer.
    fn send_to_api(
        &mut self,
        proxy: usize,
        source: SourceId,
        request: &ApiRequest,
    ) -> (Micros, Result<Payload, Failure>) {
        let (cost, answer) = self.answer_of(proxy, source, request);
        let timeout = micros(self.config.api.timeout);
        match self.take(cost, timeout) {
            Ok(at) => {
                let open_for = if answer.is_ok() {
                    micros(request.watch_timeout)
                } else {
                    0
                };
                (at + open_for + ROUND_TRIP, answer)
            }
            Err((at, failure)) => (at, Err(failure)),
        }
    }

    /// Returns when something happens to a request that is read as a stream, and what.
    fn send_stream(&mut self, proxy: usize, source: SourceId, request: &ApiRequest) -> (Micros, Option<StreamStep>) {
        let stream = request.stream.as_ref().expect("the form of a stream");
        let objects = self.objects(proxy, source);
        let is_expired = self.is_expired(&stream.path);
        let (cost, body) = if request.verb == Verb::List && stream.watch_timeout.is_zero() {
            let (cost, page) = self.page(objects, &stream.path);
            (cost, StreamBody::Complete(page_body(&page, &self.kind(proxy, source))))
        } else {
            let lasts = micros(stream.watch_timeout);
            if stream.path.contains("sendInitialEvents") {
                let lines = bookmark(self.now, true);
                (self.scenario.initial_events(objects), StreamBody::Watch(lines, lasts))
            } else {
                (self.scenario.window(0), StreamBody::Watch(String::new(), lasts))
            }
        };
        match self.take(cost, STREAM_PATIENCE) {
            Ok(at) if is_expired => {
                let expired = Failure::Expired("too old resource version".into());
                (at + ROUND_TRIP, Some(StreamStep::Fail(expired)))
            }
            Ok(at) => {
                let work = u64::try_from(cost.cpu.as_micros()).unwrap_or_default();
                let begins = at.saturating_sub(work) + ROUND_TRIP;
                (begins, Some(StreamStep::Accept(work, body)))
            }
            Err((at, Failure::Timeout)) => (at, None),
            Err((at, failure)) => (at, Some(StreamStep::Fail(failure))),
        }
    }

    /// Has the API server do some work for a client that waits for so long. Returns when it is done, or when the client
    /// learns of the failure.
    fn take(&mut self, cost: Cost, patience: Micros) -> Result<Micros, (Micros, Failure)> {
        if self.is_down() {
            let refused = Failure::Unreachable("connection refused".into());
            return Err((self.now + ROUND_TRIP, refused));
        }
        let second = self.api.at(self.now);
        second.requests += 1;
        match self.server.take(cost, self.now, self.now + patience) {
            Outcome::Answered(at) => {
                second.cost = second.cost.plus(cost);
                Ok(at)
            }
            Outcome::Abandoned => Err((self.now + patience, Failure::Timeout)),
            Outcome::Throttled => {
                let retry_after = Some(Duration::from_secs(1));
                Err((self.now + ROUND_TRIP, Failure::Throttled { retry_after }))
            }
        }
    }

    fn kind(&self, proxy: usize, source: SourceId) -> String {
        let source = self.proxies[proxy].source(source);
        source.map(|source| source.resource.kind.clone()).unwrap_or_default()
    }

    /// The number of objects of a list.
    fn objects(&self, proxy: usize, source: SourceId) -> u64 {
        let source = self.proxies[proxy].source(source);
        let is_empty = source.is_none_or(|source| source.resource.plural == "statefulsets");
        if is_empty { 0 } else { self.scenario.services }
    }

    /// Returns whether the API server has no history any more for what a watch asks for.
    fn is_expired(&self, path: &str) -> bool {
        number_after(path, "resourceVersion=").is_some_and(|from| from < self.compacted)
    }

    fn answer_of(&self, proxy: usize, source: SourceId, request: &ApiRequest) -> (Cost, Result<Payload, Failure>) {
        match request.verb {
            Verb::List => {
                let (cost, page) = self.page(self.objects(proxy, source), &request.path);
                (cost, Ok(Payload::Page(page)))
            }
            Verb::Watch if self.is_expired(&request.path) => (
                self.scenario.window(0),
                Err(Failure::Expired("too old resource version".into())),
            ),
            Verb::Watch => {
                let changed = if self.is_of_hpas(proxy, source) {
                    self.scenario.changed(request.watch_timeout)
                } else {
                    0
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
    fn page(&self, objects: u64, path: &str) -> (Cost, ListPage) {
        let before = number_after(path, "continue=").unwrap_or_default();
        let limit = number_after(path, "limit=").unwrap_or(objects);
        let end = (before + limit).min(objects);
        let page = ListPage {
            continue_token: (end < objects).then(|| end.to_string()),
            resource_version: version(self.now).to_string(),
            ..ListPage::default()
        };
        (self.scenario.page(end - before), page)
    }

    fn send_to_hub(&mut self, proxy: usize) -> (Micros, Result<hub_client::HubPayload, Failure>) {
        let hub = proxy % self.hubs.len();
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
                (at + ROUND_TRIP, hub_answer(read, time(at), self.config.max_staleness))
            }
            Outcome::Abandoned | Outcome::Throttled => (self.now + timeout, Err(Failure::Timeout)),
        }
    }
}

/// The id of the stream of a request.
fn stream_id(number: u64) -> StreamId {
    StreamId::new(u32::try_from(number).expect("fewer requests")).expect("the full module has streams")
}

/// A bookmark of a watch, as a line of its body.
fn bookmark(now: Micros, ends_initial_events: bool) -> String {
    let annotations = match ends_initial_events {
        true => r#","annotations":{"k8s.io/initial-events-end":"true"}"#,
        false => "",
    };
    let version = version(now);
    format!(
        "{}\n",
        format_args!(r#"{{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"{version}"{annotations}}}}}}}"#)
    )
}

/// The body of a page without its items.
fn page_body(page: &ListPage, kind: &str) -> String {
    let mut metadata = format!(r#""resourceVersion":"{}""#, page.resource_version);
    if let Some(token) = &page.continue_token {
        let _ = write!(metadata, r#","continue":"{token}""#);
    }
    format!(r#"{{"kind":"{kind}List","metadata":{{{metadata}}},"items":[]}}"#)
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
