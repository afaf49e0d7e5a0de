//! `hpa render` and `hpa migrate`: what they write, and that it is right.

use std::fmt::Write as _;
use std::io::Cursor;
use std::sync::{Arc, Mutex};

use burst_hpa::{Options, Severity};
use burstctl::args::{Burstctl, Hpa, Topic};
use burstctl::input::{Input, Source};
use burstctl::render::SCHEMA;
use burstctl::run::{self, End, Terminal};
use burstctl::yaml::documents;
use burstctl::{lint, render};
use clap::Parser as _;
use proptest::prelude::*;

/// What a stream got.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Heard {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// The command with `-` as its file: end, data, words.
fn command(words: &[&str], stdin: &str) -> (End, String, String) {
    let (out, said) = (Heard::default(), Heard::default());
    let mut terminal = Terminal {
        stdin: Box::new(Cursor::new(stdin.to_owned())),
        out: Box::new(out.clone()),
        words: Box::new(said.clone()),
        styled: false,
    };
    let words = ["burstctl", "hpa"].iter().chain(words).chain(&["-f", "-"]);
    let Topic::Hpa { command } = Burstctl::try_parse_from(words).unwrap().topic;
    let end = match command {
        Hpa::Lint(words) => run::lint(&words, &mut terminal),
        Hpa::Render(words) => run::render(&words, &mut terminal),
        Hpa::Migrate(words) => run::migrate(&words, &mut terminal),

    };
    drop(terminal);
    (end, out.text(), said.text())
}

fn told(words: &[&str], stdin: &str) -> String {
    let (end, out, said) = command(words, stdin);
    let mut told = String::new();
    write!(told, "{out}--- words\n{said}--- end {}", end.code()).unwrap();
    told
}

#[test]
fn the_short_form_is_written_out_and_fixed_replicas_go() {
    insta::assert_snapshot!(told(&["render"], include_str!("data/short.yaml")));
}

#[test]
fn defaults_are_shown_on_demand() {
    let text = "apiVersion: burstctl/v1\nkind: Hpa\ntarget: StatefulSet/db\nmax: 3\nscaleUp: {}\n";
    insta::assert_snapshot!(told(&["render", "--defaults"], text));
}

#[test]
fn what_cannot_be_built_is_named_where_it_stands() {
    insta::assert_snapshot!(told(&["render"], include_str!("data/short-wrong.yaml")));
}

#[test]
fn older_versions_become_v2_and_what_is_lost_is_said() {
    insta::assert_snapshot!(told(&["migrate"], include_str!("data/old.yaml")));
}

#[test]
fn what_was_rendered_has_nothing_to_object_to_and_renders_as_itself() {
    let (end, once, _) = command(&["render"], include_str!("data/short.yaml"));
    assert_eq!(end, End::Well);
    let (end, _, said) = command(&["lint"], &once);
    assert_eq!(end, End::Well, "{said}");
    assert_eq!(command(&["render"], &once).1, once);
}

#[test]
fn the_schema_takes_what_render_takes() {
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let json = |text: &str| documents(text).remove(0).content.unwrap().to_json();
    let whole = json(include_str!("data/short.yaml"));
    assert!(schema.is_valid(&whole), "{:?}", schema.iter_errors(&whole).collect::<Vec<_>>());
    for document in documents(include_str!("data/short-wrong.yaml")).into_iter().take(3) {
        let wrong = document.content.unwrap().to_json();
        assert!(!schema.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn the_schema_is_printed() {
    let (end, out, _) = command_without_file(&["render", "--schema"]);
    assert_eq!((end, out.as_str()), (End::Well, SCHEMA));
}

fn command_without_file(words: &[&str]) -> (End, String, String) {
    let (out, said) = (Heard::default(), Heard::default());
    let mut terminal = Terminal {
        stdin: Box::new(std::io::empty()),
        out: Box::new(out.clone()),
        words: Box::new(said.clone()),
        styled: false,
    };
    let words = ["burstctl", "hpa"].iter().chain(words);
    let Topic::Hpa { command: Hpa::Render(words) } = Burstctl::try_parse_from(words).unwrap().topic else { panic!() };
    let end = run::render(&words, &mut terminal);
    drop(terminal);
    (end, out.text(), said.text())
}

fn any_short() -> impl Strategy<Value = String> {
    let fields = prop::sample::subsequence(
        vec![
            "target: Deployment/web", "max: 5", "max: 0", "min: 9", "name: x", "namespace: 7", "labels: {a: b}",
            "metrics: [{resource: cpu, utilization: 0}]", "metrics: [{pods: a, value: 1}, {external: q, average: -1}]",
            "scaleUp: {window: 1h, tolerance: 1}", "scaleDown: {policies: [{pods: 1, every: 2h}]}", "surplus: 1",
            "scaleUp: {window: 1500ms}", "metrics: [{resource: memory, container: c, average: 1E}]",
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
    fn nothing_brings_them_down(text in any::<String>(), at in any::<prop::sample::Index>()) {
        let old = include_str!("data/old.yaml");
        let cut = at.index(old.len());
        let torn = format!("{}{text}{}", &old[..cut], &old[cut..]);
        for words in ["render", "migrate", "lint"] {
            prop_assert!(command(&[words], &torn).0.code() <= 2);
        }
    }
}
