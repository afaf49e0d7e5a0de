//! `hpa render` and `hpa migrate`: what they write, and that it is right.

mod common;

use std::io::Write as _;
use std::process::{Command, Stdio};

use burst_hpa::{Options, Severity};
use burst_testkit::Part;
use burstctl::input::{Input, Source};
use burstctl::render::SCHEMA;
use burstctl::run::End;
use burstctl::yaml::documents;
use burstctl::{lint, render};
use common::{burstctl, command, told};
use proptest::prelude::*;

#[test]
fn the_short_form_is_written_out_and_fixed_replicas_go() {
    insta::assert_snapshot!(told(&["render", "-"], include_str!("data/short.yaml")));
}

#[test]
fn defaults_are_shown_on_demand() {
    let text = "apiVersion: burstctl/v1\nkind: Hpa\ntarget: StatefulSet/db\nmax: 3\nscaleUp: {}\n";
    insta::assert_snapshot!(told(&["render", "--defaults", "-"], text));
}

#[test]
fn what_cannot_be_built_is_named_where_it_stands() {
    insta::assert_snapshot!(told(&["render", "-"], include_str!("data/short-wrong.yaml")));
}

#[test]
fn older_versions_become_v2_and_what_is_lost_is_said() {
    insta::assert_snapshot!(told(&["migrate", "-"], include_str!("data/old.yaml")));
}

#[test]
fn every_version_is_rendered_and_explained_as_what_it_becomes() {
    let old = include_str!("data/old.yaml");
    let (_, migrated, _) = command(&["migrate", "-"], old);
    for words in [&["render", "-"][..], &["render", "--defaults", "-"], &["explain", "-"]] {
        let (end, out, said) = command(words, old);
        assert_eq!(end, End::Well, "{words:?}: {said}");
        assert_eq!(out, command(words, &migrated).1, "{words:?}");
        assert!(!out.is_empty() && !out.contains("v2beta"), "{out}");
    }
    let beta = old.replace("maxReplicas: 10", "maxReplicas: 1");
    let (end, out, said) = command(&["render", "-"], &beta);
    assert_eq!(
        (end, out.matches("kind: HorizontalPodAutoscaler").count()),
        (End::Objections, 1)
    );
    assert!(
        said.contains("must be greater than or equal to `minReplicas`"),
        "{said}"
    );
    let (end, _, said) = command(&["lint", "-"], old);
    assert_eq!(end, End::Objections, "no cluster serves it: {said}");
}

#[test]
fn what_rendering_an_older_version_loses_is_said() {
    let torn = include_str!("data/old.yaml").replace("'{\"ScaleDown\":", "'{\"ScaleDown\"");
    let (end, _, said) = command(&["render", "-"], &torn);
    assert_eq!(end, End::Well, "{said}");
    let field = "metadata.annotations.autoscaling.alpha.kubernetes.io/behavior";
    let expected = format!("default/web: {field}: dropped: it does not hold what it should");
    assert!(said.contains(&expected) && !said.contains("status: dropped"), "{said}");
}

#[test]
fn nothing_is_neither_right_nor_wrong() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    let empty = folder.path().to_str().unwrap();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/load.csv");
    let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/policies/policies.yaml");
    for path in [empty, "-"] {
        for words in [
            &["hpa", "lint", path][..],
            &["hpa", "lint", "--format", "json", path],
            &["hpa", "render", path],
            &["hpa", "migrate", path],
            &["hpa", "explain", path],
            &["hpa", "simulate", path, "--trace", trace],
            &["policy", "test", path, "--hpa", policies],
            &["policy", "test", policies, "--hpa", path],
            &["policy", "admission", path],
            &["istio", "render", "--values", path],
        ] {
            let (end, out, said) = burstctl(words, "# nothing\n---\n");
            assert_eq!((end, out.as_str()), (End::Unread, ""), "{words:?}: {said}");
            assert!(said.contains("burstctl: no document was given\n"), "{words:?}: {said}");
        }
    }
    let (end, _, said) = command(&["lint", "-"], "apiVersion: v1\nkind: Service\n");
    assert_eq!(
        (end, said.as_str()),
        (End::Well, "burstctl: 0 HPAs: 0 errors, 0 warnings\n")
    );
}

/// What a file may have behind an HPA, and whether kubectl takes it.
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
fn what_is_no_object_behind_one_is_refused_where_kubectl_refuses_it() {
    let hpa = r#"{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 3}}"#;
    let trace = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(trace.path(), "seconds,cpu\n0,5\n").unwrap();
    let trace = trace.path().to_str().unwrap();
    let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/policies/policies.yaml");
    let other = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}"#;
    for (behind, is_taken) in BEHIND {
        let text = format!("{hpa}\n{behind}");
        assert_eq!(kubectl_takes(&text), is_taken, "kubectl and {behind:?}");
        let (end, ..) = burstctl(&["hpa", "simulate", "-", "--trace", trace], &text);
        assert_eq!(end == End::Well, is_taken, "simulate {behind:?}");
        // Behind two JSON objects kubectl reads no YAML.
        for text in [text, format!("{hpa} {other}\n{behind}")] {
            let is_taken = kubectl_takes(&text);
            for words in [
                &["hpa", "lint", "-"][..],
                &["hpa", "render", "-"],
                &["hpa", "migrate", "-"],
                &["hpa", "explain", "-"],
                &["policy", "test", policies, "--hpa", "-"],
            ] {
                let (end, out, said) = burstctl(words, &text);
                assert_eq!(end == End::Well, is_taken, "{words:?} {text:?}: {said}");
                let passes_on = ["render", "migrate"].contains(&words[1]);
                assert!(
                    !passes_on || !out.contains("word") && !out.contains("\n5\n"),
                    "{words:?}: {out}"
                );
            }
        }
    }
}

/// Whether the real kubectl reads it, without a cluster.
fn kubectl_takes(text: &str) -> bool {
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
fn comments_that_are_left_out_are_not_left_unsaid() {
    let text = include_str!("data/load.yaml");
    let words = "burstctl: <stdin>:1:1: comments are left out; this is the first\n";
    for command in ["render", "migrate"].map(|word| move |text: &str| command(&[word, "-"], text)) {
        assert_eq!(command(text).2, "");
        assert_eq!(command(&format!("# why\n{text}# more\n")).2, words);
    }
}

#[test]
fn what_was_rendered_has_nothing_to_object_to_and_renders_as_itself() {
    let (end, once, _) = command(&["render", "-"], include_str!("data/short.yaml"));
    assert_eq!(end, End::Well);
    let (end, _, said) = command(&["lint", "-"], &once);
    assert_eq!(end, End::Well, "{said}");
    assert_eq!(command(&["render", "-"], &once).1, once);
}

#[test]
fn the_schema_takes_what_render_takes() {
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let json = |text: &str| documents(text).remove(0).content.unwrap().to_json();
    let whole = json(include_str!("data/short.yaml"));
    assert!(
        schema.is_valid(&whole),
        "{:?}",
        schema.iter_errors(&whole).collect::<Vec<_>>()
    );
    for document in documents(include_str!("data/short-wrong.yaml")).into_iter().take(3) {
        let wrong = document.content.unwrap().to_json();
        assert!(!schema.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn the_schema_is_printed() {
    let (end, out, _) = command(&["render", "--schema"], "");
    assert_eq!((end, out.as_str()), (End::Well, SCHEMA));
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
    fn whatever_is_rendered_is_accepted(text in any_short()) {
        let source = Source { name: "short.yaml".to_owned(), text };
        let input = Input::of([source]);
        let rendered = render::render(&input, Options::default(), false);
        prop_assert_eq!(rendered.documents.len() + usize::from(!rendered.findings.is_empty()), 1);
        for text in rendered.documents {
            let input = Input::of([Source { name: String::new(), text }]);
            let errors: Vec<_> = lint::check(&input, Options::default())
                .into_iter()
                .filter(|finding| finding.severity == Severity::Error)
                .collect();
            prop_assert!(errors.is_empty(), "{:?}", errors);
        }
    }

    #[test]
    fn bytes_that_are_no_text_could_not_be_read(mut bytes in any::<Vec<u8>>()) {
        bytes.push(0xff);
        for words in ["render", "migrate", "lint", "explain"] {
            prop_assert_eq!(command(&[words, "-"], &bytes).0, End::Unread);
        }
    }

    #[test]
    fn nothing_brings_them_down(text in any::<String>(), at in any::<prop::sample::Index>()) {
        let old = include_str!("data/old.yaml");
        let cut = at.index(old.len());
        let torn = format!("{}{text}{}", &old[..cut], &old[cut..]);
        for words in ["render", "migrate", "lint", "explain"] {
            prop_assert!(command(&[words, "-"], &torn).0.code() <= 2);
        }
    }
}
