//! What the chart renders, without a cluster: the same objects as the sets, configurations that the filter accepts, and clear
//! errors.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use burst_model::config::{Artifact, Config};
use burst_testkit::{Part, repository};
use serde_json::{Map, Value, json};

use crate::helm::{self, EXAMPLES, Example, Helm};

/// A set of `istio/` and the example that gives the same objects, with the name of the set's role.
const SETS: [(&str, &str, &str); 11] = [
    ("gateway", "gateway", "burst-metrics"),
    ("gateway-elsewhere", "gateway-elsewhere", "burst-metrics"),
    ("gateway-envoyfilter", "gateway-envoyfilter", "burst-metrics"),
    ("gateway-trafficextension", "gateway-trafficextension", "burst-metrics"),
    ("metrics-apis", "metrics-apis", "burst-metrics"),
    ("metrics-apis-review", "metrics-apis-review", "burst-metrics"),
    ("own-gateway", "own-gateway", "burst-metrics-own-gateway"),
    ("sidecar", "sidecar", "burst-metrics-sidecars"),
    ("sidecar-envoyfilter", "sidecar-envoyfilter", "burst-metrics-sidecars"),
    ("spoke.yaml", "spokes", "no role"),
    ("waypoint", "waypoint", "burst-metrics-waypoint"),
];

/// Parts of sets.
const PARTS: [&str; 3] = ["base", "lock", "streams"];

#[test]
fn the_chart_and_every_set_give_equal_objects() {
    let helm = Helm::offline();
    for (set, example, role) in SETS {
        let example = Example::named(example);
        let mut of_set = by_name(set_objects(set));
        // A release is in a namespace that exists.
        of_set.retain(|name, _| !name.starts_with("Namespace "));
        // A cluster may have a release of the same name in several namespaces.
        let role_of_chart = format!("{}-{}", example.release, example.namespace);
        let of_set = by_name(of_set.into_values().map(|object| rename(object, role, &role_of_chart)));
        let rendered = helm.render(example, &[]).into_iter().map(without_marks);
        let of_chart = by_name(rendered.map(without_policies));
        let names = |objects: &BTreeMap<String, Value>| objects.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&of_chart), names(&of_set), "{set}");
        for (name, object) in &of_set {
            assert_eq!(&of_chart[name], object, "{set}: {name}");
        }
    }
    let folders = fs::read_dir(repository().join("istio")).expect("a folder");
    let folders = folders.map(|entry| entry.expect("an entry"));
    let with_kustomization = folders.filter(|entry| entry.path().join("kustomization.yaml").exists());
    let sets: BTreeSet<_> = with_kustomization
        .map(|entry| entry.file_name().into_string().expect("a name that is text"))
        .filter(|name| !PARTS.contains(&name.as_str()))
        .collect();
    let compared = SETS.map(|(set, _, _)| set.to_owned()).into_iter();
    assert_eq!(sets, compared.filter(|set| set != "spoke.yaml").collect());
}

/// The objects of a set, or of a file.
fn set_objects(set: &str) -> Vec<Value> {
    let path = repository().join("istio").join(set);
    if path.is_file() {
        return helm::objects(&fs::read_to_string(path).expect("a file"));
    }
    let output = Command::new(Part::Kubectl.path()).arg("kustomize").arg(path).output();
    let output = output.expect("kubectl starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    helm::objects(&String::from_utf8(output.stdout).expect("UTF-8"))
}

/// The objects by kind, namespace and name; the text of a configuration is read as the JSON that it is.
fn by_name(objects: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
    let name = |object: &Value| {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let [kind, namespace, name] = ["/kind", "/metadata/namespace", "/metadata/name"].map(text);
        format!("{kind} {namespace}/{name}")
    };
    let mut found = BTreeMap::new();
    for mut object in objects {
        for config in configurations(&mut object) {
            if let Value::String(text) = config {
                *config = serde_json::from_str(text).expect("JSON");
            }
        }
        let name = name(&object);
        assert!(found.insert(name.clone(), object).is_none(), "{name} twice");
    }
    found
}

/// The configurations of the filter in an object.
fn configurations(object: &mut Value) -> Vec<&mut Value> {
    let mut found = Vec::new();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return found;
    };
    for (key, value) in spec {
        match key.as_str() {
            "pluginConfig" => found.push(value),
            "wasm" => found.extend(value.get_mut("pluginConfig")),
            "configPatches" => {
                let patches = value.as_array_mut().into_iter().flatten();
                found.extend(
                    patches
                        .filter_map(|patch| patch.pointer_mut("/patch/value/typed_config/config/configuration/value")),
                );
            }
            _ => {}
        }
    }
    found
}

/// Renames the role of a set.
fn rename(mut object: Value, from: &str, to: &str) -> Value {
    let is_of_cluster = matches!(object["kind"].as_str(), Some("ClusterRole" | "ClusterRoleBinding"));
    for (pointer, applies) in [("/metadata/name", is_of_cluster), ("/roleRef/name", true)] {
        if let Some(name) = object.pointer_mut(pointer)
            && applies
            && name == from
        {
            *name = to.into();
        }
    }
    object
}

/// Removes the labels of the release, which each object must have, and the annotation of the CustomResourceDefinition.
fn without_marks(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    let labels = metadata.remove("labels").expect("labels");
    assert_eq!(labels["app.kubernetes.io/managed-by"], "Helm");
    assert_eq!(labels["app.kubernetes.io/version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        labels["helm.sh/chart"],
        concat!("burst-metrics-", env!("CARGO_PKG_VERSION"))
    );
    let kept = metadata.remove("annotations");
    let is_definition = object["kind"] == "CustomResourceDefinition";
    assert_eq!(kept, is_definition.then(|| json!({"helm.sh/resource-policy": "keep"})));
    object
}

/// The sets install the policies and do not apply them; the chart does both or neither.
fn without_policies(object: Value) -> Value {
    let (_, mut object) = by_name([object]).pop_first().expect("an object");
    for config in configurations(&mut object) {
        if let Some(apis) = config.get_mut("metrics_apis").and_then(Value::as_object_mut) {
            assert_eq!(apis.remove("policies"), Some(json!({"root_namespace": "istio-system"})));
        }
    }
    object
}

#[test]
fn the_filter_accepts_the_configuration_of_every_example() {
    let helm = Helm::offline();
    let mut files: BTreeSet<_> = fs::read_dir(helm::chart().join("examples"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    for example in EXAMPLES {
        assert!(files.remove(&format!("{}.yaml", example.file)), "{example:?}");
        let artifact = if example.file == "header-only" {
            Artifact::HeaderOnly
        } else {
            Artifact::Full
        };
        let mut objects = by_name(helm.render(example, &[]));
        let configs: Vec<_> = objects.values_mut().flat_map(configurations).collect();
        assert!(!configs.is_empty(), "{example:?}");
        for config in configs {
            Config::parse(config.to_string().as_bytes(), artifact)
                .unwrap_or_else(|error| panic!("{example:?}: {error}"));
        }
    }
    assert!(files.is_empty(), "not tested: {files:?}");
}

#[test]
fn lint_accepts_every_example_and_a_package_gives_the_same_objects() {
    let helm = Helm::offline();
    let folder = helm.folder().display().to_string();
    helm.run(&[
        "package",
        &helm::chart().display().to_string(),
        "--destination",
        &folder,
    ]);
    let package = format!("{folder}/burst-metrics-{}.tgz", env!("CARGO_PKG_VERSION"));
    for example in EXAMPLES {
        let mut arguments = example.arguments("template");
        let from_checkout = helm.run(&arguments);
        arguments[2].clone_from(&package);
        assert_eq!(helm.run(&arguments), from_checkout, "{example:?}");
        arguments[0] = "lint".into();
        arguments.remove(1);
        arguments.push("--strict".into());
        helm.run(&arguments);
    }
}

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
