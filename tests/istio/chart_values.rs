//! What each value of the chart changes, which values the chart refuses, and that the schema describes all of them.

use std::{collections::BTreeSet, fs};

use burst_testkit::repository;
use serde_json::{Map, Value, json};

use crate::{
    chart::by_name,
    helm::{self, Example, Helm},
};

#[test]
fn the_values_choose_what_the_role_and_the_module_are() {
    let helm = Helm::offline();
    let objects = by_name(helm.render(Example::named("header-only"), &[]));
    let names: Vec<_> = objects.keys().map(String::as_str).collect();
    // Neither a lock, because nothing answers /burstmetrics, nor a right on the whole cluster.
    assert_eq!(
        names,
        [
            "EnvoyFilter istio-system/burst-metrics-kube-api",
            "Role data/burst-metrics-istio-system",
            "Role shop/burst-metrics-istio-system",
            "RoleBinding data/burst-metrics-istio-system",
            "RoleBinding shop/burst-metrics-istio-system",
            "WasmPlugin istio-system/burst-metrics",
        ]
    );
    let rule = |group, resource| json!({"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]});
    let role = &objects["Role shop/burst-metrics-istio-system"];
    let rules = [
        rule("autoscaling", "horizontalpodautoscalers"),
        rule("", "services"),
        rule("apps", "deployments"),
        rule("argoproj.io", "rollouts"),
    ];
    assert_eq!(role["rules"], json!(rules));
    let spec = &objects["WasmPlugin istio-system/burst-metrics"]["spec"];
    assert_eq!(
        spec["url"],
        format!(
            "oci://registry.example.com/burst-metrics-header:{}",
            env!("CARGO_PKG_VERSION")
        )
    );
    assert_eq!(spec["imagePullSecret"], "registry-password");
    assert_eq!(spec["pluginConfig"]["namespaces"], json!(["shop", "data"]));

    let more = [
        "--set",
        "clusterDomain=example.org,allowedNetworks={10.1.0.0/16},config.endpoints.prefix=/burst",
    ];
    let objects = by_name(helm.render(Example::named("gateway"), &more));
    let config = &objects["WasmPlugin istio-system/burst-metrics"]["spec"]["pluginConfig"];
    assert_eq!(config["cluster_domain"], "example.org");
    assert_eq!(
        config["endpoints"]["hosts"][2],
        "istio-ingressgateway.istio-system.svc.example.org"
    );
    let rule = &objects["AuthorizationPolicy istio-system/burst-metrics"]["spec"]["rules"][0];
    assert_eq!(rule["to"][0]["operation"]["paths"], json!(["/burst", "/burst/*"]));
    assert_eq!(rule["from"][0]["source"]["notRemoteIpBlocks"], json!(["10.1.0.0/16"]));
    let api = objects["EnvoyFilter istio-system/burst-metrics-kube-api"].to_string();
    assert!(
        api.contains("kubernetes.default.svc.example.org") && !api.contains("cluster.local"),
        "{api}"
    );
}

#[test]
fn each_value_shows_in_the_object_that_it_is_for() {
    let helm = Helm::offline();
    let listener = "EnvoyFilter istio-system/burst-metrics-apis";
    let chain = "/spec/configPatches/1/patch/value/filter_chains/0/filters/0/typed_config/http_filters/0";
    let client =
        format!("{chain}/typed_config/rules/policies/api-server/principals/0/authenticated/principal_name/exact");
    for (example, values, object, pointer, expected) in [
        (
            "own-gateway",
            "ownGateway.replicas=0",
            "Deployment burst-metrics/burst-gateway",
            "/spec/replicas",
            json!(0),
        ),
        (
            "own-gateway",
            "ownGateway.resources.limits.memory=1Gi",
            "Deployment burst-metrics/burst-gateway",
            "/spec/template/spec/containers/0/resources",
            json!({"limits": {"memory": "1Gi"}}),
        ),
        (
            "own-gateway",
            "ownGateway.name=edge,ownGateway.serviceType=LoadBalancer",
            "Service burst-metrics/edge",
            "/spec/type",
            json!("LoadBalancer"),
        ),
        (
            "own-gateway",
            "ownGateway.name=edge",
            "WasmPlugin burst-metrics/burst-metrics",
            "/spec/selector/matchLabels",
            json!({"istio": "edge"}),
        ),
        (
            "own-gateway",
            "name=edge,image.tag=next,image.pullPolicy=Always",
            "WasmPlugin burst-metrics/edge",
            "/spec/url",
            json!("oci://registry.example.com/burst-metrics:next"),
        ),
        (
            "own-gateway",
            "image.pullPolicy=Always",
            "WasmPlugin burst-metrics/burst-metrics",
            "/spec/imagePullPolicy",
            json!("Always"),
        ),
        (
            "sidecar",
            "sidecar.labels.app=web",
            "EnvoyFilter shop/burst-metrics-kube-api",
            "/spec/workloadSelector/labels",
            json!({"app": "web"}),
        ),
        (
            "sidecar",
            "sidecar.serviceAccounts={web}",
            "RoleBinding shop/burst-metrics",
            "/subjects",
            json!([{"kind": "ServiceAccount", "name": "web", "namespace": "shop"}]),
        ),
        (
            "waypoint",
            "waypoint.serviceAccount=other",
            "RoleBinding shop/burst-metrics-waypoint",
            "/subjects/0/name",
            json!("other"),
        ),
        (
            "spokes",
            "hub.port=8080",
            "WasmPlugin shop/burst-metrics",
            "/spec/pluginConfig/cluster",
            json!("outbound|8080||istio-ingressgateway.istio-system.svc.cluster.local"),
        ),
        (
            "metrics-apis",
            "metricsApis.address=::",
            listener,
            "/spec/configPatches/1/patch/value/address/socket_address/address",
            json!("::"),
        ),
        (
            "metrics-apis",
            "metricsApis.clientName=aggregator",
            listener,
            &client,
            json!("CN=aggregator"),
        ),
    ] {
        let objects = by_name(helm.render(Example::named(example), &["--set", values]));
        let found = objects.get(object).and_then(|object| object.pointer(pointer));
        assert_eq!(found, Some(&expected), "{values}: {object}");
    }
    let more = ["--set", "metricsApis.networkPolicy=false,metricsApis.policies=false"];
    let objects = by_name(helm.render(Example::named("metrics-apis"), &more));
    let names: Vec<_> = objects.keys().filter(|name| name.contains("olic")).collect();
    assert_eq!(names, ["AuthorizationPolicy istio-system/burst-metrics"]);
}

#[test]
fn null_in_the_configuration_removes_what_the_chart_sets() {
    let helm = Helm::offline();
    let more = [
        "--set-json",
        r#"config={"endpoints": null, "header": {"extra_keys": ["as-of"]}}"#,
    ];
    let objects = by_name(helm.render(Example::named("gateway"), &more));
    let config = &objects["WasmPlugin istio-system/burst-metrics"]["spec"]["pluginConfig"];
    assert_eq!(
        config,
        &json!({"cluster": "burst_kube_api", "header": {"extra_keys": ["as-of"]}})
    );
    // Without `endpoints` there is nothing to lock.
    assert!(!objects.contains_key("AuthorizationPolicy istio-system/burst-metrics"));
}

#[test]
fn a_release_for_another_gateway_has_nothing_of_istios_own() {
    let helm = Helm::offline();
    let example = Example {
        namespace: "edge",
        ..Example::named("metrics-apis-review")
    };
    let more = [
        "--set",
        "gateway.labels.istio=edge,gateway.serviceAccounts={edge},gateway.service=edge",
    ];
    let objects = helm.render(example, &more);
    // The script has a default for a user who calls it.
    let objects = objects.iter().filter(|object| object["kind"] != "ConfigMap");
    let texts: Vec<_> = objects.map(Value::to_string).collect();
    assert_eq!(texts.len(), 23);
    for text in texts {
        assert!(
            !text.contains("ingressgateway") && !text.contains("istio-system"),
            "{text}"
        );
    }
}

#[test]
fn monitoring_is_the_files_of_the_repository() {
    let helm = Helm::offline();
    let file = |name| fs::read_to_string(repository().join("monitoring").join(name)).expect("a file");
    let objects = by_name(helm.render(Example::named("monitoring"), &[]));
    let dashboard = &objects["ConfigMap burst-metrics/burst-metrics-dashboard"];
    assert_eq!(dashboard["metadata"]["labels"]["grafana_dashboard"], "1");
    assert_eq!(dashboard["data"]["burst-metrics.json"], file("dashboard.json"));
    let rules = &objects["ConfigMap burst-metrics/burst-metrics-rules"];
    assert_eq!(rules["data"]["rules.yaml"], file("rules.yaml"));

    let more = [
        "--set",
        "monitoring.rules.form=PrometheusRule,monitoring.rules.labels.release=prometheus",
    ];
    let objects = by_name(helm.render(Example::named("monitoring"), &more));
    let rules = &objects["PrometheusRule burst-metrics/burst-metrics-rules"];
    assert_eq!(rules["metadata"]["labels"]["release"], "prometheus");
    assert_eq!(rules["spec"], helm::objects(&file("rules.yaml"))[0]);
}

#[test]
fn values_that_cannot_work_are_refused_with_what_to_set() {
    let helm = Helm::offline();
    let plain = |more: &str| {
        let chart = helm::chart().display().to_string();
        helm.try_run(&["template", "burst-metrics", &chart, "--set", more])
    };
    let own_gateway = |more: &str| {
        let mut arguments = Example::named("own-gateway").arguments("template");
        arguments.extend(["--set".to_owned(), more.to_owned()]);
        helm.try_run(&arguments)
    };
    for (values, message) in [
        (
            "target=own-gateway",
            "image.repository is not set: set image.repository and image.digest",
        ),
        ("image.repository=a/b", "image.digest is not set"),
        (
            "image.repository=a/b,image.url=file:///c",
            "image.repository and image.url are both set",
        ),
        ("targett=gateway", "additional properties 'targett' not allowed"),
        ("hub.port=http", "at '/hub/port': got string, want integer"),
        ("image.digest=latest", "'latest' does not match pattern"),
    ] {
        let said = plain(values).expect_err(values);
        assert!(said.contains(message), "{values}: {said}");
    }
    for (values, message) in [
        (
            "target=gateway",
            "gateway.labels is not set: set it to labels of your gateway's pods",
        ),
        (
            "target=gateway,gateway.labels.istio=edge,gateway.gatewayName=edge",
            "gateway.labels and gateway.gatewayName are both set",
        ),
        (
            "target=gateway,gateway.labels.istio=edge",
            "gateway.serviceAccounts is not set: name the ServiceAccount of your gateway's pods",
        ),
        (
            "target=gateway,gateway.labels.istio=edge,gateway.serviceAccounts={edge}",
            "gateway.service is not set: name your gateway's Service",
        ),
        ("target=waypoint", "waypoint.name is not set"),
        (
            "target=waypoint,waypoint.name=w,form=EnvoyFilter",
            "form EnvoyFilter is not for a waypoint",
        ),
        ("ownGateway.name=", "ownGateway.name is not set"),
        (
            "hub.host=hub.example.org",
            "hub.host is for sidecars: set target to sidecar, not own-gateway",
        ),
        (
            "target=sidecar,form=EnvoyFilter,hub.host=h",
            "hub.host needs form WasmPlugin or TrafficExtension",
        ),
        (
            "target=sidecar,hub.host=h,namespaces={shop}",
            "the sidecars read nothing from the Kubernetes API",
        ),
        (
            "form=EnvoyFilter,image.pullSecret=p",
            "do not work with form EnvoyFilter",
        ),
        ("metricsApis.enabled=true", "metricsApis.enabled needs a gateway"),
        (
            "target=gateway,gateway.labels.istio=e,gateway.serviceAccounts={e},gateway.service=e,metricsApis.enabled=true",
            "set form to EnvoyFilter and headerOnly to false",
        ),
        (
            "target=gateway,gateway.labels.istio=e,gateway.serviceAccounts={e},gateway.service=e,metricsApis.enabled=true,\
             form=EnvoyFilter",
            "metricsApis.kubectlImage is not set",
        ),
        (
            "config.source=hub",
            "config.source cannot be set, because other objects depend on it: set hub.host instead",
        ),
    ] {
        let said = own_gateway(values).expect_err(values);
        assert!(said.contains(message), "{values}: {said}");
    }
}

#[test]
fn the_schema_describes_every_value_and_no_other() {
    let file = |name| fs::read_to_string(helm::chart().join(name)).expect("a file");
    let schema: Value = serde_json::from_str(&file("values.schema.json")).expect("JSON");
    let mut described = schema["properties"].as_object().expect("properties").clone();
    // Helm adds it to the values of a chart in another chart.
    described.remove("global");
    compare(
        &described,
        helm::objects(&file("values.yaml"))[0].as_object().expect("a map"),
        "",
    );
}

/// Compares the properties of a schema with a default. A map without properties may have any key.
fn compare(described: &Map<String, Value>, values: &Map<String, Value>, path: &str) {
    let names = |map: &Map<String, Value>| map.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(described), names(values), "{path}");
    for (key, schema) in described {
        let path = format!("{path}.{key}");
        assert!(
            schema["description"].as_str().is_some_and(|text| text.ends_with('.')),
            "{path}"
        );
        if let Some(inner) = schema["properties"].as_object() {
            assert_eq!(schema["additionalProperties"], false, "{path}");
            compare(inner, values[key].as_object().expect("a map"), &path);
        }
    }
}
