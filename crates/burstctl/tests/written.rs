//! `hpa render` and `hpa migrate`: what they write, and that it is right.

mod common;

use burst_hpa::{Options, Severity};
use burstctl::input::{Input, Source};
use burstctl::render::SCHEMA;
use burstctl::run::End;
use burstctl::yaml::documents;
use burstctl::{lint, render};
use common::{command, told};
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
fn comments_that_are_left_out_are_not_left_unsaid() {
    let text = include_str!("data/load.yaml");
    let words = "burstctl: <stdin>:1:1: comments are left out; this is the first\n";
    for command in ["render", "migrate"].map(|word| move |text: &str| command(&[word, "-"], text)) {
        assert_eq!(command(text).2, "");
        assert_eq!(command(&format!("# why\n{text}# more\n")).2, words);
        assert_eq!(command("# nothing else\n").2, "");
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
