use super::*;
use crate::records::Record;

const IDLE: ElectorState = ElectorState {
    has_served: false,
    is_idle: true,
    is_eligible: true,
};
const SERVED: ElectorState = ElectorState {
    has_served: true,
    ..IDLE
};

/// Shared data with one record, as Envoy keeps it: every write gets a new CAS number.
#[derive(Default)]
struct Shared {
    lease: Option<Lease>,
    full: Option<FullCandidates>,
    cas: u32,
}

impl Shared {
    /// One tick of an elector. Returns whether it holds the lease afterwards.
    fn tick(&mut self, candidate: &mut Elector, state: ElectorState) -> bool {
        let (lease, cas) = (self.lease.clone(), self.cas);
        let renewed = candidate.renew_full_candidates(lease.as_ref(), self.full.as_ref(), state);
        self.full = renewed.or_else(|| self.full.take());
        self.write(
            candidate.observe(lease.as_ref(), self.full.as_ref(), EXPIRY_TICKS, state),
            cas,
        )
    }

    fn write(&mut self, step: Decision, cas: u32) -> bool {
        let (lease, held) = match step {
            Decision::Hold(lease) | Decision::Succeed(lease) => (lease, true),
            Decision::Release(lease) => (lease, false),
            Decision::Wait => return false,
        };
        let fresh = self.cas == cas;
        if fresh {
            (self.lease, self.cas) = (Some(lease), cas + 1);
        }
        fresh && held
    }
}

fn elector(id: u32, module: Artifact) -> Elector {
    Elector::new(VmId(id), module, false)
}

/// One with the full module and one with the header-only module.
fn one_of_each() -> (Shared, Elector, Elector) {
    let (full, header_only) = (elector(1, Artifact::Full), elector(2, Artifact::HeaderOnly));
    (Shared::default(), full, header_only)
}

fn candidates() -> (Shared, Elector, Elector) {
    (
        Shared::default(),
        elector(1, Artifact::Full),
        elector(2, Artifact::Full),
    )
}

/// A lease that another VM holds.
fn of_another() -> Lease {
    Lease {
        holder: Some(VmId(1)),
        renewals: 9,
        has_served: false,
        is_idle: true,
        module: Artifact::Full,
        keeps_labels: false,
    }
}

#[test]
fn of_two_racing_first_claims_one_wins() {
    let (mut shared, mut one, mut two) = candidates();
    let (a, b) = (
        one.observe(None, None, EXPIRY_TICKS, IDLE),
        two.observe(None, None, EXPIRY_TICKS, IDLE),
    );
    assert!(shared.write(a, 0));
    assert!(!shared.write(b, 0));
}

#[test]
fn a_silent_holder_is_replaced_after_the_observers_own_ticks() {
    let (mut shared, mut one, mut two) = candidates();
    assert!(shared.tick(&mut one, IDLE));
    let taken = (1..).find(|_| shared.tick(&mut two, IDLE)).unwrap();
    assert_eq!(taken, EXPIRY_TICKS + 1, "the first tick only learns the renewals");
    assert!(!shared.tick(&mut one, IDLE), "the old holder finds itself deposed");
}

#[test]
fn a_holder_that_renews_keeps_the_lease() {
    let (mut shared, mut one, mut two) = candidates();
    for _ in 0..50 {
        assert!(shared.tick(&mut one, IDLE));
        assert!(!shared.tick(&mut two, IDLE));
    }
}

#[test]
fn the_lease_moves_to_a_vm_that_serves_no_requests_and_stays_there() {
    let (mut shared, mut worker, mut main) = candidates();
    assert!(shared.tick(&mut worker, IDLE));
    assert!(!shared.tick(&mut main, IDLE));
    assert!(shared.tick(
        &mut worker,
        ElectorState {
            is_idle: false,
            ..SERVED
        }
    ));
    assert!(!shared.tick(&mut main, IDLE), "not in the middle of a round");
    assert!(shared.tick(&mut worker, SERVED));
    assert!(shared.tick(&mut main, IDLE));
    for _ in 0..50 {
        assert!(!shared.tick(&mut worker, SERVED));
        assert!(shared.tick(&mut main, IDLE));
    }
}

#[test]
fn two_vms_that_both_serve_do_not_take_the_lease_from_each_other() {
    let (mut shared, mut one, mut two) = candidates();
    for _ in 0..50 {
        assert!(shared.tick(&mut one, SERVED));
        assert!(!shared.tick(&mut two, SERVED));
    }
}

#[test]
fn a_drained_vm_releases_the_lease_and_never_claims_it() {
    let (mut shared, mut old, mut new) = candidates();
    let draining = ElectorState {
        is_eligible: false,
        ..IDLE
    };
    assert!(shared.tick(&mut old, IDLE));
    assert!(!shared.tick(&mut old, draining));
    assert!(!shared.tick(&mut old, draining));
    assert!(shared.tick(&mut new, IDLE), "it does not wait for the lease to expire");
}

#[test]
fn only_an_expired_lease_is_succeeded_not_one_that_is_released_or_given_way() {
    // The response of an open watch is parsed between rounds.
    let gives_way = Lease {
        has_served: true,
        ..of_another()
    };
    let returned = Lease {
        holder: None,
        ..of_another()
    };
    for lease in [gives_way, returned] {
        let taken = elector(2, Artifact::Full).observe(Some(&lease), None, EXPIRY_TICKS, IDLE);
        assert!(matches!(taken, Decision::Hold(_)), "{taken:?}");
    }
    let mut two = elector(2, Artifact::Full);
    let mut looks = std::iter::repeat_with(|| two.observe(Some(&of_another()), None, EXPIRY_TICKS, IDLE));
    let taken = looks.find(|taken| *taken != Decision::Wait);
    assert!(matches!(taken, Some(Decision::Succeed(_))), "{taken:?}");
}

#[test]
fn after_several_leaders_died_the_next_one_waits_longer() {
    let mut two = elector(2, Artifact::Full);
    let expiry_ticks = expiry_ticks_after(Duration::from_secs(60));
    let waits = (0..).find(|_| two.observe(Some(&of_another()), None, expiry_ticks, IDLE) != Decision::Wait);
    assert_eq!(waits, Some(EXPIRY_TICKS + 60));
}

#[test]
fn the_header_only_module_gives_way_to_the_full_one_even_if_that_serves_requests() {
    let (mut shared, mut full, mut header_only) = one_of_each();
    assert!(shared.tick(&mut header_only, IDLE), "no full module is known");
    let reading = ElectorState { is_idle: false, ..IDLE };
    assert!(shared.tick(&mut header_only, reading));
    assert!(!shared.tick(&mut full, SERVED), "not in the middle of a round");
    assert!(shared.tick(&mut header_only, IDLE));
    for _ in 0..50 {
        assert!(shared.tick(&mut full, SERVED));
        assert!(!shared.tick(&mut header_only, IDLE));
    }
}

#[test]
fn the_header_only_module_leaves_a_free_lease_to_a_full_one_that_is_alive() {
    let (mut shared, mut leader, mut header_only) = one_of_each();
    let mut other = elector(3, Artifact::Full);
    for _ in 0..10 {
        assert!(shared.tick(&mut leader, IDLE));
        assert!(!shared.tick(&mut other, IDLE) && !shared.tick(&mut header_only, IDLE));
    }
    // The leader crashes, and the header-only module always ticks first.
    let mut ticks = 0..20;
    let taken = ticks.find(|_| {
        assert!(!shared.tick(&mut header_only, IDLE));
        shared.tick(&mut other, IDLE)
    });
    assert_eq!(taken, Some(EXPIRY_TICKS as i32 - 1));
}

#[test]
fn the_header_only_module_leads_when_no_full_one_is_alive_any_more() {
    let gone = ElectorState {
        is_eligible: false,
        ..IDLE
    };
    let (mut shared, mut leader, mut header_only) = one_of_each();
    let mut other = elector(3, Artifact::Full);
    for _ in 0..3 {
        assert!(shared.tick(&mut leader, IDLE));
        assert!(!shared.tick(&mut other, IDLE) && !shared.tick(&mut header_only, IDLE));
    }
    for drained in [&mut leader, &mut other] {
        assert!(!shared.tick(drained, gone));
    }
    let taken = (1..).find(|_| shared.tick(&mut header_only, IDLE)).unwrap();
    assert_eq!(taken, EXPIRY_TICKS);
    // A header-only module that starts later does not know when the last renewal was.
    shared.lease = None;
    let mut late = elector(4, Artifact::HeaderOnly);
    let taken = (0..).find(|_| shared.tick(&mut late, IDLE)).unwrap();
    assert_eq!(taken, EXPIRY_TICKS);
}

#[test]
fn of_the_full_candidates_one_renews_the_record_in_each_tick() {
    let mut shared = Shared::default();
    let mut leader = elector(0, Artifact::Full);
    let mut others: Vec<_> = (1..9).map(|id| elector(id, Artifact::Full)).collect();
    for tick in 0..20 {
        assert!(shared.tick(&mut leader, IDLE));
        for other in &mut others {
            assert!(!shared.tick(other, IDLE));
        }
        let renewals = shared.full.as_ref().unwrap().renewals;
        assert!(
            (tick + 1..=tick + 9).contains(&renewals),
            "{renewals} after {tick} ticks"
        );
    }
}

#[test]
fn a_leader_without_labels_gives_way_to_one_that_keeps_them_and_not_back() {
    let mut shared = Shared::default();
    let mut plain = elector(1, Artifact::Full);
    let mut labelling = Elector::new(VmId(2), Artifact::Full, true);
    assert!(shared.tick(&mut plain, IDLE));
    for _ in 0..50 {
        assert!(shared.tick(&mut labelling, SERVED));
        assert!(!shared.tick(&mut plain, IDLE));
    }
    let takes_over = (0..=EXPIRY_TICKS).any(|_| shared.tick(&mut plain, IDLE));
    assert!(takes_over, "it is gone");
}

#[test]
fn modules_with_and_without_labels_in_the_lease_understand_each_other() {
    /// The lease as it was.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Before {
        holder: Option<VmId>,
        renewals: u64,
        has_served: bool,
        is_idle: bool,
        module: Artifact,
    }
    let before = Before {
        holder: Some(VmId(7)),
        renewals: 300,
        has_served: true,
        is_idle: false,
        module: Artifact::HeaderOnly,
    };
    let bytes = postcard::to_stdvec(&before).unwrap();
    let read = Lease::from_bytes(&bytes).unwrap();
    assert_eq!(
        (read.holder, read.renewals, read.module),
        (Some(VmId(7)), 300, Artifact::HeaderOnly)
    );
    assert!(read.has_served && !read.is_idle && !read.keeps_labels);
    for keeps_labels in [true, false] {
        let lease = Lease {
            keeps_labels,
            ..read.clone()
        };
        assert_eq!(
            postcard::from_bytes(&lease.to_bytes()),
            Ok(postcard::from_bytes::<Before>(&bytes).unwrap())
        );
        assert_eq!(Lease::from_bytes(&lease.to_bytes()), Some(lease));
    }
}
