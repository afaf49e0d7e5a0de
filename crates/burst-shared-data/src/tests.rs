//! The protocols between VMs that share data in memory.

mod memory;

use crate::request_counts::{Aggregator, ReportRefusal, ReportRequest, RequestCounter, accept_report};
use crate::shared_data::{Cas, CasConflict, SharedData};
use crate::{ClusterLeader, Election, FencedKey, GarbageCollector, HostEffect, LazyId, LeaderGuard, Quarantine, Slots};
use crate::{Term, View, new_vm_id};
use burst_model::config::{Artifact, Config};
use burst_model::kube::{ParseDecision, ParseGuard};
use burst_model::quarantine::{Item, ItemKind, MARK_TTL, SUSPICION_PERIOD};
use burst_model::records::{Confirmed, Record, RequestCountKeys, SharedKeys};
use burst_model::snapshot;
use burst_model::sync::election::{EXPIRY_TICKS, ElectorState, Lease, VmId};
use burst_model::time::Time;
use memory::{Memory, before_write, bytes, die_on, used_keys};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

mod counting;
mod leading;
mod others;
mod quarantine;
mod upgrade;
mod waking;

fn at(seconds: u64) -> Time {
    Time::from_unix_millis(seconds * 1000)
}

fn keys() -> SharedKeys {
    SharedKeys::new(1, 2)
}

fn config(json: &str) -> Config {
    Config::parse(json.as_bytes(), Artifact::Full).unwrap()
}

/// Another VM takes the lease.
fn take_lease(vm: u32) {
    let lease = Lease {
        holder: Some(VmId(vm)),
        renewals: 1,
        has_served: false,
        is_idle: true,
        module: Artifact::Full,
        keeps_labels: false,
    };
    Memory::overwrite("lease", &lease.to_bytes());
}

fn term(vm: u32) -> Rc<Term<Memory>> {
    take_lease(vm);
    Rc::new(Term::new("lease", Some(VmId(vm))))
}

#[test]
fn of_two_first_writers_one_wins() {
    let (one, two) = (Memory::read("a"), Memory::read("a"));
    assert_eq!(Memory::compare_and_set("a", b"1", one.cas), Ok(()));
    assert_eq!(Memory::compare_and_set("a", b"2", two.cas), Err(CasConflict));
    assert_eq!(bytes("a"), b"1");
}

#[test]
fn an_emptied_key_still_exists() {
    assert!(!Memory::read("a").exists());
    Memory::overwrite("a", b"1");
    Memory::overwrite("a", b"");
    let found = Memory::read("a");
    assert!(found.exists() && found.bytes.is_empty() && found.cas != Cas::default());
}

#[test]
fn an_update_is_repeated_on_what_another_vm_wrote() {
    let append = |text: &'static [u8]| Memory::update("a", |old| Ok::<_, ()>(([old, text].concat(), old.len())));
    assert_eq!(append(b"1"), Ok(Ok(0)));
    before_write("a", 1, || Memory::overwrite("a", b"two"));
    assert_eq!(append(b"3"), Ok(Ok(3)));
    assert_eq!(bytes("a"), b"two3");
    before_write("a", usize::MAX, || {
        Memory::set("other", b"", None).unwrap();
    });
    assert_eq!(Memory::update("a", |_| Err::<(Vec<u8>, ()), _>("no")), Ok(Err("no")));
}

#[test]
fn vms_that_take_a_number_at_the_same_moment_get_no_equal_ones() {
    before_write("/ids", 1, || assert_eq!(new_vm_id::<Memory>(), Some(VmId(1))));
    assert_eq!(new_vm_id::<Memory>(), None, "it tries again in the next tick");
    let lazy = LazyId::<Memory>::default();
    assert_eq!((lazy.get(), lazy.get()), (Some(VmId(2)), Some(VmId(2))));
}

#[test]
fn a_slot_is_written_again_by_its_writer_and_used_again_when_it_is_free() {
    let slots = Slots::<Memory>::new("vm".into(), 3);
    let tally = |id: u64, requests: u64| format!("1;{id:016x};1000;1000;shop/web={requests},0");
    for (id, requests) in [(7, 1), (8, 2), (7, 3)] {
        slots.put(id, &tally(id, requests)).unwrap();
    }
    let text = |slot| String::from_utf8(bytes(slot)).unwrap();
    assert_eq!((text("vm/0"), text("vm/1")), (tally(7, 3), tally(8, 2)));
    let (slot, found) = slots.all().next().unwrap();
    slots.release(slot, &found);
    slots.put(9, &tally(9, 4)).unwrap();
    assert_eq!((text("vm/0"), slots.all().count()), (tally(9, 4), 2));
    slots.release(slot, &found);
    assert_eq!(text("vm/0"), tally(9, 4), "it was written after that read");
    slots.put(10, &tally(10, 5)).unwrap();
    assert!(slots.put(11, &tally(11, 6)).is_err(), "no slot is left");
}

#[test]
fn two_new_writers_at_the_same_moment_get_different_slots() {
    let put = |id: u64| {
        let slots = Slots::<Memory>::new("vm".into(), 3);
        slots.put(id, &format!("1;{id:016x};1000;1000")).unwrap();
    };
    before_write("vm/0", 1, || {
        Slots::<Memory>::new("vm".into(), 3)
            .put(1, "1;0000000000000001;1000;1000")
            .unwrap();
    });
    put(2);
    assert_eq!(used_keys(), ["vm/0", "vm/1"]);
    assert!(bytes("vm/1").starts_with(b"1;0000000000000002;"));
}

#[test]
fn the_keys_of_a_configuration_that_is_gone_are_emptied() {
    let [old, new] = [r#"{"cluster":"a"}"#, r#"{"cluster":"b"}"#].map(config);
    let (old_keys, new_keys) = (SharedKeys::of(&old), SharedKeys::of(&new));
    for keys in [&old_keys, &new_keys] {
        Memory::overwrite(&keys.lease, b"lease");
        Memory::overwrite(&keys.snapshot, b"snapshot");
    }
    GarbageCollector::<Memory>::new(&old_keys, &old).tick(at(0));
    let mut collector = GarbageCollector::<Memory>::new(&new_keys, &new);
    (0..60).for_each(|minute| collector.tick(at(minute * 60)));
    assert_eq!(bytes(&old_keys.snapshot), b"snapshot", "not yet");
    (60..64).for_each(|minute| collector.tick(at(minute * 60)));
    assert!(bytes(&old_keys.snapshot).is_empty() && bytes(&old_keys.lease).is_empty());
    assert_eq!(bytes(&new_keys.snapshot), b"snapshot");
}

#[test]
fn the_keys_of_a_lease_that_is_renewed_stay() {
    let [old, new] = [r#"{"cluster":"a"}"#, r#"{"cluster":"b"}"#].map(config);
    let (old_keys, new_keys) = (SharedKeys::of(&old), SharedKeys::of(&new));
    Memory::overwrite(&old_keys.snapshot, b"snapshot");
    GarbageCollector::<Memory>::new(&old_keys, &old).tick(at(0));
    let mut collector = GarbageCollector::<Memory>::new(&new_keys, &new);
    for minute in 0..200_u64 {
        Memory::overwrite(&old_keys.lease, &minute.to_le_bytes());
        collector.tick(at(minute * 60));
    }
    assert_eq!(bytes(&old_keys.snapshot), b"snapshot");
}
