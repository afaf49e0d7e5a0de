//! `hpa lint` against the apiserver's recorded answers, against nonsense, and its looks.

use std::collections::BTreeSet;

use burst_hpa::{ErrorType, Node, NodeValue, Options, Severity};
use burstctl::args::Format;
use burstctl::input::{Input, Source};
use burstctl::lint::{Mistake, check, write};
use burstctl::page::Page;
use burstctl::yaml::to_yaml;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

fn input(text: &str) -> Input {
    let (name, text) = ("shop.yaml".to_owned(), text.to_owned());
    Input::of([Source { name, text }])
}

fn lint(text: &str, format: Format, options: Options) -> String {
    let input = input(text);
    let mut out = Vec::new();
    write(
        &check(&input, options),
        &input.sources,
        format,
        &mut Page::new(&mut out, false),
    )
    .unwrap();
    String::from_utf8(out).unwrap()
}

/// What the apiserver would say, as `type field detail`.
fn objections(text: &str, options: Options) -> BTreeSet<String> {
    let lines = lint(text, Format::Json, options);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let refused = lines.filter(|line| line["rule"] == "apiserver");
    let word = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    refused
        .map(|line| {
            format!(
                "{} {} {}",
                word(&line, "type"),
                word(&line, "field"),
                word(&line, "detail")
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
        let text = include_str!("../../burst-hpa/tests/golden/admission.jsonl");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn options(&self) -> Options {
        Options {
            scale_to_zero: self.scale_to_zero,
            tolerance: !self.no_tolerance,
            ..Options::default()
        }
    }

    /// The apiserver knows from the address of a request what a file has to say itself.
    fn says_what_it_is(&self) -> bool {
        let document: Value = serde_json::from_str(self.document.get()).unwrap();
        document["kind"] == "HorizontalPodAutoscaler" && document["apiVersion"] == "autoscaling/v2"
    }

    /// What burst-hpa says, which its own tests hold against the apiserver.
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

/// YAML reads `1.0` and `1e3` as whole numbers, which JSON does not.
fn spells_numbers_oddly(node: &Node) -> bool {
    match &node.value {
        NodeValue::Number(text) => {
            text.contains(['.', 'e', 'E']) || text.parse::<i64>().is_err() || text.starts_with("-0")
        }
        NodeValue::List(items) => items.iter().any(spells_numbers_oddly),
        NodeValue::Object(fields) => fields.iter().any(|(_, node)| spells_numbers_oddly(node)),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::String(_) => false,
    }
}

#[test]
fn recorded_hpas_are_refused_for_the_same_reasons_through_yaml_and_through_json() {
    let cases = Case::all();
    let mut through_yaml = 0;
    for case in cases.iter().filter(|case| case.says_what_it_is()) {
        let document = case.document.get();
        let expected = case.expected();
        let accepted = case.answer.errors.is_empty() && !case.answer.object.is_null();
        assert_eq!(expected.is_empty(), accepted, "{document}");
        assert_eq!(objections(document, case.options()), expected, "{document}");
        let node = Node::from_json(document).unwrap();
        if !spells_numbers_oddly(&node) {
            through_yaml += 1;
            let yaml = to_yaml(&node);
            assert_eq!(objections(&yaml, case.options()), expected, "{yaml}");
        }
    }
    assert!(
        through_yaml > 1_500,
        "{through_yaml} of {} cases went through YAML",
        cases.len()
    );
}

#[test]
fn findings_look_as_rustc_shows_errors() {
    insta::assert_snapshot!(lint(include_str!("data/shop.yaml"), Format::Text, Options::default()));
}

#[test]
fn findings_are_objects_a_line_in_json() {
    insta::assert_snapshot!(lint(include_str!("data/shop.yaml"), Format::Json, Options::default()));
}

#[test]
fn findings_are_annotations_for_github() {
    insta::assert_snapshot!(lint(include_str!("data/shop.yaml"), Format::Github, Options::default()));
}

#[test]
fn findings_are_results_in_sarif() {
    insta::assert_snapshot!(lint(include_str!("data/shop.yaml"), Format::Sarif, Options::default()));
}

#[test]
fn names_of_files_are_uris_in_sarif() {
    for (name, uri) in [
        ("./shop.yaml", "./shop.yaml"),
        ("my charts/100%.yaml", "my%20charts/100%25.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
        ("a:b#é.yaml", "a%3Ab%23%C3%A9.yaml"),
    ] {
        let (name, text) = (name.to_owned(), "- 1\n".to_owned());
        let input = Input::of([Source { name, text }]);
        let mut out = Vec::new();
        let findings = check(&input, Options::default());
        write(
            &findings,
            &input.sources,
            Format::Sarif,
            &mut Page::new(&mut out, false),
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
        include_str!("data/scalars.yaml"),
        Format::Text,
        Options::default()
    ));
}

#[test]
fn a_broken_document_is_named_and_the_others_are_checked() {
    let text = "kind: HorizontalPodAutoscaler\napiVersion: autoscaling/v2\n---\na: [\n---\n- 1\n---\nname: x\n";
    insta::assert_snapshot!(lint(text, Format::Text, Options::default()));
}

#[test]
fn version_one_is_checked_as_the_apiserver_converts_it() {
    let text = "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  \
                scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  maxReplicas: -1\n  \
                targetCPUUtilizationPercentage: 50\n";
    let options = Options::default();
    let expected = "FieldValueInvalid spec.maxReplicas must be greater than or equal to 1";
    assert!(
        objections(text, options).contains(expected),
        "{:?}",
        objections(text, options)
    );
    assert_eq!(objections(&text.replace("-1", "5"), options), BTreeSet::new());
}

#[test]
fn short_forms_are_checked_where_they_stand_and_beside_their_neighbours() {
    insta::assert_snapshot!(lint(
        include_str!("data/short-regretted.yaml"),
        Format::Text,
        Options::default()
    ));
    assert_eq!(
        lint(include_str!("data/short.yaml"), Format::Text, Options::default())
            .lines()
            .next(),
        Some("warning[fixed-replicas]: shop/bookstore: spec.scaleTargetRef: probably not as meant")
    );
}

#[test]
fn a_short_form_of_another_kind_is_not_overlooked() {
    for head in [
        "apiVersion: burstctl/v1\nkind: hpa",
        "apiVersion: burstctl/v2\nkind: Hpa",
    ] {
        let text = format!("{head}\ntarget: Deployment/web\nmax: 3\n");
        let expected = "Decode  the short form is kind Hpa of apiVersion burstctl/v1";
        assert!(objections(&text, Options::default()).contains(expected), "{head}");
    }
}

#[test]
fn what_no_cluster_serves_is_named_and_nothing_else_of_it() {
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
        assert_eq!(objections(&text, Options::default()), BTreeSet::from([expected]));
    }
    let text = "apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\n";
    let shown = lint(text, Format::Text, Options::default());
    assert!(
        shown.contains("= help: `burstctl hpa migrate` writes it as autoscaling/v2."),
        "{shown}"
    );
    let foreign = "apiVersion: autoscaling.example.com/v1\nkind: HorizontalPodAutoscaler\n";
    assert_eq!(objections(foreign, Options::default()), BTreeSet::new());
}

/// Text that is more like an HPA than chance would make it.
fn almost_an_hpa() -> impl Strategy<Value = String> {
    let whole = include_str!("data/shop.yaml");
    let lines: Vec<&'static str> = whole.lines().collect();
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

fn assert_endured(text: &str) -> Result<(), TestCaseError> {
    let input = input(text);
    let findings = check(&input, Options::default());
    for format in [Format::Text, Format::Json, Format::Sarif, Format::Github] {
        let mut out = Vec::new();
        write(&findings, &input.sources, format, &mut Page::new(&mut out, true)).unwrap();
    }
    let broken = findings
        .iter()
        .filter(|finding| finding.mistake.rule() == "yaml")
        .count();
    prop_assert_eq!(broken, input.broken.len());
    prop_assert!(
        findings
            .iter()
            .all(|finding| finding.span.start.line >= 1 && finding.span.start.column >= 1)
    );
    prop_assert!(
        findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .all(|finding| !finding.detail.is_empty() || finding.mistake == Mistake::Invalid(ErrorType::Required))
    );
    Ok(())
}

proptest! {
    #[test]
    fn no_text_brings_lint_down(text in any::<String>()) {
        assert_endured(&text)?;
    }

    #[test]
    fn no_yaml_brings_lint_down(text in almost_an_hpa()) {
        assert_endured(&text)?;
    }

    #[test]
    fn no_punctuation_brings_lint_down(text in "[-a*&!|>{}\\[\\],:?#%@`'\"\\\\ \n\t0.<~]{0,60}") {
        assert_endured(&text)?;
    }
}

#[test]
fn a_list_without_items_is_no_clean_file() {
    for (items, place) in [("items: 5", "3:8"), ("item: []", "1:1")] {
        let text = format!("apiVersion: v1\nkind: List\n{items}\n");
        let said = lint(&text, Format::Text, Options::default());
        assert!(said.contains(&format!("shop.yaml:{place}\n")), "{said}");
        assert!(said.contains("items: cannot be read"), "{said}");
        assert!(said.contains("expected a list of objects"), "{said}");
    }
}
