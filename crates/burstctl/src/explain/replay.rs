//! Replays the last sync from the values in the status, with the simulated controller.

use burst_hpa::metric::MetricSource;
use burst_hpa::simulate::{
    ControllerOptions, Observation, Plan, Ready, Report, Scale, ScaleSelector, State, Time, sync,
};
use burst_hpa::status::{CurrentMetric, HpaStatus};
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscalerSpec, MetricSpec};

use crate::metric_model::{MetricModel, TargetValue, containers, pod};

/// An HPA with more replicas is not replayed.
const MAX_REPLICAS: i32 = 50_000;

/// Replays the last sync. All pods count as ready, because the status does not contain their readiness.
pub(super) fn replay_last_sync(
    spec: &HorizontalPodAutoscalerSpec,
    plan: &Plan,
    status: &HpaStatus,
    options: &ControllerOptions,
) -> Option<Report> {
    let now = Time::from_secs(0);
    let replicas = Some(status.current_replicas).filter(|replicas| (0..=MAX_REPLICAS).contains(replicas))?;
    let metrics: Vec<Option<MetricModel>> = spec.metrics.iter().flatten().map(MetricModel::from_spec).collect();
    let usable: Vec<MetricModel> = metrics.iter().flatten().cloned().collect();
    let container_names = containers(&usable);
    let long_ago = now - 2 * options.cpu_initialization_period;
    let ready = Ready {
        status: Some(true),
        since: long_ago,
    };
    let pods: Vec<_> = (0..replicas)
        .map(|index| pod(format!("pod-{index}"), &container_names, &usable, long_ago, ready))
        .collect();
    let readings = metrics.iter().zip(spec.metrics.iter().flatten()).map(|(model, spec)| {
        let model = model.as_ref().ok_or("the controller cannot use it")?;
        let total = total(spec, model, status, replicas).ok_or("the status has no value for it")?;
        Ok(model.reading(total, &pods, container_names.len(), now))
    });
    let observation = Observation {
        scale: Ok(Scale {
            spec_replicas: replicas,
            status_replicas: replicas,
            selector: ScaleSelector::Valid,
        }),
        readings: readings
            .map(|reading| reading.map_err(|message: &str| message.to_owned()))
            .collect(),
        pods,
        write: Ok(()),
    };
    let state = State::restarted(status.into());
    Some(sync(plan, &observation, options, state, now).1)
}

/// The total of a metric: its value, times the pods if it is a value per pod.
fn total(spec: &MetricSpec, model: &MetricModel, status: &HpaStatus, replicas: i32) -> Option<i64> {
    let source = MetricSource::of_spec(spec)?;
    // Matched by identity and not by index, because the status omits failed metrics.
    let mut same = status.current_metrics.iter().filter(|current| current.source == source);
    same.find_map(|current| value(model, current, replicas))
}

fn value(model: &MetricModel, current: &CurrentMetric, replicas: i32) -> Option<i64> {
    // Without pods, the total does not follow from an average.
    let per_pod = |each: i64| (replicas > 0).then(|| each.saturating_mul(replicas.into()));
    let milli = |quantity: &Option<burst_hpa::Quantity>| quantity.as_ref().map(burst_hpa::Quantity::milli_value);
    match model.target {
        TargetValue::Utilization(_) => per_pod(i64::from(current.average_utilization?).saturating_mul(1000)),
        TargetValue::AverageValue(_) => milli(&current.average_value).and_then(per_pod),
        TargetValue::Value(_) => milli(&current.value),
    }
}
