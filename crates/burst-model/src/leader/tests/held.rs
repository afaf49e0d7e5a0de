//! Objects that are not parsed, because a VM may have died of them.

use super::*;
use crate::kube::Change;

/// The lists that were asked for, not the windows, among the paths.
fn listed(round: &Round) -> Vec<&str> {
    let lists = round.asked.iter().filter(|path| !path.contains("watch=1"));
    lists
        .filter_map(|path| path.split('?').next()?.rsplit('/').next())
        .collect()
}

/// A second after which windows are asked for and answered; that of the Services with a change that is held, or with none.
fn watched(leader: &mut Leader, second: u64, held: bool) -> Round {
    round_of(leader, later(second), |source, verb| match verb {
        Verb::List => cluster(source, 1).map(Payload::Page),
        Verb::Watch => {
            let is_held = held && source.kind == ObjectKind::Services;
            Ok(Payload::WatchBatch(WatchBatch {
                changes: Vec::from_iter(is_held.then(|| Change::Retained("shop/web".into()))),
                resource_version: Some(format!("1{second}")),
            }))
        }
    })
}

fn leader() -> Leader {
    let mut leader = Leader::new(parse(r#"{"cluster":"k"}"#), Handover::default(), T0);
    assert_eq!(watched(&mut leader, 0, false).published.len(), 1);
    leader
}

#[test]
fn a_list_with_an_object_that_is_held_is_read_whole_when_it_may_be_parsed() {
    let mut leader = leader();
    let held = watched(&mut leader, 10, true);
    assert_eq!(
        (held.published.len(), &held.lines[..]),
        (
            0,
            &["Service shop/web stays as it was: a proxy thread stopped while it parsed its new bytes".to_owned()][..]
        )
    );
    assert!(watched(&mut leader, 20, true).lines.is_empty(), "said once");
    leader.requeue_skipped();
    let rounds: Vec<_> = (30..40).map(|second| watched(&mut leader, second, false)).collect();
    assert_eq!(
        rounds.iter().flat_map(listed).collect::<Vec<_>>(),
        ["services"],
        "and no other list"
    );
    leader.requeue_skipped();
    let rounds: Vec<_> = (40..50).map(|second| watched(&mut leader, second, false)).collect();
    assert_eq!(rounds.iter().flat_map(listed).count(), 0, "nothing is held any more");
}

#[test]
fn a_successor_is_left_nothing_while_an_object_is_held() {
    let mut leader = leader();
    watched(&mut leader, 10, true);
    let resumed = |leader: &mut Leader, second, held| watched(leader, second, held).resume.is_some();
    assert!(
        !(11..100).any(|second| resumed(&mut leader, second, true)),
        "it would not know"
    );
    leader.requeue_skipped();
    assert!((100..150).any(|second| resumed(&mut leader, second, false)));
}
