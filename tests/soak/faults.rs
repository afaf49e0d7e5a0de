//! Random faults from a seed, one after the other, with a pause after each.

use std::time::Duration;

use burst_lab::api::{Fault, StreamFault};
use burst_lab::cluster::{DEPLOYMENTS, HPAS, SERVICES, STATEFULSETS};
use fastrand::Rng;
use serde_json::json;

use crate::LIMIT;
use crate::promises::SLACK;
use burst_testkit::filter::Backend;

/// A kind of fault.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    what: What,
}

enum What {
    /// In the answers to requests for one resource, or for all. Its streams end, so that there are requests.
    Answers(fn() -> Fault),
    /// In the open streams of one resource, or of all.
    Streams(StreamFault),
    /// The API server does not send lists as events, and its streams end with 410, so that lists follow.
    WithoutWatchList,
    /// The API server refuses connections.
    Away,
    /// The API server compacts its history.
    Forget,
    /// The listener gets another configuration.
    Swap,
}

/// All kinds of faults. Each occurs once at the start, so that memory reaches its peak.
pub(crate) const KINDS: [Kind; 29] = [
    answers("401 Unauthorized", || Fault::Unauthorized),
    answers("403 Forbidden", || Fault::Forbidden),
    answers("404 Not Found", || Fault::NotFound),
    answers("410 Gone", || Fault::Gone),
    answers("429 Too Many Requests", || Fault::TooManyRequests { retry_after: 1 }),
    answers("500 Internal Error", || Fault::InternalError),
    answers("503 Unavailable", || Fault::Unavailable),
    answers("no answer", || Fault::Hang),
    answers("half an answer", || Fault::Stall),
    answers("an answer drop by drop", || Fault::Trickle { seconds: 30 }),
    answers("a reset", || Fault::Reset),
    answers("a reset midway", || Fault::ResetMidway),
    answers("cut JSON", || Fault::Truncate),
    answers("no JSON", || Fault::NotJson),
    answers("no UTF-8", || Fault::NotText),
    answers("another kind", || Fault::OtherKind),
    answers("a malformed object", || Fault::MalformedObject { object: None }),
    answers("large objects", || Fault::Padding { bytes: 200_000 }),
    streams("a stream cut in an event", StreamFault::Cut { bytes: 100 }),
    streams("a stream that ends", StreamFault::End { after: 1 }),
    streams("a silent stream", StreamFault::Silent { after: 1 }),
    streams("a silent connection", StreamFault::SilentConnection { after: 1 }),
    streams("a stream byte by byte", StreamFault::Drip { milliseconds: 5 }),
    streams("410 in a stream", StreamFault::Expired { after: 1 }),
    streams("a long name in a stream", StreamFault::LongName { characters: 100_000 }),
    Kind {
        name: "no lists as events",
        what: What::WithoutWatchList,
    },
    Kind {
        name: "the API is away",
        what: What::Away,
    },
    Kind {
        name: "versions forgotten",
        what: What::Forget,
    },
    Kind {
        name: "another configuration",
        what: What::Swap,
    },
];

/// The length of an outage after which the header is stale.
const OUTAGE: Duration = Duration::from_secs(LIMIT.as_secs() + SLACK.as_secs() + 3);

const fn answers(name: &'static str, fault: fn() -> Fault) -> Kind {
    let what = What::Answers(fault);
    Kind { name, what }
}

const fn streams(name: &'static str, fault: StreamFault) -> Kind {
    let what = What::Streams(fault);
    Kind { name, what }
}

const RESOURCES: [&str; 5] = [HPAS, SERVICES, DEPLOYMENTS, STATEFULSETS, "*"];

/// The faults of a run.
pub(crate) struct Faults {
    chance: Rng,
    /// How long the run lasts after each kind has occurred once.
    length: Duration,
    counts: [u64; KINDS.len()],
    /// The current fault and its end.
    now: Option<(&'static str, Duration)>,
    rest: Duration,
    variant: u64,
    away: bool,
}

impl Faults {
    pub(crate) fn new(seed: u64, length: Duration) -> Self {
        Self {
            chance: Rng::with_seed(seed),
            length,
            counts: [0; KINDS.len()],
            now: None,
            rest: Duration::ZERO,
            variant: 0,
            away: false,
        }
    }

    /// The name of the current fault.
    pub(crate) fn what(&self) -> &'static str {
        self.now.map_or("nothing", |(what, _)| what)
    }

    /// How often each kind has occurred.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    pub(crate) fn swaps(&self) -> u64 {
        self.variant
    }

    /// Starts or ends a fault when it is due. `swap` gives the listener the configuration with that number.
    pub(crate) fn step(&mut self, at: Duration, backend: &mut Backend, swap: impl Fn(u64)) {
        self.change_cluster(backend);
        match self.now {
            Some((_, until)) if at < until => {}
            Some(_) => {
                self.end(backend);
                let longest = if self.each_has_occurred() { 1_500 } else { 400 };
                self.rest = at + Duration::from_millis(self.chance.u64(200..longest));
            }
            None if at >= self.rest => self.begin(at, backend, swap),
            None => {}
        }
    }

    /// Ends the current fault.
    pub(crate) fn end(&mut self, backend: &mut Backend) {
        backend.api.faults.clear();
        backend.api.watches.set_watch_list(true);
        if std::mem::take(&mut self.away) {
            backend.accept_connections();
        }
        self.now = None;
    }

    /// Makes the changes of an ordinary cluster.
    fn change_cluster(&mut self, backend: &Backend) {
        backend.scale_ngsa_1(self.chance.u32(1..=5));
        let labels = json!({"metadata": {"labels": {"soak": self.chance.u32(..).to_string()}}});
        let [resource, object] = match self.chance.u8(..3) {
            0 => [DEPLOYMENTS, "default/ngsa-1"],
            1 => [SERVICES, "ngsa/ngsa-svc-2"],
            _ => [HPAS, "ngsa/ngsa-hpa-2"],
        };
        backend
            .cluster
            .patch(resource, object, &labels)
            .expect("an object of the sample");
    }

    fn begin(&mut self, at: Duration, backend: &mut Backend, swap: impl Fn(u64)) {
        let (turn, random_duration) = match self.counts.iter().position(|count| *count == 0) {
            Some(turn) => (turn, Duration::from_millis(300)),
            None if self.is_outage_next() => (away(), OUTAGE),
            None => (self.chance.usize(..KINDS.len()), self.random_duration()),
        };
        let kind = &KINDS[turn];
        self.counts[turn] += 1;
        let resource = RESOURCES[self.chance.usize(..RESOURCES.len())];
        match kind.what {
            What::Answers(fault) => {
                backend.api.faults.inject(resource, fault());
                backend.api.watches.inject(resource, StreamFault::End { after: 0 });
            }
            What::Streams(fault) => {
                backend.api.watches.inject(resource, fault);
            }
            What::WithoutWatchList => {
                backend.api.watches.set_watch_list(false);
                backend.api.watches.inject(resource, StreamFault::Expired { after: 0 });
            }
            What::Away => {
                self.away = true;
                backend.refuse_connections();
            }
            What::Forget => backend.cluster.compact(),
            What::Swap => {
                self.variant += 1;
                swap(self.variant);
            }
        }
        self.now = Some((kind.name, at + random_duration));
    }

    /// Whether the next fault is an outage after which the header is stale: the first one after each kind has occurred once.
    /// A short run has no time for it.
    fn is_outage_next(&self) -> bool {
        self.length > OUTAGE * 2 && self.counts.iter().all(|count| *count == 1)
    }

    /// Whether each kind has occurred at least once, so that memory has reached its peak.
    pub(crate) fn each_has_occurred(&self) -> bool {
        !self.counts.contains(&0)
    }

    /// The duration of a fault: mostly short, and sometimes longer than a snapshot stays fresh.
    fn random_duration(&mut self) -> Duration {
        let longest = if self.chance.u8(..8) == 0 { 15_000 } else { 4_000 };
        Duration::from_millis(self.chance.u64(500..longest))
    }
}

/// The position of the outage among the kinds.
fn away() -> usize {
    KINDS
        .iter()
        .position(|kind| matches!(kind.what, What::Away))
        .unwrap_or_default()
}
