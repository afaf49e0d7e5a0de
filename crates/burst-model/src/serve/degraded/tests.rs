use super::*;
use crate::load::{Load, Percent};
use crate::signals::Signals;
use proptest::prelude::*;

const HOLD: Duration = Duration::from_secs(30);
const T0: Time = Time::from_unix_millis(1_700_000_000_000);

fn config() -> DegradedConfig {
    DegradedConfig {
        enter: Percent::new(90).unwrap(),
        leave: Percent::new(80).unwrap(),
        hold: HOLD,
        dry_run: false,
    }
}

fn numbers(current: u32, demand: Option<u32>) -> FreshNumbers {
    FreshNumbers {
        load: Load {
            current,
            target: 8,
            max: 10,
        },
        signals: Signals {
            demand,
            ..Signals::default()
        },
    }
}

/// A Service of 10 replicas at most, as one VM sees it.
#[derive(Default)]
struct Service(DegradedStates);

impl Service {
    /// A response that long after `T0`, while the HPA wants that many replicas; `None` while the snapshot is stale.
    fn respond(&mut self, at: Duration, demand: Option<u32>) -> Observation {
        let numbers = demand.map(|demand| numbers(5, Some(demand)));
        let degradation = self.0.degradation(&config(), "services/shop/web".to_owned(), numbers);
        degradation.observe(HOLD, || T0.after(at))
    }

    fn is_degraded(&mut self, seconds: u64, demand: Option<u32>) -> bool {
        self.respond(Duration::from_secs(seconds), demand).is_degraded
    }
}

#[test]
fn the_demand_counts_and_without_it_the_current_replicas() {
    for (current, demand, level) in [
        (5, Some(7), Level::Low),
        (5, Some(8), Level::Middle),
        (5, Some(9), Level::High),
        (1, Some(25), Level::High),
        (10, Some(7), Level::Low),
        (7, None, Level::Low),
        (8, None, Level::Middle),
        (9, None, Level::High),
    ] {
        assert_eq!(
            Level::new(&config(), Some(numbers(current, demand))),
            level,
            "{current} replicas, demand {demand:?}"
        );
    }
    let mut none = numbers(0, Some(0));
    none.load.max = 0;
    assert_eq!(Level::new(&config(), Some(none)), Level::Unknown, "no share of nothing");
    assert_eq!(Level::new(&config(), None), Level::Unknown);
}

#[test]
fn a_service_is_full_from_the_upper_mark_until_it_is_below_the_lower_one() {
    let mut web = Service::default();
    for (second, demand, is_degraded) in [
        (0, 8, false),
        (1, 9, true),
        (60, 8, true),
        (61, 7, false),
        (120, 8, false),
        (121, 9, true),
    ] {
        assert_eq!(
            web.is_degraded(second, Some(demand)),
            is_degraded,
            "second {second}, demand {demand}"
        );
    }
}

#[test]
fn a_service_stays_full_and_not_full_for_the_hold_time() {
    let mut web = Service::default();
    for (second, demand, is_degraded) in [
        (0, 10, true),
        (1, 1, true),
        (29, 1, true),
        (30, 1, false),
        (31, 10, false),
        (59, 10, false),
        (60, 10, true),
    ] {
        assert_eq!(
            web.is_degraded(second, Some(demand)),
            is_degraded,
            "second {second}, demand {demand}"
        );
    }
}

#[test]
fn a_stale_snapshot_ends_it_at_once_and_a_fresh_one_waits_for_the_hold_time() {
    let mut web = Service::default();
    let change = |web: &mut Service, second, demand| web.respond(Duration::from_secs(second), demand).change;
    assert_eq!(change(&mut web, 0, None), None);
    assert_eq!(change(&mut web, 1, Some(10)), Some(DegradedChange::Entered));
    assert_eq!(change(&mut web, 2, None), Some(DegradedChange::Lost));
    assert_eq!(change(&mut web, 3, None), None);
    assert_eq!(change(&mut web, 4, Some(10)), None);
    assert_eq!(change(&mut web, 32, Some(10)), Some(DegradedChange::Entered));
    assert_eq!(change(&mut web, 70, Some(1)), Some(DegradedChange::Left));
}

#[test]
fn a_clock_that_is_set_back_delays_a_change_by_the_hold_time_at_most() {
    let mut web = Service::default();
    assert!(web.is_degraded(3600, Some(10)));
    assert!(web.is_degraded(0, Some(1)));
    assert!(!web.is_degraded(30, Some(1)));
}

#[test]
fn the_time_is_not_asked_for_while_a_service_is_not_full() {
    let mut states = DegradedStates::default();
    let idle = states.degradation(&config(), "services/shop/web".to_owned(), Some(numbers(5, Some(5))));
    let observed = idle.observe(HOLD, || panic!("a call to the host"));
    assert!(!observed.is_degraded);
}

#[test]
fn the_states_of_idle_services_make_room_for_others() {
    let mut states = DegradedStates::default();
    let full = |states: &mut DegradedStates, name: String| {
        let degradation = states.degradation(&config(), name, Some(numbers(5, Some(10))));
        degradation.observe(HOLD, || T0)
    };
    full(&mut states, "services/shop/web".to_owned());
    for number in 0..MAX_STATES {
        states.degradation(&config(), format!("services/shop/idle-{number}"), None);
    }
    assert!(states.0.len() <= MAX_STATES);
    let known = full(&mut states, "services/shop/web".to_owned());
    assert_eq!(
        (known.is_degraded, known.change),
        (true, None),
        "the full one is remembered"
    );
    for number in 0..MAX_STATES {
        full(&mut states, format!("services/shop/full-{number}"));
    }
    assert!(states.0.len() <= MAX_STATES);
}

/// A load that rises and falls in equal teeth.
fn sawtooth(at: Duration, tooth: Duration) -> u32 {
    let part = at.as_millis() % tooth.as_millis();
    u32::try_from(part * 15 / tooth.as_millis()).unwrap()
}

#[test]
fn a_sawtooth_faster_than_the_hold_time_changes_the_state_once_in_it() {
    let mut web = Service::default();
    let tooth = Duration::from_secs(7);
    let seconds = (0..600).map(Duration::from_secs);
    let changes = seconds.filter_map(|at| web.respond(at, Some(sawtooth(at, tooth))).change);
    let changes = changes.count();
    // 86 teeth pass both marks.
    assert!(
        (10..=20).contains(&changes),
        "{changes} changes in 600 s with a hold time of 30 s"
    );
}

proptest! {
    #[test]
    fn the_changes_are_bounded_by_the_hold_time_whatever_the_load_does(
        steps in prop::collection::vec((0_u64..20_000, prop::option::weighted(0.9, 0_u32..20)), 1..200),
    ) {
        let mut web = Service::default();
        let (mut at, mut entered, mut lost, mut left): (_, Vec<Duration>, _, _) = (Duration::ZERO, Vec::new(), 0, Vec::new());
        for (pause, demand) in steps {
            at += Duration::from_millis(pause);
            let seen = web.respond(at, demand);
            prop_assert!(demand.is_some() || !seen.is_degraded, "never from stale data");
            match seen.change {
                Some(DegradedChange::Entered) => entered.push(at),
                Some(DegradedChange::Left) => left.push(at),
                Some(DegradedChange::Lost) => lost += 1,
                None => {}
            }
        }
        prop_assert!(entered.is_sorted_by(|a, b| *b - *a >= HOLD), "{entered:?}");
        prop_assert!(entered.len() - left.len() - lost <= 1);
        let most = at.as_secs() / HOLD.as_secs() + 1;
        prop_assert!(entered.len() as u64 <= most, "{entered:?} until {at:?}");
        if lost == 0 {
            let mut changes = [entered, left].concat();
            changes.sort();
            prop_assert!(changes.is_sorted_by(|a, b| *b - *a >= HOLD), "{changes:?}");
        }
    }
}
