//! A cluster so large that writing its snapshot takes several calls.

use super::*;
use crate::kube::Change;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The number of Services. Each has three rows and three objects, and together they are more than one call writes.
const SERVICE_COUNT: usize = 4_000;

/// Returns the page with all objects of a kind. Each HPA has one replica.
fn page(source: &Source) -> ListPage {
    thread_local! {
        static READ: RefCell<BTreeMap<String, Vec<Object>>> = RefCell::default();
    }
    let objects = READ.with_borrow_mut(|read| {
        let objects = read.entry(source.resource.plural.clone());
        let all = || (0..SERVICE_COUNT).filter_map(|n| object(source, n, 1)).collect();
        objects.or_insert_with(all).clone()
    });
    ListPage {
        objects,
        resource_version: "9".into(),
        ..ListPage::default()
    }
}

fn object(source: &Source, n: usize, current: u32) -> Option<Object> {
    let meta = format!(r#""metadata":{{"name":"web-{n}","namespace":"shop"}}"#);
    let json = match source.resource.plural.as_str() {
        "horizontalpodautoscalers" => format!(
            r#"{{{meta},"spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"web-{n}"}},
                "maxReplicas":5}},"status":{{"currentReplicas":{current}}}}}"#
        ),
        "services" => format!(r#"{{{meta},"spec":{{"selector":{{"app":"web-{n}"}}}}}}"#),
        "deployments" => {
            format!(r#"{{{meta},"spec":{{"template":{{"metadata":{{"labels":{{"app":"web-{n}"}}}}}}}}}}"#)
        }
        _ => return None,
    };
    Some(Object::parse(source.kind, &json, source.kept).unwrap())
}

/// Returns a leader that has read all lists, and its open watches.
fn watching() -> (Leader, Vec<ScheduledRequest>) {
    let mut leader = Leader::new(parse(r#"{"cluster":"k"}"#), Handover::default(), T0);
    let (mut effects, mut watches) = (leader.tick(T0), Vec::new());
    while let Some(effect) = effects.pop() {
        match effect {
            Effect::Request(request) if request.request.verb == Verb::Watch => watches.push(request),
            Effect::Request(request) => {
                let page = page(leader.source(request.source).unwrap());
                effects.extend(leader.answer(request.source, Ok(Payload::Page(page)), T0, 0));
            }
            Effect::PublishSnapshot(_) | Effect::Confirm(_) | Effect::WriteCheckpoint(_) => {
                panic!("{effect:?} at once")
            }
            _ => {}
        }
    }
    (leader, watches)
}

/// The records that a call writes to shared data.
#[derive(Debug, Default, PartialEq, Eq)]
struct SharedData {
    published: Option<Vec<u8>>,
    confirmed: Option<Confirmed>,
    checkpoint: Option<Vec<u8>>,
}

fn call(leader: &mut Leader, now: Time) -> SharedData {
    let mut shared = SharedData::default();
    for effect in leader.advance(now) {
        match effect {
            Effect::PublishSnapshot(bytes) => shared.published = Some(bytes),
            Effect::Confirm(confirmed) => shared.confirmed = Some(confirmed),
            Effect::WriteCheckpoint(bytes) => shared.checkpoint = Some(bytes),
            _ => {}
        }
    }
    shared
}

/// Calls `advance` until `is_there`. These calls must write nothing to shared data.
fn until(leader: &mut Leader, now: Time, is_there: fn(&Leader) -> bool) {
    while !is_there(leader) {
        assert_eq!(call(leader, now), SharedData::default());
    }
}

fn is_writing(leader: &Leader) -> bool {
    leader.publisher.is_writing()
}

fn is_ready(leader: &Leader) -> bool {
    leader.publisher.is_ready()
}

fn load(snapshot: &[u8], of: &str) -> u32 {
    let snapshot = Snapshot::open(snapshot.to_vec()).unwrap();
    snapshot.section(SERVICES).unwrap().find(of).unwrap().load.current
}

#[test]
fn a_snapshot_and_a_checkpoint_are_each_written_in_several_calls_and_shared_in_another() {
    let (mut leader, _watches) = watching();
    until(&mut leader, T0, is_writing);
    assert!(!is_ready(&leader), "completing it takes another call");
    until(&mut leader, T0, is_ready);
    let shared = call(&mut leader, T0);
    assert!(shared.published.is_some() && shared.confirmed.is_some() && shared.checkpoint.is_none());
    let mut calls = 0;
    let checkpoint = loop {
        assert!(
            leader.is_busy() && !leader.is_idle(T0),
            "no other VM takes over before it is written"
        );
        let shared = call(&mut leader, T0);
        assert!(shared.published.is_none() && shared.confirmed.is_none());
        if let Some(bytes) = shared.checkpoint {
            break bytes;
        }
        calls += 1;
    };
    assert!(calls > 1, "several calls write it and one shares it");
    assert!(!leader.is_busy());
    let checkpoint = Checkpoint::from_bytes(&checkpoint).unwrap();
    let counts: Vec<_> = checkpoint.lists.iter().map(|list| list.objects.len()).collect();
    assert_eq!(counts, [SERVICE_COUNT, SERVICE_COUNT, SERVICE_COUNT, 0]);
}

#[test]
fn objects_read_while_a_snapshot_is_written_belong_to_the_next_one() {
    for is_there in [is_writing, is_ready] {
        let (mut leader, mut watches) = watching();
        until(&mut leader, T0, is_there);
        watches.retain(|request| leader.source(request.source).unwrap().kind == ObjectKind::Hpas);
        let hpas = watches[0].source;
        let change = Change::Apply(object(leader.source(hpas).unwrap(), 7, 4).unwrap());
        let batch = WatchBatch {
            changes: vec![change],
            resource_version: Some("10".into()),
        };
        for effect in leader.answer(hpas, Ok(Payload::WatchBatch(batch)), later(5), 0) {
            assert!(
                !matches!(effect, Effect::PublishSnapshot(_) | Effect::Confirm(_)),
                "{effect:?}"
            );
        }
        until(&mut leader, later(5), is_ready);
        let first = call(&mut leader, later(5));
        assert_eq!(load(&first.published.unwrap(), "shop/web-7"), 1);
        assert_eq!(
            first.confirmed.unwrap().lists,
            [Some(T0); 4],
            "the time at which its objects were read"
        );

        until(&mut leader, later(5), is_ready);
        let second = call(&mut leader, later(5));
        assert_eq!(load(&second.published.unwrap(), "shop/web-7"), 4);
        let confirmed = second.confirmed.unwrap();
        assert_eq!((confirmed.generation, confirmed.lists[hpas.0]), (2, Some(later(5))));
    }
}

#[test]
fn if_a_leader_is_lost_after_any_call_its_successor_serves_the_same_objects() {
    // Most calls only continue the join. The test skips all but the first of them.
    let (mut leader, _watches) = watching();
    let joining = (0..).take_while(|_| call(&mut leader, T0) == SharedData::default() && !leader.join.is_up_to_date());
    let joined = joining.count();
    for lost_at in [0].into_iter().chain(joined..) {
        let (mut leader, _watches) = watching();
        let mut left = SharedData::default();
        for _ in 0..lost_at {
            let SharedData {
                published,
                confirmed,
                checkpoint,
            } = call(&mut leader, T0);
            left.published = published.or(left.published);
            left.confirmed = confirmed.or(left.confirmed);
            left.checkpoint = checkpoint.or(left.checkpoint);
        }
        let was_busy = leader.is_busy();
        let handover = Handover {
            snapshot: left.published.clone().map(|bytes| Snapshot::open(bytes).unwrap()),
            confirmed: left.confirmed.clone(),
            checkpoint: left.checkpoint.as_ref().and_then(|bytes| Checkpoint::from_bytes(bytes)),
            ..Handover::default()
        };
        let mut next = Leader::new(parse(r#"{"cluster":"k"}"#), handover, later(5));
        let (mut lists, mut published, mut confirmed) = (0, None, left.confirmed);
        let mut effects = next.tick(later(5));
        while next.is_busy() || !effects.is_empty() {
            for effect in std::mem::take(&mut effects) {
                match effect {
                    Effect::Request(request) => {
                        let answer = match request.request.verb {
                            Verb::List => Payload::Page(page(next.source(request.source).unwrap())),
                            Verb::Watch => continue,
                        };
                        lists += 1;
                        effects.extend(next.answer(request.source, Ok(answer), later(5), 0));
                    }
                    Effect::PublishSnapshot(bytes) => published = Some(bytes),
                    Effect::Confirm(newer) => confirmed = Some(newer),
                    _ => {}
                }
            }
            effects.extend(next.advance(later(5)));
        }
        let what = format!("lost after {lost_at} calls");
        assert_eq!(lists, if left.checkpoint.is_some() { 0 } else { 4 }, "{what}");
        let served = published.or(left.published).unwrap();
        assert_eq!(load(&served, "shop/web-3999"), 1, "{what}");
        let generation = Snapshot::open(served).unwrap().generation();
        assert_eq!(confirmed.unwrap().generation, generation, "{what}");
        if !was_busy {
            break;
        }
    }
}
