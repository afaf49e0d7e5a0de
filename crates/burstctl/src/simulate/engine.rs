//! Runs the HPA controller sync by sync: the load becomes metrics, and replicas become pods.

use burst_hpa::simulate::{
    ControllerOptions, Limit, Observation, Outcome, Plan, Pod, ReadError, Ready, Report, Scale, ScaleSelector, State,
    Time, sync,
};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerSpec;

use super::trace::Trace;
use crate::metric_model::{MetricModel, containers, pod};

/// The most pods that a simulation can have.
const MAX_PODS: i32 = 5_000;

/// The inputs of a simulation besides the HPA and the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The initial replicas.
    pub replicas: i32,
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

/// Why an HPA cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// Kubernetes would not store the spec.
    #[error(transparent)]
    Spec(#[from] ReadError),
    /// The controller can never use the metric with this index.
    #[error("spec.metrics[{0}]: the controller cannot use this metric; burstctl hpa lint explains why")]
    Metric(usize),
    /// The replicas are negative, or more than a simulation can have.
    #[error("{0} replicas: 0 to {MAX_PODS} are played")]
    TooMany(i32),
}

/// Simulates the controller with a defaulted spec, from the first second of the trace to the last.
///
/// # Errors
/// Returns an error if the spec cannot be simulated.
pub fn simulate(
    namespace: &str,
    spec: &HorizontalPodAutoscalerSpec,
    trace: &Trace,
    scenario: Scenario,
    options: &ControllerOptions,
) -> Result<Vec<SyncStep>, SimulateError> {
    let plan = Plan::read(namespace, spec)?;
    let metrics = spec.metrics.iter().flatten().enumerate();
    let models: Vec<MetricModel> = metrics
        .map(|(index, spec)| MetricModel::from_spec(spec).ok_or(SimulateError::Metric(index)))
        .collect::<Result<_, _>>()?;
    for replicas in [scenario.replicas, spec.max_replicas] {
        if !(0..=MAX_PODS).contains(&replicas) {
            return Err(SimulateError::TooMany(replicas));
        }
    }
    let mut workload = Workload::new(models, scenario);
    let mut state = State::default();
    let (first, last) = trace.span();
    let period = usize::try_from(options.sync_period.as_secs()).unwrap_or(15).max(1);
    let mut steps = Vec::new();
    for seconds in (first..=last).step_by(period) {
        let now = Time::from_secs(seconds.into());
        workload.update_readiness(now);
        let observation = workload.observation(trace.at(seconds), now);
        let (next, report) = sync(&plan, &observation, options, state, now);
        state = next;
        workload.scale(report.replicas.unwrap_or(workload.replicas()), now);
        steps.push(sync_step(
            seconds,
            trace.at(seconds),
            &observation,
            &report,
            workload.replicas(),
        ));
    }
    Ok(steps)
}

/// The workload and its pods, the oldest first.
struct Workload {
    models: Vec<MetricModel>,
    containers: Vec<String>,
    startup: u32,
    pods: Vec<Pod>,
    created: usize,
}

impl Workload {
    /// Creates the initial pods, which have been ready for a day.
    fn new(models: Vec<MetricModel>, scenario: Scenario) -> Self {
        let mut workload = Self {
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

    fn update_readiness(&mut self, now: Time) {
        let startup = std::time::Duration::from_secs(self.startup.into());
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
        let reading = |(model, load): (&MetricModel, &Option<i64>)| match load {
            Some(load) => Ok(model.reading(*load, &self.pods, containers, now)),
            None => Err("the trace has no value for it".to_owned()),
        };
        Observation {
            scale: Ok(Scale {
                spec_replicas: self.replicas(),
                status_replicas: self.replicas(),
                selector: ScaleSelector::Valid,
            }),
            pods: self.pods.clone(),
            readings: self.models.iter().zip(loads).map(reading).collect(),
            write: Ok(()),
        }
    }
}

fn sync_step(
    seconds: u32,
    loads: &[Option<i64>],
    observation: &Observation,
    report: &Report,
    replicas: i32,
) -> SyncStep {
    let decision = report.decision.as_ref();
    let ready = |pod: &&Pod| pod.ready.is_some_and(|ready| ready.status == Some(true));
    let limited_by = decision.and_then(|decision| match (decision.limit, decision.stabilization) {
        (_, Some(_)) => Some("stabilization"),
        (Some(limit), None) => Some(limit_name(limit)),
        (None, None) => None,
    });
    SyncStep {
        seconds,
        loads: loads.to_vec(),
        ready: observation.pods.iter().filter(ready).count(),
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
