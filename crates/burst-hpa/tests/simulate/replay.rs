//! A trace run on the simulator, one sync at a time.

use std::time::Duration;

use burst_hpa::simulate::{
    ControllerOptions, Observation, Phase, Plan, Pod, Reading, Ready, Requests, Sample, Scale, ScaleSelector,
    SimulatedCondition, SimulatedStatus, State, Time, sync,
};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use crate::trace::{self, Answer, PERIOD, Tick, Trace};

/// The simulator, and the state of the cluster between ticks.
pub(crate) struct Replay {
    namespace: String,
    plan: Plan,
    options: ControllerOptions,
    state: State,
    templates: Vec<Requests>,
    pods: Vec<Pod>,
    replicas: i32,
    now: i64,
}

impl Replay {
    /// Starts a replay from the head of a trace.
    pub(crate) fn new(trace: &Trace) -> Self {
        let namespace = trace.hpa.metadata.namespace.clone().unwrap();
        Self {
            plan: Plan::read(&namespace, &trace.hpa.spec).unwrap(),
            options: options(&trace.options),
            state: State::restarted(status(&trace.hpa)),
            templates: trace
                .templates
                .iter()
                .map(|spec| Requests::try_from(spec).unwrap())
                .collect(),
            pods: Vec::new(),
            replicas: trace.replicas,
            now: 0,
            namespace,
        }
    }

    /// The target's size.
    pub(crate) fn replicas(&self) -> i32 {
        self.replicas
    }

    /// One period and the sync at its end.
    pub(crate) fn tick(&mut self, tick: &Tick) -> Answer {
        if let Some(spec) = &tick.spec {
            self.plan = Plan::read(&self.namespace, spec).unwrap();
        }
        if let Some(pods) = &tick.pods {
            self.pods = pods.iter().map(|pod| self.pod(pod)).collect();
        }
        self.replicas = tick.replicas.unwrap_or(self.replicas);
        self.now += PERIOD;
        let seen = self.observation(tick);
        let state = std::mem::take(&mut self.state);
        let (state, report) = sync(&self.plan, &seen, &self.options, state, Time::from_millis(self.now));
        self.state = state;
        self.replicas = report.replicas.unwrap_or(self.replicas);
        self.answer()
    }

    fn observation(&self, tick: &Tick) -> Observation {
        let scale = Scale {
            spec_replicas: self.replicas,
            status_replicas: tick.status_replicas,
            selector: self.selector(tick),
        };
        Observation {
            scale: if tick.read_error.is_empty() {
                Ok(scale)
            } else {
                Err(tick.read_error.clone())
            },
            pods: self.pods.clone(),
            readings: tick.readings.iter().map(reading).collect(),
            write: if tick.write_error.is_empty() {
                Ok(())
            } else {
                Err(tick.write_error.clone())
            },
        }
    }

    fn selector(&self, tick: &Tick) -> ScaleSelector {
        match tick.selector.as_deref() {
            Some("") => ScaleSelector::Missing,
            Some(text) => ScaleSelector::Malformed { error: text.to_owned() },
            None if tick.rival && !self.pods.is_empty() => {
                let autoscalers = vec!["shop/web".to_owned(), "shop/rival".to_owned()];
                ScaleSelector::Ambiguous {
                    selector: "app=web".to_owned(),
                    autoscalers,
                }
            }
            None => ScaleSelector::Valid,
        }
    }

    fn pod(&self, pod: &trace::Pod) -> Pod {
        Pod {
            name: pod.name.clone(),
            phase: match pod.phase.as_str() {
                "Pending" => Phase::Pending,
                "Running" => Phase::Running,
                "Succeeded" => Phase::Succeeded,
                "Failed" => Phase::Failed,
                "Unknown" => Phase::Unknown,
                other => panic!("phase {other}"),
            },
            ready: match pod.ready.as_str() {
                "" => None,
                "True" => Some(Some(true)),
                "False" => Some(Some(false)),
                _ => Some(None),
            }
            .map(|status| Ready {
                status,
                since: Time::from_millis(pod.since),
            }),
            started: pod.started.map(Time::from_millis),
            deleted: pod.deleted,
            requests: self.templates[pod.template].clone(),
        }
    }

    fn answer(&self) -> Answer {
        let status = &self.state.status;
        Answer {
            replicas: self.replicas,
            current: status.current_replicas,
            desired: status.desired_replicas,
            last_scale: status.last_scale_time.map(Time::as_millis),
            metrics: status
                .current_metrics
                .iter()
                .map(|value| value.map(metric_value))
                .collect(),
            conditions: status.conditions.iter().map(condition).collect(),
        }
    }
}

/// The answers to a whole trace.
pub(crate) fn replay(trace: &Trace) -> Vec<Answer> {
    let mut replay = Replay::new(trace);
    trace.ticks.iter().map(|tick| replay.tick(tick)).collect()
}

/// The state at the start of a trace. Only its times are calendar times.
fn status(hpa: &HorizontalPodAutoscaler) -> SimulatedStatus {
    let Some(read) = burst_hpa::status::HpaStatus::of(hpa) else {
        return SimulatedStatus::default();
    };
    let status = SimulatedStatus::from(&read);
    let moved = |condition: &SimulatedCondition| SimulatedCondition {
        since: Time::from_millis(condition.since.as_millis() - trace::EPOCH),
        ..condition.clone()
    };
    SimulatedStatus {
        conditions: status.conditions.iter().map(moved).collect(),
        ..status
    }
}

fn options(settings: &trace::Settings) -> ControllerOptions {
    ControllerOptions {
        sync_period: Duration::from_millis(PERIOD.unsigned_abs()),
        downscale_stabilization: Duration::from_millis(settings.downscale_stabilization),
        tolerance: settings.tolerance,
        cpu_initialization_period: Duration::from_millis(settings.cpu_initialization_period),
        initial_readiness_delay: Duration::from_millis(settings.initial_readiness_delay),
        scale_to_zero: settings.scale_to_zero,
        configurable_tolerance: settings.configurable_tolerance,
    }
}

fn reading(reading: &trace::Reading) -> Result<Reading, String> {
    match reading {
        trace::Reading::Error(error) => Err(error.clone()),
        trace::Reading::Object(value) => Ok(Reading::Object(*value)),
        trace::Reading::External(series) => Ok(Reading::External(series.clone())),
        trace::Reading::Pods(samples) => {
            let sample = |&(value, at, window)| Sample {
                value,
                at: Time::from_millis(at),
                window: Duration::from_millis(window),
            };
            Ok(Reading::Pods(
                samples
                    .iter()
                    .map(|(pod, taken)| (pod.clone(), sample(taken)))
                    .collect(),
            ))
        }
    }
}

fn metric_value(value: burst_hpa::simulate::MetricValue) -> trace::MetricValue {
    trace::MetricValue {
        value: value.value,
        average_value: value.average_value,
        average_utilization: value.average_utilization,
    }
}

fn condition(condition: &SimulatedCondition) -> trace::Condition {
    trace::Condition {
        r#type: condition.kind.to_string(),
        status: if condition.status { "True" } else { "False" }.to_owned(),
        reason: condition.reason.to_string(),
        message: condition.message.clone(),
        since: condition.since.as_millis(),
    }
}
