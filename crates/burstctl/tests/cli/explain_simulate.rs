//! `hpa explain` and `hpa simulate`: their output, and numbers that were recorded from a real controller.

use std::path::PathBuf;

use crate::support::{hpa_command, transcript};
use burstctl::run::Outcome;
use proptest::prelude::*;
use serde_json::Value;

fn data_file(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "data", name].iter().collect();
    path.display().to_string()
}

#[test]
fn a_spec_is_explained_in_words() {
    insta::assert_snapshot!(transcript(&["explain", "-"], include_str!("../data/load.yaml")));
}

#[test]
fn an_invalid_hpa_is_not_explained() {
    let text = include_str!("../data/load.yaml").replace("maxReplicas: 12", "maxReplicas: 1");
    let (outcome, output, stderr) = hpa_command(&["explain", "-"], text);
    assert_eq!((outcome, output.as_str()), (Outcome::ProblemsFound, ""));
    assert!(
        stderr.contains("must be greater than or equal to `minReplicas`"),
        "{stderr}"
    );
}

#[test]
fn a_status_is_explained_with_its_own_numbers() {
    insta::assert_snapshot!(transcript(
        &["explain", "--status", "-"],
        include_str!("../data/status.yaml")
    ));
}

#[test]
fn an_hpa_without_a_status_is_reported() {
    let (outcome, _, stderr) = hpa_command(&["explain", "--status", "-"], include_str!("../data/load.yaml"));
    assert_eq!(outcome, Outcome::ProblemsFound);
    assert_eq!(stderr, "burstctl: shop/web: no controller has written a status\n");
}

#[test]
fn metrics_of_one_name_are_matched_by_selector_and_object() {
    let (_, output, _) = hpa_command(&["explain", "--status", "-"], include_str!("../data/namesakes.yaml"));
    let now: Vec<&str> = output
        .lines()
        .filter_map(|line| line.strip_prefix("   Now it is "))
        .collect();
    assert_eq!(
        now,
        [
            "4: 4 ÷ 10 = 0.4; × 5 replicas = 2, so it proposes 2.",
            "18: 18 ÷ 10 = 1.8; × 5 replicas = 9, so it proposes 9.",
            "150: 150 ÷ 100 = 1.5; × 5 replicas = 7.5, so it proposes 8.",
            "70: 70 ÷ 100 = 0.7; × 5 replicas = 3.5, so it proposes 4.",
        ]
    );
}

#[test]
fn bytes_are_shown_in_the_unit_of_the_target_and_exactly() {
    for (current, now) in [
        (
            "209715200",
            "200Mi: 200Mi ÷ 50Mi = 4; × 4 replicas = 16, so it proposes 16.",
        ),
        (
            "42000000",
            "40.054Mi (42000000): 40.054Mi ÷ 50Mi = 0.801; × 4 replicas = 3.204, so it proposes 4.",
        ),
    ] {
        let text = format!(
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}\n  maxReplicas: 20\n  metrics:\n  \
             - {{type: Resource, resource: {{name: memory, target: {{type: AverageValue, averageValue: 50Mi}}}}}}\n\
             status:\n  currentReplicas: 4\n  desiredReplicas: 8\n  currentMetrics:\n  \
             - {{type: Resource, resource: {{name: memory, current: {{averageValue: \"{current}\"}}}}}}\n"
        );
        let (_, output, _) = hpa_command(&["explain", "--status", "-"], &text);
        for line in [
            "1. memory of whole pods: 50Mi for each pod.\n",
            "   Nothing happens from 45Mi to 55Mi (tolerance 10 %).\n",
            &format!("   Now it is {now}\n"),
        ] {
            assert!(output.contains(line), "{line}\n{output}");
        }
    }
}

#[test]
fn the_active_limit_is_named_even_if_metrics_did_not_decide() {
    let table = [
        ("current: {value: \"1\"}", 2, 2, "Active limit: minReplicas."),
        ("current: {value: \"900\"}", 5, 5, "Active limit: maxReplicas."),
        (
            "current: {value: \"30\"}",
            9,
            5,
            "Active limit: maxReplicas, regardless of the metrics.",
        ),
        (
            "current: {value: \"30\"}",
            1,
            2,
            "Active limit: minReplicas, regardless of the metrics.",
        ),
        (
            "current: {value: \"30\"}",
            0,
            0,
            "Another client scaled the target to zero, so the controller does nothing until it has replicas.",
        ),
    ];
    for (current, current_replicas, desired_replicas, line) in table {
        let text = format!(
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}\n  minReplicas: 2\n  maxReplicas: 5\n  \
             metrics: [{{type: External, external: {{metric: {{name: q}}, target: {{type: Value, value: \"30\"}}}}}}]\n\
             status:\n  currentReplicas: {current_replicas}\n  desiredReplicas: {desired_replicas}\n  \
             currentMetrics: [{{type: External, external: {{metric: {{name: q}}, {current}}}}}]\n"
        );
        let (outcome, output, _) = hpa_command(&["explain", "--status", "-"], &text);
        assert_eq!(
            (outcome, output.contains(line)),
            (Outcome::Success, true),
            "{line}\n{output}"
        );
    }
}

#[test]
fn an_average_over_no_pods_is_not_shown() {
    let text = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  \
                scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  minReplicas: 0\n  maxReplicas: 5\n  \
                metrics: [{type: External, external: {metric: {name: q}, target: {type: AverageValue, averageValue: \"30\"}}}]\n\
                status:\n  desiredReplicas: 3\n  \
                currentMetrics: [{type: External, external: {metric: {name: q}, current: {averageValue: \"0\"}}}]\n  \
                conditions: [{type: ScaledToZero, status: \"True\", reason: ScaledToZero}]\n";
    let args = ["explain", "--status", "--feature-gates", "HPAScaleToZero=true", "-"];
    let (_, output, _) = hpa_command(&args, text);
    assert!(output.contains("Now it has no value"), "{output}");
    assert!(output.contains("\nScaledToZero is True (ScaledToZero).\n"), "{output}");
}

#[test]
fn control_characters_of_a_file_are_escaped() {
    let hostile = |text: &str| text.replace("requests", "\"re\\e[31mquests\"");
    let load = hostile(include_str!("../data/load.yaml"));
    let (_, output, _) = hpa_command(&["explain", "-"], &load);
    assert!(
        output.contains("re␛[31mquests") && !output.contains('\u{1b}'),
        "{output}"
    );
    let named = load.replace("name: web,", "name: \"we\\eb\",");
    assert_ne!(named, load);
    for args in [
        &["explain", "-"] as &[_],
        &["migrate", "-"],
        &["simulate", "-", "--trace", &data_file("load.csv")],
    ] {
        let (_, output, stderr) = hpa_command(args, named.replace("autoscaling/v2", "autoscaling/v2beta9"));
        assert!(!(output + &stderr).contains('\u{1b}'), "{args:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.csv");
    std::fs::write(&trace, "seconds,\u{1b}[31m\n0,1\n").unwrap();
    let (_, output, _) = hpa_command(
        &["simulate", &data_file("load.yaml"), "--trace", trace.to_str().unwrap()],
        "",
    );
    assert!(output.contains("␛[31m") && !output.contains('\u{1b}'), "{output}");
}

fn simulated(format: &str) -> String {
    let (file, trace) = (data_file("load.yaml"), data_file("load.csv"));
    let (outcome, out, stderr) = hpa_command(&["simulate", &file, "--trace", &trace, "--output", format], "");
    assert_eq!((outcome, stderr.as_str()), (Outcome::Success, ""));
    out
}

#[test]
fn a_simulation_is_shown_as_a_table() {
    insta::assert_snapshot!(simulated("table"));
}

#[test]
fn either_the_trace_or_the_hpa_may_come_from_stdin() {
    let (file, trace) = (data_file("load.yaml"), data_file("load.csv"));
    let output = simulated("table");
    let load = hpa_command(&["simulate", &file, "--trace", "-"], include_str!("../data/load.csv"));
    let hpa = hpa_command(&["simulate", "-", "--trace", &trace], include_str!("../data/load.yaml"));
    assert_eq!((&load.1, &hpa.1), (&output, &output));
    let both = hpa_command(&["simulate", "-", "--trace", "-"], include_str!("../data/load.yaml"));
    let expected = "burstctl: only one of the HPA and the trace can come from stdin\n";
    assert_eq!((both.0, both.2.as_str()), (Outcome::Incomplete, expected));
}

#[test]
fn a_simulation_is_shown_as_a_plot() {
    insta::assert_snapshot!(simulated("plot"));
}

#[test]
fn a_simulation_is_shown_as_svg() {
    let svg = simulated("svg");
    insta::assert_snapshot!(svg);
}

#[test]
fn a_simulation_has_one_json_object_per_sync() {
    let lines: Vec<Value> = simulated("json")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 62, "61 syncs and the answer");
    assert_eq!(lines[4]["replicas"], 4);
    assert_eq!(lines[4]["heldBy"], "scale-up rate");
    assert_eq!(
        (&lines[4]["needed"], &lines[4]["ready"]),
        (&Value::from(9), &Value::from(2))
    );
    assert_eq!(lines[61]["summary"]["peakReplicas"], 12);
}

/// Recorded from the unmodified controller. The target is 10 per pod, and the load falls from 400 to 20.
#[test]
fn replicas_double_each_sync_and_scale_down_waits_five_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.csv");
    std::fs::write(&trace, "seconds,requests\n0,400\n150,20\n600,20\n").unwrap();
    let hpa = folder.path().join("hpa.yaml");
    std::fs::write(
        &hpa,
        include_str!("../data/load.yaml").replace("maxReplicas: 12", "maxReplicas: 100"),
    )
    .unwrap();
    let args = [
        "simulate",
        hpa.to_str().unwrap(),
        "--trace",
        trace.to_str().unwrap(),
        "--startup",
        "0",
        "--output",
        "json",
    ];
    let (_, out, _) = hpa_command(&args, "");
    let replicas: Vec<i64> = out
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["replicas"].as_i64())
        .collect();
    assert_eq!(replicas[..6], [4, 8, 16, 32, 40, 40]);
    let fallen = replicas.iter().position(|replicas| *replicas == 2).unwrap();
    // The last high recommendation was at 135 s.
    assert_eq!(fallen * 15, 450);
}

proptest! {
    #[test]
    fn no_trace_makes_simulate_panic(
        text in "(seconds,requests\n)?([0-9]{1,4},[-0-9.eEkmGi]{0,8}\n){0,6}\\PC{0,3}",
        replicas in any::<i32>(),
        startup in any::<u32>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("trace.csv");
        std::fs::write(&trace, text).unwrap();
        let (file, startup) = (data_file("load.yaml"), startup.to_string());
        let replicas = format!("--replicas={replicas}");
        for format in ["table", "json", "plot", "svg"] {
            let args = ["simulate", &file, "--trace", trace.to_str().unwrap(), "--output", format, &replicas, "--startup", &startup];
            prop_assert!(hpa_command(&args, "").0.code() <= 2);
        }
    }

    #[test]
    fn no_status_makes_explain_panic(
        current in any::<i32>(),
        utilization in any::<i32>(),
        average in "[-0-9a-zA-Z.]{1,12}",
        target in any::<i32>(),
    ) {
        let text = include_str!("../data/status.yaml")
            .replace("currentReplicas: 4", &format!("currentReplicas: {current}"))
            .replace("averageUtilization: 82", &format!("averageUtilization: {utilization}"))
            .replace("averageUtilization: 80", &format!("averageUtilization: {target}"))
            .replace("65500m", &average);
        prop_assert!(hpa_command(&["explain", "--status", "-"], &text).0.code() <= 2);
    }
}
