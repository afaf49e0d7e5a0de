//! The 24 HPAs in the snapshots of cdk8s-plus (k8s-31/main, test/horizontal-pod-autoscaler.test.ts), the library whose
//! design this builder follows. Each is written with our builder, with the result that Kubernetes gives.

use std::time::Duration;

use burst_hpa::Lint;
use burst_hpa::behavior::SelectPolicy;
use burst_hpa::builder::*;
use burst_hpa::metric::Resource;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use serde_json::{Value as Json, json};

/// One snapshot.
pub(crate) struct Case {
    pub name: &'static str,
    /// The `autoscaling/v2` object that cdk8s-plus writes.
    pub theirs: Json,
    pub expected: Expected,
}

pub(crate) enum Expected {
    /// Our builder writes an equal object.
    Same(Hpa),
    /// Kubernetes refuses theirs because of this field; ours has the intended meaning.
    Refused(&'static str, Hpa),
    /// Kubernetes accepts theirs, and it never works. Our builder cannot express it, and lint reports it.
    Unserved,
    /// Kubernetes accepts theirs, and it never works. Our builder refuses it.
    Unbuilt(Hpa, Lint),
}

pub(crate) fn all() -> Vec<Case> {
    [defaults(), resources(), sources(), behaviors()]
        .into_iter()
        .flatten()
        .collect()
}

fn case(name: &'static str, theirs: &Json, expected: Expected) -> Case {
    let metadata = json!({"name": "hpa"});
    let theirs = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": theirs});
    Case { name, theirs, expected }
}

const MINUTE: Duration = Duration::from_secs(60);

/// The behavior that cdk8s-plus writes by default. Kubernetes' default is to leave `behavior` out, so our builder needs it
/// to be set.
fn up() -> ScalingRules {
    ScalingRules::new()
        .window(Duration::ZERO)
        .select(SelectPolicy::Max)
        .policy(ScalingPolicy::pods(4, MINUTE))
        .policy(ScalingPolicy::percent(200, MINUTE))
}

fn down(min: i32) -> ScalingRules {
    ScalingRules::new()
        .window(5 * MINUTE)
        .select(SelectPolicy::Max)
        .policy(ScalingPolicy::pods(min, 5 * MINUTE))
}

fn policies(policies: &[(&str, i32, i32)]) -> Json {
    let written = |(policy_type, value, seconds): &(&str, i32, i32)| json!({"type": policy_type, "value": value, "periodSeconds": seconds});
    policies.iter().map(written).collect()
}

fn direction(window: i32, select: &str, steps: &[(&str, i32, i32)]) -> Json {
    json!({"stabilizationWindowSeconds": window, "selectPolicy": select, "policies": policies(steps)})
}

const UP: &[(&str, i32, i32)] = &[("Pods", 4, 60), ("Percent", 200, 60)];

fn spec(min: i32, max: i32) -> Json {
    json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": min, "maxReplicas": max,
        "behavior": {"scaleUp": direction(0, "Max", UP), "scaleDown": direction(300, "Max", &[("Pods", min, 300)])},
    })
}

fn with(mut spec: Json, field: &str, value: Json) -> Json {
    spec[field] = value;
    spec
}

fn pod(containers: &Json) -> Json {
    json!({"metadata": {"name": "web"}, "spec": {"selector": {}, "template": {"spec": {"containers": containers}}}})
}

fn requesting() -> Json {
    let resources = json!({"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"cpu": "1500m", "memory": "2Gi"}});
    json!([{"name": "main", "resources": resources}])
}

fn deployment() -> Deployment {
    serde_json::from_value(pod(&requesting())).unwrap()
}

fn hpa(min: i32, max: i32) -> Hpa {
    let hpa = Hpa::new(&deployment(), max).name("hpa").min_replicas(min);
    hpa.scale_up(up()).scale_down(down(min))
}

fn defaults() -> Vec<Case> {
    let set: StatefulSet = serde_json::from_value(pod(&requesting())).unwrap();
    let of_set = Hpa::new(&set, 10)
        .name("hpa")
        .min_replicas(1)
        .scale_up(up())
        .scale_down(down(1));
    let on_set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
    let half = json!([{"name": "main"}, {"name": "other", "resources": {"requests": {"cpu": "256m"}}}]);
    let half: Deployment = serde_json::from_value(pod(&half)).unwrap();
    vec![
        case(
            "nothing but target and maximum",
            &spec(1, 10),
            Expected::Same(hpa(1, 10)),
        ),
        case("a Deployment as target", &spec(1, 10), Expected::Same(hpa(1, 10))),
        case(
            "a StatefulSet as target",
            &with(spec(1, 10), "scaleTargetRef", on_set),
            Expected::Same(of_set),
        ),
        case("containers with volumes", &spec(1, 5), Expected::Same(hpa(1, 5))),
        case(
            "as many at least as at most",
            &spec(10, 10),
            Expected::Same(hpa(10, 10)),
        ),
        case(
            // One container with a request is enough there; the controller needs them all.
            "no metrics, and a container without requests",
            &spec(1, 10),
            Expected::Unbuilt(Hpa::new(&half, 10).name("hpa"), Lint::MissingRequest),
        ),
    ]
}

fn metric(metric: &Json) -> Json {
    with(spec(1, 10), "metrics", json!([metric]))
}

fn resource(name: &str, target: &Json) -> Json {
    metric(&json!({"type": "Resource", "resource": {"name": name, "target": target}}))
}

fn container(name: &str) -> Json {
    let source = json!({"container": "main", "name": name, "target": utilization(50)});
    metric(&json!({"type": "ContainerResource", "containerResource": source}))
}

fn utilization(percent: i32) -> Json {
    json!({"type": "Utilization", "averageUtilization": percent})
}

fn same(metric: impl Into<Metric>) -> Expected {
    Expected::Same(hpa(1, 10).metric(metric))
}

fn resources() -> Vec<Case> {
    let average = |value: &str| AverageValue::parse(value).unwrap();
    let of = |resource| ResourceMetric::new(resource, Utilization(50));
    let inside = |resource| ContainerResourceMetric::new("main", resource, Utilization(50));
    let (cpu, memory) = (Resource::Cpu, Resource::Memory);
    let value = json!({"type": "Value", "value": 29.5});
    let averaged = json!({"type": "AverageValue", "averageValue": 47.2});
    vec![
        case("cpu", &resource("cpu", &utilization(50)), same(of(cpu))),
        case("memory", &resource("memory", &utilization(50)), same(of(memory))),
        case("storage", &resource("storage", &utilization(50)), Expected::Unserved),
        case(
            "ephemeral storage",
            &resource("ephemeral-storage", &utilization(50)),
            Expected::Unserved,
        ),
        case(
            "70 %",
            &resource("cpu", &utilization(70)),
            same(ResourceMetric::new(cpu, Utilization(70))),
        ),
        case(
            "47.2 on average",
            &resource("cpu", &averaged),
            same(ResourceMetric::new(cpu, average("47.2"))),
        ),
        case(
            // A resource has as many values as there are pods: only their average can be compared.
            "exactly 29.5",
            &resource("cpu", &value),
            Expected::Refused(
                "spec.metrics[0].resource.target.averageUtilization",
                hpa(1, 10).metric(ResourceMetric::new(cpu, average("29.5"))),
            ),
        ),
        case("cpu of a container", &container("cpu"), same(inside(cpu))),
        case("memory of a container", &container("memory"), same(inside(memory))),
        case(
            "ephemeral storage of a container",
            &container("ephemeral-storage"),
            Expected::Unserved,
        ),
        case(
            // No container has a resource of this name.
            "storage of a container",
            &container("storage"),
            Expected::Refused(
                "spec.metrics[0].containerResource.name",
                hpa(1, 10).metric(inside(memory)),
            ),
        ),
    ]
}

/// Utilization is a share of a request, which only cpu and memory have: Kubernetes refuses all three.
fn sources() -> Vec<Case> {
    let scraper = || Selector::new().label("app", "scraper");
    let labels = json!({"matchLabels": {"app": "scraper"}});
    let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "in"});
    let described = ObjectReference::new("networking.k8s.io/v1", "Ingress", "in");
    let requests = json!({"name": "requests-per-second", "selector": labels});
    let queue = json!({"name": "sqs-queue", "selector": labels});
    let object =
        json!({"describedObject": ingress, "metric": {"name": "requests-per-second"}, "target": utilization(50)});
    vec![
        case(
            "external",
            &metric(&json!({"type": "External", "external": {"metric": queue, "target": utilization(50)}})),
            Expected::Refused(
                "spec.metrics[0].external.target.averageValue",
                hpa(1, 10).metric(ExternalMetric::new("sqs-queue", AverageValue::new(50)).selector(scraper())),
            ),
        ),
        case(
            "object",
            &metric(&json!({"type": "Object", "object": object})),
            Expected::Refused(
                "spec.metrics[0].object.target.averageValue",
                hpa(1, 10).metric(ObjectMetric::new(described, "requests-per-second", Value::new(50))),
            ),
        ),
        case(
            "pods",
            &metric(&json!({"type": "Pods", "pods": {"metric": requests, "target": utilization(50)}})),
            Expected::Refused(
                "spec.metrics[0].pods.target.averageValue",
                hpa(1, 10).metric(PodsMetric::new("requests-per-second", AverageValue::new(50)).selector(scraper())),
            ),
        ),
    ]
}

fn behaviors() -> Vec<Case> {
    let seconds = Duration::from_secs;
    let behavior =
        |min, up: Json, down: Json| with(spec(min, 10), "behavior", json!({"scaleUp": up, "scaleDown": down}));
    let measured = |spec| {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": utilization(50)}});
        with(spec, "metrics", json!([cpu]))
    };
    let cpu = || ResourceMetric::new(Resource::Cpu, Utilization(50));
    let rules = |window, select| ScalingRules::new().window(seconds(window)).select(select);
    let (max, min) = (SelectPolicy::Max, SelectPolicy::Min);
    let three = || ScalingPolicy::pods(3, 3 * MINUTE);
    let both = |rules: ScalingRules, period| {
        let pods = if period == 15 {
            ScalingPolicy::pods(3, seconds(15))
        } else {
            three()
        };
        rules.policy(pods).policy(ScalingPolicy::percent(30, seconds(15)))
    };
    let steps: &[_] = &[("Pods", 3, 180), ("Percent", 30, 15)];
    let short: &[_] = &[("Pods", 3, 15), ("Percent", 30, 15)];
    let one: &[_] = &[("Pods", 3, 180)];
    vec![
        case(
            "metrics, and rules for both directions",
            &measured(behavior(2, direction(300, "Max", steps), direction(300, "Max", steps))),
            Expected::Same(
                hpa(2, 10)
                    .metric(cpu())
                    .scale_up(both(rules(300, max), 180))
                    .scale_down(both(rules(300, max), 180)),
            ),
        ),
        case(
            // Their default period is written out: Kubernetes has none.
            "policies without a period",
            &behavior(1, direction(0, "Max", short), direction(300, "Max", short)),
            Expected::Same(
                hpa(1, 10)
                    .scale_up(both(rules(0, max), 15))
                    .scale_down(both(rules(300, max), 15)),
            ),
        ),
        case(
            "the largest change up and the smallest down",
            &measured(behavior(2, direction(300, "Max", one), direction(300, "Min", one))),
            Expected::Same(
                hpa(2, 10)
                    .metric(cpu())
                    .scale_up(rules(300, max).policy(three()))
                    .scale_down(rules(300, min).policy(three())),
            ),
        ),
        case(
            "windows and strategies without policies",
            &behavior(1, direction(300, "Max", UP), direction(300, "Max", &[("Pods", 1, 300)])),
            Expected::Same(hpa(1, 10).scale_up(up().window(5 * MINUTE))),
        ),
    ]
}
