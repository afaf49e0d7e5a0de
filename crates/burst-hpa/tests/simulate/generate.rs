//! Random traces from a seed: an autoscaler, its workload, and faults.

use fastrand::Rng;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use crate::load::Load;
use crate::metrics_api::{MetricsApi, WorkloadState};
use crate::pods::PodSet;
use crate::random::{chance, pick};
use crate::replay::Replay;
use crate::specs;
use crate::templates::templates;
use crate::trace::{PERIOD, Pod, Settings, Tick, Trace};

/// The probabilities of faults, per tick.
struct FaultRates {
    spec_edited: f64,
    /// Changes only the behavior, and often, so that entries of old windows meet new ones.
    behavior_swapped: f64,
    scaled_by_hand: f64,
    unreadable: f64,
    unwritable: f64,
    selector_lost: f64,
    pods_hidden: f64,
}

/// The trace of a seed. The simulator determines the replicas of the workload, so a change of the simulator
/// changes the trace; the controller's answer to it stays the reference.
pub(crate) fn trace(seed: u64) -> Trace {
    let rng = &mut Rng::with_seed(seed);
    let options = settings(rng);
    let huge = chance(rng, 0.06);
    let mut hpa = specs::hpa(rng, options.scale_to_zero, huge);
    let most = hpa.spec.max_replicas.min(20);
    let mut replicas = if chance(rng, 0.1) {
        pick(rng, &[0, most + 3])
    } else {
        rng.i32(0..=most)
    };
    if chance(rng, 0.1) {
        hpa.status = Some(specs::status(rng));
        replicas = 0;
    }
    let templates = templates(rng);
    let ticks = Vec::new();
    let mut trace = Trace {
        seed,
        options,
        hpa,
        replicas,
        templates,
        ticks,
    };
    trace.ticks = ticks_of(rng, &trace, huge);
    trace
}

fn settings(rng: &mut Rng) -> Settings {
    Settings {
        downscale_stabilization: pick(rng, &[300_000, 300_000, 300_000, 60_000, 0, 45_500]),
        tolerance: pick(rng, &[0.1, 0.1, 0.1, 0.0, 0.05, 0.25]),
        cpu_initialization_period: pick(rng, &[300_000, 300_000, 120_000, 0]),
        initial_readiness_delay: pick(rng, &[30_000, 30_000, 10_000, 0]),
        scale_to_zero: chance(rng, 0.3),
        configurable_tolerance: chance(rng, 0.9),
    }
}

fn rate(rng: &mut Rng, rate: f64) -> f64 {
    if chance(rng, 0.2) { rate } else { 0.0 }
}

fn ticks_of(rng: &mut Rng, trace: &Trace, huge: bool) -> Vec<Tick> {
    let faults = FaultRates {
        spec_edited: rate(rng, 0.06),
        behavior_swapped: rate(rng, 0.25),
        scaled_by_hand: rate(rng, 0.04),
        unreadable: rate(rng, 0.05),
        unwritable: rate(rng, 0.1),
        selector_lost: rate(rng, 0.05),
        pods_hidden: rate(rng, 0.05),
    };
    let metrics_api = MetricsApi {
        failing: rate(rng, 0.15),
        missing: rate(rng, 0.15),
        unknown_pods: if chance(rng, 0.3) { 0.3 } else { 0.0 },
        huge,
        lag: pick(rng, &[0, 15_000, 45_000]),
    };
    let loads: Vec<_> = (0..6)
        .map(|_| Load::new(rng, f64::from(trace.hpa.spec.max_replicas.min(20))))
        .collect();
    let mut rival = if chance(rng, 0.05) { rng.usize(1..8) } else { 0 };
    let mut pod_set = PodSet::new(rng, trace.templates.len());
    let mut replay = Replay::new(trace);
    let mut hpa = trace.hpa.clone();
    let mut pods: Vec<Pod> = Vec::new();
    let mut ticks = Vec::new();
    for index in 0..rng.usize(20..=70) {
        let mut tick = Tick {
            rival: rival > index,
            ..Tick::default()
        };
        if tick.rival && chance(rng, 0.05) {
            rival = index;
        }
        inject_faults(rng, &faults, trace.options.scale_to_zero, huge, &mut hpa, &mut tick);
        let now = PERIOD * (index as i64 + 1);
        pod_set.advance(rng, tick.replicas.unwrap_or_else(|| replay.replicas()), now);
        let seen = if chance(rng, faults.pods_hidden) {
            Vec::new()
        } else {
            pod_set.pods()
        };
        if pods != seen || index == 0 {
            pods = seen;
            tick.pods = Some(pods.clone());
        }
        tick.status_replicas = match replay.replicas() {
            few if chance(rng, 0.9) => few,
            _ => i32::try_from(pods.len()).unwrap(),
        };
        for (spec, load) in hpa.spec.metrics.iter().flatten().zip(&loads) {
            let workload = WorkloadState {
                pods: &pods,
                serving: pod_set.serving(),
                wanted: load.at(index, rng),
                status_replicas: tick.status_replicas,
                now,
            };
            tick.readings.push(metrics_api.read(rng, spec, &workload));
        }
        replay.tick(&tick);
        ticks.push(tick);
    }
    ticks
}

/// Adds faults to a tick.
fn inject_faults(
    rng: &mut Rng,
    faults: &FaultRates,
    zero: bool,
    huge: bool,
    hpa: &mut HorizontalPodAutoscaler,
    tick: &mut Tick,
) {
    if chance(rng, faults.spec_edited) {
        edit(rng, zero, huge, hpa);
        tick.spec = Some(hpa.spec.clone());
    }
    if chance(rng, faults.behavior_swapped) {
        hpa.spec.behavior = specs::behavior(rng, huge);
        tick.spec = Some(hpa.spec.clone());
    }
    if chance(rng, faults.scaled_by_hand) {
        tick.replicas = Some(pick(rng, &[0, 1, 2, 5, hpa.spec.max_replicas.min(30) + 2]));
    }
    if chance(rng, faults.unreadable) {
        tick.read_error = "the scale is out of sight".to_owned();
    }
    if chance(rng, faults.unwritable) {
        tick.write_error = "the scale is held by somebody".to_owned();
    }
    if chance(rng, faults.selector_lost) {
        tick.selector = Some(pick(rng, &["", "app in ("]).to_owned());
    }
}

/// Changes the bounds, or the whole spec.
fn edit(rng: &mut Rng, zero: bool, huge: bool, hpa: &mut HorizontalPodAutoscaler) {
    let other = specs::hpa(rng, zero, huge).spec;
    // A minimum of 0 is only valid with the metrics that allow it.
    if chance(rng, 0.5) && other.min_replicas != Some(0) {
        hpa.spec.min_replicas = other.min_replicas;
        hpa.spec.max_replicas = other.max_replicas;
    } else {
        hpa.spec = other;
    }
}
