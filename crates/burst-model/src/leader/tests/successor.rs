//! What the next leader makes of what the last one left.

use super::*;

#[test]
fn a_successor_goes_on_where_the_last_leader_stopped() {
    let mut first = Leader::new(config(""), Handover::default(), T0);
    let mut left = round(&mut first, T0, |source| cluster(source, 1));
    let resume = left.resume;
    let estate = Handover {
        snapshot: left.published.pop(),
        confirmed: left.confirmed.pop(),
        checkpoint: resume,
        ..Handover::default()
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
    let mut first = Leader::new(config(""), Handover::default(), T0);
    let older = round(&mut first, T0, |source| cluster(source, 1));
    let mut newer = round(&mut first, later(15), |source| cluster(source, 2));
    let estate = Handover {
        snapshot: newer.published.pop(),
        confirmed: newer.confirmed.pop(),
        checkpoint: older.resume,
        ..Handover::default()
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
    let estate = Handover {
        snapshot,
        ..Handover::default()
    };
    let round = round(&mut Leader::new(config(""), estate, T0), T0, |source| {
        cluster(source, 1)
    });
    assert_eq!(round.published.first().map(Snapshot::generation), Some(42));
}

#[test]
fn a_successor_neither_says_again_what_fails_nor_asks_sooner() {
    let deny = |source: &Source| match source.kind {
        ObjectKind::Hpas => Err(Failure::Throttled {
            retry_after: Some(Duration::from_secs(20)),
        }),
        _ => cluster(source, 1),
    };
    let mut first = Leader::new(config(""), Handover::default(), T0);
    let left = round(&mut first, T0, deny);
    assert_eq!(left.lines.len(), 1, "{:?}", left.lines);
    let heir = |troubles: &Option<Failures>, now| {
        let estate = Handover {
            failures: Failures::from_bytes(&troubles.as_ref().unwrap().to_bytes()),
            ..Handover::default()
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
    assert_eq!(well.troubles, Some(Failures::default()));
}

#[test]
fn what_a_successor_was_not_left_and_may_not_read_is_served_no_more() {
    let quiet = |source: &Source, verb, may: fn(&Source) -> bool| match verb {
        _ if !may(source) => Err(Failure::Forbidden("no".into())),
        Verb::List => cluster(source, 1).map(Payload::Page),
        Verb::Watch => Ok(Payload::WatchBatch(WatchBatch::default())),
    };
    let not_services = |source: &Source| source.kind != ObjectKind::Services;
    let mut first = Leader::new(parse(r#"{"cluster":"k"}"#), Handover::default(), T0);
    let early = round_of(&mut first, T0, |source, verb| quiet(source, verb, not_services));
    let mut late = round_of(&mut first, later(2), |source, verb| quiet(source, verb, |_| true));
    let served = late.published.pop().unwrap();
    assert!(late.resume.is_none() && served.section(SERVICES).unwrap().find("shop/web").is_some());

    let estate = Handover {
        snapshot: Some(served),
        confirmed: late.confirmed.pop(),
        checkpoint: early.resume,
        ..Handover::default()
    };
    let mut next = Leader::new(parse(r#"{"cluster":"k"}"#), estate, later(4));
    let taken_over = round_of(&mut next, later(4), |source, verb| quiet(source, verb, not_services));
    let [snapshot] = &taken_over.published[..] else {
        panic!("{:?}", taken_over.published)
    };
    assert!(snapshot.section(SERVICES).unwrap().find("shop/web").is_none());
}
