//! Recorded answers of kube-apiserver's code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use burst_hpa::Options;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::oracle::{Answer, FieldError};

/// How often each error should occur.
const WANTED_OCCURRENCES: usize = 5;

/// One line of the file. The document is kept as it was written: duplicate keys and the spelling of numbers count.
#[derive(Serialize, Deserialize)]
pub(crate) struct Case {
    #[serde(default = "newest", skip_serializing_if = "is_newest")]
    minor: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    scale_to_zero: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    no_tolerance: bool,
    pub document: Box<RawValue>,
    pub answer: Answer,
}

impl Case {
    pub(crate) fn new(options: Options, document: String, answer: Answer) -> Self {
        let document = RawValue::from_string(document).unwrap();
        Self {
            minor: options.minor,
            scale_to_zero: options.scale_to_zero,
            no_tolerance: !options.tolerance,
            document,
            answer,
        }
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            scale_to_zero: self.scale_to_zero,
            tolerance: !self.no_tolerance,
            minor: self.minor,
        }
    }
}

fn newest() -> u32 {
    Options::default().minor
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_newest(minor: &u32) -> bool {
    *minor == newest()
}

/// The file with the answers of the newest version.
pub(crate) fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/admission.jsonl"))
}

/// The file with the answers of older versions, most of which differ from the newest version's.
pub(crate) fn older_path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/older.jsonl"))
}

pub(crate) fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

/// How often each error occurs. The index of a metric or policy does not make it another error.
pub(crate) fn errors<'a>(cases: impl IntoIterator<Item = &'a Case>) -> BTreeMap<FieldError, usize> {
    let mut counts = BTreeMap::new();
    for case in cases {
        for error in kinds(&case.answer) {
            *counts.entry(error).or_default() += 1;
        }
    }
    counts
}

pub(crate) fn kinds(answer: &Answer) -> BTreeSet<FieldError> {
    answer.errors.iter().map(kind).collect()
}

/// The error without indices and without the names of owners.
fn kind(error: &FieldError) -> FieldError {
    let parts = error.field.split('[');
    let field = parts
        .map(|part| part.split_once(']').map_or(part, |(_, rest)| rest))
        .collect::<Vec<_>>();
    let detail = error.detail.split(" Found ").next().unwrap_or_default().to_owned();
    FieldError {
        field: field.join("[]"),
        detail,
        ..error.clone()
    }
}

/// Chooses cases with rare errors first, short ones before long ones. Then it takes others from all parts of the pool.
pub(crate) fn chosen(mut pool: Vec<Case>, most: usize) -> Vec<Case> {
    let (mut chosen, mut seen) = (Vec::new(), BTreeMap::new());
    pool.sort_by_key(|case| case.document.get().len());
    let (wanted, rest): (Vec<Case>, Vec<Case>) = pool.into_iter().partition(|case| {
        let kinds = kinds(&case.answer);
        let wanted = kinds
            .iter()
            .any(|kind| seen.get(kind).is_none_or(|count| *count < WANTED_OCCURRENCES));
        if wanted {
            kinds.into_iter().for_each(|kind| *seen.entry(kind).or_insert(0) += 1);
        }
        wanted
    });
    chosen.extend(wanted);
    let step = rest.len() / most.saturating_sub(chosen.len()).max(1);
    chosen.extend(rest.into_iter().step_by(step.max(1)));
    chosen.truncate(most);
    chosen
}

pub(crate) fn lines(records: &[impl Serialize]) -> String {
    records.iter().fold(String::new(), |mut text, record| {
        text.push_str(&serde_json::to_string(record).unwrap_or_else(|e| panic!("{e}")));
        text.push('\n');
        text
    })
}
