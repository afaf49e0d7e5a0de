use super::*;
use crate::config::Artifact;
use crate::index::{SERVICES, Table};
use crate::kube::page;
use crate::kube::{Reads, Window};
use crate::records::{Record, Resume};
use crate::snapshot::{self, Section};
use std::time::Duration;

mod parts;
mod policies;

const T0: Time = Time::from_unix_millis(1_700_000_000_000);
const ROLLOUTS: &str =
    r#","workloads":[{"group":"argoproj.io","version":"v1alpha1","resource":"rollouts","kind":"Rollout"}]"#;

/// Lists that are read in rounds; what is watched has its stories in `tests/watched.rs`.
fn config(more: &str) -> Rc<Config> {
    parse(&format!(r#"{{"cluster":"k","sync":{{"mode":"list"}}{more}}}"#))
}

fn parse(json: &str) -> Rc<Config> {
    Rc::new(Config::parse(json.as_bytes(), Artifact::Full).unwrap())
}

/// A cluster of one Deployment with a Service and an HPA at `current` of 5 replicas.
fn cluster(source: &Source, current: u32) -> Result<Page, Failure> {
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
    page::read(source, body.as_bytes(), &mut ())
}

/// What a round led to, besides its requests.
#[derive(Default)]
struct Round {
    asked: Vec<String>,
    published: Vec<Snapshot>,
    resume: Option<Resume>,
    troubles: Option<Troubles>,
    enforced: Option<PolicySets>,
    confirmed: Vec<Confirmed>,
    lines: Vec<String>,
    counted: Vec<Outcome>,
    totals: Option<Totals>,
    readable: Vec<(String, Readable)>,
}

/// One tick, with every list answered at once by `api`.
fn round(leader: &mut Leader, now: Time, mut api: impl FnMut(&Source) -> Result<Page, Failure>) -> Round {
    round_of(leader, now, |source, _| api(source).map(Answer::Page))
}

/// One tick, with every request answered at once by `api`.
fn round_of(leader: &mut Leader, now: Time, mut api: impl FnMut(&Source, Verb) -> Result<Answer, Failure>) -> Round {
    let mut round = Round::default();
    let mut effects = leader.tick(now);
    while !effects.is_empty() {
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Ask(ask) => {
                    let answer = api(leader.source(ask.source).unwrap(), ask.request.verb);
                    round.asked.push(ask.request.path);
                    effects.extend(leader.answer(ask.source, answer, now, 0));
                }
                Effect::Publish(snapshot) => round.published.push(Snapshot::open(snapshot).unwrap()),
                Effect::Enforce(sets) => round.enforced = Some(sets),
                Effect::Bequeath(resume) => round.resume = Some(Resume::from_bytes(&resume).expect("a record")),
                Effect::Admit(troubles) => round.troubles = Some(troubles),
                Effect::Show(totals) => round.totals = Some(totals),
                Effect::ShowList(source, readable) => round.readable.push((source.to_string(), readable)),
                Effect::Confirm(confirmed) => round.confirmed.push(confirmed),
                Effect::Count(outcome) => round.counted.push(outcome),
                Effect::Warn(line) | Effect::Inform(line) => round.lines.push(line),
                Effect::AskHub(question) => panic!("{question:?}"),
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
    let mut leader = Leader::new(config(""), Estate::default(), T0);
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
    let mut leader = Leader::new(config(""), Estate::default(), T0);
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
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    let late = |source: &Source| match source.resource.plural.as_str() {
        "services" => Err(Failure::Timeout),
        _ => cluster(source, 1),
    };
    let unanswered = round(&mut leader, T0, late);
    assert!(unanswered.published.is_empty() && unanswered.confirmed.is_empty());
    let answered = round(&mut leader, later(15), |source| cluster(source, 1));
    assert_eq!(answered.published.len(), 1);
}

/// An API that refuses the lists of a resource, `plural` or `plural in namespace NAMESPACE`.
fn refusing(resource: &'static str, current: u32) -> impl Fn(&Source) -> Result<Page, Failure> {
    move |source| {
        let name = source.to_string().replace(".apps", "").replace(".autoscaling", "");
        match name == resource || name.ends_with(resource) && resource.starts_with("in ") {
            true => Err(Failure::Forbidden("no".into())),
            false => cluster(source, current),
        }
    }
}

fn names(snapshot: &Snapshot, section: &str) -> Vec<String> {
    let rows = snapshot.section(section).into_iter().flat_map(Section::rows);
    rows.map(|row| row.of.to_owned()).collect()
}

#[test]
fn what_can_be_read_is_served_and_the_rest_is_named() {
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    let first = round(&mut leader, T0, refusing("statefulsets", 1));
    assert_eq!(names(&first.published[0], "services"), ["shop/web"]);
    assert_eq!(first.confirmed[0].lists, [Some(T0), Some(T0), Some(T0), None]);
    let shown = |name: &str, readable| (name.to_owned(), readable);
    assert!(first.readable.contains(&shown("services", Readable::Yes)));
    assert!(first.readable.contains(&shown("statefulsets.apps", Readable::No)));
    let quiet = round(&mut leader, later(15), refusing("statefulsets", 1));
    assert!(quiet.readable.is_empty() && quiet.lines.is_empty());
    assert_eq!(quiet.confirmed[0].oldest(), Some(later(15)), "it has no age");
    let allowed = round(&mut leader, later(60), |source| cluster(source, 1));
    assert_eq!(allowed.readable, [shown("statefulsets.apps", Readable::Yes)]);
    assert_eq!(allowed.confirmed[0].lists, [Some(later(60)); 4]);
}

#[test]
fn a_role_in_one_of_two_namespaces_serves_that_one() {
    let mut leader = Leader::new(config(r#","namespaces":["shop","data"]"#), Estate::default(), T0);
    let first = round(&mut leader, T0, refusing("in namespace data", 1));
    assert_eq!(names(&first.published[0], "services"), ["shop/web"]);
    assert_eq!(
        first
            .readable
            .iter()
            .filter(|(_, readable)| *readable == Readable::No)
            .count(),
        4
    );
    assert_eq!(first.confirmed[0].oldest(), Some(T0));
}

#[test]
fn a_list_that_is_refused_counts_until_it_is_too_old_and_is_left_out_then() {
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    for (seconds, served, oldest) in [(15, 1, 0), (45, 1, 0), (57, 1, 0), (58, 0, 45), (75, 0, 75)] {
        let round = round(&mut leader, later(seconds), refusing("deployments", 1));
        let left = round
            .published
            .last()
            .map_or(1, |snapshot| names(snapshot, "services").len());
        assert!(left == served || seconds == 75, "{seconds} s: {left}");
        assert!(
            round
                .confirmed
                .iter()
                .all(|confirmed| confirmed.oldest() == Some(later(oldest))),
            "{seconds} s"
        );
    }
    let back = round(&mut leader, later(120), |source| cluster(source, 2));
    assert_eq!(names(&back.published[0], "services"), ["shop/web"]);
}

#[test]
fn where_everything_is_refused_the_picture_ages_as_a_whole() {
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    for seconds in (15..300).step_by(15) {
        let refused = round(&mut leader, later(seconds), |_| Err(Failure::Forbidden("no".into())));
        assert!(
            refused.published.is_empty() && refused.confirmed.is_empty(),
            "{seconds} s"
        );
    }
    let nothing = round(&mut Leader::new(config(""), Estate::default(), T0), T0, |_| {
        Err(Failure::Forbidden("no".into()))
    });
    assert!(
        nothing.published.is_empty() && nothing.confirmed.is_empty(),
        "from the start"
    );
}

#[test]
fn a_failing_list_keeps_its_objects_and_its_age() {
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    round(&mut leader, T0, |source| cluster(source, 1));
    let failing = |source: &Source| match source.reads {
        Reads::Hpas => Err(Failure::Timeout),
        _ => cluster(source, 2),
    };
    let failed = round(&mut leader, later(15), failing);
    assert!(failed.published.is_empty());
    assert_eq!(failed.confirmed.first().and_then(Confirmed::oldest), Some(T0));
}

#[test]
fn a_change_of_state_is_one_line_that_says_what_to_do() {
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    let deny = |source: &Source| match source.reads {
        Reads::Hpas => Err(Failure::Forbidden("no".into())),
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
            .filter(|outcome| **outcome == Outcome::Forbidden)
            .count(),
        1
    );
}

#[test]
fn without_the_verb_watch_the_lists_are_read_and_it_is_said_once() {
    let mut leader = Leader::new(parse(r#"{"cluster":"k"}"#), Estate::default(), T0);
    let (mut lines, mut loads, mut asked) = (Vec::new(), Vec::new(), 0);
    // Long enough for a watch to be tried again.
    for second in 0..500 {
        let current = u32::try_from(second / 200).unwrap();
        let round = round_of(&mut leader, later(second), |source, verb| match verb {
            Verb::List => cluster(source, current).map(Answer::Page),
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
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    let mut first_page = false;
    let mut expires = |source: &Source| {
        if source.reads != Reads::Hpas {
            return cluster(source, 1);
        }
        first_page = !first_page;
        match first_page {
            true => Ok(Page {
                cursor: Some("next".into()),
                ..Page::default()
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
    let mut leader = Leader::new(config(""), Estate::default(), T0);
    let spoiled = |source: &Source| {
        let body = r#"{"kind":"ServiceList","items":[{"metadata":{"name":"bad","namespace":"shop"},"spec":7}]}"#;
        match source.reads {
            Reads::Services => page::read(source, body.as_bytes(), &mut ()),
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
    let mut leader = Leader::new(config(ROLLOUTS), Estate::default(), T0);
    let absent = |source: &Source| match source.reads {
        Reads::Workloads => Err(Failure::NotFound("404 page not found".into())),
        _ => cluster(source, 1),
    };
    let round = round(&mut leader, T0, absent);
    assert_eq!(round.published.len(), 1);
    assert!(
        round.lines[0].starts_with("cannot list rollouts.argoproj.io: 404 Not Found"),
        "{:?}",
        round.lines
    );
    assert!(round.counted.contains(&Outcome::NotFound));
}

#[test]
fn a_successor_goes_on_where_the_last_leader_stopped() {
    let mut first = Leader::new(config(""), Estate::default(), T0);
    let mut left = round(&mut first, T0, |source| cluster(source, 1));
    let resume = left.resume;
    let estate = Estate {
        snapshot: left.published.pop(),
        confirmed: left.confirmed.pop(),
        resume,
        ..Estate::default()
    };
    let mut next = Leader::new(config(""), estate, later(5));
    assert!(
        round(&mut next, later(5), |source| cluster(source, 1)).asked.is_empty(),
        "nothing is due yet"
    );
    let due = round(&mut next, later(15), |source| cluster(source, 1));
    assert_eq!((due.asked.len(), due.published.len()), (4, 0), "and nothing changed");
}

#[test]
fn what_is_listed_and_older_than_what_is_served_is_not_gone_on_with() {
    let mut first = Leader::new(config(""), Estate::default(), T0);
    let older = round(&mut first, T0, |source| cluster(source, 1));
    let mut newer = round(&mut first, later(15), |source| cluster(source, 2));
    let estate = Estate {
        snapshot: newer.published.pop(),
        confirmed: newer.confirmed.pop(),
        resume: older.resume,
        ..Estate::default()
    };
    let mut next = Leader::new(config(""), estate, later(16));
    let mut answered = 0;
    let round = round(&mut next, later(16), |source| {
        answered += 1;
        match answered {
            1 => Err(Failure::Timeout),
            _ => cluster(source, 2),
        }
    });
    assert_eq!(round.asked.len(), 4, "all of it is read again");
    assert!(round.published.is_empty(), "and nothing goes back before it was");
}

#[test]
fn a_successor_without_its_predecessors_objects_lists_everything_and_keeps_counting() {
    let snapshot = Snapshot::open(snapshot::write(&Table::new(), 41)).ok();
    let estate = Estate {
        snapshot,
        ..Estate::default()
    };
    let round = round(&mut Leader::new(config(""), estate, T0), T0, |source| {
        cluster(source, 1)
    });
    assert_eq!(round.published.first().map(Snapshot::generation), Some(42));
}

#[test]
fn a_successor_neither_says_again_what_fails_nor_asks_sooner() {
    let deny = |source: &Source| match source.reads {
        Reads::Hpas => Err(Failure::Throttled {
            retry_after: Some(Duration::from_secs(20)),
        }),
        _ => cluster(source, 1),
    };
    let mut first = Leader::new(config(""), Estate::default(), T0);
    let left = round(&mut first, T0, deny);
    assert_eq!(left.lines.len(), 1, "{:?}", left.lines);
    let heir = |troubles: &Option<Troubles>, now| {
        let estate = Estate {
            troubles: Troubles::from_bytes(&troubles.as_ref().unwrap().to_bytes()),
            ..Estate::default()
        };
        Leader::new(config(""), estate, now)
    };
    let mut next = heir(&left.troubles, later(5));
    let of_hpas = |round: &Round| round.asked.iter().filter(|path| path.contains("horizontalpod")).count();
    let early = round(&mut next, later(5), deny);
    assert_eq!((of_hpas(&early), early.lines.len()), (0, 0), "{:?}", early.lines);
    let due = round(&mut next, later(20), deny);
    assert_eq!((of_hpas(&due), due.lines.len()), (1, 0), "{:?}", due.lines);

    let mut last = heir(&due.troubles, later(50));
    let well = round(&mut last, later(50), |source| cluster(source, 1));
    assert_eq!(well.lines, ["listing horizontalpodautoscalers.autoscaling works again"]);
    assert_eq!(well.troubles, Some(Troubles::default()));
}

#[test]
fn what_a_successor_was_not_left_and_may_not_read_is_served_no_more() {
    let quiet = |source: &Source, verb, may: fn(&Source) -> bool| match verb {
        _ if !may(source) => Err(Failure::Forbidden("no".into())),
        Verb::List => cluster(source, 1).map(Answer::Page),
        Verb::Watch => Ok(Answer::Window(Window::default())),
    };
    let not_services = |source: &Source| source.reads != Reads::Services;
    let mut first = Leader::new(parse(r#"{"cluster":"k"}"#), Estate::default(), T0);
    let early = round_of(&mut first, T0, |source, verb| quiet(source, verb, not_services));
    let mut late = round_of(&mut first, later(2), |source, verb| quiet(source, verb, |_| true));
    let served = late.published.pop().unwrap();
    assert!(late.resume.is_none() && served.section(SERVICES).unwrap().find("shop/web").is_some());

    let estate = Estate {
        snapshot: Some(served),
        confirmed: late.confirmed.pop(),
        resume: early.resume,
        ..Estate::default()
    };
    let mut next = Leader::new(parse(r#"{"cluster":"k"}"#), estate, later(4));
    let taken_over = round_of(&mut next, later(4), |source, verb| quiet(source, verb, not_services));
    let [snapshot] = &taken_over.published[..] else {
        panic!("{:?}", taken_over.published)
    };
    assert!(snapshot.section(SERVICES).unwrap().find("shop/web").is_none());
}
