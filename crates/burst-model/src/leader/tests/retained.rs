//! Objects that are not parsed because a VM may have crashed while parsing them.

use super::*;
use crate::kube::Change;

/// The plural names of the resources that were listed.
fn listed(round: &Round) -> Vec<&str> {
    let lists = round.requests.iter().filter(|path| !path.contains("watch=1"));
    lists
        .filter_map(|path| path.split('?').next()?.rsplit('/').next())
        .collect()
}

/// Runs one tick. If `retains`, the watch of Services returns a change that is retained; otherwise it has no changes.
fn watched(leader: &mut Leader, second: u64, retains: bool) -> Round {
    round_of(leader, later(second), |source, verb| match verb {
        Verb::List => cluster(source, 1).map(Payload::Page),
        Verb::Watch => {
            let is_retained = retains && source.kind == ObjectKind::Services;
            Ok(Payload::WatchBatch(WatchBatch {
                changes: Vec::from_iter(is_retained.then(|| Change::Retained("shop/web".into()))),
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
fn a_list_with_a_retained_object_is_read_in_full_when_the_object_may_be_parsed() {
    let mut leader = leader();
    let retained = watched(&mut leader, 10, true);
    assert_eq!(
        (retained.published.len(), &retained.messages[..]),
        (
            0,
            &[
                "keeping the last version of Service shop/web: a proxy thread stopped while it parsed the new one"
                    .to_owned()
            ][..]
        )
    );
    assert!(
        watched(&mut leader, 20, true).messages.is_empty(),
        "it is reported once"
    );
    leader.requeue_skipped();
    let rounds: Vec<_> = (30..40).map(|second| watched(&mut leader, second, false)).collect();
    assert_eq!(
        rounds.iter().flat_map(listed).collect::<Vec<_>>(),
        ["services"],
        "and no other list"
    );
    leader.requeue_skipped();
    let rounds: Vec<_> = (40..50).map(|second| watched(&mut leader, second, false)).collect();
    assert_eq!(
        rounds.iter().flat_map(listed).count(),
        0,
        "nothing is retained any more"
    );
}

#[test]
fn no_checkpoint_is_written_while_an_object_is_retained() {
    let mut leader = leader();
    watched(&mut leader, 10, true);
    let writes_checkpoint =
        |leader: &mut Leader, second, retains| watched(leader, second, retains).checkpoint.is_some();
    assert!(
        !(11..100).any(|second| writes_checkpoint(&mut leader, second, true)),
        "a successor would not know that the object is older than the list"
    );
    leader.requeue_skipped();
    assert!((100..150).any(|second| writes_checkpoint(&mut leader, second, false)));
}
