use super::*;
use crate::config::Artifact;
use crate::index::{SERVICES, Table};
use crate::kube::page;
use crate::kube::{ObjectKind, WatchBatch};
use crate::records::{Checkpoint, Record};
use crate::snapshot::{self, Section};
use std::time::Duration;

mod held;
mod limits;
mod outage;
mod parts;
mod policies;
mod readable;
mod successor;

const T0: Time = Time::from_unix_millis(1_700_000_000_000);
const ROLLOUTS: &str =
    r#","workloads":[{"group":"argoproj.io","version":"v1alpha1","resource":"rollouts","kind":"Rollout"}]"#;

/// Lists that are read in rounds; what is watched has its stories in `tests/watched/`.
fn config(more: &str) -> Rc<Config> {
    parse(&format!(r#"{{"cluster":"k","sync":{{"mode":"list"}}{more}}}"#))
}

fn parse(json: &str) -> Rc<Config> {
    Rc::new(Config::parse(json.as_bytes(), Artifact::Full).unwrap())
}

/// A cluster of one Deployment with a Service and an HPA at `current` of 5 replicas.
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

/// What a round led to, besides its requests.
#[derive(Default)]
struct Round {
    asked: Vec<String>,
    published: Vec<Snapshot>,
    resume: Option<Checkpoint>,
    troubles: Option<Failures>,
    enforced: Option<PolicySets>,
    confirmed: Vec<Confirmed>,
    lines: Vec<String>,
    counted: Vec<PollOutcome>,
    totals: Option<Totals>,
    readable: Vec<(String, Readable)>,
}

/// One tick, with every list answered at once by `api`.
fn round(leader: &mut Leader, now: Time, mut api: impl FnMut(&Source) -> Result<ListPage, Failure>) -> Round {
    round_of(leader, now, |source, _| api(source).map(Payload::Page))
}

/// One tick, with every request answered at once by `api`.
fn round_of(leader: &mut Leader, now: Time, mut api: impl FnMut(&Source, Verb) -> Result<Payload, Failure>) -> Round {
    let mut round = Round::default();
    let mut effects = leader.tick(now);
    while !effects.is_empty() {
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Request(ask) => {
                    let answer = api(leader.source(ask.source).unwrap(), ask.request.verb);
                    round.asked.push(ask.request.path);
                    effects.extend(leader.answer(ask.source, answer, now, 0));
                }
                Effect::PublishSnapshot(snapshot) => round.published.push(Snapshot::open(snapshot).unwrap()),
                Effect::PublishPolicies(sets) => round.enforced = Some(sets),
                Effect::WriteCheckpoint(resume) => {
                    round.resume = Some(Checkpoint::from_bytes(&resume).expect("a record"))
                }
                Effect::RecordFailures(troubles) => round.troubles = Some(troubles),
                Effect::SetGauges(totals) => round.totals = Some(totals),
                Effect::SetListGauge(source, readable) => round.readable.push((source.to_string(), readable)),
                Effect::Confirm(confirmed) => round.confirmed.push(confirmed),
                Effect::CountPoll(outcome) => round.counted.push(outcome),
                Effect::LogWarning(line) | Effect::LogInfo(line) => round.lines.push(line),
                Effect::RequestHub(question) => panic!("{question:?}"),
            }
        }
    }
    round
}

fn later(seconds: u64) -> Time {
    T0.after(Duration::from_secs(seconds))
}

#[test]
fn a_first_round_publishes_what_the_cluster_is() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let round = round(&mut leader, T0, |source| cluster(source, 1));
    assert_eq!(round.asked.len(), 4);
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
fn a_quiet_cluster_is_confirmed_and_not_published_again() {
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
    let unanswered = round(&mut leader, T0, late);
    assert!(unanswered.published.is_empty() && unanswered.confirmed.is_empty());
    let answered = round(&mut leader, later(15), |source| cluster(source, 1));
    assert_eq!(answered.published.len(), 1);
}

#[test]
fn a_change_of_state_is_one_line_that_says_what_to_do() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let deny = |source: &Source| match source.kind {
        ObjectKind::Hpas => Err(Failure::Forbidden("no".into())),
        _ => cluster(source, 1),
    };
    let first = round(&mut leader, T0, deny);
    assert_eq!(
        first.lines,
        [
            "cannot list horizontalpodautoscalers.autoscaling: 403 Forbidden: no; give the proxy's ServiceAccount \
          a ClusterRole with the verb list on horizontalpodautoscalers.autoscaling"
        ]
    );
    assert!(round(&mut leader, later(15), deny).lines.is_empty());
    let well = round(&mut leader, later(60), |source| cluster(source, 1));
    assert_eq!(well.lines, ["listing horizontalpodautoscalers.autoscaling works again"]);
    assert_eq!(
        first
            .counted
            .iter()
            .filter(|outcome| **outcome == PollOutcome::Forbidden)
            .count(),
        1
    );
}

#[test]
fn without_the_verb_watch_the_lists_are_read_and_it_is_said_once() {
    let mut leader = Leader::new(parse(r#"{"cluster":"k"}"#), Handover::default(), T0);
    let (mut lines, mut loads, mut asked) = (Vec::new(), Vec::new(), 0);
    // Long enough for a watch to be tried again.
    for second in 0..500 {
        let current = u32::try_from(second / 200).unwrap();
        let round = round_of(&mut leader, later(second), |source, verb| match verb {
            Verb::List => cluster(source, current).map(Payload::Page),
            Verb::Watch => Err(Failure::Forbidden("no".into())),
        });
        asked += round.asked.iter().filter(|path| path.contains("watch=1")).count();
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
        lines.extend(round.lines);
    }
    assert_eq!(loads, [0, 1, 2]);
    assert_eq!((asked, lines.len()), (8, 4), "{lines:?}");
    assert_eq!(
        lines[1],
        "cannot watch services: 403 Forbidden: no; give the proxy's ServiceAccount a ClusterRole with the verb watch on \
         services; it is listed every 15s meanwhile"
    );
}

#[test]
fn a_list_that_fails_at_its_second_page_each_time_is_one_line_and_no_storm() {
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
    let of_hpas = |round: &Round| round.asked.iter().filter(|path| path.contains("horizontalpod")).count();
    assert_eq!(of_hpas(&first), 4, "once more at once, and then a pause");
    assert_eq!(first.lines.len(), 1, "{:?}", first.lines);
    let second = round(&mut leader, later(60), &mut expires);
    assert_eq!((of_hpas(&second), second.lines.len()), (2, 0), "{:?}", second.lines);
}

#[test]
fn a_bad_object_is_named_once_and_counted_while_it_is_there() {
    let mut leader = Leader::new(config(""), Handover::default(), T0);
    let spoiled = |source: &Source| {
        let body = r#"{"kind":"ServiceList","items":[{"metadata":{"name":"bad","namespace":"shop"},"spec":7}]}"#;
        match source.kind {
            ObjectKind::Services => page::parse(source, body.as_bytes(), &mut ()),
            _ => cluster(source, 1),
        }
    };
    let first = round(&mut leader, T0, spoiled);
    assert_eq!(first.lines.len(), 1);
    assert!(
        first.lines[0].starts_with("left out Service shop/bad: "),
        "{:?}",
        first.lines
    );
    let second = round(&mut leader, later(15), spoiled);
    assert!(second.lines.is_empty());
    assert_eq!(second.totals.map(|totals| totals.bad_objects), Some(1));
}

#[test]
fn a_custom_kind_that_the_cluster_does_not_have_has_no_objects() {
    let mut leader = Leader::new(config(ROLLOUTS), Handover::default(), T0);
    let absent = |source: &Source| match source.kind {
        ObjectKind::Workloads => Err(Failure::NotFound("404 page not found".into())),
        _ => cluster(source, 1),
    };
    let round = round(&mut leader, T0, absent);
    assert_eq!(round.published.len(), 1);
    assert!(
        round.lines[0].starts_with("cannot list rollouts.argoproj.io: 404 Not Found"),
        "{:?}",
        round.lines
    );
    assert!(round.counted.contains(&PollOutcome::NotFound));
}
