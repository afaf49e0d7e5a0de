//! The defaults that kube-apiserver fills in before it validates, as in
//! <https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/autoscaling/v2/defaults.go>.

use k8s_openapi::api::autoscaling::v2::{
    HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscaler, HorizontalPodAutoscalerBehavior, MetricSpec,
    MetricTarget, ResourceMetricSource,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;

use crate::behavior::{PolicyType, SelectPolicy};
use crate::metric::{SourceType, TargetType};
use crate::options::Options;
use crate::quantity::Quantity;
use crate::spec::spec_mut;

/// Percent of the request, for an HPA without metrics.
const CPU_UTILIZATION: i32 = 80;

/// Seconds; the same for every default policy.
const PERIOD: i32 = 15;

/// The object as the API server stores it on creation: defaults filled in, `status` and the fields of gates that are
/// off dropped, quantities canonical. An invalid quantity stays as it is.
#[must_use]
pub fn defaulted(mut hpa: HorizontalPodAutoscaler, options: Options) -> HorizontalPodAutoscaler {
    let spec = spec_mut(&mut hpa);
    spec.min_replicas.get_or_insert(1);
    let metrics = spec.metrics.get_or_insert_default();
    if metrics.is_empty() {
        metrics.push(cpu());
    }
    metrics.iter_mut().flat_map(targets).for_each(canonicalize_target);
    if let Some(behavior) = &mut spec.behavior {
        fill_behavior(behavior);
        for rules in [&mut behavior.scale_up, &mut behavior.scale_down].into_iter().flatten() {
            rules.tolerance = rules.tolerance.take().filter(|_| options.tolerance).map(canonical);
        }
    }
    hpa.status = None;
    hpa
}

fn cpu() -> MetricSpec {
    let target = MetricTarget {
        type_: TargetType::Utilization.to_string(),
        average_utilization: Some(CPU_UTILIZATION),
        ..MetricTarget::default()
    };
    MetricSpec {
        type_: SourceType::Resource.to_string(),
        resource: Some(ResourceMetricSource {
            name: "cpu".to_owned(),
            target,
        }),
        ..MetricSpec::default()
    }
}

/// Fills in both directions of a behavior, even of an empty one. Without a behavior the controller
/// uses another algorithm, so an absent one stays absent.
fn fill_behavior(behavior: &mut HorizontalPodAutoscalerBehavior) {
    let up = behavior.scale_up.get_or_insert_default();
    up.stabilization_window_seconds.get_or_insert(0);
    fill_rules(up, || {
        vec![policy(PolicyType::Pods, 4), policy(PolicyType::Percent, 100)]
    });
    // The window for scaling down is a flag of the controller, so the API server cannot know it.
    fill_rules(behavior.scale_down.get_or_insert_default(), || {
        vec![policy(PolicyType::Percent, 100)]
    });
}

fn fill_rules(rules: &mut HPAScalingRules, policies: impl FnOnce() -> Vec<HPAScalingPolicy>) {
    rules.select_policy.get_or_insert_with(|| SelectPolicy::Max.to_string());
    rules.policies.get_or_insert_with(policies);
}

fn policy(policy_type: PolicyType, value: i32) -> HPAScalingPolicy {
    HPAScalingPolicy {
        type_: policy_type.to_string(),
        value,
        period_seconds: PERIOD,
    }
}

fn targets(metric: &mut MetricSpec) -> impl Iterator<Item = &mut MetricTarget> {
    let MetricSpec {
        container_resource,
        external,
        object,
        pods,
        resource,
        type_: _,
    } = metric;
    [
        container_resource.as_mut().map(|source| &mut source.target),
        external.as_mut().map(|source| &mut source.target),
        object.as_mut().map(|source| &mut source.target),
        pods.as_mut().map(|source| &mut source.target),
        resource.as_mut().map(|source| &mut source.target),
    ]
    .into_iter()
    .flatten()
}

fn canonicalize_target(target: &mut MetricTarget) {
    target.value = target.value.take().map(canonical);
    target.average_value = target.average_value.take().map(canonical);
}

fn canonical(written: Written) -> Written {
    Quantity::try_from(&written).map_or(written, Written::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_behavior(behavior: HorizontalPodAutoscalerBehavior) -> HorizontalPodAutoscalerBehavior {
        let mut hpa = HorizontalPodAutoscaler::default();
        hpa.spec.behavior = Some(behavior);
        defaulted(hpa, Options::default()).spec.behavior.unwrap()
    }

    #[test]
    fn an_absent_behavior_stays_absent() {
        assert_eq!(
            defaulted(HorizontalPodAutoscaler::default(), Options::default())
                .spec
                .behavior,
            None
        );
    }

    #[test]
    fn an_empty_behavior_gets_both_directions_but_no_window_for_scaling_down() {
        let behavior = with_behavior(HorizontalPodAutoscalerBehavior::default());
        assert_eq!(behavior.scale_up.unwrap().stabilization_window_seconds, Some(0));
        assert_eq!(behavior.scale_down.unwrap().stabilization_window_seconds, None);
    }

    #[test]
    fn an_empty_list_of_policies_is_not_filled() {
        let up = HPAScalingRules {
            policies: Some(vec![]),
            ..HPAScalingRules::default()
        };
        let behavior = with_behavior(HorizontalPodAutoscalerBehavior {
            scale_up: Some(up),
            scale_down: None,
        });
        assert_eq!(behavior.scale_up.unwrap().policies, Some(vec![]));
    }

    #[test]
    fn without_its_gate_the_tolerance_is_dropped() {
        let mut hpa = HorizontalPodAutoscaler::default();
        let up = HPAScalingRules {
            tolerance: Some(Written("0.05".to_owned())),
            ..HPAScalingRules::default()
        };
        hpa.spec.behavior = Some(HorizontalPodAutoscalerBehavior {
            scale_up: Some(up),
            scale_down: None,
        });
        let tolerance = |options| {
            defaulted(hpa.clone(), options)
                .spec
                .behavior
                .unwrap()
                .scale_up
                .unwrap()
                .tolerance
        };
        assert_eq!(tolerance(Options::kubernetes_1(36)), Some(Written("50m".to_owned())));
        assert_eq!(tolerance(Options::kubernetes_1(34)), None);
    }
}
