//! Runs the HPA controller sync by sync: the load becomes metrics, and replicas become pods.

use std::time::Duration;

use burst_hpa::simulate::{
    ControllerOptions, Limit, Observation, Outcome, Plan, Pod, Ready, Report, Scale, ScaleSelector, State, Time, sync,
};

use super::metric_load::MetricLoad;
use super::timeline::{Demand, Span, Timeline};
use super::trace::Trace;
use crate::metric_model::{MetricModel, containers, pod};

/// The most pods that a simulation can have.
const MAX_PODS: i32 = 5_000;

/// The inputs of a simulation besides the HPA and the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The initial replicas.
    pub replicas: i32,
    /// `spec.maxReplicas`.
    pub max_replicas: i32,
    /// The seconds until a new pod is ready.
    pub startup: u32,
}

/// The inputs and the result of one sync of the controller.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncStep {
    /// The time in the trace.
    pub seconds: u32,
    /// The load of each metric in thousandths, in the order of the trace.
    pub loads: Vec<Option<i64>>,
    /// The fewest ready pods that serve the load; `None` if the load does not say it.
    pub needed: Option<i32>,
    /// The number of pods that are ready.
    pub ready: usize,
    /// The replicas that each metric proposes; `None` for a metric that failed.
    pub proposals: Vec<Option<i32>>,
    /// The highest proposal, or `None` if the controller did not evaluate the metrics.
    pub proposal: Option<i32>,
    /// The proposal after stabilization.
    pub stabilized: Option<i32>,
    /// The replicas after the sync.
    pub replicas: i32,
    /// The limit that kept the replicas from reaching the proposal.
    pub held_by: Option<&'static str>,
    /// Why the controller rescaled, could not decide or is disabled.
    pub reason: Option<String>,
}

/// Replicas that are negative, or more than a simulation can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} replicas: 0 to {MAX_PODS} are played")]
pub struct TooManyReplicas(i32);

/// What happened in a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simulation {
    /// The syncs of the controller.
    pub steps: Vec<SyncStep>,
    /// The load and the pods, second by second.
    pub timeline: Timeline,
}

/// Simulates the controller with a defaulted spec, from the first second of the trace to the last.
///
/// # Errors
/// There are too many replicas.
pub fn simulate(
    plan: &Plan,
    metrics: &[MetricLoad],
    trace: &Trace,
    scenario: Scenario,
    options: &ControllerOptions,
) -> Result<Simulation, TooManyReplicas> {
    for replicas in [scenario.replicas, scenario.max_replicas] {
        if !(0..=MAX_PODS).contains(&replicas) {
            return Err(TooManyReplicas(replicas));
        }
    }
    let mut workload = Workload::new(metrics, scenario);
    let mut state = State::default();
    let (first, last) = trace.span();
    let period = u32::try_from(options.sync_period.as_secs()).unwrap_or(15).max(1);
    let mut simulation = Simulation::default();
    for seconds in (first..=last).step_by(usize::try_from(period).unwrap_or(15)) {
        let now = Time::from_secs(seconds.into());
        workload.update_readiness(now);
        let loads = trace.at(seconds);
        let observation = workload.observation(loads, now);
        let (next, report) = sync(plan, &observation, options, state, now);
        state = next;
        workload.scale(report.replicas.unwrap_or(workload.replicas()), now);
        let needed = demand(metrics, loads).map(|demand| demand.replicas);
        let step = sync_step(seconds, loads, needed, &observation, &report, workload.replicas());
        simulation.steps.push(step);
        // The last line of a trace ends it. A trace of one line has one second.
        let end = last.max(first + 1).min(seconds.saturating_add(period));
        (seconds..end).for_each(|second| simulation.timeline.push(workload.span(trace.at(second), second)));
    }
    Ok(simulation)
}

/// Returns the load in pods, for the metric that needs the most; `None` if no metric says it.
fn demand(metrics: &[MetricLoad], loads: &[Option<i64>]) -> Option<Demand> {
    let demands = metrics
        .iter()
        .zip(loads)
        .filter_map(|(metric, load)| metric.demand(*load.as_ref()?));
    demands.max_by(|one, other| one.pods.total_cmp(&other.pods))
}

/// The workload and its pods, the oldest first.
struct Workload<'a> {
    metrics: &'a [MetricLoad],
    models: Vec<MetricModel>,
    containers: Vec<String>,
    startup: u32,
    pods: Vec<Pod>,
    created: usize,
}

impl<'a> Workload<'a> {
    /// Creates the initial pods, which have been ready for a day.
    fn new(metrics: &'a [MetricLoad], scenario: Scenario) -> Self {
        let models: Vec<MetricModel> = metrics.iter().map(|metric| metric.model.clone()).collect();
        let mut workload = Self {
            metrics,
            containers: containers(&models),
            models,
            startup: 0,
            pods: Vec::new(),
            created: 0,
        };
        workload.scale(scenario.replicas, Time::from_secs(-24 * 3600));
        workload.startup = scenario.startup;
        workload
    }

    fn replicas(&self) -> i32 {
        i32::try_from(self.pods.len()).unwrap_or(i32::MAX)
    }

    /// Adds or removes pods. The newest pods are removed first.
    fn scale(&mut self, replicas: i32, now: Time) {
        let wanted = usize::try_from(replicas).unwrap_or(0);
        self.pods.truncate(wanted);
        while self.pods.len() < wanted {
            let ready = Ready {
                status: Some(self.startup == 0),
                since: now,
            };
            self.pods.push(pod(
                format!("pod-{}", self.created),
                &self.containers,
                &self.models,
                now,
                ready,
            ));
            self.created += 1;
        }
    }

    /// The time at which a pod is ready, if it is not.
    fn ready_at(&self, pod: &Pod) -> Option<Time> {
        let startup = Duration::from_secs(self.startup.into());
        let starts = pod.ready.is_some_and(|ready| ready.status == Some(false));
        pod.started.filter(|_| starts).map(|started| started + startup)
    }

    /// The second that begins at `second`, if the replicas do not change in it.
    fn span(&self, loads: &[Option<i64>], second: u32) -> Span {
        let now = Time::from_secs(second.into());
        // The oldest pods come first, and so do those that are ready.
        let ready = self
            .pods
            .partition_point(|pod| self.ready_at(pod).is_none_or(|ready_at| ready_at <= now));
        Span {
            start: second,
            end: second + 1,
            demand: demand(self.metrics, loads),
            ready: i32::try_from(ready).unwrap_or(i32::MAX),
            replicas: self.replicas(),
        }
    }

    fn update_readiness(&mut self, now: Time) {
        let startup = Duration::from_secs(self.startup.into());
        for pod in &mut self.pods {
            let Some(ready_at) = pod.started.map(|started| started + startup) else {
                continue;
            };
            if pod.ready.is_some_and(|ready| ready.status == Some(false)) && ready_at <= now {
                pod.ready = Some(Ready {
                    status: Some(true),
                    since: ready_at,
                });
            }
        }
    }

    fn observation(&self, loads: &[Option<i64>], now: Time) -> Observation {
        let containers = self.containers.len();
        let ready = self.pods.iter().filter(|pod| is_ready(pod)).count();
        let reading = |(metric, load): (&MetricLoad, &Option<i64>)| match load {
            Some(load) => Ok(metric
                .model
                .reading(metric.measured(*load, ready), &self.pods, containers, now)),
            None => Err("the trace has no value for it".to_owned()),
        };
        Observation {
            scale: Ok(Scale {
                spec_replicas: self.replicas(),
                status_replicas: self.replicas(),
                selector: ScaleSelector::Valid,
            }),
            pods: self.pods.clone(),
            readings: self.metrics.iter().zip(loads).map(reading).collect(),
            write: Ok(()),
        }
    }
}

fn sync_step(
    seconds: u32,
    loads: &[Option<i64>],
    needed: Option<i32>,
    observation: &Observation,
    report: &Report,
    replicas: i32,
) -> SyncStep {
    let decision = report.decision.as_ref();
    let limited_by = decision.and_then(|decision| match (decision.limit, decision.stabilization) {
        (_, Some(_)) => Some("stabilization"),
        (Some(limit), None) => Some(limit_name(limit)),
        (None, None) => None,
    });
    SyncStep {
        seconds,
        loads: loads.to_vec(),
        needed,
        ready: observation.pods.iter().filter(|pod| is_ready(pod)).count(),
        proposals: report
            .proposals
            .iter()
            .map(|proposal| proposal.as_ref().ok().map(|proposal| proposal.replicas))
            .collect(),
        proposal: decision.map(|decision| decision.recommended),
        stabilized: decision.map(|decision| decision.stabilized),
        replicas,
        held_by: limited_by,
        reason: reason(report),
    }
}

fn is_ready(pod: &Pod) -> bool {
    pod.ready.is_some_and(|ready| ready.status == Some(true))
}

fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::MaxReplicas => "maxReplicas",
        Limit::MinReplicas => "minReplicas",
        Limit::ScaleUpRate => "scale-up rate",
        Limit::ScaleDownRate => "scale-down rate",
    }
}

fn reason(report: &Report) -> Option<String> {
    match &report.outcome {
        Outcome::Rescaled { reason, .. } => Some(reason.clone()),
        Outcome::Undecided => {
            let failures = report.proposals.iter().filter_map(|proposal| proposal.as_ref().err());
            Some(failures.map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
        Outcome::Disabled => Some("scaled to zero by another client".to_owned()),
        Outcome::Kept | Outcome::Unread | Outcome::Unwritten { .. } => None,
    }
}
