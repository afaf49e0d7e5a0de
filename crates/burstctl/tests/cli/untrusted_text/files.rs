//! Runs every command that reads files, with hostile files.

use std::fs;
use std::path::PathBuf;

use burst_printable::LONGEST;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::text::{Printed, any_text, violation};
use crate::support::{burstctl, burstctl_styled, unwrapped};

/// The texts in the objects. Each text is used in several fields.
#[derive(Clone, Debug)]
struct ObjectTexts {
    /// Usually a valid name, so that some of the objects pass the early checks.
    name: String,
    args: [String; 4],
}

fn any_texts() -> impl Strategy<Value = ObjectTexts> {
    let name = prop_oneof![Just("web".to_owned()), any_text()];
    (name, [any_text(), any_text(), any_text(), any_text()]).prop_map(|(name, args)| ObjectTexts { name, args })
}

/// HPAs of every version, short forms, related objects, and objects that are almost HPAs.
fn objects(texts: &ObjectTexts) -> Vec<Value> {
    let ObjectTexts {
        name,
        args: [a, b, c, d],
    } = texts;
    let metadata = json!({"name": name, "namespace": a, "labels": {b: c}, "annotations": {"note": c, d: a}});
    let sound = json!({"name": "web", "namespace": "shop", "annotations": {d: c}});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    let metric = |name: &str| {
        json!({"type": "External", "external": {
            "metric": {"name": name, "selector": {"matchLabels": {"a": b}}},
            "target": {"type": "Value", "value": "1"}}})
    };
    let container = json!({"type": "ContainerResource", "containerResource": {
        "name": "cpu", "container": c, "target": {"type": "Utilization", "averageUtilization": 50}}});
    let object = json!({"type": "Object", "object": {
        "metric": {"name": a}, "describedObject": {"kind": b, "name": c}, "target": {"type": "Value", "value": "1"}}});
    let status = json!({"currentReplicas": 2, "desiredReplicas": 2,
        "conditions": [{"type": a, "status": b, "reason": c, "message": d}],
        "currentMetrics": [{"type": "External", "external": {"metric": {"name": b}, "current": {"value": "1"}}}]});
    let hpa = |version: &str, metadata: &Value, metrics: &[Value]| {
        json!({"apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": metadata, "status": status,
            "spec": {"scaleTargetRef": target, "maxReplicas": 3, "metrics": metrics}})
    };
    let of_sound_target = |metrics: &[Value]| {
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": sound, "status": status,
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "maxReplicas": 3, "metrics": metrics}})
    };
    vec![
        of_sound_target(&[metric("queue")]),
        of_sound_target(std::slice::from_ref(&container)),
        hpa("autoscaling/v2", &metadata, &[metric(b), container, object.clone()]),
        hpa("autoscaling/v2", &sound, &[object]),
        hpa("autoscaling/v2beta2", &metadata, &[metric(c)]),
        hpa("autoscaling/v1", &sound, &[]),
        hpa(a, &metadata, &[]),
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": sound, a: b,
            "spec": {b: c, "maxReplicas": d, "minReplicas": a}}),
        json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "old", "annotations": {"autoscaling.alpha.kubernetes.io/metrics": d,
                "autoscaling.alpha.kubernetes.io/behavior": a}},
            "spec": {"scaleTargetRef": target, "maxReplicas": 3}}),
        json!({"apiVersion": "autoscaling/v2", "kind": a}),
        json!({"apiVersion": "burstctl/v1", "kind": "Hpa", "target": format!("Deployment/{name}"), "max": 3,
            "namespace": a, "metrics": [{"external": b, "value": 1, "selector": {"a": c}}]}),
        json!({"apiVersion": "burstctl/v1", "kind": "Hpa", "target": a, b: c, "max": d}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": a},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": b}}, "template": {
                "metadata": {"labels": {"app": b}}, "spec": {"containers": [{"name": c, "image": d}]}}}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": a}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": b, "namespace": a},
            "spec": {"minAvailable": c, "selector": {"matchLabels": {"app": b}}}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {a: b, "lines": format!("one\n{c}\ntwo\n{d}\n")}}),
    ]
}

fn policies(texts: &ObjectTexts) -> Vec<Value> {
    let ObjectTexts {
        name,
        args: [a, b, c, d],
    } = texts;
    let policy = |metadata: Value, rules: Value| {
        json!({"apiVersion": "burstmetrics.dev/v1alpha1", "kind": "ExternalMetricPolicy", "metadata": metadata,
            "spec": {"rules": rules}})
    };
    let rule = |metric: &str, labels: Value| json!({"metric": metric, "selector": {"matchLabels": labels}});
    vec![
        policy(
            json!({"name": name, "namespace": "shop"}),
            json!([rule("queue", json!({"a": b}))]),
        ),
        policy(json!({"name": a, "namespace": b}), json!([rule(c, json!({d: a}))])),
        policy(json!({"name": "p", "namespace": "shop"}), json!([{a: b}])),
        json!({"apiVersion": a, "kind": "ExternalMetricPolicy", "metadata": {"name": b}}),
    ]
}

/// A folder for the files, whose names are hostile as well.
struct Folder(TempDir);

impl Folder {
    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path: PathBuf = self.0.path().join(name.replace(['/', '\0'], "_") + ".json");
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn file(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("{object}\n")).collect()
}

/// The arguments of a command, and the kind of its output.
type CommandCase<'a> = (Vec<&'a str>, Printed);

fn hpa_commands(path: &str) -> Vec<CommandCase<'_>> {
    vec![
        (vec!["hpa", "lint", path], Printed::Lines),
        (vec!["hpa", "lint", "--output", "json", path], Printed::Data),
        (vec!["hpa", "lint", "--output", "sarif", path], Printed::Data),
        (vec!["hpa", "lint", "--output", "github", path], Printed::Lines),
        (vec!["hpa", "render", path], Printed::Data),
        (vec!["hpa", "render", "--defaults", path], Printed::Data),
        (vec!["hpa", "migrate", path], Printed::Data),
        (vec!["hpa", "explain", path], Printed::Lines),
        (vec!["hpa", "explain", "--status", path], Printed::Lines),
    ]
}

fn check((args, kind): &CommandCase<'_>) -> Result<(), TestCaseError> {
    let colours: &[bool] = if *kind == Printed::Lines {
        &[false, true]
    } else {
        &[false]
    };
    for styled in colours {
        let kind = if *styled { Printed::Coloured } else { *kind };
        let (_, out, messages) = burstctl_styled(args, "", *styled);
        for (text, kind) in [(out, kind), (messages, Printed::Lines)] {
            if let Some(violation) = violation(&text, kind) {
                return Err(TestCaseError::fail(format!("{args:?}: {violation}")));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn text_from_hpas_is_escaped(texts in any_texts()) {
        let folder = Folder(tempfile::tempdir().unwrap());
        let all = folder.write(&texts.args[0], file(&objects(&texts)));
        let absent = format!("{all}{}", texts.args[1].replace(['/', '\0'], "_"));
        for command in hpa_commands(&all).iter().chain(&hpa_commands(&absent)) {
            check(command)?;
        }
    }

    #[test]
    fn text_from_invalid_files_is_escaped(texts in any_texts()) {
        let folder = Folder(tempfile::tempdir().unwrap());
        let [a, b, c, d] = &texts.args;
        let yaml = folder.write(a, format!("{b}: \"{c}\"\nkind: {d}\n---\n{a}\n---\n- {b}\n"));
        let json = folder.write(b, format!("{}\n{}\n", json!(a), json!([b])));
        for path in [&yaml, &json] {
            for command in &hpa_commands(path) {
                check(command)?;
            }
            for args in [
                vec!["policy", "test", path, "--hpa", path],
                vec!["policy", "admission", path],
                vec!["istio", "render", "--values", path],
                vec!["hpa", "simulate", path, "--trace", path],
            ] {
                check(&(args, Printed::Lines))?;
            }
        }
    }

    #[test]
    fn text_from_policies_is_escaped(texts in any_texts()) {
        let folder = Folder(tempfile::tempdir().unwrap());
        let hpas = folder.write(&texts.args[0], file(&objects(&texts)));
        for (index, policy) in policies(&texts).into_iter().enumerate() {
            let path = folder.write(&format!("{index}{}", texts.args[1]), file(&[policy]));
            let user = texts.args[2].replace('\0', "");
            for default in ["allow", "deny"] {
                let test = ["policy", "test", &path, "--default", default, "--user", &user, "--hpa", &hpas];
                check(&(test.to_vec(), Printed::Lines))?;
                check(&([&test[..], &["-o", "json"]].concat(), Printed::Data))?;
                check(&(vec!["policy", "admission", &path, "--default", default, "--user", &user], Printed::Data))?;
            }
        }
    }

    #[test]
    fn text_in_a_simulation_is_escaped(texts in any_texts()) {
        let folder = Folder(tempfile::tempdir().unwrap());
        let trace = folder.write("trace", format!("seconds,{}\n0,1\n60,{}\n", texts.args[0], texts.args[1]));
        let sound = folder.write("sound", format!("seconds,{}\n0,1\n60,5\n", texts.args[0].replace([',', '\n', '\r'], "")));
        for (index, hpa) in objects(&texts).into_iter().enumerate() {
            let path = folder.write(&format!("{index}{}", texts.args[2]), file(&[hpa]));
            for trace in [&trace, &sound] {
                for (format, kind) in [("table", Printed::Lines), ("json", Printed::Data), ("plot", Printed::Lines), ("svg", Printed::Data)] {
                    check(&(vec!["hpa", "simulate", &path, "--trace", trace, "--output", format], kind))?;
                }
            }
        }
    }

    #[test]
    fn text_from_istio_values_is_escaped(texts in any_texts()) {
        let folder = Folder(tempfile::tempdir().unwrap());
        let [a, b, c, d] = &texts.args;
        let module = json!({"url": "file:///b.wasm"});
        for values in [
            json!({"module": {"url": a}}),
            json!({"module": {"image": a, "digest": b}}),
            json!({"module": module, "labels": {a: b}, "serviceAccount": c}),
            json!({"module": module, "namespace": a, "service": b}),
            json!({"module": module, "config": {a: b}}),
            json!({"module": module, "config": {"header": {"name": c}, "poll_interval": d}}),
            json!({"module": module, a: b}),
            json!({"module": module, "workloads": [{"group": a, "version": b, "resource": c, "kind": d}]}),
        ] {
            let path = folder.write(d, values.to_string());
            check(&(vec!["istio", "render", "--values", &path], Printed::Data))?;
        }
    }
}

#[test]
fn short_text_is_shown_whole_and_long_text_is_cut() {
    let output = |name: &str| {
        let spec = json!({"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web"}});
        let hpa = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
            "spec": spec});
        let (_, out, _) = burstctl(&["hpa", "lint", "-"], hpa.to_string());
        let (_, first) = out.split_once("= note: ").unwrap();
        unwrapped(first.split("\n\n").next().unwrap())
    };
    assert_eq!(
        output("a\u{1b}[31m\nb"),
        "default/a␛[31m␊b: metadata.name: invalid value"
    );
    let fits = "x".repeat(LONGEST - 100);
    assert!(output(&fits).contains(&format!("{fits}: metadata.name: invalid value")));
    let long = output(&"x".repeat(10 * LONGEST));
    assert!(
        long.ends_with(" more characters)") && long.len() < LONGEST + 100,
        "{long}"
    );
}
