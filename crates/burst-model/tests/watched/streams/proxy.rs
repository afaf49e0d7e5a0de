//! A proxy whose upstream filter owns the requests of its leader.

use super::server::{Fate, Response, Sent};
use crate::api::Api;
use burst_model::config::{Artifact, Config};
use burst_model::kube::{ParseDecision, ParseGuard, Source};
use burst_model::leader::{Effect, Handover, Leader};
use burst_model::records::{Checkpoint, Confirmed, Failures, Record};
use burst_model::snapshot::Snapshot;
use burst_model::sync::reflector::StreamId;
use burst_model::sync::scheduler::{ScheduledRequest, SourceId};
use burst_model::time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

pub(super) const T0: Time = Time::from_unix_millis(1_700_000_000_000);

pub(super) fn at(second: u64) -> Time {
    T0.after(Duration::from_secs(second))
}

pub(super) fn config(mode: &str) -> Rc<Config> {
    let json = format!(r#"{{"cluster":"k","page_size":2,"sync":{{"mode":"{mode}"}}}}"#);
    Rc::new(Config::parse(json.as_bytes(), Artifact::Full).unwrap())
}

/// Keeps the last version of objects that contain a text.
struct Unparsed(Option<&'static str>);

impl ParseGuard for Unparsed {
    fn begin(&mut self, item: &str) -> ParseDecision {
        match self.0.is_some_and(|text| item.contains(text)) {
            true => ParseDecision::Retain,
            false => ParseDecision::Parse,
        }
    }
}

pub(super) struct Proxy {
    config: Rc<Config>,
    pub(super) leader: Leader,
    pub(super) snapshot: Vec<u8>,
    pub(super) checkpoint: Vec<u8>,
    failures: Option<Failures>,
    pub(super) confirmed: Option<Confirmed>,
    pub(super) responses: Vec<Response>,
    /// Streams that the leader gave up.
    pub(super) closed: Vec<StreamId>,
    windows: Vec<(Time, ScheduledRequest)>,
    /// Whether the upstream filter is there.
    pub(super) owns: bool,
    /// Whether the server sends lists as events.
    pub(super) has_watch_list: bool,
    /// What becomes of new requests.
    pub(super) fate: Fate,
    pub(super) requests: Vec<String>,
    pub(super) log: Vec<String>,
    /// When a snapshot was published, in milliseconds since the start.
    pub(super) published: Vec<u64>,
    /// The largest value that was served of each HPA.
    served: BTreeMap<String, u32>,
    pub(super) set_back: Duration,
    /// The text of objects that must not be parsed.
    pub(super) unparsed: Option<&'static str>,
    streams: u32,
    random: u32,
}

impl Proxy {
    pub(super) fn new(mode: &str) -> Self {
        let config = config(mode);
        Self {
            leader: Leader::new(config.clone(), Handover::default(), T0),
            config,
            snapshot: Vec::new(),
            checkpoint: Vec::new(),
            failures: None,
            confirmed: None,
            responses: Vec::new(),
            closed: Vec::new(),
            windows: Vec::new(),
            owns: true,
            has_watch_list: true,
            fate: Fate::Fine,
            requests: Vec::new(),
            log: Vec::new(),
            published: Vec::new(),
            served: BTreeMap::new(),
            set_back: Duration::ZERO,
            unparsed: None,
            streams: 0,
            random: 7,
        }
    }

    /// Another thread takes over. The streams of this one are closed.
    pub(super) fn hand_over(&mut self, now: Time) {
        let open: Vec<_> = self.leader.open_streams().collect();
        assert!(
            open.iter()
                .all(|open| self.responses.iter().any(|response| response.stream == *open))
        );
        let handover = Handover {
            snapshot: Snapshot::open(self.snapshot.clone()).ok(),
            confirmed: self.confirmed.clone(),
            checkpoint: Checkpoint::from_bytes(&self.checkpoint),
            failures: self.failures.clone(),
            policies: None,
        };
        self.leader = Leader::new(self.config.clone(), handover, now.before(self.set_back));
        self.responses.clear();
        self.windows.clear();
    }

    /// Another configuration takes over, which finds only the checkpoint.
    pub(super) fn reconfigure(&mut self, now: Time) {
        (self.snapshot, self.confirmed, self.failures) = (Vec::new(), None, None);
        self.served.clear();
        self.hand_over(now);
    }

    /// A tick, and everything that arrives in its second.
    pub(super) fn second(&mut self, api: &Api, now: Time) {
        let clock = now.before(self.set_back);
        let random = self.random();
        let effects = self.leader.read_streams(&mut Unparsed(self.unparsed), clock, random);
        self.apply(effects, now);
        let effects = self.leader.tick(clock);
        self.apply(effects, now);
        self.arrive(api, now);
    }

    /// Everything that arrives now.
    pub(super) fn arrive(&mut self, api: &Api, now: Time) {
        let clock = now.before(self.set_back);
        while let Some(index) = self.windows.iter().position(|(due, _)| *due <= now) {
            let (_, scheduled) = self.windows.remove(index);
            let fault = match self.fate {
                Fate::Status(status) => Some(crate::api::Fault::Status(status)),
                _ => None,
            };
            let answer = api.respond(&self.source(&scheduled), &scheduled, fault);
            let random = self.random();
            let effects = match scheduled.request.is_probe {
                true => self.leader.on_probe(scheduled.source, answer, clock, random),
                false => self.leader.answer(scheduled.source, answer, clock, random),
            };
            self.apply(effects, now);
        }
        let streams: Vec<_> = self.responses.iter().map(|response| response.stream).collect();
        for stream in streams {
            let Some(response) = self.responses.iter_mut().find(|response| response.stream == stream) else {
                continue;
            };
            let id = response.id;
            let Sent { bytes, end } = response.send(api, now);
            self.deliver(id, stream, &bytes, now);
            if let Some(end) = end {
                let random = self.random();
                let effects = self
                    .leader
                    .on_stream_end(id, stream, end, &mut Unparsed(self.unparsed), clock, random);
                self.responses.retain(|response| response.stream != stream);
                self.apply(effects, now);
            }
        }
        self.settle(now);
    }

    /// Does what waits for nothing.
    pub(super) fn settle(&mut self, now: Time) {
        let clock = now.before(self.set_back);
        while self.leader.is_busy() {
            let random = self.random();
            let mut effects = self.leader.read_streams(&mut Unparsed(self.unparsed), clock, random);
            effects.extend(self.leader.advance(clock));
            self.apply(effects, now);
        }
    }

    /// Delivers bytes in chunks of random lengths.
    pub(super) fn deliver(&mut self, id: SourceId, stream: StreamId, bytes: &[u8], now: Time) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let random = self.random();
            let (chunk, after) = rest.split_at(rest.len().min(1 + random as usize % 300));
            rest = after;
            let clock = now.before(self.set_back);
            let effects = self
                .leader
                .on_chunk(id, stream, chunk, &mut Unparsed(self.unparsed), clock, random);
            self.apply(effects, now);
        }
    }

    fn source(&self, scheduled: &ScheduledRequest) -> Source {
        self.leader.source(scheduled.source).unwrap().clone()
    }

    pub(super) fn apply(&mut self, effects: Vec<Effect>, now: Time) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Request(scheduled) => effects.extend(self.send(scheduled, now)),
                Effect::CloseStream(stream) => {
                    self.responses.retain(|response| response.stream != stream);
                    self.closed.push(stream);
                }
                Effect::PublishSnapshot(bytes) => self.publish(bytes, now),
                Effect::WriteCheckpoint(checkpoint) => self.checkpoint = checkpoint,
                Effect::RecordFailures(failures) => self.failures = Some(failures),
                Effect::Confirm(confirmed) => self.confirmed = Some(confirmed),
                Effect::LogError(line) | Effect::LogWarning(line) | Effect::LogInfo(line) => self.log.push(line),
                Effect::PublishPolicies(_)
                | Effect::RequestHub(_)
                | Effect::SetGauges(_)
                | Effect::CountPoll(_)
                | Effect::SetListGauge(..) => {}
            }
        }
    }

    fn send(&mut self, scheduled: ScheduledRequest, now: Time) -> Vec<Effect> {
        let stream = scheduled.request.stream.as_ref().filter(|_| self.owns);
        let Some(request) = stream else {
            self.requests.push(scheduled.request.path.clone());
            self.windows
                .push((now.after(scheduled.request.watch_timeout), scheduled));
            return Vec::new();
        };
        self.requests.push(request.path.clone());
        self.streams += 1;
        let (id, stream) = (scheduled.source, StreamId::new(self.streams).unwrap());
        let mut response = Response::new(stream, id, self.source(&scheduled), request, now);
        if matches!(self.fate, Fate::Status(_)) {
            response.fate = self.fate;
        } else if response.is_watch_list() && !self.has_watch_list {
            response.fate = Fate::Status(422);
        }
        let is_accepted = !matches!(response.fate, Fate::Status(_)) && self.fate != Fate::Silent;
        self.responses.push(response);
        let mut effects = self.leader.stream_opened(id, stream, now.before(self.set_back));
        if is_accepted {
            effects.extend(self.leader.stream_accepted(id, stream, now.before(self.set_back)));
        }
        effects
    }

    fn publish(&mut self, bytes: Vec<u8>, now: Time) {
        let snapshot = Snapshot::open(bytes.clone()).unwrap();
        if let Ok(before) = Snapshot::open(std::mem::replace(&mut self.snapshot, bytes)) {
            assert!(snapshot.generation() > before.generation(), "a generation goes up");
        }
        for name in 0..5 {
            let name = format!("shop/n{name}");
            if let Some(load) = snapshot.section("hpas").and_then(|hpas| Some(hpas.find(&name)?.load)) {
                let newest = self.served.entry(name).or_default();
                assert!(load.current >= *newest, "an older value overwrites a newer one");
                *newest = load.current;
            }
        }
        let passed = now.since(T0).as_millis();
        self.published.push(u64::try_from(passed).unwrap());
    }

    /// The replicas of an HPA that are served.
    pub(super) fn value(&self, name: u8) -> Option<u32> {
        let snapshot = Snapshot::open(self.snapshot.clone()).ok()?;
        Some(snapshot.section("hpas")?.find(&format!("shop/n{name}"))?.load.current)
    }

    pub(super) fn set_fate(&mut self, fate: Fate) {
        for response in &mut self.responses {
            response.fate = fate;
        }
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.leader.next_due()
    }

    pub(super) fn note_cost(&mut self, cost: Duration) {
        self.leader.note_cost(cost);
    }

    pub(super) fn advance(&mut self, now: Time) {
        let effects = self.leader.advance(now);
        self.apply(effects, now);
        self.settle(now);
    }

    pub(super) fn is_idle(&self, now: Time) -> bool {
        self.leader.is_idle(now)
    }

    /// The age of the oldest list.
    pub(super) fn age(&self, now: Time) -> Duration {
        let oldest = self.confirmed.as_ref().and_then(Confirmed::oldest).unwrap();
        let clock = now.before(self.set_back);
        assert!(oldest <= clock, "a list is not from the future");
        clock.since(oldest)
    }

    /// The content hash, which ignores the generation.
    pub(super) fn content(&self) -> u64 {
        Snapshot::open(self.snapshot.clone()).unwrap().content_hash()
    }

    fn random(&mut self) -> u32 {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.random >> 4
    }
}

/// The content of a fresh list.
pub(super) fn fresh(api: &Api) -> u64 {
    let mut proxy = Proxy::new("list");
    proxy.second(api, T0);
    proxy.content()
}
