//! Runs every command that reads from a cluster or an Envoy, with responses that contain hostile text.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::text::{Printed, all_parts, violation};
use crate::support::api::{Answers, serve};
use crate::support::kubeconfig::kubeconfig;

fn failure(status: u16) -> (u16, Value) {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": all_parts(), "reason": all_parts(),
        "code": status});
    (status, body)
}

fn refuses(_: &str) -> (u16, Value) {
    failure(403)
}

fn fails(_: &str) -> (u16, Value) {
    failure(500)
}

fn answer_with_noise(_: &str) -> (u16, Value) {
    (200, json!(all_parts()))
}

/// Objects with only hostile text, and some with valid names and hostile text elsewhere.
fn lists(path: &str) -> (u16, Value) {
    let foreign = all_parts();
    let path = path.split('?').next().unwrap_or_default();
    let plural = path.rsplit('/').next().unwrap_or_default();
    let metadata = |name: &str, namespace: &str| json!({"name": name, "namespace": namespace, "labels": {&foreign: &foreign}, "annotations": {&foreign: &foreign}});
    let sound = metadata("web", "shop");
    let hostile = metadata(&foreign, &foreign);
    let spec =
        json!({"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}}});
    let items = match plural {
        "version" => return (200, json!({"gitVersion": format!("v1.36.3{foreign}")})),
        "horizontalpodautoscalers" => json!([
            {"metadata": hostile, "spec": {}},
            {"metadata": sound, "spec": {"scaleTargetRef": {"kind": foreign, "name": foreign, "apiVersion": foreign}, "maxReplicas": 3}},
            {"metadata": metadata("api", "shop"), "spec": {"maxReplicas": 3, "scaleTargetRef":
                {"kind": "Rollout", "name": "api", "apiVersion": format!("{foreign}/v1")}}},
        ]),
        "web" => {
            let metric = json!({"type": "External", "external": {"metric": {"name": foreign}, "target": {"type": "Value", "value": "1"}}});
            let conditions = json!([{"type": foreign, "status": foreign, "reason": foreign, "message": foreign}]);
            let hpa = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": sound,
                "spec": {"scaleTargetRef": {"kind": foreign, "name": foreign}, "maxReplicas": 3, "minReplicas": 1, "metrics": [metric]},
                "status": {"currentReplicas": 1, "desiredReplicas": 1, "conditions": conditions}});
            return (200, hpa);
        }
        "pods" => json!([
            {"metadata": hostile, "spec": {"serviceAccountName": foreign, "containers": [
                {"name": "istio-proxy", "image": format!("proxyv2:1.31{foreign}")}]}, "status": {"phase": foreign}},
        ]),
        "wasmplugins" => json!([
            {"kind": "WasmPlugin", "metadata": {"name": format!("burst-metrics{foreign}"), "namespace": "istio-system"},
                "spec": {"failStrategy": foreign, "phase": foreign, "pluginConfig": {"cluster": foreign, &foreign: foreign}}},
        ]),
        "externalmetricpolicies" => json!([
            {"metadata": hostile, "spec": {"rules": [{&foreign: 1}]}},
            {"metadata": sound, "spec": {"rules": []}},
        ]),
        "subjectaccessreviews" => {
            return (
                201,
                json!({"spec": {}, "status": {"allowed": false, "reason": foreign}}),
            );
        }
        "portforward" | "status" => return failure(403),
        _ => {
            json!([{"metadata": hostile, "spec": spec}, {"metadata": sound, "spec": spec}, {"metadata": sound, "spec": foreign}])
        }
    };
    let kind = match plural {
        "horizontalpodautoscalers" => "HorizontalPodAutoscaler",
        "services" => "Service",
        "deployments" => "Deployment",
        "statefulsets" => "StatefulSet",
        "pods" => "Pod",
        "externalmetricpolicies" => "ExternalMetricPolicy",
        _ => "Unknown",
    };
    (
        200,
        json!({"kind": format!("{kind}List"), "apiVersion": "v1", "metadata": {}, "items": items}),
    )
}

/// Responses that Envoy's real admin interface never sends.
fn admin(path: &str) -> (u16, Value) {
    let foreign = all_parts().replace(['\n', '\r'], "");
    if path == "/server_info" {
        return (200, json!({"version": format!("hash/1.36.2{}/Clean", all_parts())}));
    }
    (
        200,
        Value::String(format!(
            "wasmcustom.burst_header_absent_{foreign}_total: 7\nwasmcustom.burst_objects: 1\n"
        )),
    )
}

/// Runs a command with and without colours, and checks that its output is escaped.
fn assert_clean(args: &[&str], kubeconfig: &TempDir) -> String {
    let kind = if args.contains(&"json") {
        Printed::Data
    } else {
        Printed::Lines
    };
    let run = |colours: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burstctl"));
        command
            .args(args)
            .env("KUBECONFIG", kubeconfig.path().join("kubeconfig"))
            .env_remove("CLICOLOR_FORCE")
            .envs(colours.iter().copied());
        let output = command.output().unwrap();
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let [out, said] = run(&[]);
    let [coloured, also_said] = run(&[("CLICOLOR_FORCE", "1")]);
    for (text, kind) in [
        (&out, kind),
        (&said, Printed::Lines),
        (&coloured, Printed::Coloured),
        (&also_said, Printed::Coloured),
    ] {
        assert_eq!(violation(text, kind), None, "{args:?}");
    }
    out + &said
}

#[test]
fn text_from_a_cluster_is_escaped() {
    let foreign = all_parts();
    for answers in [lists as Answers, refuses, fails, answer_with_noise] {
        let kubeconfig = kubeconfig(&serve(answers));
        for args in [
            &["preview"][..],
            &["preview", "--namespace", &foreign],
            &["preview", "--config", &foreign],
            &["preview", "-o", "json"],
            &["preview", "--context", &foreign],
            &["doctor"],
            &["doctor", "-o", "json"],
            &["doctor", "--namespace", &foreign, "--selector", &foreign],
            &["policy", "check"],
            &["policy", "check", "-o", "json"],
            &["policy", "check", "--write-status"],
            &["hpa", "lint", "-A"],
            &["hpa", "lint", "-A", "-o", "json"],
            &["hpa", "explain", "--context", "", "shop/web"],
            &["hpa", "explain", "--context", "", &foreign],
            &["hpa", "explain", "--context", &foreign, "shop/web"],
            &["proxy", "--listen", "127.0.0.1:0", "--config", &foreign],
        ] {
            let output = assert_clean(args, &kubeconfig);
            assert!(!output.is_empty(), "{args:?}");
        }
    }
}

#[test]
fn text_from_an_envoy_is_escaped() {
    let kubeconfig = kubeconfig("http://127.0.0.1:1");
    for answers in [admin as Answers, fails, answer_with_noise] {
        let url = serve(answers);
        for args in [
            &["doctor", "--admin", &url][..],
            &["doctor", "-o", "json", "--admin", &url],
        ] {
            assert_clean(args, &kubeconfig);
        }
    }
    let output = assert_clean(&["doctor", "--admin", &serve(admin)], &kubeconfig);
    assert!(output.contains("responses with the header, without: 7 "), "{output}");
    assert_clean(&["doctor", "--admin", &all_parts()], &kubeconfig);
}

#[test]
fn text_from_the_command_line_is_escaped() {
    let kubeconfig = kubeconfig("http://127.0.0.1:1");
    let foreign = all_parts();
    // A shell expands `*` to such names in a folder with a hostile file.
    for args in [
        &["hpa", "lint", &format!("--{foreign}")][..],
        &["hpa", &foreign],
        &["hpa", "lint", "--kube-version", &foreign, "a.yaml"],
        &["policy", "test", "--root-namespace", &foreign, "--hpa", "b", "a"],
    ] {
        let output = assert_clean(args, &kubeconfig);
        assert!(output.contains("error: "), "{output}");
    }
}
