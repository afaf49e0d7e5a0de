//! One VM leads, its writes count as long as it does, and the others serve what it published.

use super::*;

const IDLE: ElectorState = ElectorState {
    has_served: false,
    is_idle: true,
    is_eligible: true,
};

#[test]
fn a_deposed_leader_overwrites_nothing() {
    let (mut old, _) = FencedKey::open("a", &term(1)).unwrap();
    old.write(b"old").unwrap();
    let (mut new, found) = FencedKey::open("a", &term(2)).unwrap();
    assert_eq!(found, b"old");
    assert_eq!(old.write(b"late"), Err(CasConflict));
    assert_eq!(bytes("a"), b"old");
    assert_eq!((new.write(b"new"), old.write(b"late")), (Ok(()), Err(CasConflict)));
    assert_eq!(bytes("a"), b"new");
}

#[test]
fn a_leader_that_lost_the_lease_learns_it_from_its_next_write() {
    let (mut key, _) = FencedKey::open("a", &term(1)).unwrap();
    take_lease(2);
    assert_eq!(
        key.write(b"in time"),
        Err(CasConflict),
        "the successor has not rewritten the key yet"
    );
    let (_, found) = FencedKey::open("a", &term(2)).unwrap();
    assert_eq!(found, b"in time", "and continues from it");
}

#[test]
fn the_successor_that_is_faster_than_a_write_keeps_what_it_found() {
    let (mut old, _) = FencedKey::open("a", &term(1)).unwrap();
    before_write("a", 1, || drop(FencedKey::open("a", &term(2)).unwrap()));
    assert_eq!(old.write(b"late"), Err(CasConflict));
    assert!(bytes("a").is_empty());
}

fn candidate_with(module: Artifact) -> (Election<Memory>, Quarantine<Memory>) {
    (
        Election::new(&keys(), module, false),
        Quarantine::new(&keys(), Rc::default()),
    )
}

/// A candidate of a VM of its own, and its quarantine.
fn candidate() -> (Election<Memory>, Quarantine<Memory>) {
    candidate_with(Artifact::Full)
}

fn leads((election, quarantine): &mut (Election<Memory>, Quarantine<Memory>), now: Time) -> bool {
    election.observe(IDLE, quarantine, now).is_some()
}

#[test]
fn one_of_two_candidates_leads_until_it_resigns() {
    let (mut one, mut two) = (candidate(), candidate());
    for second in 0..20 {
        assert!(leads(&mut one, at(second)) && !leads(&mut two, at(second)));
    }
    one.0.resign();
    assert!(leads(&mut two, at(20)), "it does not wait for the lease to expire");
}

#[test]
fn of_two_candidates_in_the_same_moment_one_leads() {
    before_write("lease", 1, || assert!(leads(&mut candidate(), at(0))));
    assert!(!leads(&mut candidate(), at(0)));
}

#[test]
fn of_both_modules_the_full_one_leads_and_the_header_only_one_only_while_no_full_one_is_alive() {
    let mut header_only = candidate_with(Artifact::HeaderOnly);
    assert!(leads(&mut header_only, at(0)), "alone, it does not wait");
    let (mut full, mut spare) = (candidate_with(Artifact::Full), candidate_with(Artifact::Full));
    assert!(leads(&mut full, at(1)) && !leads(&mut header_only, at(1)));
    for second in 2..10 {
        assert!(!leads(&mut header_only, at(second)) && !leads(&mut spare, at(second)));
        assert!(leads(&mut full, at(second)));
    }
    full.0.resign();
    assert!(!leads(&mut header_only, at(10)), "the other full one is alive");
    assert!(leads(&mut spare, at(10)));
    // It leads alone, so no other one renews the record, and then it is gone too.
    (11..20).for_each(|second| assert!(leads(&mut spare, at(second)) && !leads(&mut header_only, at(second))));
    spare.0.resign();
    assert!(leads(&mut header_only, at(20)));
}

#[test]
fn a_term_of_the_full_module_begins_with_what_the_header_only_one_left() {
    let view = Rc::new(view());
    let (mut header_only, mut full) = (candidate_with(Artifact::HeaderOnly), candidate_with(Artifact::Full));
    let take = |candidate: &mut (Election<Memory>, Quarantine<Memory>), now| {
        let lease = candidate.0.observe(IDLE, &candidate.1, now).unwrap();
        Rc::new(Term::new(&keys().lease, lease.holder))
    };
    let mut old = ClusterLeader::start(view.clone(), &take(&mut header_only, at(0)), at(0)).unwrap();
    publish(&view.keys, 7);
    let mut new = ClusterLeader::start(view.clone(), &take(&mut full, at(1)), at(1)).unwrap();
    assert_eq!(served(&view, at(1)), Some(7), "the snapshot stays");
    let confirm = || {
        burst_model::leader::Effect::Confirm(Confirmed {
            generation: 7,
            lists: vec![Some(at(101))],
        })
    };
    assert!(old.apply(confirm()).is_err() && new.apply(confirm()).is_ok());
}

#[test]
fn a_successor_suspects_what_the_lost_leader_was_doing() {
    let (mut lost, mut successor) = (candidate(), candidate());
    assert!(leads(&mut lost, at(0)));
    assert!(LeaderGuard::new(&keys(), lost.1.vm()).admits(b"bad"));
    let ticks = (1..).find(|second| leads(&mut successor, at(*second))).unwrap();
    assert_eq!(
        ticks,
        u64::from(EXPIRY_TICKS) + 1,
        "the first tick only learns the renewals"
    );
    let suspects: Vec<_> = successor.1.tick().objects(at(ticks)).map(|(hash, _)| hash).collect();
    assert_eq!(suspects, [Item::of_bytes(ItemKind::Object, b"bad").hash]);
}

#[test]
fn after_a_pause_the_lease_expires_later() {
    let (mut lost, mut successor) = (candidate(), candidate());
    assert!(leads(&mut lost, at(0)));
    successor.0.set_pause(Duration::from_secs(10));
    let ticks = (1..).find(|second| leads(&mut successor, at(*second))).unwrap();
    assert_eq!(ticks, u64::from(EXPIRY_TICKS) + 11);
}

#[test]
fn a_candidate_that_never_ticked_writes_nothing() {
    let (mut election, _quarantine) = candidate();
    election.resign();
    drop(View::<Memory>::new(config(r#"{"cluster":"k"}"#), Rc::default()));
    assert!(used_keys().is_empty());
}

fn view() -> View<Memory> {
    View::new(config(r#"{"cluster":"k"}"#), Rc::default())
}

/// Publishes an empty snapshot of that generation, as a leader does.
fn publish(keys: &SharedKeys, generation: u64) {
    Memory::overwrite(&keys.snapshot, &snapshot::write(&Default::default(), generation));
    let confirmed = Confirmed {
        generation,
        lists: vec![Some(at(100))],
    };
    Memory::overwrite(&keys.confirmed, &confirmed.to_bytes());
}

/// The generation that a VM serves after a tick.
fn served(view: &View<Memory>, now: Time) -> Option<u64> {
    assert!(!matches!(view.refresh(|| None, now), Some(Err(_))));
    view.cache.borrow().generation()
}

#[test]
fn a_vm_serves_the_newest_snapshot() {
    let view = view();
    assert_eq!(served(&view, at(100)), None);
    for generation in [1, 2] {
        publish(&view.keys, generation);
        assert_eq!(served(&view, at(100)), Some(generation));
    }
}

#[test]
fn a_snapshot_that_ends_a_vm_is_not_taken_by_another_which_serves_the_last_one() {
    let (dead, other) = (view(), view());
    publish(&dead.keys, 1);
    assert_eq!((served(&dead, at(100)), served(&other, at(100))), (Some(1), Some(1)));
    publish(&dead.keys, 2);
    die_on(Some(ItemKind::Snapshot));
    assert!(catch_unwind(AssertUnwindSafe(|| served(&dead, at(101)))).is_err());
    assert_eq!(served(&other, at(102)), Some(1));
    die_on(None);
    publish(&dead.keys, 3);
    assert_eq!(served(&other, at(103)), Some(3));
}

#[test]
fn a_vm_reports_whether_it_could_read_a_newer_snapshot() {
    let view = view();
    publish(&view.keys, 1);
    Memory::overwrite(&view.keys.snapshot, b"damaged");
    assert!(matches!(view.refresh(|| None, at(100)), Some(Err(_))));
    publish(&view.keys, 2);
    assert_eq!(view.refresh(|| None, at(101)), Some(Ok(())));
    assert_eq!(view.refresh(|| None, at(102)), None, "there is no newer one");
}

/// Leads with a configuration, and carries out the writes of a tick. Returns the paths of the requests.
fn tick(leader: &mut ClusterLeader<Memory>, now: Time) -> Result<Vec<String>, CasConflict> {
    let mut paths = Vec::new();
    for effect in leader.tick(now) {
        if let Some(HostEffect::Read(request)) = leader.apply(effect)? {
            paths.push(request.path);
        }
    }
    Ok(paths)
}

#[test]
fn a_new_leader_lists_and_a_deposed_one_publishes_nothing() {
    let view = Rc::new(view());
    let mut leader = ClusterLeader::start(view.clone(), &term(1), at(100)).unwrap();
    let paths: Vec<_> = (100..103)
        .flat_map(|second| tick(&mut leader, at(second)).unwrap())
        .collect();
    assert!(
        paths
            .iter()
            .any(|path| path.starts_with("/apis/autoscaling/v2/horizontalpodautoscalers?")),
        "{paths:?}"
    );
    drop(ClusterLeader::start(view.clone(), &term(2), at(103)).unwrap());
    let confirm = burst_model::leader::Effect::Confirm(Confirmed::default());
    assert!(leader.apply(confirm).is_err());
    assert!(bytes(&view.keys.confirmed).is_empty());
}

#[test]
fn a_leader_learns_that_something_else_wrote_a_key() {
    let view = Rc::new(view());
    for key in [
        &view.keys.snapshot,
        &view.keys.confirmed,
        &view.keys.failures,
        &view.keys.policies,
    ] {
        let leader = ClusterLeader::start(view.clone(), &term(1), at(100)).unwrap();
        assert_eq!(leader.check_keys(), Ok(()));
        Memory::overwrite(key, b"damaged");
        assert_eq!(leader.check_keys(), Err(CasConflict), "{key}");
    }
}
