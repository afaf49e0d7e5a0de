//! Bytes that end a VM end no other one.

use super::*;

/// The quarantine as a VM of its own sees it.
fn quarantine() -> Quarantine<Memory> {
    Quarantine::new(&keys(), Rc::default())
}

fn item(hash: u64) -> Item {
    Item {
        kind: ItemKind::Snapshot,
        hash,
    }
}

/// A VM dies while it takes an item.
fn die(vm: &Quarantine<Memory>, item: Item, now: Time) {
    let died = catch_unwind(AssertUnwindSafe(|| vm.take(item, now, || panic!("the VM dies"))));
    assert!(died.is_err());
}

#[test]
fn the_mark_of_a_vm_that_died_keeps_the_others_away_until_it_expires() {
    let (dead, other) = (quarantine(), quarantine());
    die(&dead, item(1), at(100));
    assert_eq!(other.take(item(1), at(101), || ()), None);
    assert_eq!(other.take(item(2), at(102), || "newer"), Some("newer"));
    let expired = at(100).after(MARK_TTL);
    assert_eq!(other.take(item(1), expired, || "again"), Some("again"));
}

#[test]
fn a_vm_that_takes_an_item_leaves_no_mark() {
    let vm = quarantine();
    assert_eq!(vm.take(item(1), at(100), || "taken"), Some("taken"));
    assert!(bytes(&keys().quarantine).is_empty());
    assert!(vm.tick().is_empty());
}

#[test]
fn a_mark_that_could_not_be_removed_goes_with_the_next_tick() {
    let vm = quarantine();
    assert!(vm.begin(item(1), at(100)), "and its removal fails");
    assert!(vm.tick().is_empty());
    assert!(bytes(&keys().quarantine).is_empty());
}

#[test]
fn a_mark_is_not_lost_when_another_vm_writes_at_the_same_moment() {
    before_write("/quarantine", 1, || assert!(quarantine().begin(item(1), at(100))));
    let vm = quarantine();
    assert!(vm.begin(item(2), at(100)) || vm.begin(item(1), at(100)));
    assert_eq!(quarantine().tick().iter().count(), 2);
}

#[test]
fn there_is_one_notice_of_a_refusal_that_lasts_until_the_kind_is_taken_again() {
    let (dead, vm) = (quarantine(), quarantine());
    die(&dead, item(1), at(100));
    let notices = |hash, millis: u64| {
        vm.take(item(hash), Time::from_unix_millis(101_000 + millis), || ());
        vm.take_notices().len()
    };
    assert_eq!(
        [0, 5, 499].map(|millis| notices(1, millis)),
        [0, 0, 0],
        "another VM may be taking it"
    );
    assert_eq!([500, 1_000].map(|millis| notices(1, millis)), [1, 0]);
    assert_eq!(notices(2, 2_000), 0);
    assert_eq!([3_000, 3_500].map(|millis| notices(1, millis)), [0, 1]);
}

#[test]
fn a_snapshot_that_another_vm_is_taking_is_tried_again_soon_and_then_less_and_less_often() {
    let [other, view] = [(); 2].map(|()| View::<Memory>::new(config(r#"{"cluster":"k"}"#), Rc::default()));
    assert_eq!(view.retry_delay(), None);
    let snapshot = Item {
        kind: ItemKind::Snapshot,
        hash: 1,
    };
    assert!(other.quarantine.begin(snapshot, at(100)));
    assert!(!view.quarantine.begin(snapshot, at(100)));
    let delays = [(); 12].map(|()| view.retry_delay().unwrap().as_millis());
    assert_eq!(delays, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 1280, 1280, 1280]);
    other.quarantine.end();
    assert!(view.quarantine.begin(snapshot, at(100)));
    assert_eq!(view.retry_delay(), None);
}

#[test]
fn a_request_is_answered_even_if_it_cannot_be_marked() {
    before_write("/quarantine", 9, || Memory::overwrite(&keys().quarantine, b""));
    let query = Item::of_bytes(ItemKind::MetricsQuery, b"query");
    assert_eq!(quarantine().answer(query, at(100), || "answer"), Some("answer"));
    before_write("/quarantine", 9, || Memory::overwrite(&keys().quarantine, b""));
    assert_eq!(
        quarantine().take(item(1), at(100), || ()),
        None,
        "a record is not taken"
    );
}

#[test]
fn an_object_that_ended_the_leader_is_not_parsed_by_its_successor() {
    let object = r#"{"metadata":{"name":"bad"}}"#;
    let (vm, successor) = (quarantine(), quarantine());
    let mut guard = LeaderGuard::new(&keys(), vm.vm());
    die_on(Some(ItemKind::Object));
    assert!(catch_unwind(AssertUnwindSafe(|| guard.begin(object))).is_err());
    die_on(None);
    successor.suspect_last_leader(at(100));
    let mut guard = LeaderGuard::new(&keys(), successor.vm());
    assert!(guard.observe_marks(&successor.tick(), at(101)));
    assert_eq!(guard.begin(object), ParseDecision::Retain);
    assert_eq!(guard.begin(r#"{"metadata":{"name":"good"}}"#), ParseDecision::Parse);
    guard.observe_marks(&successor.tick(), at(100).after(SUSPICION_PERIOD));
    assert_eq!(guard.begin(object), ParseDecision::Exclude);
}

#[test]
fn a_leader_that_was_lost_between_two_objects_makes_none_suspect() {
    let (vm, successor) = (quarantine(), quarantine());
    LeaderGuard::new(&keys(), vm.vm()).begin_work();
    successor.suspect_last_leader(at(100));
    let marks = successor.tick();
    assert_eq!((marks.iter().count(), marks.objects(at(101)).count()), (1, 0));
}
