//! A leader that watches a Kubernetes API whose objects change, which truncates responses and forgets old versions, while
//! leaders take over from each other. In the end, the snapshot equals that of a fresh list.

mod api;
mod streams;

use api::{Api, Fault, KINDS};
use burst_model::config::{Artifact, Config};
use burst_model::kube::Verb;
use burst_model::leader::{Effect, Handover, Leader};
use burst_model::records::{Checkpoint, Confirmed, Failures, Record};
use burst_model::snapshot::Snapshot;
use burst_model::sync::scheduler::ScheduledRequest;
use burst_model::time::Time;
use proptest::prelude::*;
use std::rc::Rc;
use std::time::Duration;

/// An event of one second.
#[derive(Clone, Debug)]
enum Event {
    Put {
        kind: usize,
        name: u8,
        value: u8,
    },
    Delete {
        kind: usize,
        name: u8,
    },
    /// The responses of this second fail.
    Fault(Fault),
    /// The API forgets all changes until now.
    Forget,
    /// Another thread takes over.
    HandOver,
    /// Another configuration takes over, with the same lists.
    Reconfigure,
    /// The clock is set back by that many seconds.
    SetBack(u16),
    Nothing,
}

fn config(mode: &str) -> Rc<Config> {
    let json = format!(r#"{{"cluster":"k","page_size":2,"sync":{{"mode":"{mode}"}}}}"#);
    Rc::new(Config::parse(json.as_bytes(), Artifact::Full).unwrap())
}

/// The proxy: its leader, its shared data and the requests in flight.
struct Proxy {
    config: Rc<Config>,
    leader: Leader,
    snapshot: Vec<u8>,
    checkpoint: Vec<u8>,
    failures: Option<Failures>,
    confirmed: Option<Confirmed>,
    in_flight: Vec<(Time, ScheduledRequest)>,
    /// By how much its clock was set back. The tests use the time that really passes.
    set_back: Duration,
    /// The number of list requests.
    lists: usize,
    /// The number of Services in each snapshot.
    services: Vec<usize>,
}

impl Proxy {
    fn new(config: Rc<Config>, now: Time) -> Self {
        Self {
            leader: Leader::new(config.clone(), Handover::default(), now),
            config,
            snapshot: Vec::new(),
            checkpoint: Vec::new(),
            failures: None,
            confirmed: None,
            in_flight: Vec::new(),
            set_back: Duration::ZERO,
            lists: 0,
            services: Vec::new(),
        }
    }

    fn hand_over(&mut self, now: Time) {
        let handover = Handover {
            snapshot: Snapshot::open(self.snapshot.clone()).ok(),
            confirmed: self.confirmed.clone(),
            checkpoint: Checkpoint::from_bytes(&self.checkpoint),
            failures: self.failures.clone(),
            policies: None,
        };
        self.leader = Leader::new(self.config.clone(), handover, now.before(self.set_back));
        self.in_flight.clear();
    }

    /// Starts another configuration with the same lists. It finds only their checkpoint.
    fn reconfigure(&mut self, now: Time) {
        (self.snapshot, self.confirmed, self.failures) = (Vec::new(), None, None);
        self.hand_over(now);
    }

    fn apply(&mut self, effects: Vec<Effect>, now: Time) {
        for effect in effects {
            match effect {
                Effect::Request(scheduled) => {
                    self.lists += usize::from(scheduled.request.verb == Verb::List);
                    self.in_flight
                        .push((now.after(scheduled.request.watch_timeout), scheduled));
                }
                Effect::PublishSnapshot(snapshot) => {
                    let generation = |bytes: &[u8]| Snapshot::open(bytes.to_vec()).map_or(0, |s| s.generation());
                    assert!(
                        generation(&snapshot) > generation(&self.snapshot),
                        "a generation goes up"
                    );
                    self.snapshot = snapshot;
                    let served = Snapshot::open(self.snapshot.clone()).unwrap();
                    self.services.push(served.section("services").unwrap().len());
                }
                Effect::WriteCheckpoint(checkpoint) => self.checkpoint = checkpoint,
                Effect::RecordFailures(failures) => self.failures = Some(failures),
                Effect::Confirm(confirmed) => self.confirmed = Some(confirmed),
                Effect::PublishPolicies(_)
                | Effect::RequestHub(_)
                | Effect::SetGauges(_)
                | Effect::CountPoll(_)
                | Effect::CloseStream(_)
                | Effect::LogError(_)
                | Effect::LogWarning(_)
                | Effect::SetListGauge(..)
                | Effect::LogInfo(_) => {}
            }
        }
    }

    fn second(&mut self, api: &Api, fault: Option<Fault>, now: Time) {
        let clock = now.before(self.set_back);
        let effects = self.leader.tick(clock);
        self.apply(effects, now);
        while let Some(index) = self.in_flight.iter().position(|(due, _)| *due <= now) {
            let (_, scheduled) = self.in_flight.remove(index);
            let source = self.leader.source(scheduled.source).unwrap().clone();
            // Different jitter keeps the lists from running in step.
            let chance = (u32::MAX / 4).wrapping_mul(u32::try_from(scheduled.source.0).unwrap());
            let answer = api.respond(&source, &scheduled, fault);
            let effects = self.leader.answer(scheduled.source, answer, clock, chance);
            self.apply(effects, now);
        }
    }

    /// The content hash, which ignores the generation.
    fn content(&self) -> u64 {
        Snapshot::open(self.snapshot.clone()).unwrap().content_hash()
    }
}

fn event() -> impl Strategy<Value = Event> {
    let fault = prop_oneof![
        Just(Fault::Cut),
        Just(Fault::Truncated),
        prop::sample::select(vec![401, 403, 405, 410, 429, 500, 503]).prop_map(Fault::Status),
    ];
    prop_oneof![
        6 => (0..KINDS.len(), 0u8..5, 0u8..8).prop_map(|(kind, name, value)| Event::Put { kind, name, value }),
        2 => (0..KINDS.len(), 0u8..5).prop_map(|(kind, name)| Event::Delete { kind, name }),
        2 => fault.prop_map(Event::Fault),
        1 => Just(Event::Forget),
        1 => Just(Event::HandOver),
        1 => Just(Event::Reconfigure),
        1 => (1..5_000u16).prop_map(Event::SetBack),
        4 => Just(Event::Nothing),
    ]
}

const T0: Time = Time::from_unix_millis(1_700_000_000_000);

fn at(second: usize) -> Time {
    T0.after(Duration::from_secs(second as u64))
}

proptest! {
    #[test]
    fn after_any_events_the_snapshot_equals_a_fresh_list(
        events in proptest::collection::vec(event(), 0..120),
    ) {
        let mut api = Api::default();
        let mut proxy = Proxy::new(config("watch"), T0);
        let end = events.len();
        for (second, event) in events.into_iter().enumerate() {
            let mut fault = None;
            match event {
                Event::Put { kind, name, value } => api.put(kind, name, value),
                Event::Delete { kind, name } => {
                    let name = format!("n{name}");
                    if api.objects(kind, api.log.len()).contains_key(name.as_str()) {
                        api.log.push((kind, name, None));
                    }
                }
                Event::Fault(some) => fault = Some(some),
                Event::Forget => api.forgotten = api.log.len(),
                Event::HandOver => proxy.hand_over(at(second)),
                Event::Reconfigure => proxy.reconfigure(at(second)),
                Event::SetBack(seconds) => proxy.set_back += Duration::from_secs(seconds.into()),
                Event::Nothing => {}
            }
            proxy.second(&api, fault, at(second));
        }
        // The longest backoff and then the longest watch.
        for second in end..end + 75 {
            proxy.second(&api, None, at(second));
        }
        let mut fresh = Proxy::new(config("list"), T0);
        fresh.second(&api, None, T0);
        prop_assert_eq!(proxy.content(), fresh.content());
        let oldest = proxy.confirmed.unwrap().oldest().unwrap();
        let clock = at(end + 75).before(proxy.set_back);
        prop_assert!(oldest <= clock && clock.since(oldest) <= Duration::from_secs(31), "a quiet cluster is confirmed continually");
    }
}

#[test]
fn a_handover_lists_nothing() {
    let mut api = Api::default();
    (0..5).for_each(|name| (0..KINDS.len()).for_each(|kind| api.put(kind, name, 1)));
    let mut proxy = Proxy::new(config("watch"), T0);
    (0..40).for_each(|second| proxy.second(&api, None, at(second)));
    let lists = std::mem::take(&mut proxy.lists);
    assert_eq!(
        lists,
        3 * 3 + 1,
        "three kinds of five objects in pages of two, and one of none"
    );
    api.put(0, 3, 7);
    proxy.hand_over(at(40));
    (40..80).for_each(|second| proxy.second(&api, None, at(second)));
    assert_eq!(proxy.lists, 0);
    let mut fresh = Proxy::new(config("list"), T0);
    fresh.second(&api, None, T0);
    assert_eq!(proxy.content(), fresh.content());
}

#[test]
fn another_configuration_lists_nothing_and_serves_the_checkpoint_at_once() {
    let mut api = Api::default();
    (0..5).for_each(|name| (0..KINDS.len()).for_each(|kind| api.put(kind, name, 1)));
    let mut proxy = Proxy::new(config("watch"), T0);
    (0..40).for_each(|second| proxy.second(&api, None, at(second)));
    proxy.lists = 0;
    api.put(0, 3, 7);
    proxy.reconfigure(at(40));
    proxy.services.clear();
    proxy.second(&api, None, at(40));
    assert_eq!(proxy.services, [5], "before the first window");
    let read = proxy.confirmed.as_ref().and_then(Confirmed::oldest).unwrap();
    assert!(read < at(40), "as old as it is");
    (41..45).for_each(|second| proxy.second(&api, None, at(second)));
    let mut fresh = Proxy::new(config("list"), T0);
    fresh.second(&api, None, T0);
    assert_eq!((proxy.lists, proxy.content()), (0, fresh.content()));
    assert!(proxy.confirmed.unwrap().oldest() > Some(at(40)));
}

#[test]
fn a_successor_does_not_serve_an_older_checkpoint_than_the_snapshot() {
    let mut api = Api::default();
    (0..KINDS.len()).for_each(|kind| api.put(kind, 1, 1));
    let mut proxy = Proxy::new(config("watch"), T0);
    (0..40).for_each(|second| proxy.second(&api, None, at(second)));
    let left = proxy.checkpoint.clone();
    api.put(1, 1, 2);
    (40..46).for_each(|second| proxy.second(&api, None, at(second)));
    assert!(left == proxy.checkpoint, "no new checkpoint yet");
    proxy.hand_over(at(46));
    // The first watch that ends is the one of HPAs.
    api.put(0, 2, 1);
    (46..60).for_each(|second| proxy.second(&api, None, at(second)));
    assert_eq!(proxy.services, [1, 0, 0], "of each snapshot");
}

#[test]
fn a_successor_keeps_the_snapshot_while_a_restarted_api_server_answers_403() {
    let mut api = Api::default();
    (0..KINDS.len()).for_each(|kind| api.put(kind, 1, 1));
    let mut proxy = Proxy::new(config("watch"), T0);
    (0..40).for_each(|second| proxy.second(&api, None, at(second)));
    proxy.hand_over(at(40));
    // A restarted API server answers 403 until it has read the roles.
    (40..43).for_each(|second| proxy.second(&api, Some(Fault::Status(403)), at(second)));
    api.put(0, 1, 2);
    (43..60).for_each(|second| proxy.second(&api, None, at(second)));
    assert_eq!(proxy.services, [1, 1], "of each snapshot");
}

#[test]
fn a_successor_lists_an_excluded_resource_again() {
    let mut api = Api::default();
    (0..KINDS.len()).for_each(|kind| api.put(kind, 1, 1));
    let mut proxy = Proxy::new(config("watch"), T0);
    (0..40).for_each(|second| proxy.second(&api, None, at(second)));
    // Longer than the allowed staleness.
    let refused = Some(Fault::Status(403));
    (40..105).for_each(|second| proxy.second(&api, refused, at(second)));
    proxy.hand_over(at(105));
    (105..106).for_each(|second| proxy.second(&api, refused, at(second)));
    (106..200).for_each(|second| proxy.second(&api, None, at(second)));
    let mut fresh = Proxy::new(config("list"), T0);
    fresh.second(&api, None, T0);
    assert_eq!(proxy.content(), fresh.content());
}

#[test]
fn no_list_becomes_stale_however_many_take_turns() {
    for (namespaces, max_windows) in [(3, 8), (20, 8), (40, 1), (100, 8)] {
        let names: Vec<_> = (0..namespaces).map(|n| format!(r#""ns-{n}""#)).collect();
        let names = names.join(",");
        let json = format!(r#"{{"cluster":"k","namespaces":[{names}],"sync":{{"max_windows":{max_windows}}}}}"#);
        let config = Rc::new(Config::parse(json.as_bytes(), Artifact::Full).unwrap());
        let (api, mut proxy) = (Api::default(), Proxy::new(config.clone(), T0));
        for second in 0..1_200 {
            proxy.second(&api, None, at(second));
            let oldest = proxy.confirmed.as_ref().and_then(Confirmed::oldest).unwrap();
            let age = at(second).since(oldest);
            assert!(
                age <= config.max_staleness,
                "{namespaces} namespaces: {age:?} after {second} s"
            );
        }
    }
}
