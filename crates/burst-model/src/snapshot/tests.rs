use super::*;
use crate::index::{Row, Table};
use crate::label_text::LabelText;
use crate::load::Load;
use crate::name::ObjectName;
use crate::signals::{ScalingState, Signal, SignalSet, Signals};
use proptest::prelude::*;

fn row(name: &str, label: &str, numbers: [u32; 3]) -> Row {
    let [current, target, max] = numbers;
    let load = Load { current, target, max };
    Row {
        name: ObjectName::parse(name).unwrap(),
        label: ObjectName::parse(label).unwrap(),
        load,
        signals: Signals::default(),
        labels: Box::default(),
    }
}

fn sample() -> Table {
    Table::from([
        ("deployments".into(), vec![]),
        (
            "hpas".into(),
            vec![row("default/ngsa-hpa-1", "default/ngsa-1", [1, 4, 5])],
        ),
        (
            "services".into(),
            vec![
                row("default/ngsa-svc-1", "default/ngsa-1", [1, 4, 5]),
                row("ngsa/ngsa-svc-2", "ngsa/ngsa-2", [2, 4, 6]),
            ],
        ),
    ])
}

fn table() -> impl Strategy<Value = Table> {
    let name = "[a-z]{1,3}/[a-z0-9]{1,6}";
    let labels = proptest::option::of("[a-z]{1,3}=[a-z]{0,3}");
    let state = proptest::option::of(prop::sample::select(ScalingState::ALL.to_vec()));
    let signals = (any::<Option<u32>>(), any::<Option<u32>>(), state);
    let signals = signals.prop_map(|(ready, demand, state)| Signals { ready, demand, state });
    let signals = proptest::option::of(signals);
    let rows = (name, any::<[u32; 3]>(), labels, signals);
    let rows = proptest::collection::btree_map(name, rows, 0..12).prop_map(|rows| {
        let row = |(name, (label, numbers, labels, signals)): (String, (String, _, Option<String>, Option<_>))| Row {
            labels: labels.unwrap_or_default().into(),
            signals: signals.unwrap_or_default(),
            ..row(&name, &label, numbers)
        };
        rows.into_iter().map(row).collect::<Vec<_>>()
    });
    proptest::collection::btree_map("[a-z]{1,8}", rows, 0..4)
}

proptest! {
    #[test]
    fn a_snapshot_written_in_parts_of_any_size_is_the_same(table in table(), parts in proptest::collection::vec(1..9usize, 1..20)) {
        let mut writer = SnapshotWriter::begin(&table, 3);
        let whole = parts.into_iter().cycle().any(|part| {
            let mut left = part;
            let whole = writer.advance(&table, &mut left);
            assert!(whole == (left > 0));
            whole
        });
        prop_assert!(whole);
        prop_assert_eq!(writer.finish(), write(&table, 3));
    }
}

#[test]
fn a_row_is_found_by_its_name_and_only_by_it() {
    let snapshot = Snapshot::open(write(&sample(), 7)).unwrap();
    assert_eq!(snapshot.generation(), 7);
    let services = snapshot.section("services").unwrap();
    let found = services.find("ngsa/ngsa-svc-2").unwrap();
    assert_eq!((found.label, found.load.current), ("ngsa/ngsa-2", 2));
    for absent in ["", "ngsa/ngsa-svc", "ngsa/ngsa-svc-22", "zzz/z"] {
        assert_eq!(services.find(absent), None, "{absent}");
    }
    assert!(snapshot.section("deployments").unwrap().is_empty());
    assert!(snapshot.section("rollouts").is_none());
}

#[test]
fn a_label_that_equals_the_name_takes_no_space() {
    let of_label = |label| {
        write(
            &Table::from([("hpas".into(), vec![row("shop/web", label, [1, 4, 5])])]),
            1,
        )
    };
    let (same, other) = (of_label("shop/web"), of_label("shop/wed"));
    assert_eq!(same.len() + "shop/wed".len(), other.len());
    for (bytes, label) in [(same, "shop/web"), (other, "shop/wed")] {
        let snapshot = Snapshot::open(bytes).unwrap();
        assert_eq!(snapshot.section("hpas").unwrap().find("shop/web").unwrap().label, label);
    }
}

#[test]
fn the_rows_of_a_namespace_are_those_and_no_others() {
    let name = |name| row(name, "a/b", [1, 1, 1]);
    let rows = ["a-b/x", "a.b/x", "a/x", "a/y-1", "a/y.1", "aa/x"].map(name).to_vec();
    let snapshot = Snapshot::open(write(&Table::from([("services".into(), rows)]), 1)).unwrap();
    let services = snapshot.section("services").unwrap();
    let names = |namespace| services.namespace(namespace).map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names("a"), ["x", "y-1", "y.1"]);
    assert_eq!(names("aa"), ["x"]);
    for absent in ["", "0", "a/", "b", "a/x", "zz"] {
        assert_eq!(names(absent), [""; 0], "{absent}");
    }
}

#[test]
fn the_content_hash_ignores_the_generation() {
    let hash = |table: &Table, generation| Snapshot::open(write(table, generation)).unwrap().content_hash();
    assert_eq!(hash(&sample(), 1), hash(&sample(), 2));
    let mut other = sample();
    other.get_mut("hpas").unwrap()[0].load.current = 2;
    assert_ne!(hash(&sample(), 1), hash(&other, 1));
}

#[test]
fn the_hash_of_the_rows_covers_only_the_signals_that_are_shown() {
    let hash = |demand, shown| {
        let mut table = sample();
        table.get_mut("hpas").unwrap()[0].signals.demand = demand;
        let snapshot = Snapshot::open(write(&table, 1)).unwrap();
        snapshot.section("hpas").unwrap().content_hash(shown)
    };
    for (shown, is_same) in [
        (SignalSet::default(), true),
        ([Signal::Ready, Signal::State].into_iter().collect(), true),
        ([Signal::Demand].into_iter().collect(), false),
    ] {
        assert_eq!(hash(Some(3), shown) == hash(Some(4), shown), is_same, "{shown:?}");
        assert_eq!(hash(Some(0), shown) == hash(None, shown), is_same, "{shown:?}");
    }
}

#[test]
fn signals_take_space_only_in_a_section_that_has_some() {
    let mut table = sample();
    let without = write(&table, 1).len();
    table.get_mut("hpas").unwrap()[0].signals.state = Some(ScalingState::Limited);
    assert_eq!(write(&table, 1).len(), without + SIGNALS);
}

#[test]
fn a_damaged_row_is_not_found() {
    let mut bytes = write(&sample(), 1);
    let name = b"default/ngsa-svc-1";
    let at = bytes.windows(name.len()).position(|text| text == name).unwrap();
    bytes[at] = 0xff;
    let snapshot = Snapshot::open(bytes).unwrap();
    let services = snapshot.section("services").unwrap();
    assert_eq!(services.find("default/ngsa-svc-1"), None);
    let left: Vec<_> = services.rows().map(|entry| entry.name).collect();
    assert_eq!(left, ["ngsa/ngsa-svc-2"]);
}

#[test]
fn a_flipped_bit_anywhere_but_in_the_generation_is_found_by_the_hash() {
    let bytes = write(&sample(), 1);
    assert!(Snapshot::open_verified(bytes.clone()).is_ok());
    for at in (0..bytes.len()).filter(|at| !(8..16).contains(at)) {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            assert!(Snapshot::open_verified(flipped).is_err(), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn rows_that_are_not_in_the_bytes_are_refused() {
    let bytes = write(&sample(), 1);
    // The numbers of rows, section by section.
    for section in 0..3 {
        let at = HEADER + section * SECTION + 12;
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&99u32.to_le_bytes());
        assert!(Snapshot::open(bytes).is_err(), "section {section}");
    }
}

proptest! {
    #[test]
    fn a_written_table_is_read_back(table in table(), generation: u64) {
        let snapshot = Snapshot::open(write(&table, generation)).unwrap();
        prop_assert_eq!(snapshot.generation(), generation);
        for (kind, rows) in &table {
            let section = snapshot.section(kind).unwrap();
            prop_assert_eq!(section.len(), rows.len());
            for (row, entry) in rows.iter().zip(section.rows()) {
                let (name, label) = (row.name.to_string(), row.label.to_string());
                let labels = LabelText(&row.labels);
                prop_assert_eq!(entry, Entry { name: &name, label: &label, load: row.load, signals: row.signals, labels });
                prop_assert_eq!(section.find(&name), Some(entry));
            }
        }
    }

    #[test]
    fn every_truncation_is_refused(table in table()) {
        let bytes = write(&table, 3);
        for cut in 0..bytes.len() {
            prop_assert!(Snapshot::open(bytes[..cut].to_vec()).is_err(), "cut at {}", cut);
        }
    }

    #[test]
    fn changed_and_arbitrary_bytes_are_refused_or_read_without_harm(
        table in table(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        tail in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut bytes = write(&table, 3);
        for (at, byte) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        let noise = [&MAGIC[..], &tail].concat();
        for bytes in [bytes, noise, tail] {
            if let Ok(snapshot) = Snapshot::open(bytes) {
                for kind in table.keys() {
                    if let Some(section) = snapshot.section(kind) {
                        let _ = (section.rows().count(), section.find("a/b"));
                    }
                }
            }
        }
    }
}
