//! The leader, with an API that responds with arbitrary bytes.

use burst_model::config::{Artifact, Config};
use burst_model::kube::{ApiResponse, Source, response};
use burst_model::leader::{Effect, Handover, Leader, Successor};
use burst_model::records::{Confirmed, Failures};
use burst_model::snapshot::Snapshot;
use burst_model::sync::scheduler::ScheduledRequest;
use burst_model::time::Time;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

pub(crate) const T0: Time = Time::from_unix_millis(1_700_000_000_000);

/// Watches, with pages of two objects.
const CONFIG: &[u8] = br#"{"cluster":"k","page_size":2,"sync":{"mode":"watch"}}"#;

/// More requests than a watch of every kind and one retry of each need.
const MAX_REQUESTS: usize = 32;

/// Separates two responses.
const END: u8 = 0;

/// Parses responses, each a byte that selects what happens before it, and the body.
pub(crate) fn leader(bytes: &[u8]) -> bool {
    let mut proxy = Proxy::new(Handover::default(), &[]);
    for step in bytes.split(|byte| *byte == END).take(200) {
        let Some((what, body)) = step.split_first() else {
            continue;
        };
        match what {
            b'>' => proxy.hand_over(),
            b'1'..=b'9' => proxy.pass(Duration::from_secs(u64::from(what - b'0'))),
            b'<' => proxy.now = Time::from_unix_millis(proxy.now.unix_millis().saturating_sub(3_600_000)),
            _ => {}
        }
        proxy.answer(status(*what), body);
    }
    proxy.published > 0
}

/// The status of a response. Most are a success, because the body of a failure is not parsed.
fn status(what: u8) -> Option<u16> {
    match what {
        b'a' => Some(401),
        b'b' => Some(403),
        b'c' => Some(404),
        b'd' => Some(410),
        b'e' => Some(429),
        b'f' => Some(500),
        b'g' => Some(503),
        b'h' => Some(504),
        b'x' => None,
        _ => Some(200),
    }
}

/// A leader takes over from any handover and checkpoint, and continues.
pub(crate) fn takes_over(handover: Handover, checkpoint: &[u8]) {
    let mut proxy = Proxy::new(handover, checkpoint);
    for _ in 0..8 {
        proxy.pass(Duration::from_secs(1));
        proxy.answer(
            Some(200),
            b"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n",
        );
    }
}

struct Proxy {
    config: Rc<Config>,
    leader: Leader,
    now: Time,
    under_way: VecDeque<ScheduledRequest>,
    snapshot: Option<Vec<u8>>,
    confirmed: Option<Confirmed>,
    checkpoint: Option<Vec<u8>>,
    troubles: Option<Failures>,
    published: usize,
}

/// The new leader, once it has read the checkpoint.
fn new_leader(config: &Rc<Config>, handover: Handover, checkpoint: &[u8], now: Time) -> Leader {
    let mut successor = Successor::new(config.clone(), handover, checkpoint.to_vec());
    loop {
        if let Some(leader) = successor.advance(now) {
            return leader;
        }
    }
}

impl Proxy {
    fn new(handover: Handover, checkpoint: &[u8]) -> Self {
        let config = Rc::new(Config::parse(CONFIG, Artifact::Full).expect("a configuration"));
        let mut proxy = Self {
            leader: new_leader(&config, handover, checkpoint, T0),
            config,
            now: T0,
            under_way: VecDeque::new(),
            snapshot: None,
            confirmed: None,
            checkpoint: None,
            troubles: None,
            published: 0,
        };
        proxy.pass(Duration::ZERO);
        proxy
    }

    /// Another thread takes over from the bytes in shared data.
    fn hand_over(&mut self) {
        let handover = Handover {
            snapshot: self
                .snapshot
                .clone()
                .map(|bytes| Snapshot::open(bytes).expect("a snapshot")),
            confirmed: self.confirmed.clone(),
            failures: self.troubles.clone(),
            ..Handover::default()
        };
        let checkpoint = self.checkpoint.as_deref().unwrap_or_default();
        self.leader = new_leader(&self.config, handover, checkpoint, self.now);
        self.under_way.clear();
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        let effects = self.leader.tick(self.now);
        self.carry_out(effects);
    }

    fn answer(&mut self, status: Option<u16>, body: &[u8]) {
        let Some(ask) = self.under_way.pop_front() else {
            return self.pass(Duration::from_secs(1));
        };
        let source: Source = self.leader.source(ask.source).expect("a list").clone();
        let response = ApiResponse {
            status,
            content_type: Some(b"application/json"),
            retry_after: None,
            body,
        };
        let answer = response::parse(&source, ask.request.verb, response, &mut ());
        let effects = self.leader.answer(ask.source, answer, self.now, 0);
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Request(ask) => {
                    let twice = self.under_way.iter().any(|other| other.source == ask.source);
                    assert!(!twice, "{:?} is asked for twice at once", ask.source);
                    self.under_way.push_back(ask);
                    assert!(self.under_way.len() <= MAX_REQUESTS, "a stampede");
                }
                Effect::PublishSnapshot(bytes) => {
                    let snapshot = Snapshot::open(bytes.clone()).expect("a snapshot");
                    let before = self
                        .snapshot
                        .take()
                        .map(|bytes| Snapshot::open(bytes).expect("a snapshot"));
                    let rises = before.is_none_or(|before| before.generation() < snapshot.generation());
                    assert!(rises, "a generation goes up");
                    self.snapshot = Some(bytes);
                    self.published += 1;
                }
                Effect::WriteCheckpoint(checkpoint) => self.checkpoint = Some(checkpoint),
                Effect::RecordFailures(troubles) => self.troubles = Some(troubles),
                Effect::Confirm(confirmed) => self.confirmed = Some(confirmed),
                Effect::LogError(line) | Effect::LogWarning(line) | Effect::LogInfo(line) => {
                    assert!(line.len() < 10_000 && !line.contains('\n'), "{line}");
                }
                _ => {}
            }
        }
    }
}
