//! After an outage the snapshot is either stale or complete, for any order in which the lists recover. It is complete
//! soon.

use super::*;
use proptest::prelude::*;

/// How the API server fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    /// It refuses new connections and closes open ones.
    Refused,
    /// It does not respond, so callouts time out.
    Silent,
    /// An intermediary responds with 503.
    Unavailable,
}

/// An API server with two applications, a Deployment and a StatefulSet, that fails for a while.
#[derive(Clone, Copy, Debug)]
struct Api {
    outage: Outage,
    /// The first second of the outage, and the first second after it.
    down: u64,
    up: u64,
    /// Whether resource versions from before the outage are still valid after it.
    remembers: bool,
    /// How many seconds longer workloads can neither be listed nor watched.
    recovers: u64,
}

impl Api {
    fn is_down(&self, second: u64) -> bool {
        (self.down..self.up).contains(&second)
    }

    fn failure(&self) -> Failure {
        match self.outage {
            Outage::Refused => Failure::Unreachable("connection refused".into()),
            Outage::Silent => Failure::Timeout,
            Outage::Unavailable => Failure::Server {
                status: 503,
                message: String::new(),
                retry_after: None,
            },
        }
    }

    /// Returns the response to a request that was sent at `sent`, and the second in which it arrives.
    fn answer(&self, source: &Source, request: &ScheduledRequest, sent: u64) -> (u64, Result<Payload, Failure>) {
        let ends = sent + request.request.watch_timeout.as_secs();
        let is_workload = source.kind == ObjectKind::Workloads;
        let is_cut = sent < self.down && self.down < ends;
        match self.outage {
            Outage::Silent if self.is_down(sent) || is_cut => (ends + 5, Err(Failure::Timeout)),
            _ if self.is_down(sent) => (sent, Err(self.failure())),
            _ if is_cut => (self.down, Err(Failure::Disconnected)),
            _ if is_workload && (self.up..self.up + self.recovers).contains(&sent) => (sent, Err(conversion())),
            _ => (ends, self.good(source, request, sent)),
        }
    }

    fn good(&self, source: &Source, request: &ScheduledRequest, sent: u64) -> Result<Payload, Failure> {
        let path = &request.request.path;
        let from = path
            .split_once("resourceVersion=")
            .map(|(_, version)| version.parse::<u64>().unwrap());
        match request.request.verb {
            Verb::Watch if !self.remembers && self.up <= sent && from < Some(self.up) => {
                Err(Failure::Expired("too old resource version".into()))
            }
            Verb::Watch => Ok(Payload::WatchBatch(WatchBatch {
                resource_version: Some((sent + request.request.watch_timeout.as_secs()).to_string()),
                ..WatchBatch::default()
            })),
            Verb::List => applications(source, sent).map(Payload::Page),
        }
    }
}

/// The failure of a kind whose conversion webhook is missing.
fn conversion() -> Failure {
    Failure::Server {
        status: 500,
        message: "conversion webhook failed".into(),
        retry_after: None,
    }
}

fn applications(source: &Source, version: u64) -> Result<ListPage, Failure> {
    let item = |name: &str, kind: &str| {
        let meta = format!(r#""metadata":{{"name":"{name}","namespace":"shop"}}"#);
        match source.resource.plural.as_str() {
            "horizontalpodautoscalers" => format!(
                r#"{{{meta},"spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"{kind}","name":"{name}"}},
                    "maxReplicas":5}},"status":{{"currentReplicas":1}}}}"#
            ),
            "services" => format!(r#"{{{meta},"spec":{{"selector":{{"app":"{name}"}}}}}}"#),
            _ if source.resource.kind != kind => String::new(),
            _ => format!(r#"{{{meta},"spec":{{"template":{{"metadata":{{"labels":{{"app":"{name}"}}}}}}}}}}"#),
        }
    };
    let items = [item("db", "StatefulSet"), item("web", "Deployment")];
    let items: Vec<_> = items.into_iter().filter(|item| !item.is_empty()).collect();
    let (kind, items) = (&source.resource.kind, items.join(","));
    let body = format!(r#"{{"kind":"{kind}List","metadata":{{"resourceVersion":"{version}"}},"items":[{items}]}}"#);
    page::parse(source, body.as_bytes(), &mut ())
}

/// A proxy: its leader, and its shared data.
struct Proxy {
    config: Rc<Config>,
    leader: Leader,
    snapshot: Vec<u8>,
    handover: Handover,
    pending: Vec<(u64, SourceId, Result<Payload, Failure>)>,
    /// Requests of each second.
    requests: Vec<u64>,
    chance: u32,
}

impl Proxy {
    fn new(config: Rc<Config>, chance: u32) -> Self {
        Self {
            leader: Leader::new(config.clone(), Handover::default(), T0),
            config,
            snapshot: Vec::new(),
            handover: Handover::default(),
            pending: Vec::new(),
            requests: Vec::new(),
            chance,
        }
    }

    fn second(&mut self, api: &Api, second: u64) {
        self.requests.push(0);
        let effects = self.leader.tick(later(second));
        self.carry_out(effects, api, second);
        while let Some(index) = self.pending.iter().position(|(due, ..)| *due <= second) {
            let (_, id, answer) = self.pending.remove(index);
            self.chance = self.chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let effects = self.leader.answer(id, answer, later(second), self.chance);
            self.carry_out(effects, api, second);
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>, api: &Api, second: u64) {
        for effect in effects {
            match effect {
                Effect::Request(request) => {
                    let (due, answer) = api.answer(self.leader.source(request.source).unwrap(), &request, second);
                    self.pending.push((due, request.source, answer));
                    *self.requests.last_mut().unwrap() += 1;
                }
                Effect::PublishSnapshot(snapshot) => self.snapshot = snapshot,
                Effect::WriteCheckpoint(bytes) => self.handover.checkpoint = Checkpoint::from_bytes(&bytes),
                Effect::RecordFailures(failures) => self.handover.failures = Failures::from_bytes(&failures.to_bytes()),
                Effect::Confirm(confirmed) => self.handover.confirmed = Some(confirmed),
                _ => {}
            }
        }
    }

    fn hand_over(&mut self, second: u64) {
        let last = &self.handover;
        let handover = Handover {
            snapshot: Snapshot::open(self.snapshot.clone()).ok(),
            confirmed: last.confirmed.clone(),
            checkpoint: last.checkpoint.clone(),
            failures: last.failures.clone(),
            policies: None,
        };
        self.leader = Leader::new(self.config.clone(), handover, later(second));
        self.pending.clear();
    }

    /// The names of the Services that are served, or `None` if the snapshot is stale.
    fn served(&self, second: u64) -> Option<Vec<String>> {
        let oldest = self.handover.confirmed.as_ref().and_then(Confirmed::oldest)?;
        let is_fresh = later(second).since(oldest) <= self.config.max_staleness;
        let snapshot = Snapshot::open(self.snapshot.clone()).ok().filter(|_| is_fresh)?;
        let rows = snapshot.section(SERVICES).into_iter().flat_map(Section::rows);
        Some(rows.map(|row| row.name.to_owned()).collect())
    }
}

/// Runs a proxy and returns the served Services of each second.
fn story(mode: &str, api: Api, hand_overs: &[u64], chance: u32) -> Vec<Option<Vec<String>>> {
    let config = parse(&format!(r#"{{"cluster":"k","sync":{{"mode":"{mode}"}}}}"#));
    let mut proxy = Proxy::new(config, chance);
    let seconds = 0..api.up + api.recovers + 150;
    let second = |second| {
        if hand_overs.contains(&second) {
            proxy.hand_over(second);
        }
        proxy.second(&api, second);
        proxy.served(second)
    };
    seconds.map(second).collect()
}

/// Returns the number of seconds until the snapshot is fresh again and stays fresh.
fn recovered_after(story: &[Option<Vec<String>>], since: u64) -> usize {
    let since = usize::try_from(since).unwrap();
    let last_stale = story[since..].iter().rposition(Option::is_none);
    last_stale.map_or(0, |index| index + 1)
}

fn api() -> impl Strategy<Value = Api> {
    let outage = prop::sample::select(vec![Outage::Refused, Outage::Silent, Outage::Unavailable]);
    let recovers = prop_oneof![3 => Just(0), 1 => 1..40u64];
    (outage, 40..80u64, 1..240u64, any::<bool>(), recovers).prop_map(|(outage, down, lasts, remembers, recovers)| Api {
        outage,
        down,
        up: down + lasts,
        remembers,
        recovers,
    })
}

proptest! {
    #[test]
    fn after_an_outage_all_services_are_served_or_none(
        api in api(),
        mode in prop::sample::select(vec!["list", "watch"]),
        hand_overs in proptest::collection::vec(30..400u64, 0..3),
        chance: u32,
    ) {
        let story = story(mode, api, &hand_overs, chance);
        let whole = vec!["shop/db".to_owned(), "shop/web".to_owned()];
        for (second, served) in story.iter().enumerate() {
            prop_assert!(served.as_ref().is_none_or(|served| *served == whole), "{second} s: {served:?}");
        }
    }

    #[test]
    fn the_snapshot_is_fresh_soon_after_an_outage(
        api in api().prop_map(|api| Api { recovers: 0, ..api }),
        mode in prop::sample::select(vec!["list", "watch"]),
        hand_overs in proptest::collection::vec(30..400u64, 0..3),
        chance: u32,
    ) {
        let hand_overs: Vec<_> = hand_overs.into_iter().filter(|second| *second < api.up).collect();
        let story = story(mode, api, &hand_overs, chance);
        let after = recovered_after(&story, api.up);
        // The time until the leader notices the recovery, and until the responses arrive.
        prop_assert!(after <= 15, "{after} s");
    }
}

#[test]
fn a_list_that_still_fails_long_after_an_outage_is_excluded() {
    for mode in ["list", "watch"] {
        let api = Api {
            outage: Outage::Refused,
            down: 40,
            up: 160,
            remembers: true,
            recovers: 300,
        };
        let story = story(mode, api, &[], 7);
        let first = story[160..].iter().position(Option::is_some).unwrap();
        assert_eq!(
            story[160 + first],
            Some(Vec::new()),
            "{mode}: both workloads are excluded"
        );
        // A list is excluded after it has failed for a minute since the other lists recovered.
        assert!((58..110).contains(&first), "{mode}: after {first} s of it");
        assert_eq!(story.last().unwrap().as_ref().map(Vec::len), Some(2), "{mode}");
    }
}

#[test]
fn a_leader_that_takes_over_while_failing_requests_are_under_way_notices_the_end_of_the_outage() {
    let api = Api {
        outage: Outage::Silent,
        down: 53,
        up: 119,
        remembers: false,
        recovers: 0,
    };
    let story = story("watch", api, &[118], 700_543_957);
    let after = recovered_after(&story, api.up);
    assert!(after <= 15, "{after} s");
}
