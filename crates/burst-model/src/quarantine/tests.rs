use super::*;

const T0: Time = Time::from_unix_millis(1_700_000_000_000);

fn at(seconds: u64) -> Time {
    T0.after(Duration::from_secs(seconds))
}

fn item(kind: ItemKind, hash: u64) -> Item {
    Item { kind, hash }
}

fn mark(vm: u32, item: Item, since: Time) -> Mark {
    Mark {
        vm: VmId(vm),
        item,
        since,
    }
}

fn marks(all: &[Mark]) -> Marks {
    let mut marks = Marks::default();
    all.iter().for_each(|mark| marks.begin(*mark));
    marks
}

const SNAPSHOT: Item = Item {
    kind: ItemKind::Snapshot,
    hash: 7,
};
const OBJECT: Item = Item {
    kind: ItemKind::Object,
    hash: 7,
};

#[test]
fn an_item_that_another_vm_does_not_finish_is_suspected_then_guilty_then_clear() {
    let marks = marks(&[mark(1, OBJECT, T0)]);
    for (seconds, verdict) in [
        (0, QuarantineVerdict::Suspected),
        (59, QuarantineVerdict::Suspected),
        (60, QuarantineVerdict::Excluded),
        (3599, QuarantineVerdict::Excluded),
        (3600, QuarantineVerdict::Clear),
    ] {
        assert_eq!(
            marks.verdict(Some(VmId(2)), OBJECT, at(seconds)),
            verdict,
            "after {seconds} s"
        );
        let objects: Vec<_> = marks.objects(at(seconds)).collect();
        let expected = Some((OBJECT.hash, verdict)).filter(|_| verdict != QuarantineVerdict::Clear);
        assert_eq!(objects, Vec::from_iter(expected), "after {seconds} s");
    }
    assert_eq!(
        marks.verdict(Some(VmId(1)), OBJECT, at(9)),
        QuarantineVerdict::Clear,
        "a VM ignores its own mark"
    );
    assert_eq!(
        marks.verdict(None, OBJECT, T0.before(MARK_TTL)),
        QuarantineVerdict::Clear,
        "the clock was set back"
    );
}

#[test]
fn an_object_is_the_same_item_in_a_watch_and_in_a_list() {
    let object = r#""metadata":{"name":"web","resourceVersion":"7"},"spec":{"metadata":{}}}"#;
    let [listed, watched] = ["{", r#"{"kind":"Service","apiVersion":"v1","#].map(|start| format!("{start}{object}"));
    assert_eq!(Item::object(&listed), Item::object(&watched));
    let changed = listed.replace("\"7\"", "\"8\"");
    assert_ne!(Item::object(&listed), Item::object(&changed));
    assert_ne!(Item::object("[1]"), Item::object("[2]"));
}

#[test]
fn a_query_is_refused_for_a_minute_and_delays_no_other_query() {
    let query = |hash| item(ItemKind::MetricsQuery, hash);
    let all: Vec<_> = (0..5).map(|n| mark(n, query(u64::from(n)), T0)).collect();
    let marks = marks(&all);
    assert_eq!(marks.verdict(None, query(0), at(59)), QuarantineVerdict::Suspected);
    assert_eq!(marks.verdict(None, query(0), at(60)), QuarantineVerdict::Clear);
    assert_eq!(marks.verdict(None, query(9), T0), QuarantineVerdict::Clear);
}

#[test]
fn after_one_crash_other_bytes_and_other_kinds_are_read_at_once() {
    let marks = marks(&[mark(1, SNAPSHOT, T0)]);
    for other in [
        item(ItemKind::Snapshot, 8),
        item(ItemKind::Policies, 7),
        item(ItemKind::Object, 7),
    ] {
        assert_eq!(
            marks.verdict(Some(VmId(2)), other, T0),
            QuarantineVerdict::Clear,
            "{other:?}"
        );
    }
}

#[test]
fn if_every_new_version_traps_at_most_one_vm_a_minute_crashes() {
    let (mut marks, mut crashes) = (Marks::default(), Vec::new());
    for second in 0..3600 {
        // Each second there are new bytes, and a VM that tries to read them.
        let attempt = item(ItemKind::Snapshot, second);
        if marks.verdict(None, attempt, at(second)) == QuarantineVerdict::Clear {
            marks.begin(mark(u32::try_from(second).unwrap(), attempt, at(second)));
            crashes.push(second);
        }
    }
    assert_eq!(crashes[..7], [0, 1, 11, 31, 71, 131, 191]);
    assert!(
        crashes.windows(2).skip(4).all(|pair| pair[1] - pair[0] == 60),
        "{crashes:?}"
    );
}

#[test]
fn a_crash_delays_no_other_object_but_the_next_leader() {
    let all: Vec<_> = (0..5)
        .map(|n| mark(n, item(ItemKind::Object, u64::from(n)), T0))
        .collect();
    let marks = marks(&all);
    assert_eq!(
        marks.verdict(None, item(ItemKind::Object, 9), T0),
        QuarantineVerdict::Clear
    );
    assert_eq!(marks.leader_pause(T0), MAX_PAUSE);
    assert_eq!(marks.leader_pause(at(3600)), Duration::ZERO);
    assert_eq!(self::marks(&all[..2]).leader_pause(T0), INITIAL_PAUSE);
    assert_eq!(self::marks(&all[..1]).leader_pause(T0), Duration::ZERO);
}

#[test]
fn marks_are_decoded_as_encoded_and_other_bytes_are_ignored() {
    let marks = marks(&[
        mark(1, SNAPSHOT, T0),
        mark(u32::MAX, item(ItemKind::LeaderWork, u64::MAX), at(1)),
    ]);
    let mut bytes = marks.to_bytes();
    assert_eq!(
        (bytes.len(), Marks::from_bytes(&bytes)),
        (2 * MARK_BYTES, marks.clone())
    );
    bytes.push(0);
    assert_eq!(Marks::from_bytes(&bytes), marks, "truncated");
    bytes[0] = 99;
    assert_eq!(
        Marks::from_bytes(&bytes).0,
        marks.0[1..],
        "an unknown kind from a newer binary"
    );
    for kind in ItemKind::ALL {
        let known = mark(1, item(kind, 7), T0);
        assert_eq!(Mark::from_bytes(&known.to_bytes()), Some(known));
    }
}

#[test]
fn a_vm_has_one_mark_and_removes_it() {
    let mut marks = marks(&[mark(1, SNAPSHOT, T0), mark(1, OBJECT, T0), mark(2, OBJECT, T0)]);
    assert_eq!(marks.0.len(), 2);
    assert!(marks.end(VmId(1)) && !marks.end(VmId(1)));
    assert!(marks.end(VmId(2)) && marks.is_empty());
}

#[test]
fn the_number_and_the_age_of_marks_are_limited() {
    let many: Vec<_> = (0..10 * 64)
        .map(|n| mark(n, item(ItemKind::Object, u64::from(n)), T0))
        .collect();
    let mut marks = marks(&many);
    assert_eq!(marks.0.len(), MAX_MARKS);
    assert_eq!(
        marks.verdict(None, many.last().unwrap().item, T0),
        QuarantineVerdict::Suspected,
        "the newest are kept"
    );
    marks.begin(mark(9_999, SNAPSHOT, at(3600)));
    assert_eq!(marks.0.len(), 1);
}
