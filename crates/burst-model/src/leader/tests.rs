use super::*;
use crate::config::Artifact;
use crate::index::{SERVICES, Table};
use crate::kube::{Failure, ListPage, ObjectKind, Payload, PollOutcome, Verb, WatchBatch, page};
use crate::policies::PolicySets;
use crate::records::{Checkpoint, Confirmed, Record};
use crate::snapshot::{self, Section, Snapshot};
use crate::sync::scheduler::ScheduledRequest;
use std::time::Duration;

mod limits;
mod outage;
mod parts;
mod policies;
mod readable;
mod retained;
mod successor;

const T0: Time = Time::from_unix_millis(1_700_000_000_000);
const ROLLOUTS: &str =
    r#","workloads":[{"group":"argoproj.io","version":"v1alpha1","resource":"rollouts","kind":"Rollout"}]"#;

/// A configuration with `mode: list`. Watches are tested in `tests/watched/`.
fn config(more: &str) -> Rc<Config> {
    parse(&format!(r#"{{"cluster":"k","sync":{{"mode":"list"}}{more}}}"#))
}

fn parse(json: &str) -> Rc<Config> {
    Rc::new(Config::parse(json.as_bytes(), Artifact::Full).unwrap())
}

/// Returns the page of a cluster with one Deployment, its Service, and its HPA with `current` of 5 replicas.
fn cluster(source: &Source, current: u32) -> Result<ListPage, Failure> {
    let meta = r#""metadata":{"name":"web","namespace":"shop"}"#;
    let item = match source.resource.plural.as_str() {
        "horizontalpodautoscalers" => format!(
            r#"{{{meta},"spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}},
                "maxReplicas":5}},"status":{{"currentReplicas":{current}}}}}"#
        ),
        "services" => format!(r#"{{{meta},"spec":{{"selector":{{"app":"web"}}}}}}"#),
        "deployments" => format!(r#"{{{meta},"spec":{{"template":{{"metadata":{{"labels":{{"app":"web"}}}}}}}}}}"#),
        _ => String::new(),
    };
    let kind = &source.resource.kind;
    let body = format!(r#"{{"kind":"{kind}List","metadata":{{"resourceVersion":"9"}},"items":[{item}]}}"#);
    page::parse(source, body.as_bytes(), &mut ())
}

/// The effects of a tick and of the responses to its requests.
#[derive(Default)]
struct Round {
    requests: Vec<String>,
    published: Vec<Snapshot>,
    checkpoint: Option<Checkpoint>,
    failures: Option<Failures>,
    policies: Option<PolicySets>,
    confirmed: Vec<Confirmed>,
    messages: Vec<String>,
    outcomes: Vec<PollOutcome>,
    totals: Option<Totals>,
    readable: Vec<(String, Readable)>,
}

/// Runs one tick. `api` responds to every list at once.
fn round(leader: &mut Leader, now: Time, mut api: impl FnMut(&Source) -> Result<ListPage, Failure>) -> Round {
    round_of(leader, now, |source, _| api(source).map(Payload::Page))
}

/// Runs one tick. `api` responds to every request at once.
fn round_of(leader: &mut Leader, now: Time, mut api: impl FnMut(&Source, Verb) -> Result<Payload, Failure>) -> Round {
    let mut round = Round::default();
    let mut effects = leader.tick(now);
    while !effects.is_empty() {
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Request(request) => {
                    let response = api(leader.source(request.source).unwrap(), request.request.verb);
                    round.requests.push(request.request.path);
                    effects.extend(leader.answer(request.source, response, now, 0));
                }
                Effect::PublishSnapshot(snapshot) => round.published.push(Snapshot::open(snapshot).unwrap()),
                Effect::PublishPolicies(sets) => round.policies = Some(sets),
                Effect::WriteCheckpoint(bytes) => {
                    round.checkpoint = Some(Checkpoint::from_bytes(&bytes).expect("a record"));
                }
                Effect::RecordFailures(failures) => round.failures = Some(failures),
                Effect::SetGauges(totals) => round.totals = Some(totals),
                Effect::SetListGauge(source, readable) => round.readable.push((source.to_string(), readable)),
                Effect::Confirm(confirmed) => round.confirmed.push(confirmed),
                Effect::CountPoll(outcome) => round.outcomes.push(outcome),
                Effect::LogError(line) | Effect::LogWarning(line) | Effect::LogInfo(line) => round.messages.push(line),
                Effect::CloseStream(stream) => panic!("{stream:?}"),
                Effect::RequestHub(request) => panic!("{request:?}"),
            }
        }
    }
    round
}

fn later(seconds: u64) -> Time {
    T0.after(Duration::from_secs(seconds))
}

#[test]
fn the_first_round_publishes_the_replicas_of_the_cluster() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let round = round(&mut leader, T0, |source| cluster(source, 1));
    assert_eq!(round.requests.len(), 4);
    let [snapshot] = &round.published[..] else {
        panic!("{:?}", round.published)
    };
    assert_eq!(
        snapshot
            .section("services")
            .unwrap()
            .find("shop/web")
            .unwrap()
            .load
            .current,
        1
    );
    assert_eq!(
        round.confirmed,
        [Confirmed {
            generation: 1,
            lists: vec![Some(T0); 4]
        }]
    );
    assert_eq!(
        round.totals,
        Some(Totals {
            objects: 3,
            services: 1,
            ..Totals::default()
        })
    );
}

#[test]
fn an_unchanged_snapshot_is_confirmed_and_not_published_again() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    let quiet = round(&mut leader, later(15), |source| cluster(source, 1));
    assert!(quiet.published.is_empty());
    assert_eq!(
        quiet.confirmed,
        [Confirmed {
            generation: 1,
            lists: vec![Some(later(15)); 4]
        }]
    );
    let changed = round(&mut leader, later(30), |source| cluster(source, 2));
    assert_eq!(changed.published.first().map(Snapshot::generation), Some(2));
}

#[test]
fn nothing_is_published_before_every_list_was_read() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let late = |source: &Source| match source.resource.plural.as_str() {
        "services" => Err(Failure::Timeout),
        _ => cluster(source, 1),
    };
    let incomplete = round(&mut leader, T0, late);
    assert!(incomplete.published.is_empty() && incomplete.confirmed.is_empty());
    let complete = round(&mut leader, later(15), |source| cluster(source, 1));
    assert_eq!(complete.published.len(), 1);
}

#[test]
fn a_failure_and_a_recovery_cause_one_message_each() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let deny = |source: &Source| match source.kind {
        ObjectKind::Hpas => Err(Failure::Forbidden("no".into())),
        _ => cluster(source, 1),
    };
    let first = round(&mut leader, T0, deny);
    assert_eq!(
        first.messages,
        [
            "cannot list horizontalpodautoscalers.autoscaling: 403 Forbidden: no; give the proxy's ServiceAccount \
          a ClusterRole with the verb list on horizontalpodautoscalers.autoscaling"
        ]
    );
    assert!(round(&mut leader, later(15), deny).messages.is_empty());
    let recovered = round(&mut leader, later(60), |source| cluster(source, 1));
    assert_eq!(
        recovered.messages,
        ["listing horizontalpodautoscalers.autoscaling works again"]
    );
    assert_eq!(
        first
            .outcomes
            .iter()
            .filter(|outcome| **outcome == PollOutcome::Forbidden)
            .count(),
        1
    );
}

#[test]
fn without_the_verb_watch_the_leader_lists_and_logs_one_message_for_each_list() {
    let mut leader = Leader::new(
        parse(r#"{"cluster":"k","sync":{"mode":"watch"}}"#),
        Handover::default(),
        T0,
    );
    let (mut messages, mut loads, mut watches) = (Vec::new(), Vec::new(), 0);
    // Long enough for the leader to try a watch again.
    for second in 0..500 {
        let current = u32::try_from(second / 200).unwrap();
        let round = round_of(&mut leader, later(second), |source, verb| match verb {
            Verb::List => cluster(source, current).map(Payload::Page),
            Verb::Watch => Err(Failure::Forbidden("no".into())),
        });
        watches += round.requests.iter().filter(|path| path.contains("watch=1")).count();
        let load = |snapshot: &Snapshot| {
            snapshot
                .section("services")
                .unwrap()
                .find("shop/web")
                .unwrap()
                .load
                .current
        };
        loads.extend(round.published.iter().map(load));
        messages.extend(round.messages);
    }
    assert_eq!(loads, [0, 1, 2]);
    assert_eq!((watches, messages.len()), (8, 4), "{messages:?}");
    assert_eq!(
        messages[1],
        "cannot watch services: 403 Forbidden: no; give the proxy's ServiceAccount a ClusterRole with the verb watch on \
         services; listing it every 15s instead"
    );
}

#[test]
fn a_list_that_always_fails_at_its_second_page_causes_one_message_and_few_requests() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let mut first_page = false;
    let mut expires = |source: &Source| {
        if source.kind != ObjectKind::Hpas {
            return cluster(source, 1);
        }
        first_page = !first_page;
        match first_page {
            true => Ok(ListPage {
                continue_token: Some("next".into()),
                ..ListPage::default()
            }),
            false => Err(Failure::Expired("too old".into())),
        }
    };
    let first = round(&mut leader, T0, &mut expires);
    let of_hpas = |round: &Round| {
        round
            .requests
            .iter()
            .filter(|path| path.contains("horizontalpod"))
            .count()
    };
    assert_eq!(
        of_hpas(&first),
        4,
        "the leader retries once without a delay, and then pauses"
    );
    assert_eq!(first.messages.len(), 1, "{:?}", first.messages);
    let second = round(&mut leader, later(60), &mut expires);
    assert_eq!(
        (of_hpas(&second), second.messages.len()),
        (2, 0),
        "{:?}",
        second.messages
    );
}

#[test]
fn an_invalid_object_is_reported_once_and_counted_while_it_exists() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let corrupted = |source: &Source| {
        let body = r#"{"kind":"ServiceList","items":[{"metadata":{"name":"bad","namespace":"shop"},"spec":7}]}"#;
        match source.kind {
            ObjectKind::Services => page::parse(source, body.as_bytes(), &mut ()),
            _ => cluster(source, 1),
        }
    };
    let first = round(&mut leader, T0, corrupted);
    assert_eq!(first.messages.len(), 1);
    assert!(
        first.messages[0].starts_with("excluded Service shop/bad: "),
        "{:?}",
        first.messages
    );
    let second = round(&mut leader, later(15), corrupted);
    assert!(second.messages.is_empty());
    assert_eq!(second.totals.map(|totals| totals.bad_objects), Some(1));
}

#[test]
fn a_custom_kind_that_is_absent_counts_as_an_empty_list() {
    let mut leader = Leader::new(config(ROLLOUTS), Handover::default(), T0);
    let absent = |source: &Source| match source.kind {
        ObjectKind::Workloads => Err(Failure::NotFound("404 page not found".into())),
        _ => cluster(source, 1),
    };
    let round = round(&mut leader, T0, absent);
    assert_eq!(round.published.len(), 1);
    assert!(
        round.messages[0].starts_with("cannot list rollouts.argoproj.io: 404 Not Found"),
        "{:?}",
        round.messages
    );
    assert!(round.outcomes.contains(&PollOutcome::NotFound));
}
