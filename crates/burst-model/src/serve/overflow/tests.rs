use super::*;
use crate::config::{Artifact, Config};
use crate::signals::ScalingState;
use proptest::prelude::*;

const T0: Time = Time::from_unix_millis(1_700_000_000_000);
const MINUTE: usize = 60;

fn config(overflow: &str) -> OverflowConfig {
    let json = format!(r#"{{"cluster":"k","overflow":{overflow}}}"#);
    let config = Config::parse(json.as_bytes(), Artifact::Full).unwrap();
    config.overflow.unwrap().into_inner()
}

fn seen(current: u32, max: u32, demand: Option<u32>) -> Observation {
    let target = max;
    Observation {
        load: Load { current, target, max },
        signals: Signals {
            demand,
            ..Signals::default()
        },
        peer_headroom: None,
    }
}

fn second(n: usize) -> Time {
    T0.after(Duration::from_secs(n as u64))
}

/// Whole replicas.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
fn whole(load: f64) -> u32 {
    load.ceil() as u32
}

/// The share from 0 to 1.
fn part(share: Share) -> f64 {
    share.0 as f64 / 2_f64.powi(64)
}

/// A Service whose HPA measures its requests every 15 s, and after a delay.
struct Plant {
    max: u32,
    /// In seconds, before the sync.
    delay: usize,
    config: OverflowConfig,
    shares: Shares,
    /// The load of each second, in replicas, that stayed.
    stayed: Vec<f64>,
    /// The share of each second.
    overflowing: Vec<f64>,
}

impl Plant {
    fn new(max: u32, delay: usize) -> Self {
        Self {
            max,
            delay,
            config: config("{}"),
            shares: Shares::default(),
            stayed: Vec::new(),
            overflowing: Vec::new(),
        }
    }

    /// What the HPA controller has measured in its last sync.
    fn demand(&self) -> u32 {
        let now = self.stayed.len();
        let synced = (now - now % 15).saturating_sub(self.delay);
        let load = self.stayed.get(synced).or(self.stayed.last()).copied();
        whole(load.unwrap_or_default())
    }

    /// That load, in percent of the maximum, for so many seconds.
    fn run(&mut self, percent: u32, seconds: usize) {
        let load = f64::from(self.max) * f64::from(percent) / 100.0;
        for _ in 0..seconds {
            let demand = self.demand();
            let seen = seen(demand.min(self.max), self.max, Some(demand));
            let share = self
                .shares
                .update(&self.config, "shop/web", &seen, second(self.stayed.len()));
            self.overflowing.push(part(share));
            self.stayed.push(load * (1.0 - part(share)));
        }
    }

    /// The smallest and the largest share of the last seconds.
    fn range(&self, seconds: usize) -> (f64, f64) {
        let last = self.overflowing.iter().rev().take(seconds).copied();
        (last.clone().fold(1.0, f64::min), last.fold(0.0, f64::max))
    }

    fn most_load(&self, seconds: usize) -> f64 {
        self.stayed.iter().rev().take(seconds).copied().fold(0.0, f64::max)
    }
}

#[test]
fn the_share_settles_at_the_excess_and_the_replicas_that_stay_are_enough() {
    for max in [1, 2, 5, 10, 50, 1_000] {
        for delay in [0, 15, 30, 45] {
            for percent in [120, 200, 400] {
                let case = format!("max {max}, delay {delay} s, load {percent} %");
                let mut plant = Plant::new(max, delay);
                plant.run(percent, 15 * MINUTE);
                plant.run(percent, 20 * MINUTE);
                let (least, most) = plant.range(20 * MINUTE);
                // The demand is in whole replicas.
                let replica = 100.0 / f64::from(max * percent);
                assert!(most - least <= 0.05 + replica, "{case}: swings from {least} to {most}");
                let stayed = plant.most_load(20 * MINUTE);
                assert!(stayed <= f64::from(max) * 1.001, "{case}: {stayed} stay");
                // Of a small Service the demand is known to a replica.
                let fewest = (f64::from(max) * 0.88).min(f64::from(max) - 1.0);
                assert!(stayed >= fewest * 0.98, "{case}: only {stayed} stay");
            }
        }
    }
}

#[test]
fn a_step_of_the_load_overshoots_only_a_little() {
    for (delay, most) in [(0, 0.60), (15, 0.64), (30, 0.70), (45, 0.76)] {
        let mut plant = Plant::new(50, delay);
        plant.run(50, 2 * MINUTE);
        plant.run(200, 30 * MINUTE);
        let (_, highest) = plant.range(30 * MINUTE);
        assert!((0.5..most).contains(&highest), "delay {delay}: {highest}");
    }
}

#[test]
fn the_share_returns_to_zero_when_the_load_falls() {
    for max in [3, 10, 50] {
        let mut plant = Plant::new(max, 30);
        plant.run(300, 20 * MINUTE);
        assert!(plant.range(1).1 > 0.5);
        plant.run(50, 10 * MINUTE);
        assert_eq!(plant.range(1), (0.0, 0.0), "max {max}");
        assert!(plant.shares.is_empty(), "max {max}");
    }
}

#[test]
fn nothing_overflows_up_to_the_mark() {
    for (max, load) in [(1, 100), (2, 100), (5, 100), (10, 90), (50, 90)] {
        let mut plant = Plant::new(max, 0);
        plant.run(load, 10 * MINUTE);
        assert_eq!(plant.range(10 * MINUTE), (0.0, 0.0), "max {max}");
    }
}

#[test]
fn all_vms_come_to_the_same_share_also_one_that_starts_later() {
    let config = config("{}");
    let mut vms = [Shares::default(), Shares::default(), Shares::default()];
    let mut demand = 0.0_f64;
    let mut shares = [0.0; 3];
    for now in 0..60 * MINUTE {
        if now == 15 * MINUTE {
            assert_eq!((shares[0], shares[1]), (shares[1], shares[2]), "the same inputs");
            vms[2] = Shares::default();
        }
        let seen = seen(100, 100, Some(whole(demand)));
        for (vm, share) in vms.iter_mut().zip(&mut shares) {
            *share = part(vm.update(&config, "shop/web", &seen, second(now)));
        }
        // A third of the requests comes to each.
        demand = 200.0 * (1.0 - shares.iter().sum::<f64>() / 3.0);
    }
    let [old, _, new] = shares;
    assert!((old - new).abs() < 0.05, "{shares:?}");
}

#[test]
fn a_client_that_overflows_stays_away_while_the_share_grows() {
    let clients: Vec<_> = (0..20_000).map(|n| format!("user-{n}")).collect();
    let away = |percent: u64| {
        let share = Share(u64::MAX / 100 * percent);
        let away = clients.iter().filter(|client| share.includes(client.as_bytes()));
        away.cloned().collect::<Vec<_>>()
    };
    let mut before = Vec::new();
    for percent in [0, 1, 10, 50, 95] {
        let now = away(percent);
        let wanted = clients.len() as f64 * percent as f64 / 100.0;
        assert!((now.len() as f64 - wanted).abs() < 300.0, "{percent} %: {}", now.len());
        assert!(before.iter().all(|client| now.contains(client)), "{percent} %");
        before = now;
    }
}

/// The share after an hour of these numbers.
fn share_after_an_hour(config: &OverflowConfig, seen: &Observation) -> f64 {
    let mut shares = Shares::default();
    let last = (0..60 * MINUTE).map(|now| shares.update(config, "shop/web", seen, second(now)));
    part(last.last().unwrap())
}

#[test]
fn without_a_demand_at_most_the_part_above_the_mark_overflows() {
    let (config, full) = (config("{}"), seen(10, 10, None));
    let share = share_after_an_hour(&config, &full);
    assert!((share - 0.1).abs() < 0.001, "{share}");
    assert_eq!(share_after_an_hour(&config, &seen(9, 10, None)), 0.0);
    for state in [ScalingState::Blocked, ScalingState::Fixed, ScalingState::Unknown] {
        let mut seen = full;
        seen.signals.state = Some(state);
        assert_eq!(share_after_an_hour(&config, &seen), 0.0, "{state:?}");
    }
}

#[test]
fn a_dry_run_comes_to_the_excess_although_the_demand_does_not_fall() {
    let full = seen(10, 10, Some(20));
    let share = share_after_an_hour(&config(r#"{"dry_run":true}"#), &full);
    assert!((share - 0.55).abs() < 0.001, "{share}");
    let share = share_after_an_hour(&config("{}"), &full);
    assert!((share - 0.95).abs() < 0.001, "never all: {share}");
}

#[test]
fn nothing_overflows_to_peers_without_headroom() {
    let mut seen = seen(10, 10, Some(20));
    seen.peer_headroom = Some(1);
    assert!(share_after_an_hour(&config("{}"), &seen) > 0.9);
    seen.peer_headroom = Some(0);
    assert_eq!(share_after_an_hour(&config("{}"), &seen), 0.0);
    let mut shares = Shares::default();
    seen.peer_headroom = None;
    for now in 0..MINUTE {
        shares.update(&config("{}"), "shop/web", &seen, second(now));
    }
    seen.peer_headroom = Some(0);
    let at_once = shares.update(&config("{}"), "shop/web", &seen, second(MINUTE));
    assert_eq!(at_once, Share::NONE);
}

#[test]
fn a_service_without_requests_starts_anew() {
    let (config, full) = (config("{}"), seen(10, 10, Some(20)));
    let mut shares = Shares::default();
    for now in 0..MINUTE {
        shares.update(&config, "shop/web", &full, second(now));
    }
    let later = shares.update(&config, "shop/web", &full, second(10 * MINUTE));
    assert_eq!(later, Share::NONE);
}

#[test]
fn the_services_are_bounded_and_those_that_are_gone_make_room() {
    let (config, full) = (config("{}"), seen(10, 10, Some(20)));
    let mut shares = Shares::default();
    for n in 0..=MAX_SERVICES {
        shares.update(&config, &format!("shop/{n}"), &full, T0);
    }
    assert_eq!(shares.services.len(), MAX_SERVICES);
    shares.update(&config, "shop/new", &full, second(10 * MINUTE));
    assert_eq!(shares.services.len(), 1);
}

proptest! {
    #[test]
    fn no_numbers_move_the_share_out_of_its_range(
        steps in prop::collection::vec((any::<u32>(), any::<u32>(), any::<Option<u32>>(), 0_u64..1_000_000), 1..50),
        from in 1_u32..=100,
        dry_run in any::<bool>(),
    ) {
        let config = config(&format!(r#"{{"from":"{from}%","dry_run":{dry_run}}}"#));
        let (mut shares, mut now) = (Shares::default(), T0);
        for (current, max, demand, pause) in steps {
            now = now.after(Duration::from_millis(pause));
            let share = shares.update(&config, "shop/web", &seen(current, max, demand), now);
            prop_assert!((0.0..=0.9501).contains(&part(share)), "{share:?}");
        }
    }
}
