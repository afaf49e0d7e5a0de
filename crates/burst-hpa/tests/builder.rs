//! The builder writes the fields that were set, and names each value that it refuses.

use std::time::Duration;

use burst_hpa::builder::*;
use burst_hpa::metric::{Resource, SourceType};
use burst_hpa::{Lint, Options};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::ReplicationController;
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
    let metadata = Hpa::new(&set, 3).build().unwrap().hpa.metadata;
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
        .hpa
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
    let spec = serde_json::to_value(bookstore().scale_down(down).build().unwrap().hpa.spec).unwrap();
    assert_eq!(
        spec["behavior"],
        json!({"scaleDown": {"stabilizationWindowSeconds": 60}})
    );
    assert!(spec.get("metrics").is_none() && spec.get("minReplicas").is_none());
}

#[test]
fn defaulted_returns_what_kubernetes_stores() {
    let spec = serde_json::to_value(bookstore().defaulted().unwrap().hpa.spec).unwrap();
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
        let _ = with(fine).unwrap();
    }
    assert!(
        Hpa::new(&deployment, 3).build().is_err(),
        "without metrics Kubernetes adds utilization of cpu"
    );
}

#[test]
fn warnings_come_with_the_object_and_errors_in_its_place() {
    let container = json!({"name": "app", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}});
    let spec = json!({"selector": {}, "replicas": 3, "template": {"spec": {"containers": [container]}}});
    let web: Deployment = serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": spec})).unwrap();
    let build = |percent| {
        Hpa::new(&web, 3)
            .min_replicas(3)
            .metric(ResourceMetric::new(Resource::Cpu, Utilization(percent)))
            .build()
            .unwrap()
    };
    let lints = |built: Built| built.warnings.iter().map(|found| found.lint).collect::<Vec<_>>();
    assert_eq!(lints(build(60)), [Lint::FixedRange, Lint::FixedReplicas]);
    assert!(lints(build(120)).contains(&Lint::UnreachableUtilization));
    assert_eq!(build(60).hpa.spec.max_replicas, 3);

    let fine = Hpa::new(ScaleTarget::deployment("web"), 3).build().unwrap();
    assert_eq!(fine.warnings, []);
    let stored = Hpa::new(ScaleTarget::deployment("web"), 3)
        .min_replicas(3)
        .defaulted()
        .unwrap();
    assert_eq!(lints(stored), [Lint::FixedRange], "as without the defaults");
}

#[test]
fn a_target_is_read_from_each_kind_with_a_template() {
    let template = json!({"metadata": {"labels": {"app": "old"}}, "spec": {"containers": [{"name": "app"}]}});
    let metadata = json!({"name": "old", "namespace": "shop"});
    let controller: ReplicationController = serde_json::from_value(
        json!({"metadata": metadata, "spec": {"selector": {"app": "old"}, "template": template}}),
    )
    .unwrap();
    let set: ReplicaSet = serde_json::from_value(
        json!({"metadata": metadata, "spec": {"selector": {"matchLabels": {"app": "old"}}, "template": template}}),
    )
    .unwrap();
    for (target, api_version, kind) in [
        (ScaleTarget::from(&controller), "v1", "ReplicationController"),
        (ScaleTarget::from(&set), "apps/v1", "ReplicaSet"),
    ] {
        let hpa = Hpa::new(target, 3);
        let refused = refusals(&hpa.clone().metric(ResourceMetric::new(Resource::Cpu, Utilization(50))));
        let expected = format!("Container \"app\" of {kind} shop/old requests no cpu");
        assert!(refused[0].contains(&expected), "{refused:?}");
        let metric = ResourceMetric::new(Resource::Cpu, AverageValue::new(1));
        let built = hpa.metric(metric).build().unwrap().hpa;
        let reference = serde_json::to_value(built.spec.scale_target_ref).unwrap();
        assert_eq!(
            reference,
            json!({"apiVersion": api_version, "kind": kind, "name": "old"})
        );
    }
}

#[test]
fn a_metric_says_its_type_and_several_are_added_at_once() {
    let metrics: [Metric; 5] = [
        ResourceMetric::new(Resource::Cpu, Utilization(50)).into(),
        ContainerResourceMetric::new("app", Resource::Cpu, Utilization(50)).into(),
        PodsMetric::new("m", AverageValue::new(1)).into(),
        ObjectMetric::new(ObjectReference::new("v1", "Service", "web"), "m", Value::new(1)).into(),
        ExternalMetric::new("m", Value::new(1)).into(),
    ];
    let types = metrics.each_ref().map(Metric::source_type);
    assert_eq!(
        types,
        [
            SourceType::Resource,
            SourceType::ContainerResource,
            SourceType::Pods,
            SourceType::Object,
            SourceType::External
        ]
    );
    let written = bookstore().metrics(metrics).build().unwrap().hpa.spec.metrics.unwrap();
    let written: Vec<_> = written.iter().map(|metric| metric.type_.as_str()).collect();
    assert_eq!(written, types.map(SourceType::as_str));
}

#[test]
fn the_readme_names_the_version_of_k8s_openapi_that_the_crate_uses() {
    let version = |manifest: &'static str| {
        let (_, rest) = manifest.split_once("\nk8s-openapi = { version = ").unwrap();
        rest.split([',', ' ']).next().unwrap()
    };
    let workspace = include_str!("../../../Cargo.toml");
    assert_eq!(version(include_str!("../README.md")), version(workspace));
}
