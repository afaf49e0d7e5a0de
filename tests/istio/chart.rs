//! What the chart renders from its examples, without a cluster: the same objects as the sets, and configurations that the filter
//! accepts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use burst_model::config::{Artifact, Config};
use burst_testkit::{Part, repository};
use serde_json::{Value, json};

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
pub(crate) fn by_name(objects: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
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
