use super::*;
use crate::doctor::Verdict;
use crate::yaml::documents;
use serde_json::json;

/// The documents of a file in `istio/`.
fn shipped(file: &str) -> Vec<IstioObject> {
    let path = format!("{}/../../istio/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    documents(&text)
        .into_iter()
        .map(|document| IstioObject(document.content.unwrap().to_json()))
        .collect()
}

fn pod(namespace: &str, labels: &[(&str, &str)]) -> Pod {
    let labels: BTreeMap<_, _> = labels.iter().copied().collect();
    let metadata = json!({"name": "gateway-0", "namespace": namespace, "labels": labels});
    Pod::of(&serde_json::from_value(json!({"metadata": metadata})).unwrap())
}

fn ingress() -> Pod {
    pod("istio-system", &[("istio", "ingressgateway"), ("app", "ingress")])
}

/// The first problem, with its advice.
fn problem(objects: &[IstioObject]) -> String {
    let (checks, _) = check_manifests(&ingress(), objects);
    let problem = checks.iter().find(|check| check.verdict != Verdict::Ok);
    problem.map_or_else(
        || "none".to_owned(),
        |check| format!("{}: {} => {}", check.name, check.finding, check.advice),
    )
}

#[test]
fn each_shipped_form_passes_on_the_ingress_gateway() {
    for form in [
        "gateway/plugin.yaml",
        "gateway-trafficextension/extension.yaml",
        "gateway-envoyfilter/filter.yaml",
    ] {
        let objects = [shipped("base/kube-api.yaml"), shipped(form)].concat();
        let (checks, config) = check_manifests(&ingress(), &objects);
        let verdicts: Vec<_> = checks.iter().map(|check| (check.name, check.verdict)).collect();
        let expected = ["plugin", "configuration", "policy", "kube-api"].map(|name| (name, Verdict::Ok));
        assert_eq!(verdicts, expected, "{form}: {checks:?}");
        assert_eq!(config.unwrap().api.cluster, "burst_kube_api", "{form}");
    }
}

#[test]
fn missing_and_duplicate_objects_are_reported() {
    let kube_api = shipped("base/kube-api.yaml");
    let set = shipped("gateway/plugin.yaml");
    assert_eq!(
        problem(&kube_api),
        "plugin: no WasmPlugin, TrafficExtension or EnvoyFilter in istio-system contains the filter => run make deploy, or apply manifests of istio/ for this gateway"
    );
    assert_eq!(
        problem(&set),
        "kube-api: no EnvoyFilter gives this pod the cluster burst_kube_api => apply istio/base/kube-api.yaml with a \
         workloadSelector that selects it"
    );
    let both = [kube_api, set, shipped("gateway-envoyfilter/filter.yaml")].concat();
    assert_eq!(
        problem(&both),
        "plugin: WasmPlugin istio-system/burst-metrics, EnvoyFilter istio-system/burst-metrics all select this pod => \
         keep one, and delete the others"
    );
}

#[test]
fn the_shipped_spoke_passes_on_a_sidecar() {
    let (checks, config) = check_manifests(&pod("shop", &[("app", "web")]), &shipped("spoke.yaml"));
    let verdicts: Vec<_> = checks.iter().map(|check| (check.name, check.verdict)).collect();
    let expected = ["plugin", "configuration", "policy", "hub"].map(|name| (name, Verdict::Ok));
    assert_eq!(verdicts, expected, "{checks:?}");
    let names = config.unwrap().api.cluster;
    let hub = shipped("gateway/plugin.yaml");
    let answered = hub[0].0.pointer("/spec/pluginConfig/endpoints/hosts/2").unwrap();
    assert_eq!(
        names.rsplit('|').next(),
        answered.as_str(),
        "the hub answers to that name"
    );
}

#[test]
fn a_spoke_needs_the_cluster_of_its_hub() {
    let spoke = |cluster: &str| {
        let mut set = shipped("gateway/plugin.yaml");
        set[0].0["spec"]["pluginConfig"] = json!({"source": "hub", "cluster": cluster});
        set
    };
    assert_eq!(problem(&spoke("outbound|80||gateway.hub.svc.cluster.local")), "none");
    assert_eq!(
        problem(&spoke("burst_hub")),
        "hub: no EnvoyFilter gives this pod the cluster burst_hub => name the cluster that Istio has for the hub's \
         Service, or add one"
    );
}

#[test]
fn a_harmful_failure_policy_is_reported() {
    for (change, words) in [
        (
            json!({"failStrategy": null}),
            "policy: the filter runs with FAIL_CLOSE, the default: ",
        ),
        (
            json!({"failStrategy": "FAIL_OPEN"}),
            "policy: the filter runs with FAIL_OPEN: ",
        ),
        (
            json!({"phase": "AUTHN"}),
            "policy: phase AUTHN: /burstmetrics is answered before ",
        ),
        (json!({"pluginConfig": null}), "configuration: the filter rejects it: "),
        (json!({"phase": "STATS"}), "none"),
    ] {
        let mut objects = [shipped("gateway/plugin.yaml"), shipped("base/kube-api.yaml")].concat();
        let spec = objects[0].0["spec"].as_object_mut().unwrap();
        spec.extend(change.as_object().unwrap().clone());
        let problem = problem(&objects);
        assert!(problem.starts_with(words), "{change}: {problem}");
    }
}

#[test]
fn an_object_selects_the_pods_that_istio_applies_it_to() {
    let object = |namespace: &str, spec: Value| {
        IstioObject(
            json!({"kind": "WasmPlugin", "metadata": {"name": "burst-metrics", "namespace": namespace}, "spec": spec}),
        )
    };
    let of_gateway = pod("shop", &[("gateway.networking.k8s.io/gateway-name", "front")]);
    let targets =
        |name: &str| json!({"targetRefs": [{"kind": "Gateway", "group": "gateway.networking.k8s.io", "name": name}]});
    let labels = |value: &str| json!({"selector": {"matchLabels": {"istio": value}}});
    for (object, pod, selects) in [
        (object("istio-system", labels("ingressgateway")), ingress(), true),
        (object("istio-system", labels("egressgateway")), ingress(), false),
        (object("istio-system", json!({})), ingress(), true),
        (object("istio-system", json!({})), of_gateway.clone(), true),
        (object("elsewhere", json!({})), of_gateway.clone(), false),
        (object("shop", targets("front")), of_gateway.clone(), true),
        (object("shop", targets("back")), of_gateway.clone(), false),
        (object("istio-system", targets("front")), of_gateway, false),
        (object("istio-system", targets("front")), ingress(), false),
    ] {
        assert_eq!(object.selects(&pod), selects, "{object:?} {pod:?}");
    }
}
