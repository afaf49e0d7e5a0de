//! A successor continues from the records of the last leader.

use super::*;

#[test]
fn a_successor_continues_where_the_last_leader_stopped() {
    let mut first = Leader::new(config(""), Handover::default(), T0);
    let mut left = round(&mut first, T0, |source| cluster(source, 1));
    let handover = Handover {
        snapshot: left.published.pop(),
        confirmed: left.confirmed.pop(),
        checkpoint: left.checkpoint,
        ..Handover::default()
    };
    let mut next = Leader::new(config(""), handover, later(5));
    assert!(
        round(&mut next, later(5), |source| cluster(source, 1))
            .requests
            .is_empty(),
        "nothing is due yet"
    );
    let due = round(&mut next, later(15), |source| cluster(source, 1));
    assert_eq!((due.requests.len(), due.published.len()), (4, 0), "and nothing changed");
}

#[test]
fn a_checkpoint_that_is_older_than_the_snapshot_is_not_used_for_lists_that_are_not_watched() {
    let mut first = Leader::new(config(""), Handover::default(), T0);
    let older = round(&mut first, T0, |source| cluster(source, 1));
    let mut newer = round(&mut first, later(15), |source| cluster(source, 2));
    let handover = Handover {
        snapshot: newer.published.pop(),
        confirmed: newer.confirmed.pop(),
        checkpoint: older.checkpoint,
        ..Handover::default()
    };
    let mut next = Leader::new(config(""), handover, later(16));
    let mut answered = 0;
    let round = round(&mut next, later(16), |source| {
        answered += 1;
        match answered {
            1 => Err(Failure::Timeout),
            _ => cluster(source, 2),
        }
    });
    assert_eq!(round.requests.len(), 4, "every list is read again");
    assert!(round.published.is_empty(), "and no older value is published");
}

#[test]
fn a_successor_without_a_checkpoint_lists_everything_and_continues_the_generations() {
    let snapshot = Snapshot::open(snapshot::write(&Table::new(), 41)).ok();
    let handover = Handover {
        snapshot,
        ..Handover::default()
    };
    let round = round(&mut Leader::new(config(""), handover, T0), T0, |source| {
        cluster(source, 1)
    });
    assert_eq!(round.published.first().map(Snapshot::generation), Some(42));
}

#[test]
fn a_successor_neither_reports_a_failure_again_nor_retries_sooner() {
    let deny = |source: &Source| match source.kind {
        ObjectKind::Hpas => Err(Failure::Throttled {
            retry_after: Some(Duration::from_secs(20)),
        }),
        _ => cluster(source, 1),
    };
    let mut first = Leader::new(config(""), Handover::default(), T0);
    let left = round(&mut first, T0, deny);
    assert_eq!(left.messages.len(), 1, "{:?}", left.messages);
    let take_over = |failures: &Option<Failures>, now| {
        let handover = Handover {
            failures: Failures::from_bytes(&failures.as_ref().unwrap().to_bytes()),
            ..Handover::default()
        };
        Leader::new(config(""), handover, now)
    };
    let mut next = take_over(&left.failures, later(5));
    let of_hpas = |round: &Round| {
        round
            .requests
            .iter()
            .filter(|path| path.contains("horizontalpod"))
            .count()
    };
    let early = round(&mut next, later(5), deny);
    assert_eq!((of_hpas(&early), early.messages.len()), (0, 0), "{:?}", early.messages);
    let due = round(&mut next, later(20), deny);
    assert_eq!((of_hpas(&due), due.messages.len()), (1, 0), "{:?}", due.messages);

    let mut last = take_over(&due.failures, later(50));
    let recovered = round(&mut last, later(50), |source| cluster(source, 1));
    assert_eq!(
        recovered.messages,
        ["listing horizontalpodautoscalers.autoscaling works again"]
    );
    assert_eq!(recovered.failures, Some(Failures::default()));
}

#[test]
fn a_list_that_is_neither_in_the_checkpoint_nor_readable_is_not_served() {
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
    assert!(late.checkpoint.is_none() && served.section(SERVICES).unwrap().find("shop/web").is_some());

    let handover = Handover {
        snapshot: Some(served),
        confirmed: late.confirmed.pop(),
        checkpoint: early.checkpoint,
        ..Handover::default()
    };
    let mut next = Leader::new(parse(r#"{"cluster":"k"}"#), handover, later(4));
    let taken_over = round_of(&mut next, later(4), |source, verb| quiet(source, verb, not_services));
    let [snapshot] = &taken_over.published[..] else {
        panic!("{:?}", taken_over.published)
    };
    assert!(snapshot.section(SERVICES).unwrap().find("shop/web").is_none());
}
