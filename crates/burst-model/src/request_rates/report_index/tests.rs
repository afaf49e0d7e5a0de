use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const MAX_AGE: Duration = Duration::from_secs(15);
const ATTACKER: u64 = 666;
const USUAL_BYTES: usize = 10 << 10;
const LARGE_BYTES: usize = 900 << 10;

fn at(seconds: u64) -> Time {
    Time::from_unix_millis(1_000_000 + seconds * 1000)
}

/// Checks that the number of reports is within its limit, and that no slot has two reports.
fn assert_slots_are_distinct(index: &ReportIndex) {
    assert!(index.0.len() <= MAX_REPORTS, "{} reports", index.0.len());
    let slots: BTreeSet<_> = index.0.iter().map(|stored| stored.slot).collect();
    assert_eq!(slots.len(), index.0.len());
    assert!(slots.iter().all(|slot| *slot < MAX_REPORTS));
}

/// Checks also that the bytes are within their limit, and that no proxy has two reports.
fn assert_within_limits(index: &ReportIndex) {
    assert_slots_are_distinct(index);
    assert!(index.bytes() <= MAX_BYTES, "{} bytes", index.bytes());
    let proxies: BTreeSet<_> = index.0.iter().map(|stored| (stored.reporter, stored.id)).collect();
    assert_eq!(proxies.len(), index.0.len());
}

fn reports_of(index: &ReportIndex, reporter: u64) -> usize {
    index.0.iter().filter(|stored| stored.reporter == reporter).count()
}

#[test]
fn a_proxy_keeps_its_slot_and_free_slots_are_reused() {
    let mut index = ReportIndex::default();
    for (id, seconds, slot) in [(1, 0, 0), (2, 10, 1), (3, 10, 2), (2, 10, 1)] {
        let admitted = index.admit(7, id, USUAL_BYTES, at(seconds)).unwrap();
        assert_eq!((admitted.slot, admitted.evicted), (slot, 0));
    }
    assert_eq!(index.expire(MAX_AGE, at(20)), [0]);
    assert_eq!(index.admit(7, 4, USUAL_BYTES, at(20)).unwrap().slot, 0);
    assert_eq!(index.bytes(), 3 * USUAL_BYTES);
    assert_within_limits(&index);
}

#[test]
fn many_small_reports_of_one_certificate_evict_only_its_own() {
    let mut index = ReportIndex::default();
    for honest in 0..100 {
        index.admit(honest, honest, USUAL_BYTES, at(0)).unwrap();
    }
    let refused = (0..10 * MAX_REPORTS as u64)
        .filter(|id| index.admit(ATTACKER, *id, 100, at(1)).is_err())
        .count();
    assert_within_limits(&index);
    assert_eq!(refused, 10 * MAX_REPORTS - (MAX_REPORTS - 100));
    assert!((0..100).all(|honest| reports_of(&index, honest) == 1));
    for honest in 100..300 {
        let admitted = index.admit(honest, honest, USUAL_BYTES, at(2)).unwrap();
        assert_eq!(
            (admitted.evicted, admitted.freed),
            (1, vec![]),
            "proxy {honest} is let in"
        );
        assert_within_limits(&index);
    }
    assert!((0..300).all(|honest| reports_of(&index, honest) == 1));
}

#[test]
fn large_reports_of_one_certificate_evict_only_its_own() {
    let mut index = ReportIndex::default();
    for honest in 0..100 {
        index.admit(honest, honest, USUAL_BYTES, at(0)).unwrap();
    }
    let ten_times = 10 * MAX_BYTES / LARGE_BYTES;
    let taken = (0..ten_times as u64).filter(|id| index.admit(ATTACKER, *id, LARGE_BYTES, at(1)).is_ok());
    assert_eq!(taken.count(), (MAX_BYTES - 100 * USUAL_BYTES) / LARGE_BYTES);
    assert_within_limits(&index);
    for honest in 0..300 {
        index.admit(honest, honest, 3 * USUAL_BYTES, at(2)).unwrap();
        assert_within_limits(&index);
    }
    assert!((0..300).all(|honest| reports_of(&index, honest) == 1));
    assert!(reports_of(&index, ATTACKER) > 0, "what is left is its own");
}

#[test]
fn the_id_of_another_proxy_does_not_replace_its_report() {
    let mut index = ReportIndex::default();
    let honest = index.admit(1, 42, USUAL_BYTES, at(0)).unwrap().slot;
    let other = index.admit(ATTACKER, 42, USUAL_BYTES, at(0)).unwrap().slot;
    assert_ne!(honest, other);
    assert_eq!(reports_of(&index, 1), 1);
}

#[test]
fn the_largest_number_of_proxies_have_reports_with_any_certificates() {
    for reporters in [1, 2, MAX_REPORTS as u64] {
        let mut index = ReportIndex::default();
        for round in 0..3 {
            for id in 0..MAX_REPORTS as u64 {
                let admitted = index.admit(id % reporters, id, MAX_BYTES / MAX_REPORTS, at(round));
                assert_eq!(admitted.map(|admitted| admitted.evicted), Ok(0), "{id} of {reporters}");
            }
        }
        assert_within_limits(&index);
    }
}

#[test]
fn a_report_that_is_refused_changes_nothing() {
    let mut index = ReportIndex::default();
    index.admit(ATTACKER, 1, MAX_BYTES, at(0)).unwrap();
    let before = index.clone();
    assert_eq!(index.admit(ATTACKER, 2, 1, at(0)), Err(ReportsFull));
    assert_eq!(index.admit(7, 2, MAX_BYTES + 1, at(0)), Err(ReportsFull));
    assert_eq!(index, before);
}

#[test]
fn reports_from_the_future_expire() {
    let mut index = ReportIndex::default();
    index.admit(1, 1, USUAL_BYTES, at(1000)).unwrap();
    assert_eq!(index.expire(MAX_AGE, at(1010)), Vec::<usize>::new());
    assert_eq!(index.expire(MAX_AGE, at(10)), [0]);
}

#[test]
fn reports_of_the_smallest_reporters_are_added_first() {
    let mut index = ReportIndex::default();
    for (reporter, id, bytes) in [(ATTACKER, 1, 10), (ATTACKER, 2, 5000), (1, 3, 300), (2, 4, 200)] {
        index.admit(reporter, id, bytes, at(0)).unwrap();
    }
    let ids: Vec<_> = index.by_usage().iter().map(|stored| stored.id).collect();
    assert_eq!(ids, [4, 3, 1, 2]);
}

proptest! {
    #[test]
    fn any_reports_stay_within_the_limits(
        reports in proptest::collection::vec((0..6u64, 0..300u64, 0..3usize << 20, 0..40u64), 0..300),
    ) {
        let mut index = ReportIndex::default();
        for (reporter, id, bytes, seconds) in reports {
            let before = index.clone();
            match index.admit(reporter, id, bytes, at(seconds)) {
                Ok(admitted) => prop_assert!(admitted.freed.iter().all(|slot| !index.is_used(*slot))),
                Err(ReportsFull) => prop_assert_eq!(&before, &index),
            }
            assert_within_limits(&index);
        }
    }

    #[test]
    fn arbitrary_bytes_are_an_index_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        let mut index = ReportIndex::read(&bytes);
        let _ = index.admit(1, 1, 100, at(0));
        let _ = (index.by_usage(), index.bytes(), index.expire(MAX_AGE, at(0)));
        assert_slots_are_distinct(&ReportIndex::read(&index.to_bytes()));
    }
}
