//! The builder writes the fields that were set, and names each value that it refuses.

use std::time::Duration;

use burst_hpa::builder::*;
use burst_hpa::metric::Resource;
use burst_hpa::{Lint, Options};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use serde_json::json;
use static_assertions::assert_not_impl_any;

// Code that must not compile, each for the expected reason.
assert_not_impl_any!(ResourceTarget: From<Value>);
assert_not_impl_any!(SeriesTarget: From<Utilization>);
assert_not_impl_any!(AverageValue: From<Value>, From<Utilization>);

fn bookstore() -> Hpa {
    Hpa::new(ScaleTarget::deployment("bookstore-api"), 10)
}

fn refusals(hpa: &Hpa) -> Vec<String> {
    hpa.build()
        .unwrap_err()
        .as_slice()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn name_and_namespace_come_from_the_target_unless_given() {
    let set: StatefulSet = serde_json::from_value(json!({"metadata": {"name": "db", "namespace": "shop"}})).unwrap();
    let metadata = Hpa::new(&set, 3).build().unwrap().metadata;
    assert_eq!(
        (metadata.name.as_deref(), metadata.namespace.as_deref()),
        (Some("db"), Some("shop"))
    );
    let without_namespace = ScaleTarget::stateful_set("db");
    let given = Hpa::new(without_namespace, 3)
        .name("other")
        .namespace("there")
        .build()
        .unwrap()
        .metadata;
    assert_eq!(
        (given.name.as_deref(), given.namespace.as_deref()),
        (Some("other"), Some("there"))
    );
}

#[test]
fn an_hpa_scales_nothing_of_another_namespace() {
    let deployment = |namespace: Option<&str>| -> Deployment {
        let container = json!({"name": "app", "resources": {"requests": {"cpu": "1"}}});
        let spec = json!({"selector": {}, "template": {"spec": {"containers": [container]}}});
        serde_json::from_value(json!({"metadata": {"name": "web", "namespace": namespace}, "spec": spec})).unwrap()
    };
    let elsewhere = Hpa::new(&deployment(Some("shop")), 3).namespace("there");
    let errors = elsewhere.build().unwrap_err();
    let expected = BuildError::OtherNamespace {
        hpa: "there".to_owned(),
        target: "Deployment shop/web".to_owned(),
    };
    assert_eq!(errors.as_slice(), [expected]);
    assert_eq!(
        errors.to_string(),
        "metadata.namespace: Deployment shop/web is not in the namespace \"there\" of the HPA; an HPA only scales \
         objects in its own namespace"
    );
    assert_eq!(elsewhere.defaulted().unwrap_err(), errors);
    for (target, given) in [(Some("shop"), "shop"), (None, "there")] {
        assert!(
            Hpa::new(&deployment(target), 3).namespace(given).build().is_ok(),
            "{target:?}"
        );
    }
}

#[test]
fn only_fields_that_were_set_are_written() {
    let down = ScalingRules::new().window(Duration::from_secs(60));
    let spec = serde_json::to_value(bookstore().scale_down(down).build().unwrap().spec).unwrap();
    assert_eq!(
        spec["behavior"],
        json!({"scaleDown": {"stabilizationWindowSeconds": 60}})
    );
    assert!(spec.get("metrics").is_none() && spec.get("minReplicas").is_none());
}

#[test]
fn defaulted_returns_what_kubernetes_stores() {
    let spec = serde_json::to_value(bookstore().defaulted().unwrap().spec).unwrap();
    assert_eq!(spec["minReplicas"], 1);
    assert_eq!(spec["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
}

#[test]
fn all_errors_are_reported_at_once() {
    let hpa = Hpa::new(ScaleTarget::deployment(""), 2)
        .min_replicas(3)
        .metric(ResourceMetric::new(Resource::Cpu, Utilization(0)))
        .scale_up(ScalingRules::new().window(Duration::from_secs(3601)))
        .scale_down(ScalingRules::new().policy(ScalingPolicy::pods(1, Duration::from_millis(1500))));
    assert_eq!(
        refusals(&hpa),
        [
            "spec.behavior.scaleDown.policies[0].periodSeconds: 1.5s is not a whole number of seconds",
            "metadata.name: Required value: name or generateName is required",
            "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`",
            "spec.scaleTargetRef.name: Required value",
            "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
            "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
        ]
    );
}

#[test]
fn hpas_that_never_work_are_refused_although_kubernetes_accepts_them() {
    let queue = |selector| ExternalMetric::new("queue", Value::new(1)).selector(selector);
    let tolerant = ScalingRules::new().tolerance("0.05".parse().unwrap());
    let table = [
        (
            bookstore().metric(queue(Selector::new().label("a b", "c"))),
            Lint::MetricSelector,
        ),
        (
            bookstore().metric(ExternalMetric::new("queue", Value::parse("1E").unwrap())),
            Lint::TargetOverflow,
        ),
        (
            Hpa::new(ScaleTarget::reference_to("apps/v1", "DaemonSet", "agent"), 3),
            Lint::UnscalableTarget,
        ),
        (
            bookstore().scale_up(tolerant).for_cluster(Options::kubernetes_1(34)),
            Lint::DroppedTolerance,
        ),
    ];
    for (hpa, lint) in table {
        let errors = hpa.build().unwrap_err();
        assert!(
            matches!(errors.as_slice(), [BuildError::NeverWorks(finding)] if finding.lint == lint),
            "{errors}"
        );
    }
}

#[test]
fn utilization_needs_a_request_of_the_containers_it_counts() {
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {"selector": {}, "template": {"spec": {"containers": [
            {"name": "app", "resources": {"requests": {"memory": "1Gi"}}},
            {"name": "proxy", "resources": {"limits": {"cpu": "1"}}},
        ]}}},
    }))
    .unwrap();
    let with = |metric: Metric| Hpa::new(&deployment, 3).metric(metric).build();
    let missing = with(ResourceMetric::new(Resource::Cpu, Utilization(50)).into())
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains(r#"Container "app" of Deployment default/web requests no cpu"#),
        "{missing}"
    );
    assert!(!missing.contains("proxy"), "a limit is a request too: {missing}");
    let app = ContainerResourceMetric::new("app", Resource::Cpu, Utilization(50));
    assert!(with(app.into()).is_err());
    for fine in [
        ContainerResourceMetric::new("proxy", Resource::Cpu, Utilization(50)).into(),
        ContainerResourceMetric::new("app", Resource::Memory, Utilization(50)).into(),
        ResourceMetric::new(Resource::Cpu, AverageValue::parse("500m").unwrap()).into(),
    ] {
        with(fine).unwrap();
    }
    assert!(
        Hpa::new(&deployment, 3).build().is_err(),
        "without metrics Kubernetes adds utilization of cpu"
    );
}
