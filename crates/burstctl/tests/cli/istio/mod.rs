//! `istio render`: the values of the shipped manifests render the shipped manifests, and other values change them.

mod values;

use std::process::Command;

use crate::support::{burstctl, unwrapped};
use burst_testkit::{ControlPlane, Istiod, Part, repository};
use burstctl::istio::SCHEMA;
use burstctl::run::Outcome;
use burstctl::yaml::documents;
use serde_json::{Value, json};

const IMAGE: &str = "registry.example.org/burst-metrics:9";
const MODULE: &str = "module: {image: 'registry.example.org/burst-metrics:9', digest: \
                      'sha256:abababababababababababababababababababababababababababababababab'}\n";
const EXAMPLE: &str = include_str!("../../../../../istio/values.yaml");

/// Returns the objects of a YAML stream, sorted by name. It parses configurations that are JSON text.
fn objects(text: &str) -> Vec<Value> {
    let trees = documents(text).into_iter().map(|document| document.content.unwrap());
    let mut objects: Vec<_> = trees.map(|tree| tree.to_json()).collect();
    for object in &mut objects {
        for extension in EXTENSIONS {
            let configuration = format!("{extension}/configuration/value");
            if let Some(text) = object.pointer_mut(&configuration) {
                *text = serde_json::from_str(text.as_str().unwrap()).unwrap();
            }
        }
    }
    objects.sort_by_key(|object| {
        format!(
            "{} {} {}",
            object["kind"],
            metadata(object, "name"),
            metadata(object, "namespace")
        )
    });
    objects
}

/// The filter in an EnvoyFilter: the listener's, and the one of the cluster for the Kubernetes API.
const EXTENSIONS: [&str; 2] = [
    "/spec/configPatches/1/patch/value/typed_config/config",
    "/spec/configPatches/2/patch/value/typed_config/config",
];

fn metadata(object: &Value, key: &str) -> String {
    object["metadata"][key].as_str().unwrap_or_default().to_owned()
}

/// Returns shipped manifests, with the image of this test.
fn shipped(set: &str) -> Vec<Value> {
    let output = Command::new(Part::Kubectl.path())
        .arg("kustomize")
        .arg(repository().join("istio").join(set))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    objects(
        &text
            .replace("registry.example.com/burst-metrics:0.1.0", IMAGE)
            .replace(&"0".repeat(64), &"ab".repeat(32)),
    )
}

fn rendered(values: &str) -> Vec<Value> {
    let (outcome, out, stderr) = burstctl(&["istio", "render", "--values", "-"], values);
    assert_eq!(outcome, Outcome::Success, "{values}\n{stderr}");
    objects(&out)
}

/// Returns the findings on one line.
fn refused(values: &str) -> String {
    let (outcome, out, stderr) = burstctl(&["istio", "render", "--values", "-"], values);
    assert_eq!((outcome, out.as_str()), (Outcome::ProblemsFound, ""), "{values}");
    unwrapped(&stderr)
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

#[test]
fn the_values_of_the_shipped_manifests_render_the_shipped_manifests() {
    let elsewhere = "namespace: istio-ingress\nlabels: {istio: ingress}\nserviceAccount: istio-ingress\n\
                     config: {endpoints: {hosts: [istio-ingress.istio-ingress, \
                     istio-ingress.istio-ingress.svc, istio-ingress.istio-ingress.svc.cluster.local]}}\n";
    for (set, values) in [
        ("gateway", ""),
        (
            "gateway",
            "proxy: gateway\nform: wasmplugin\nnamespace: istio-system\nlabels: {istio: ingressgateway}\n",
        ),
        ("gateway-trafficextension", "form: trafficextension\n"),
        ("gateway-envoyfilter", "form: envoyfilter\n"),
        ("gateway-elsewhere", elsewhere),
        ("sidecar", "proxy: sidecar\nnamespace: shop\n"),
        (
            "sidecar-envoyfilter",
            "proxy: sidecar\nform: envoyfilter\nnamespace: shop\n",
        ),
    ] {
        let (ours, theirs) = (rendered(&format!("{MODULE}{values}")), shipped(set));
        assert_eq!(json!(ours), json!(theirs), "{set}");
    }
}

#[test]
fn a_gateway_with_custom_labels_needs_a_service_account() {
    let stderr = refused(&format!("# values\n{MODULE}labels: {{app: edge}}\n"));
    let advice = "name it: pods with these labels need not run as istio-ingressgateway, and the role is for their \
                 ServiceAccount alone";
    assert!(stderr.contains("= note: serviceAccount: "), "{stderr}");
    assert!(
        stderr.contains(advice) && stderr.contains("--> <stdin>:2:1 "),
        "{stderr}"
    );
    for superset in ["{istio: ingressgateway, app: edge}", "{istio: ingress}"] {
        assert!(
            refused(&format!("{MODULE}labels: {superset}\n")).contains(advice),
            "{superset}"
        );
    }
    for (values, account) in [
        ("labels: {istio: ingressgateway}\n", "istio-ingressgateway"),
        ("labels: {app: edge}\nserviceAccount: edge\n", "edge"),
        (
            "labels: {app: edge}\nserviceAccount: istio-ingressgateway\n",
            "istio-ingressgateway",
        ),
    ] {
        let objects = rendered(&format!("{MODULE}{values}"));
        let binding = of_kind(&objects, "ClusterRoleBinding")[0];
        assert_eq!(binding["subjects"][0]["name"], account, "{values}");
    }
    // Sidecars have many ServiceAccounts, and the manifests are for all of them in their namespace.
    rendered(&format!(
        "{MODULE}proxy: sidecar\nnamespace: shop\nlabels: {{app: web}}\n"
    ));
}

#[test]
fn namespaces_render_one_role_each_instead_of_a_cluster_role() {
    let objects = rendered(&format!(
        "{MODULE}namespace: edge\nserviceAccount: edge\nnamespaces: [shop, data, shop]\n"
    ));
    assert!(of_kind(&objects, "ClusterRole").is_empty() && of_kind(&objects, "ClusterRoleBinding").is_empty());
    let places = |kind| {
        of_kind(&objects, kind)
            .iter()
            .map(|object| metadata(object, "namespace"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (places("Role"), places("RoleBinding")),
        (vec!["data".into(), "shop".into()], vec!["data".into(), "shop".into()])
    );
    let binding = of_kind(&objects, "RoleBinding")[0];
    assert_eq!(binding["roleRef"]["kind"], "Role");
    assert_eq!(
        binding["subjects"],
        json!([{"kind": "ServiceAccount", "name": "edge", "namespace": "edge"}])
    );
    let plugin = of_kind(&objects, "WasmPlugin")[0];
    assert_eq!(
        plugin["spec"]["pluginConfig"]["namespaces"],
        json!(["shop", "data", "shop"])
    );
    assert_eq!(plugin["spec"]["pluginConfig"]["endpoints"]["hosts"][1], "edge.edge.svc");
}

#[test]
fn the_role_covers_the_configured_kinds() {
    let workloads = "workloads:\n- {group: apps, version: v1, resource: deployments, kind: Deployment}\n\
                     - {group: argoproj.io, version: v1alpha1, resource: rollouts, kind: Rollout}\n\
                     - {version: v1, resource: replicationcontrollers, kind: ReplicationController}\n";
    let objects = rendered(&format!("{MODULE}{workloads}"));
    let rules = of_kind(&objects, "ClusterRole")[0]["rules"].clone();
    let verbs = rules[0]["verbs"].clone();
    let rule = |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let wanted = [
        rule("autoscaling", &["horizontalpodautoscalers"]),
        rule("", &["services"]),
        rule("apps", &["deployments"]),
        rule("", &["replicationcontrollers"]),
        rule("argoproj.io", &["rollouts"]),
    ];
    assert_eq!(rules, json!(wanted));
    assert_eq!(
        of_kind(&objects, "WasmPlugin")[0]["spec"]["pluginConfig"]["workloads"][1]["resource"],
        "rollouts"
    );
}

#[test]
fn name_domain_labels_and_module_are_set_in_every_object() {
    let values = "name: edge\nproxy: sidecar\nform: trafficextension\nnamespace: shop\nlabels: {app: web}\n\
                  serviceAccount: web\nclusterDomain: corp.example\nmodule: {url: 'file:///b.wasm'}\n";
    let objects = rendered(values);
    let names: Vec<_> = objects
        .iter()
        .map(|object| format!("{} {}", object["kind"], metadata(object, "name")))
        .collect();
    let wanted = [
        "\"ClusterRole\" edge-sidecars",
        "\"EnvoyFilter\" edge-kube-api",
        "\"RoleBinding\" edge",
        "\"TrafficExtension\" edge",
    ];
    assert_eq!(names, wanted);
    let extension = &objects[3]["spec"];
    assert_eq!(extension["selector"], json!({"matchLabels": {"app": "web"}}));
    assert_eq!(extension["match"], json!([{"mode": "SERVER"}]));
    assert_eq!(
        (&extension["wasm"]["url"], &extension["wasm"]["sha256"]),
        (&json!("file:///b.wasm"), &Value::Null)
    );
    assert_eq!(extension["wasm"]["pluginConfig"]["cluster_domain"], "corp.example");
    let api = objects[1].to_string();
    assert!(
        api.contains("kubernetes.default.svc.corp.example") && !api.contains("cluster.local"),
        "{api}"
    );
    assert_eq!(
        objects[1]["spec"]["workloadSelector"],
        json!({"labels": {"app": "web"}})
    );
    assert_eq!(objects[2]["roleRef"]["name"], "edge-sidecars");
    assert_eq!(
        objects[2]["subjects"],
        json!([{"kind": "ServiceAccount", "name": "web", "namespace": "shop"}])
    );
}

#[test]
fn an_envoy_filter_can_load_the_module_from_a_file() {
    let objects = rendered("form: envoyfilter\nmodule: {url: 'file:///b.wasm'}\n");
    let filter = objects
        .iter()
        .find(|object| metadata(object, "name") == "burst-metrics" && object["kind"] == "EnvoyFilter");
    for extension in EXTENSIONS {
        let code = filter.unwrap().pointer(&format!("{extension}/vm_config/code"));
        assert_eq!(code, Some(&json!({"local": {"filename": "/b.wasm"}})));
    }
}

#[test]
fn the_authorization_policy_follows_the_prefix_and_the_networks() {
    let policy = |values: &str| {
        of_kind(&rendered(&format!("{MODULE}{values}")), "AuthorizationPolicy")
            .pop()
            .cloned()
    };
    let shipped = policy("").unwrap();
    let networks = |policy: &Value| policy["spec"]["rules"][0]["from"][0]["source"]["notRemoteIpBlocks"].clone();
    assert!(networks(&shipped).as_array().unwrap().contains(&json!("10.0.0.0/8")));
    let values = "labels: {app: edge}\nserviceAccount: edge\nallowedNetworks: [192.0.2.0/24, '2001:db8::1']\n";
    let own = policy(&format!("{values}config: {{endpoints: {{prefix: /load/}}}}\n")).unwrap();
    assert_eq!(networks(&own), json!(["192.0.2.0/24", "2001:db8::1"]));
    assert_eq!(
        own["spec"]["rules"][0]["to"][0]["operation"]["paths"],
        json!(["/load", "/load/*"])
    );
    assert_eq!(own["spec"]["selector"], json!({"matchLabels": {"app": "edge"}}));
    assert_eq!(policy("config: {endpoints: {enabled: false}}\n"), None);
    let sidecar = "proxy: sidecar\nnamespace: shop\n";
    assert_eq!(policy(sidecar), None, "it answers no path");
    let all = policy(&format!("{sidecar}config: {{endpoints: {{enabled: true}}}}\n")).unwrap();
    assert_eq!(all["spec"].get("selector"), None, "every sidecar of the namespace");
}

#[test]
fn the_api_server_accepts_custom_manifests() {
    let cluster = ControlPlane::start();
    Istiod::create_crds(&cluster);
    for namespace in ["edge", "istio-system", "shop", "data"] {
        cluster.kubectl(&["create", "namespace", namespace]);
    }
    let own = "name: edge\nnamespace: edge\nlabels: {app: edge}\nserviceAccount: edge\nclusterDomain: corp.example\n";
    let read =
        "namespaces: [shop, data]\nworkloads: [{group: apps, version: v1, resource: replicasets, kind: ReplicaSet}]\n";
    for proxy in ["gateway", "sidecar"] {
        for form in ["wasmplugin", "trafficextension", "envoyfilter"] {
            let values = format!("proxy: {proxy}\nform: {form}\n{MODULE}{own}{read}");
            let (outcome, set, stderr) = burstctl(&["istio", "render", "--values", "-"], values);
            assert_eq!(outcome, Outcome::Success, "{stderr}");
            cluster.apply(&set);
            let can = |verb: &str, what: &str, namespace: &str| {
                let account = "--as=system:serviceaccount:edge:edge";
                cluster
                    .try_kubectl(&["auth", "can-i", verb, what, "--namespace", namespace, account], "")
                    .is_ok()
            };
            for what in ["horizontalpodautoscalers.autoscaling", "services", "replicasets.apps"] {
                assert!(
                    can("list", what, "shop") && can("list", what, "data"),
                    "{proxy} {form} {what}"
                );
            }
            assert!(!can("list", "services", "edge") && !can("list", "deployments.apps", "shop"));
            assert!(!can("get", "services", "shop") && !can("list", "secrets", "shop"));
            cluster.kubectl_with(&["delete", "--filename=-"], &set);
        }
    }
    let (outcome, set, stderr) = burstctl(&["istio", "render", "--values", "-"], EXAMPLE);
    assert_eq!(outcome, Outcome::Success, "{stderr}");
    cluster.apply(&set);
}
