//! `hpa lint`: recorded responses of the apiserver, random input, and the output formats.

use std::collections::BTreeSet;

use burst_hpa::{ErrorType, Node, NodeValue, Options, Severity};
use burstctl::args::LintFormat;
use burstctl::finding::FindingKind;
use burstctl::input::{Input, SourceFile};
use burstctl::lint::{check, write};
use burstctl::printer::Printer;
use burstctl::yaml::to_yaml;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

fn input(text: &str) -> Input {
    let (name, text) = ("shop.yaml".to_owned(), text.to_owned());
    Input::from_sources([SourceFile { name, text }])
}

fn lint(text: &str, format: LintFormat, options: Options) -> String {
    let input = input(text);
    let mut out = Vec::new();
    write(
        &check(&input, options),
        &input.sources,
        format,
        &mut Printer::new(&mut out, false),
    )
    .unwrap();
    String::from_utf8(out).unwrap()
}

/// Returns the findings that the apiserver would also report, as `type field detail`.
fn findings_of(text: &str, options: Options) -> BTreeSet<String> {
    let output = lint(text, LintFormat::Json, options);
    let findings = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let refused = findings.filter(|line| line["rule"] == "apiserver");
    let field = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    refused
        .map(|line| {
            format!(
                "{} {} {}",
                field(&line, "type"),
                field(&line, "field"),
                field(&line, "detail")
            )
        })
        .collect()
}

/// A line of burst-hpa's golden file.
#[derive(serde::Deserialize)]
struct Case {
    #[serde(default)]
    scale_to_zero: bool,
    #[serde(default)]
    no_tolerance: bool,
    document: Box<RawValue>,
    answer: Answer,
}

#[derive(serde::Deserialize)]
struct Answer {
    #[serde(default)]
    errors: Vec<Value>,
    #[serde(default)]
    object: Value,
}

impl Case {
    fn all() -> Vec<Self> {
        let text = include_str!("../../../burst-hpa/tests/golden/admission.jsonl");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn options(&self) -> Options {
        Options {
            scale_to_zero: self.scale_to_zero,
            tolerance: !self.no_tolerance,
            ..Options::default()
        }
    }

    /// Returns whether the document has the kind and apiVersion. The apiserver takes them from the URL of a request, but a
    /// file must have them.
    fn has_type_meta(&self) -> bool {
        let document: Value = serde_json::from_str(self.document.get()).unwrap();
        document["kind"] == "HorizontalPodAutoscaler" && document["apiVersion"] == "autoscaling/v2"
    }

    /// Returns the errors of burst-hpa, whose own tests compare them with the apiserver.
    fn expected(&self) -> BTreeSet<String> {
        use burst_hpa::Refusal;
        let node = Node::from_json(self.document.get()).unwrap();
        match burst_hpa::admit(&node, self.options()) {
            Ok(_) => BTreeSet::new(),
            Err(Refusal::Invalid(errors)) => errors
                .iter()
                .map(|error| format!("{} {} {}", error.error_type.as_str(), error.field, error.detail))
                .collect(),
            Err(Refusal::Decode(errors)) => errors
                .iter()
                .map(|error| {
                    let message = error.to_string();
                    let detail = message
                        .strip_prefix(&format!("{}: ", error.path()))
                        .unwrap_or(&message)
                        .to_owned();
                    format!("Decode {} {detail}", error.path())
                })
                .collect(),
        }
    }
}

/// Returns whether the document has a number such as `1.0` or `1e3`, which YAML reads as an integer and JSON does not.
fn has_unusual_numbers(node: &Node) -> bool {
    match &node.value {
        NodeValue::Number(text) => {
            text.contains(['.', 'e', 'E']) || text.parse::<i64>().is_err() || text.starts_with("-0")
        }
        NodeValue::List(items) => items.iter().any(has_unusual_numbers),
        NodeValue::Object(fields) => fields.iter().any(|(_, node)| has_unusual_numbers(node)),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::String(_) => false,
    }
}

#[test]
fn recorded_hpas_are_refused_for_the_same_reasons_as_yaml_and_as_json() {
    let cases = Case::all();
    let mut through_yaml = 0;
    for case in cases.iter().filter(|case| case.has_type_meta()) {
        let document = case.document.get();
        let expected = case.expected();
        let accepted = case.answer.errors.is_empty() && !case.answer.object.is_null();
        assert_eq!(expected.is_empty(), accepted, "{document}");
        assert_eq!(findings_of(document, case.options()), expected, "{document}");
        let node = Node::from_json(document).unwrap();
        if !has_unusual_numbers(&node) {
            through_yaml += 1;
            let yaml = to_yaml(&node);
            assert_eq!(findings_of(&yaml, case.options()), expected, "{yaml}");
        }
    }
    assert!(
        through_yaml > 1_500,
        "{through_yaml} of {} cases went through YAML",
        cases.len()
    );
}

#[test]
fn findings_are_shown_like_errors_of_rustc() {
    insta::assert_snapshot!(lint(
        include_str!("../data/shop.yaml"),
        LintFormat::Text,
        Options::default()
    ));
}

#[test]
fn findings_are_one_json_object_per_line() {
    insta::assert_snapshot!(lint(
        include_str!("../data/shop.yaml"),
        LintFormat::Json,
        Options::default()
    ));
}

#[test]
fn findings_are_annotations_for_github() {
    insta::assert_snapshot!(lint(
        include_str!("../data/shop.yaml"),
        LintFormat::Github,
        Options::default()
    ));
}

#[test]
fn findings_are_results_in_sarif() {
    insta::assert_snapshot!(lint(
        include_str!("../data/shop.yaml"),
        LintFormat::Sarif,
        Options::default()
    ));
}

#[test]
fn file_names_are_uris_in_sarif() {
    for (name, uri) in [
        ("./shop.yaml", "./shop.yaml"),
        ("my charts/100%.yaml", "my%20charts/100%25.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
        ("a:b#é.yaml", "a%3Ab%23%C3%A9.yaml"),
    ] {
        let (name, text) = (name.to_owned(), "- 1\n".to_owned());
        let input = Input::from_sources([SourceFile { name, text }]);
        let mut out = Vec::new();
        let findings = check(&input, Options::default());
        write(
            &findings,
            &input.sources,
            LintFormat::Sarif,
            &mut Printer::new(&mut out, false),
        )
        .unwrap();
        let log: Value = serde_json::from_slice(&out).unwrap();
        let location = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], uri);
    }
}

#[test]
fn scalars_are_read_as_kubernetes_reads_them() {
    insta::assert_snapshot!(lint(
        include_str!("../data/scalars.yaml"),
        LintFormat::Text,
        Options::default()
    ));
}

#[test]
fn a_broken_document_is_reported_and_the_others_are_checked() {
    let text = "kind: HorizontalPodAutoscaler\napiVersion: autoscaling/v2\n---\na: [\n---\n- 1\n---\nname: x\n";
    insta::assert_snapshot!(lint(text, LintFormat::Text, Options::default()));
}

#[test]
fn version_one_is_checked_as_the_apiserver_converts_it() {
    let text = "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  \
                scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  maxReplicas: -1\n  \
                targetCPUUtilizationPercentage: 50\n";
    let options = Options::default();
    let expected = "FieldValueInvalid spec.maxReplicas must be greater than or equal to 1";
    assert!(
        findings_of(text, options).contains(expected),
        "{:?}",
        findings_of(text, options)
    );
    assert_eq!(findings_of(&text.replace("-1", "5"), options), BTreeSet::new());
}

#[test]
fn short_forms_are_checked_together_with_related_objects() {
    insta::assert_snapshot!(lint(
        include_str!("../data/short-regretted.yaml"),
        LintFormat::Text,
        Options::default()
    ));
    assert_eq!(
        lint(include_str!("../data/short.yaml"), LintFormat::Text, Options::default())
            .lines()
            .next(),
        Some("warning[fixed-replicas]: Deployment shop/bookstore sets replicas: 3, so each")
    );
}

#[test]
fn an_unknown_short_form_kind_is_reported() {
    for head in [
        "apiVersion: burstctl/v1\nkind: hpa",
        "apiVersion: burstctl/v2\nkind: Hpa",
    ] {
        let text = format!("{head}\ntarget: Deployment/web\nmax: 3\n");
        let expected = "Decode  the short form is kind Hpa of apiVersion burstctl/v1";
        assert!(findings_of(&text, Options::default()).contains(expected), "{head}");
    }
}

#[test]
fn an_unserved_version_is_the_only_finding() {
    let expected = |found: &str| format!("Decode apiVersion expected \"autoscaling/v2\", found {found:?}");
    let table = [
        ("v1", "HorizontalPodAutoscaler", expected("v1")),
        (
            "extensions/v1beta1",
            "HorizontalPodAutoscaler",
            expected("extensions/v1beta1"),
        ),
        ("autoscaling/v3", "HorizontalPodAutoscaler", expected("autoscaling/v3")),
        (
            "autoscaling/v2beta1",
            "HorizontalPodAutoscaler",
            expected("autoscaling/v2beta1"),
        ),
        (
            "autoscaling/v2beta2",
            "HorizontalPodAutoscaler",
            expected("autoscaling/v2beta2"),
        ),
        (
            "autoscaling/v2",
            "HorizontalPodAutoscale",
            "Decode kind expected \"HorizontalPodAutoscaler\", found \"HorizontalPodAutoscale\"".to_owned(),
        ),
    ];
    for (api_version, kind, expected) in table {
        let text = format!(
            "apiVersion: {api_version}\nkind: {kind}\nspec: {{metrics: [{{external: {{metricName: queue}}}}]}}\n"
        );
        assert_eq!(findings_of(&text, Options::default()), BTreeSet::from([expected]));
    }
    let text = "apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\n";
    let shown = lint(text, LintFormat::Text, Options::default());
    assert!(
        shown.contains("= help: `burstctl hpa migrate` writes it as autoscaling/v2."),
        "{shown}"
    );
    let foreign = "apiVersion: autoscaling.example.com/v1\nkind: HorizontalPodAutoscaler\n";
    assert_eq!(findings_of(foreign, Options::default()), BTreeSet::new());
}

/// Generates text that resembles an HPA.
fn text_like_an_hpa() -> impl Strategy<Value = String> {
    let manifest = include_str!("../data/shop.yaml");
    let lines: Vec<&'static str> = manifest.lines().collect();
    let line = prop_oneof![
        6 => prop::sample::select(lines),
        1 => prop::sample::select(vec!["  <<: *a", "  a: &a {b: c}", "- *a", "---", "...", "%YAML 1.1", "? x", "kind: List", "items:", "\t", "{", "}"]),
    ];
    let mutated = prop::collection::vec((line, "\\PC{0,3}"), 0..40);
    mutated.prop_map(|lines| {
        lines
            .into_iter()
            .map(|(line, tail)| format!("{line}{tail}\n"))
            .collect()
    })
}

fn assert_no_panic(text: &str) -> Result<(), TestCaseError> {
    let input = input(text);
    let findings = check(&input, Options::default());
    for format in [
        LintFormat::Text,
        LintFormat::Json,
        LintFormat::Sarif,
        LintFormat::Github,
    ] {
        let mut out = Vec::new();
        write(&findings, &input.sources, format, &mut Printer::new(&mut out, true)).unwrap();
    }
    let broken = findings.iter().filter(|finding| finding.kind.rule() == "yaml").count();
    prop_assert_eq!(broken, input.invalid_documents.len());
    prop_assert!(
        findings
            .iter()
            .all(|finding| finding.span.start.line >= 1 && finding.span.start.column >= 1)
    );
    prop_assert!(
        findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .all(|finding| !finding.detail.is_empty() || finding.kind == FindingKind::Invalid(ErrorType::Required))
    );
    Ok(())
}

proptest! {
    #[test]
    fn no_text_makes_lint_panic(text in any::<String>()) {
        assert_no_panic(&text)?;
    }

    #[test]
    fn no_yaml_makes_lint_panic(text in text_like_an_hpa()) {
        assert_no_panic(&text)?;
    }

    #[test]
    fn no_punctuation_makes_lint_panic(text in "[-a*&!|>{}\\[\\],:?#%@`'\"\\\\ \n\t0.<~]{0,60}") {
        assert_no_panic(&text)?;
    }
}

#[test]
fn a_list_without_items_is_reported() {
    for (items, position) in [("items: 5", "3:8"), ("item: []", "1:1")] {
        let text = format!("apiVersion: v1\nkind: List\n{items}\n");
        let output = lint(&text, LintFormat::Text, Options::default());
        assert!(output.contains(&format!("shop.yaml:{position}\n")), "{output}");
        assert!(output.contains("items: cannot be read"), "{output}");
        assert!(output.contains("expected a list of objects"), "{output}");
    }
}
