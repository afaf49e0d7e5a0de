//! Compares selectors with Go's parser and matcher. One test runs Go on random selectors; the other uses recorded
//! answers and needs no Go.

use burst_labels::Selector;
use burst_testkit::{oracle, seed};
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

type Labels = BTreeMap<String, String>;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Question {
    selector: String,
    labels: Vec<Labels>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Answer {
    #[serde(skip_serializing_if = "String::is_empty")]
    error: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    requirements: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    matches: Vec<bool>,
}

impl Answer {
    fn ours(question: &Question) -> Self {
        match question.selector.parse::<Selector>() {
            Err(error) => Self {
                error: error.to_string(),
                ..Self::default()
            },
            Ok(selector) => Self {
                error: String::new(),
                requirements: selector.requirements().iter().map(ToString::to_string).collect(),
                matches: question
                    .labels
                    .iter()
                    .map(|labels| selector.matches(|key| labels.get(key).map(String::as_str)))
                    .collect(),
            }
            .sorted(),
        }
    }

    /// Sorts the requirements. Go sorts only by key, and its sort is not stable.
    fn sorted(mut self) -> Self {
        self.requirements.sort();
        self
    }
}

fn go(questions: &[Question]) -> Vec<Answer> {
    let lines: Vec<_> = questions
        .iter()
        .map(|question| serde_json::to_string(question).unwrap())
        .collect();
    let answers = oracle::ask("selector", &[], &lines);
    answers
        .iter()
        .map(|line| serde_json::from_str::<Answer>(line).unwrap().sorted())
        .collect()
}

const LONG: &str = "a123456789b123456789c123456789d123456789e123456789f123456789g123456789";

/// A prefix of 260 bytes.
const LONG_PREFIX: &str = concat!(
    "a123456789b123456789c123456789d123456789e123456789f123456789.1234",
    "a123456789b123456789c123456789d123456789e123456789f123456789.1234",
    "a123456789b123456789c123456789d123456789e123456789f123456789.1234",
    "a123456789b123456789c123456789d123456789e123456789f123456789.1234/x"
);

const KEYS: &[&str] = &["app", "tier", "x", "in", "notin", "example.com/app", "a.b-c_d", "x"];
const BAD_KEYS: &[&str] = &[
    "/app",
    "example.com/",
    "a/b/c",
    "Example.com/app",
    "-a",
    "a-",
    "é",
    "a\u{301}",
    "a\"b",
    "\u{ad}",
    LONG,
    LONG_PREFIX,
    "a/",
    "_",
    "a\u{0}b",
    "a\u{7f}",
    "\u{1f600}",
    "x\u{200b}",
];
const VALUES: &[&str] = &[
    "web",
    "api",
    "1",
    "10",
    "-3",
    "007",
    "",
    "in",
    "notin",
    "a.b",
    "9223372036854775807",
    "W",
];
const BAD_VALUES: &[&str] = &["a/b", "-", "é", LONG, "a b", "1.", "9223372036854775808", "\\", "\u{0}"];
const SPACES: &[&str] = &["", "", "", " ", "\t", "\n ", "\r"];
const NOISE: &[&str] = &[
    "(", ")", ",", "!", "=", "==", "!=", ">", "<", "in", "notin", "=!", "===", "!==", "\u{0}", "a",
];

struct Generator(Rng);

impl Generator {
    fn one(&mut self, choices: &[&'static str]) -> &'static str {
        choices[self.0.usize(0..choices.len())]
    }

    fn rarely(&mut self) -> bool {
        self.0.u8(0..25) == 0
    }

    fn space(&mut self) -> &'static str {
        self.one(SPACES)
    }

    fn key(&mut self) -> &'static str {
        let bad = self.rarely();
        self.one(if bad { BAD_KEYS } else { KEYS })
    }

    fn value(&mut self) -> &'static str {
        let bad = self.rarely();
        self.one(if bad { BAD_VALUES } else { VALUES })
    }

    fn requirement(&mut self) -> String {
        let (key, before, after) = (self.key(), self.space(), self.space());
        match self.0.u8(0..9) {
            0 => format!("{before}{key}{after}"),
            1 => format!("!{before}{key}{after}"),
            2..5 => {
                let (operator, value) = (self.one(&["=", "==", "!=", ">", "<"]), self.value());
                format!("{key}{before}{operator}{after}{value}")
            }
            _ => {
                let operator = self.one(&["in", "notin"]);
                let values: Vec<_> = (0..self.0.usize(0..5))
                    .map(|_| [self.space(), self.value()].concat())
                    .collect();
                format!("{key} {before}{operator}{after}({})", values.join(","))
            }
        }
    }

    fn selector(&mut self) -> String {
        if self.rarely() {
            return (0..self.0.usize(0..8))
                .map(|_| [self.one(NOISE), self.space()].concat())
                .collect();
        }
        let requirements: Vec<_> = (0..self.0.usize(0..4)).map(|_| self.requirement()).collect();
        let mut selector = requirements.join(",");
        if self.rarely() {
            let positions: Vec<_> = selector.char_indices().map(|(position, _)| position).collect();
            let position = positions
                .get(self.0.usize(0..=positions.len()))
                .copied()
                .unwrap_or(selector.len());
            selector.insert_str(position, self.one(NOISE));
        }
        selector
    }

    fn labels(&mut self) -> Labels {
        let label = |_| (self.one(KEYS).to_owned(), self.one(VALUES).to_owned());
        (0..4).map(label).collect()
    }

    fn question(&mut self) -> Question {
        Question {
            selector: self.selector(),
            labels: (0..4).map(|_| self.labels()).collect(),
        }
    }
}

fn assert_same(question: &Question, theirs: &Answer, seed: u64) {
    let ours = Answer::ours(question);
    assert_eq!(&ours, theirs, "left: here, right: Go; BURST_SEED={seed}\n{question:?}");
}

#[test]
fn random_selectors_have_the_same_results_and_messages_as_in_go() {
    let seed = seed();
    let mut generator = Generator(Rng::with_seed(seed));
    let questions: Vec<_> = (0..100_000).map(|_| generator.question()).collect();
    let answers = go(&questions);
    let (valid, matched) = (
        answers.iter().filter(|answer| answer.error.is_empty()).count(),
        answers
            .iter()
            .flat_map(|answer| &answer.matches)
            .filter(|matches| **matches)
            .count(),
    );
    assert!(
        (30_000..95_000).contains(&valid) && matched > 20_000,
        "{valid} valid, {matched} matches"
    );
    for (question, theirs) in questions.iter().zip(&answers) {
        assert_same(question, theirs, seed);
    }
}

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/selectors.jsonl");

#[derive(Serialize, Deserialize)]
struct Vector {
    #[serde(flatten)]
    question: Question,
    answer: Answer,
}

#[test]
fn recorded_selectors_have_the_same_results_and_messages_as_in_go() {
    if std::env::var_os("BURST_RECORD").is_some() {
        record();
    }
    let text = std::fs::read_to_string(GOLDEN).unwrap();
    let vectors: Vec<Vector> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(vectors.len(), 2_000);
    for Vector { question, answer } in &vectors {
        assert_same(question, answer, 0);
    }
}

/// Records as many invalid selectors as valid ones, so that every error occurs often.
fn record() {
    let mut generator = Generator(Rng::with_seed(36));
    let questions: Vec<_> = (0..50_000).map(|_| generator.question()).collect();
    let answers = go(&questions);
    let pairs: Vec<_> = questions.into_iter().zip(answers).collect();
    let some = |is_invalid: bool| {
        pairs
            .iter()
            .filter(move |(_, answer)| answer.error.is_empty() != is_invalid)
            .take(1_000)
    };
    let lines = some(true).chain(some(false)).map(|(question, answer)| {
        let vector = Vector {
            question: question.clone(),
            answer: answer.clone(),
        };
        serde_json::to_string(&vector).unwrap() + "\n"
    });
    std::fs::write(GOLDEN, lines.collect::<String>()).unwrap();
}
