//! `hpa render` and `hpa migrate`: their output, and that it is valid.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::{burstctl, hpa_command, transcript};
use burst_hpa::{Options, Severity};
use burst_testkit::Part;
use burstctl::input::{Input, SourceFile};
use burstctl::render::SCHEMA;
use burstctl::run::Outcome;
use burstctl::yaml::documents;
use burstctl::{lint, render};
use proptest::prelude::*;

#[test]
fn the_short_form_is_rendered_and_fixed_replicas_are_removed() {
    insta::assert_snapshot!(transcript(&["render", "-"], include_str!("../data/short.yaml")));
}

#[test]
fn defaults_are_shown_on_demand() {
    let text = "apiVersion: burstctl/v1\nkind: Hpa\ntarget: StatefulSet/db\nmax: 3\nscaleUp: {}\n";
    insta::assert_snapshot!(transcript(&["render", "--defaults", "-"], text));
}

#[test]
fn an_invalid_short_form_is_reported_with_its_position() {
    insta::assert_snapshot!(transcript(&["render", "-"], include_str!("../data/short-wrong.yaml")));
}

#[test]
fn older_versions_become_v2_and_losses_are_reported() {
    insta::assert_snapshot!(transcript(&["migrate", "-"], include_str!("../data/old.yaml")));
}

#[test]
fn every_version_is_rendered_and_explained_as_v2() {
    let old = include_str!("../data/old.yaml");
    let (_, migrated, _) = hpa_command(&["migrate", "-"], old);
    for args in [&["render", "-"][..], &["render", "--defaults", "-"], &["explain", "-"]] {
        let (outcome, out, stderr) = hpa_command(args, old);
        assert_eq!(outcome, Outcome::Success, "{args:?}: {stderr}");
        assert_eq!(out, hpa_command(args, &migrated).1, "{args:?}");
        assert!(!out.is_empty() && !out.contains("v2beta"), "{out}");
    }
    let beta = old.replace("maxReplicas: 10", "maxReplicas: 1");
    let (outcome, out, stderr) = hpa_command(&["render", "-"], &beta);
    assert_eq!(
        (outcome, out.matches("kind: HorizontalPodAutoscaler").count()),
        (Outcome::ProblemsFound, 1)
    );
    assert!(
        stderr.contains("must be greater than or equal to `minReplicas`"),
        "{stderr}"
    );
    let (outcome, _, stderr) = hpa_command(&["lint", "-"], old);
    assert_eq!(outcome, Outcome::ProblemsFound, "no cluster serves it: {stderr}");
}

#[test]
fn render_reports_what_an_older_version_loses() {
    let damaged = include_str!("../data/old.yaml").replace("'{\"ScaleDown\":", "'{\"ScaleDown\"");
    let (outcome, _, stderr) = hpa_command(&["render", "-"], &damaged);
    assert_eq!(outcome, Outcome::Success, "{stderr}");
    let field = "metadata.annotations.autoscaling.alpha.kubernetes.io/behavior";
    let expected = format!("default/web: {field}: dropped: it does not hold what it should");
    assert!(
        stderr.contains(&expected) && !stderr.contains("status: dropped"),
        "{stderr}"
    );
}

#[test]
fn empty_input_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    let empty = folder.path().to_str().unwrap();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/load.csv");
    let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/policies/policies.yaml");
    for path in [empty, "-"] {
        for args in [
            &["hpa", "render", path][..],
            &["hpa", "migrate", path],
            &["hpa", "explain", path],
            &["hpa", "simulate", path, "--trace", trace],
            &["policy", "test", path, "--hpa", policies],
            &["policy", "test", policies, "--hpa", path],
            &["policy", "admission", path],
            &["istio", "render", "--values", path],
        ] {
            let (outcome, out, stderr) = burstctl(args, "# nothing\n---\n");
            assert_eq!((outcome, out.as_str()), (Outcome::Incomplete, ""), "{args:?}: {stderr}");
            assert!(
                stderr.contains("burstctl: no document was given\n"),
                "{args:?}: {stderr}"
            );
        }
    }
}

/// Text that may follow an HPA in a file, and whether kubectl accepts it.
const BEHIND: [(&str, bool); 14] = [
    ("", true),
    ("null", true),
    ("---\n# c\n", true),
    (
        "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"a\"}}",
        true,
    ),
    ("---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n", true),
    ("5", false),
    ("word", false),
    ("\"word\"", false),
    ("true", false),
    ("[]", false),
    ("---\n5\n", false),
    ("---\nword\n", false),
    ("---\n- a\n", false),
    ("---\na: b\n", false),
];

#[test]
fn a_document_without_a_kind_is_refused_as_kubectl_does() {
    let hpa = r#"{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 3}}"#;
    let trace = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(trace.path(), "seconds,cpu\n0,5\n").unwrap();
    let trace = trace.path().to_str().unwrap();
    let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/policies/policies.yaml");
    let other = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}"#;
    for (behind, is_taken) in BEHIND {
        let text = format!("{hpa}\n{behind}");
        assert_eq!(kubectl_accepts(&text), is_taken, "kubectl and {behind:?}");
        let (outcome, ..) = burstctl(&["hpa", "simulate", "-", "--trace", trace], &text);
        assert_eq!(outcome == Outcome::Success, is_taken, "simulate {behind:?}");
        // After two JSON objects, kubectl does not read YAML.
        for text in [text, format!("{hpa} {other}\n{behind}")] {
            let is_taken = kubectl_accepts(&text);
            for args in [
                &["hpa", "lint", "-"][..],
                &["hpa", "render", "-"],
                &["hpa", "migrate", "-"],
                &["hpa", "explain", "-"],
                &["policy", "test", policies, "--hpa", "-"],
            ] {
                let (outcome, out, stderr) = burstctl(args, &text);
                assert_eq!(outcome == Outcome::Success, is_taken, "{args:?} {text:?}: {stderr}");
                let passes_on = ["render", "migrate"].contains(&args[1]);
                assert!(
                    !passes_on || !out.contains("word") && !out.contains("\n5\n"),
                    "{args:?}: {out}"
                );
            }
        }
    }
}

/// Returns whether the real kubectl can read the text. It needs no cluster.
fn kubectl_accepts(text: &str) -> bool {
    let mut command = Command::new(Part::Kubectl.path());
    command.args(["annotate", "--local", "--filename=-", "a=b", "--output=name"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait().unwrap().success()
}

#[test]
fn dropped_comments_are_reported() {
    let text = include_str!("../data/load.yaml");
    let expected = "burstctl: <stdin>:1:1: comments are not kept; this is the first one\n";
    for command in ["render", "migrate"] {
        assert_eq!(hpa_command(&[command, "-"], text).2, "");
        assert_eq!(
            hpa_command(&[command, "-"], format!("# why\n{text}# more\n")).2,
            expected
        );
    }
}

#[test]
fn rendered_output_has_no_findings_and_renders_to_itself() {
    let (outcome, once, _) = hpa_command(&["render", "-"], include_str!("../data/short.yaml"));
    assert_eq!(outcome, Outcome::Success);
    let (outcome, _, stderr) = hpa_command(&["lint", "-"], &once);
    assert_eq!(outcome, Outcome::Success, "{stderr}");
    assert_eq!(hpa_command(&["render", "-"], &once).1, once);
}

#[test]
fn the_schema_accepts_what_render_accepts() {
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let json = |text: &str| documents(text).remove(0).content.unwrap().to_json();
    let valid = json(include_str!("../data/short.yaml"));
    assert!(
        schema.is_valid(&valid),
        "{:?}",
        schema.iter_errors(&valid).collect::<Vec<_>>()
    );
    for document in documents(include_str!("../data/short-wrong.yaml")).into_iter().take(3) {
        let invalid = document.content.unwrap().to_json();
        assert!(!schema.is_valid(&invalid), "{invalid}");
    }
}

#[test]
fn the_schema_is_printed() {
    let (outcome, out, _) = hpa_command(&["render", "--schema"], "");
    assert_eq!((outcome, out.as_str()), (Outcome::Success, SCHEMA));
}

fn any_short() -> impl Strategy<Value = String> {
    let fields = prop::sample::subsequence(
        vec![
            "target: Deployment/web",
            "max: 5",
            "max: 0",
            "min: 9",
            "name: x",
            "namespace: 7",
            "labels: {a: b}",
            "metrics: [{resource: cpu, utilization: 0}]",
            "metrics: [{pods: a, value: 1}, {external: q, average: -1}]",
            "scaleUp: {window: 1h, tolerance: 1}",
            "scaleDown: {policies: [{pods: 1, every: 2h}]}",
            "surplus: 1",
            "scaleUp: {window: 1500ms}",
            "metrics: [{resource: memory, container: c, average: 1E}]",
        ],
        0..10,
    );
    fields.prop_map(|fields| format!("apiVersion: burstctl/v1\nkind: Hpa\n{}\n", fields.join("\n")))
}

proptest! {
    #[test]
    fn rendered_output_is_valid(text in any_short()) {
        let source = SourceFile { name: "short.yaml".to_owned(), text };
        let input = Input::from_sources([source]);
        let rendered = render::render(&input, Options::default(), false);
        prop_assert_eq!(rendered.documents.len() + usize::from(!rendered.findings.is_empty()), 1);
        for text in rendered.documents {
            let input = Input::from_sources([SourceFile { name: String::new(), text }]);
            let errors: Vec<_> = lint::check(&input, Options::default())
                .into_iter()
                .filter(|finding| finding.severity == Severity::Error)
                .collect();
            prop_assert!(errors.is_empty(), "{:?}", errors);
        }
    }

    #[test]
    fn invalid_utf8_is_reported(mut bytes in any::<Vec<u8>>()) {
        bytes.push(0xff);
        for args in ["render", "migrate", "lint", "explain"] {
            prop_assert_eq!(hpa_command(&[args, "-"], &bytes).0, Outcome::Incomplete);
        }
    }

    #[test]
    fn no_input_makes_render_or_migrate_panic(text in any::<String>(), at in any::<prop::sample::Index>()) {
        let old = include_str!("../data/old.yaml");
        let cut = at.index(old.len());
        let damaged = format!("{}{text}{}", &old[..cut], &old[cut..]);
        for args in ["render", "migrate", "lint", "explain"] {
            prop_assert!(hpa_command(&[args, "-"], &damaged).0.code() <= 2);
        }
    }
}
