//! The leader wakes the VMs that are there.

use super::*;
use crate::WakeQueues;
use crate::shared_data::MAX_TRIES;

const KEY: &str = "wake";

#[test]
fn each_vm_is_woken_by_the_others_until_it_is_gone() {
    let [leader, worker, dead] = [1, 2, 3].map(|queue| {
        let queues = WakeQueues::<Memory>::new(KEY);
        queues.tick(|| Some(queue), at(0));
        queues
    });
    assert_eq!(leader.others(at(1)), [2, 3]);
    assert_eq!(worker.others(at(1)), [1, 3]);
    drop(dead);
    for seconds in 1..=40 {
        leader.tick(|| None, at(seconds));
        worker.tick(|| None, at(seconds));
    }
    assert_eq!(leader.others(at(40)), [2]);
    assert!(bytes(KEY).len() < 30, "a queue of a VM that is gone is forgotten");
}

#[test]
fn a_queue_that_cannot_be_registered_or_announced_is_tried_again_in_the_next_tick() {
    let (leader, worker) = (WakeQueues::<Memory>::new(KEY), WakeQueues::<Memory>::new(KEY));
    worker.tick(|| None, at(0));
    assert!(leader.others(at(0)).is_empty());
    before_write(KEY, MAX_TRIES, || Memory::overwrite(KEY, b""));
    worker.tick(|| Some(2), at(1));
    assert!(leader.others(at(1)).is_empty());
    worker.tick(|| panic!("it has one"), at(2));
    assert_eq!(leader.others(at(2)), [2]);
}

#[test]
fn damaged_bytes_and_a_clock_that_is_set_back_cost_wake_ups_only_until_the_next_announcement() {
    let (leader, worker) = (WakeQueues::<Memory>::new(KEY), WakeQueues::<Memory>::new(KEY));
    worker.tick(|| Some(2), at(100));
    assert!(leader.others(at(10)).is_empty());
    worker.tick(|| None, at(10));
    assert_eq!(leader.others(at(10)), [2]);
    Memory::overwrite(KEY, &[0xff; 40]);
    assert!(leader.others(at(11)).is_empty());
    worker.tick(|| None, at(20));
    assert_eq!(leader.others(at(20)), [2]);
}
