use super::super::join;
use super::super::tests::{hpa_of, lists, service, with_signal, workload};
use super::*;
use crate::signals::SignalSet;
use proptest::prelude::*;

/// An object of one of three kinds, in one of few namespaces, of one of few names.
fn object() -> impl Strategy<Value = (usize, Rc<Object>)> {
    let namespace = prop::sample::select(vec!["a", "a-b", "a.b", "b", "ab"]);
    let pair = prop::sample::select(vec!["app=xx", "app=y", "app=xx,tier=z", "app=xx,tier=q", ""]);
    let count = || prop::option::of(0..5u32);
    (0..3usize, namespace, 0..4u8, 0..4u8, pair, count(), count()).prop_map(
        |(kind, namespace, name, target, pair, current, signal)| {
            let name = format!("{namespace}/n{name}");
            let object = match kind {
                0 => hpa_of("Deployment", &name, &format!("n{target}"), current, 9),
                1 => service(&name, pair),
                _ => workload(&name, pair),
            };
            (kind, Rc::new(with_signal(object, signal)))
        },
    )
}

/// Puts an object into a list, or takes it out.
fn change(objects: &mut Vec<Rc<Object>>, object: Rc<Object>, stays: bool) -> Delta {
    let found = objects.iter().position(|kept| kept.name() == object.name());
    let before = found.map(|index| objects.remove(index));
    let after = stays.then_some(object);
    objects.extend(after.clone());
    objects.sort_by(|a, b| a.name().cmp(b.name()));
    Delta { before, after }
}

proptest! {
    #[test]
    fn the_incremental_join_equals_a_fresh_join(
        changes in proptest::collection::vec((object(), any::<bool>(), 0..9usize), 1..80),
        labelled: bool,
    ) {
        let percent = Percent::new(80).unwrap();
        let mut lists = lists(Vec::new(), Vec::new(), Vec::new());
        for (source, _) in &mut lists {
            source.kept.labels = labelled;
            source.kept.signals = SignalSet::ALL;
        }
        let mut joined = IncrementalJoin::new(lists.iter().map(|(source, _)| source.clone()).collect(), percent);
        for ((kind, object), stays, mut budget) in changes {
            joined.enqueue(kind, [change(&mut lists[kind].1, object, stays)]);
            let before = joined.table().clone();
            let changed = joined.advance(&mut budget);
            prop_assert!(changed || before == *joined.table());
            if joined.is_up_to_date() {
                let (table, findings) = join(lists.iter().map(|(source, objects)| (source, &objects[..])), percent);
                prop_assert_eq!((joined.table(), joined.findings()), (&table, findings));
            }
        }
    }
}

/// Services `n0`, `n1`, … with a Deployment and an HPA each.
fn many_services(count: usize) -> [(Source, Vec<Rc<Object>>); 3] {
    let each = |object: &dyn Fn(String, String) -> Object| {
        (0..count)
            .map(|n| object(format!("shop/n{n}"), format!("app=n{n}")))
            .collect()
    };
    lists(
        each(&|name, app| hpa_of("Deployment", &name, app.trim_start_matches("app="), Some(1), 9)),
        each(&|name, app| service(&name, &app)),
        each(&|name, app| workload(&name, &app)),
    )
}

fn joined(lists: &[(Source, Vec<Rc<Object>>)]) -> IncrementalJoin {
    let sources = lists.iter().map(|(source, _)| source.clone()).collect();
    let mut joined = IncrementalJoin::new(sources, Percent::new(80).unwrap());
    for (list, (_, objects)) in lists.iter().enumerate() {
        let delta = |object: &Rc<Object>| Delta {
            before: None,
            after: Some(object.clone()),
        };
        joined.enqueue(list, objects.iter().map(delta));
    }
    joined
}

#[test]
fn a_change_recomputes_only_the_rows_that_depend_on_it() {
    let mut lists = many_services(50);
    let mut joined = joined(&lists);
    joined.advance(&mut usize::MAX.clone());
    for (list, object, rows, changes) in [
        (0, hpa_of("Deployment", "shop/n7", "n7", Some(2), 9), 3, true),
        (1, service("shop/n7", "app=n8"), 1, true),
        (2, workload("shop/n9", "app=n9,tier=web"), 2, false),
    ] {
        joined.enqueue(list, [change(&mut lists[list].1, Rc::new(object), true)]);
        let mut budget = 1_000;
        assert_eq!(joined.advance(&mut budget), changes, "list {list}");
        assert_eq!(1_000 - budget, rows, "list {list}");
    }
}

#[test]
fn a_large_join_is_done_in_small_steps() {
    let lists = many_services(500);
    let mut joined = joined(&lists);
    let mut steps = 0;
    while !joined.is_up_to_date() {
        let mut budget = 100;
        joined.advance(&mut budget);
        steps += 1;
    }
    assert!((20..60).contains(&steps), "{steps}");
    assert_eq!(joined.table()[SERVICES].len(), 500);
    let rounds = (1..).find(|_| !joined.release(100));
    assert!(rounds > Some(10) && joined.table().is_empty(), "{rounds:?}");
}
