//! `hpa lint` with unusual input: nothing, files of other programs, templates, fields of older versions.

use std::fs;
use std::path::Path;

use burstctl::run::Outcome;

use crate::support::{hpa_command, unwrapped};

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";

fn hpa(spec: &str) -> String {
    format!(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web}}\nspec:\n  maxReplicas: 3\n  \
         scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}\n  {spec}\n"
    )
}

/// Runs `hpa lint` with the text, and returns its outcome, and its output on one line.
fn lint(text: &str) -> (Outcome, String) {
    let (outcome, out, _) = hpa_command(&["lint", "-"], text);
    (outcome, unwrapped(&out))
}

#[test]
fn no_input_is_an_error_unless_it_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    for (args, stdin) in [
        (&["lint", empty][..], ""),
        (&["lint", "-"], "# nothing\n---\n"),
        (&["lint", "-"], SERVICE),
        (&["lint", "--output", "json", "-"], ""),
    ] {
        let (outcome, out, messages) = hpa_command(args, stdin);
        let expected = "burstctl: no HPA was found; if that is intended, use --allow-empty\n";
        assert_eq!(
            (outcome, out.as_str(), messages.as_str()),
            (Outcome::Incomplete, "", expected),
            "{args:?}"
        );
        let (outcome, out, messages) = hpa_command(&[args, &["--allow-empty"]].concat(), stdin);
        assert_eq!(
            (outcome, out.as_str(), messages.as_str()),
            (Outcome::Success, "", "burstctl: no HPA was found\n"),
            "{args:?}"
        );
    }
    let (outcome, _, messages) = hpa_command(&["lint"], "");
    assert_eq!(outcome, Outcome::Incomplete);
    assert!(
        messages.starts_with("burstctl: no file was given; `-` is stdin"),
        "{messages}"
    );
    let (outcome, ..) = hpa_command(&["lint", "--allow-empty"], "");
    assert_eq!(outcome, Outcome::Success, "a hook without files");
}

#[test]
fn an_hpa_without_findings_is_well() {
    let (outcome, out, messages) = hpa_command(&["lint", "-"], hpa(""));
    assert_eq!(
        (outcome, out.as_str(), messages.as_str()),
        (Outcome::Success, "", "burstctl: 1 HPA: all is well\n")
    );
    let (outcome, _, messages) = hpa_command(&["lint", "-", "not-there.yaml"], hpa(""));
    assert_eq!(outcome, Outcome::Incomplete);
    assert!(
        messages.starts_with("burstctl: not-there.yaml: ") && messages.ends_with("1 HPA: 0 errors, 0 warnings\n"),
        "{messages}"
    );
}

#[test]
fn files_that_mention_no_hpa_may_have_any_content_if_empty_input_is_allowed() {
    for foreign in [
        "a: b: c\n",
        "services: {web: {image: a}}\n",
        "- hosts: all\n",
        "Resources: {Bucket: !Ref a}\n",
        "{{ toYaml . }}\n",
    ] {
        let (outcome, ..) = hpa_command(&["lint", "-"], foreign);
        assert_ne!(outcome, Outcome::Success, "{foreign}");
        let (outcome, out, _) = hpa_command(&["lint", "--allow-empty", "-"], foreign);
        assert_eq!((outcome, out.as_str()), (Outcome::Success, ""), "{foreign}");
    }
    for (text, expected) in [
        ("kind: HorizontalPodAutoscaler\nspec: {}\n", Outcome::ProblemsFound),
        ("apiVersion: autoscaling/v2\nkind: Autoscaler\n", Outcome::ProblemsFound),
        ("apiVersion: burstctl/v1\nkind: Hpa\nmax: 3\n", Outcome::ProblemsFound),
        ("kind: HorizontalPodAutoscaler\na: b: c\n", Outcome::Incomplete),
    ] {
        let (outcome, out, _) = hpa_command(&["lint", "--allow-empty", "-"], text);
        assert_eq!(outcome, expected, "{text}\n{out}");
    }
    let (outcome, ..) = hpa_command(&["lint", "--allow-empty", "not-there.yaml"], "");
    assert_eq!(outcome, Outcome::Incomplete, "a file that does not exist");

    // The Deployment of another file is still compared with the HPA.
    let folder = tempfile::tempdir().unwrap();
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, selector: {}, template: {}}\n";
    fs::write(folder.path().join("deployment.yaml"), deployment).unwrap();
    fs::write(folder.path().join("hpa.yaml"), hpa("")).unwrap();
    let (_, out, _) = hpa_command(&["lint", "--allow-empty", folder.path().to_str().unwrap()], "");
    assert!(out.starts_with("warning[fixed-replicas]: "), "{out}");
}

#[test]
fn a_template_that_was_not_rendered_gets_advice() {
    let advice = "help: This looks like a Helm template. Render it first: helm template … | burstctl hpa lint -";
    for template in [
        hpa("minReplicas: {{ .Values.min }}"),
        hpa("minReplicas: \"{{ .Values.min }}\""),
        hpa("metrics:\n    {{- toYaml .Values.metrics | nindent 4 }}"),
        hpa("minReplicas: 1").replace("name: web}\n", "name: {{ .Release.Name }}-web}\n"),
        format!("{{{{- if .Values.autoscaling.enabled }}}}\n{}{{{{- end }}}}\n", hpa("")),
    ] {
        let (outcome, out) = lint(&template);
        assert_ne!(outcome, Outcome::Success, "{template}");
        assert!(out.contains(advice), "{template}\n{out}");
    }
    for other in [
        "a: b: c\n".to_owned(),
        format!("a: b: c\n---\n{SERVICE}  # {{{{ }}}}\n"),
        format!("data: '{{{{ $labels.pod }}}}'\n{SERVICE}---\n{}", hpa("minReplicas: x")),
    ] {
        let (_, out) = lint(&other);
        assert!(out.contains("error[") && !out.contains("Helm"), "{other}\n{out}");
    }
}

/// Each row is a field of an older version, and what to write in `autoscaling/v2` instead. The advice is followed here.
#[test]
fn a_field_of_an_older_version_gets_advice_that_can_be_pasted() {
    let resource = |field: &str| format!("metrics: [{{type: Resource, resource: {{name: cpu, {field}}}}}]");
    let pods = |fields: &str| format!("metrics: [{{type: Pods, pods: {{{fields}}}}}]");
    let external = |fields: &str| format!("metrics: [{{type: External, external: {{{fields}}}}}]");
    let (average, metric) = ("target: {type: AverageValue, averageValue: 1k}", "metric: {name: hits}");
    for (old, version, advice, new) in [
        (
            "targetCPUUtilizationPercentage: 70".to_owned(),
            "v1",
            "an item of spec.metrics: {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}",
            "metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]"
                .to_owned(),
        ),
        (
            resource("targetAverageUtilization: 70"),
            "v2beta1",
            "target: {type: Utilization, averageUtilization: 70}",
            resource("target: {type: Utilization, averageUtilization: 70}"),
        ),
        (
            pods(&format!("{metric}, targetAverageValue: 1k")),
            "v2beta1",
            average,
            pods(&format!("{metric}, {average}")),
        ),
        (
            pods(&format!("metricName: hits, {average}")),
            "v2beta1",
            metric,
            pods(&format!("{metric}, {average}")),
        ),
        (
            external(&format!("{metric}, targetValue: 30")),
            "v2beta1",
            "target: {type: Value, value: 30}",
            external(&format!("{metric}, target: {{type: Value, value: 30}}")),
        ),
        (
            external(&format!(
                "{metric}, {average}, metricSelector: {{matchLabels: {{a: b}}}}"
            )),
            "v2beta1",
            "selector, a field of metric",
            external(&format!(
                "metric: {{name: hits, selector: {{matchLabels: {{a: b}}}}}}, {average}"
            )),
        ),
    ] {
        let (outcome, out) = lint(&hpa(&old));
        assert_eq!(outcome, Outcome::ProblemsFound, "{old}");
        let expected = format!("help: This is a field of autoscaling/{version}. In autoscaling/v2, write {advice}");
        assert!(out.contains(&expected), "{old}\n{out}");
        assert_eq!(lint(&hpa(&new)), (Outcome::Success, String::new()), "{new}");
    }
    let (_, out) = lint(&hpa("").replace("{name: web}\n", "{name: web, metricName: a}\n"));
    assert!(
        out.contains("unknown field") && !out.contains("This is a field of"),
        "{out}"
    );
}

#[test]
fn the_text_of_findings_fits_80_columns() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let files = ["shop.yaml", "short.yaml", "namesakes.yaml", "oddities.yaml", "old.yaml"]
        .map(|file| folder.join(file).display().to_string());
    let args: Vec<&str> = ["lint"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let (_, out, _) = hpa_command(&args, "");
    // The path of the file and its own lines are as long as they are.
    let ours = out
        .lines()
        .filter(|line| !line.contains("--> ") && !line.contains(" |"));
    assert!(ours.clone().count() > 20, "{out}");
    let long: Vec<_> = ours.filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn a_finding_without_a_reason_has_a_headline() {
    let (_, out, _) = hpa_command(&["lint", "-"], hpa("").replace("{name: web}\n", "{}\n"));
    assert!(
        out.starts_with("error[apiserver]: name or generateName is required\n"),
        "{out}"
    );
    let (_, out, _) = hpa_command(&["lint", "-"], hpa("").replace(", name: web}\n  \n", "}\n  \n"));
    assert!(out.starts_with("error[apiserver]: required value\n"), "{out}");
}
