//! Objects that the builder writes: the seed's examples, and random ones of all of its types.

use std::time::Duration;

use burst_hpa::builder::*;
use burst_hpa::metric::Resource;
use burst_hpa::{Quantity, behavior::SelectPolicy};
use fastrand::Rng;

/// The examples of the design this builder follows, each in the form that Kubernetes accepts.
pub(crate) fn seed_examples() -> Vec<Hpa> {
    let hpa = || Hpa::new(ScaleTarget::deployment("bookstore-api"), 10);
    let ingress = || ObjectReference::new("networking.k8s.io/v1", "Ingress", "bookstore-ingress");
    let policy = || ScalingPolicy::pods(5, Duration::from_secs(30));
    vec![
        hpa(),
        hpa().metric(ResourceMetric::new(Resource::Cpu, Utilization(50))),
        hpa().metric(ObjectMetric::new(ingress(), "hits-per-second", Value::new(1000))),
        // averageUtilization in the original: pods have no request of a custom metric.
        hpa().metric(PodsMetric::new(
            "transactions-processed-per-second",
            AverageValue::new(1000),
        )),
        hpa().metric(ExternalMetric::new("dead-letter-queue-size", Value::new(1))),
        hpa().metric(ContainerResourceMetric::new(
            "bookstore-api-container",
            Resource::Cpu,
            AverageValue::new(25),
        )),
        // ScalePolicyType.MAX_PODS in the original: the words are Pods and Percent.
        hpa().scale_down(ScalingRules::new().policy(policy())),
        hpa().scale_up(ScalingRules::new().policy(policy())),
    ]
}

/// Anything, bad numbers and names among it.
pub(crate) fn any(rng: &mut Rng) -> Hpa {
    let targets = [
        ScaleTarget::deployment("web"),
        ScaleTarget::stateful_set("db"),
        ScaleTarget::reference_to("apps/v1", "Deployment", text(rng)),
        ScaleTarget::reference_to("v1", "ReplicationController", "old"),
    ];
    let mut hpa = Hpa::new(
        targets[rng.usize(0..targets.len())].clone(),
        pick(rng, &[1, 5, 10, 100, 0, -1]),
    );
    if rng.bool() {
        hpa = hpa.name(text(rng)).namespace(text(rng));
    }
    if rng.u8(0..4) == 0 {
        hpa = hpa.label(text(rng), text(rng)).annotation(text(rng), "any");
    }
    if rng.bool() {
        hpa = hpa.min_replicas(pick(rng, &[1, 1, 1, 2, 0, 50]));
    }
    for _ in 0..rng.usize(0..3) {
        hpa = hpa.metric(metric(rng));
    }
    if rng.bool() {
        hpa = hpa.scale_up(rules(rng));
    }
    if rng.bool() {
        hpa = hpa.scale_down(rules(rng));
    }
    hpa
}

fn metric(rng: &mut Rng) -> Metric {
    let resource = pick(rng, &[Resource::Cpu, Resource::Memory]);
    let utilization = Utilization(pick(rng, &[1, 50, 80, 150, 0]));
    let object = ObjectReference::new("v1", "Service", text(rng));
    let selector = Selector::new()
        .label("a", "b")
        .is_in("c", ["d"])
        .is_not_in("e", ["f"])
        .exists("g")
        .does_not_exist("h");
    match rng.u8(0..9) {
        0 => ResourceMetric::new(resource, utilization).into(),
        1 => ResourceMetric::new(resource, AverageValue::new(quantity(rng))).into(),
        2 => ContainerResourceMetric::new(text(rng), resource, utilization).into(),
        3 => ContainerResourceMetric::new("app", resource, AverageValue::new(quantity(rng))).into(),
        4 => PodsMetric::new(text(rng), AverageValue::new(quantity(rng)))
            .selector(selector)
            .into(),
        5 => ObjectMetric::new(object, "hits", Value::new(quantity(rng))).into(),
        6 => ObjectMetric::new(object, "hits", AverageValue::new(quantity(rng)))
            .selector(selector)
            .into(),
        7 => ExternalMetric::new(text(rng), Value::new(quantity(rng))).into(),
        _ => ExternalMetric::new("queue", AverageValue::new(quantity(rng)))
            .selector(selector)
            .into(),
    }
}

fn rules(rng: &mut Rng) -> ScalingRules {
    let mut rules = ScalingRules::new();
    if rng.bool() {
        rules = rules.window(seconds(rng, &[0, 60, 3600, 3601]));
    }
    if rng.bool() {
        rules = rules.select(pick(rng, SelectPolicy::ALL));
    }
    for _ in 0..rng.u8(0..3) {
        rules = rules.policy(ScalingPolicy::percent(
            pick(rng, &[1, 100, 0]),
            seconds(rng, &[1, 15, 1800, 0, 1801]),
        ));
    }
    if rng.bool() {
        rules.tolerance(quantity(rng))
    } else {
        rules
    }
}

fn quantity(rng: &mut Rng) -> Quantity {
    pick(rng, &["1", "100m", "1Gi", "0.5", "1e3", "2k", "0", "-1"])
        .parse()
        .unwrap()
}

fn seconds(rng: &mut Rng, choices: &[u64]) -> Duration {
    Duration::from_secs(pick(rng, choices))
}

fn text(rng: &mut Rng) -> &'static str {
    pick(rng, &["web", "web", "web", "web", "a-b", "A", "a/b", "a b", ""])
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}
