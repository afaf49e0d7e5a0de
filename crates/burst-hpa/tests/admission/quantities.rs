//! Quantities, and how Go reads them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use burst_hpa::Quantity;
use fastrand::Rng;
use serde::{Deserialize, Serialize};

use crate::oracle;

/// How Go reads a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reading {
    pub text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    error: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    canonical: String,
    milli: i64,
    value: i64,
    sign: i8,
}

impl Reading {
    pub(crate) fn ours(text: &str) -> Self {
        let text = text.to_owned();
        match text.parse::<Quantity>() {
            Err(e) => Self {
                text,
                error: e.to_string(),
                canonical: String::new(),
                milli: 0,
                value: 0,
                sign: 0,
            },
            Ok(q) => Self {
                text,
                error: String::new(),
                canonical: q.to_string(),
                milli: q.milli_value(),
                value: q.value(),
                sign: q.signum(),
            },
        }
    }
}

pub(crate) fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/quantities.jsonl"))
}

pub(crate) fn go(texts: &[String]) -> Vec<Reading> {
    let questions: Vec<String> = texts.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
    let answers = oracle::ask(&["quantity".to_owned()], &questions);
    answers.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A few of every shape.
pub(crate) fn recorded(seed: u64) -> Vec<Reading> {
    let mut rng = Rng::with_seed(seed);
    let mut texts: BTreeSet<String> = EDGE_CASES.iter().map(|text| (*text).to_owned()).collect();
    while texts.len() < 1_000 {
        texts.insert(text(&mut rng));
    }
    go(&texts.into_iter().collect::<Vec<_>>())
}

/// A text that is a quantity, or nearly one.
pub(crate) fn text(rng: &mut Rng) -> String {
    let mut text = choose(rng, &["", "", "", "", "-", "+", "--", "."]).to_owned();
    text += &digits(rng, 22);
    if rng.u8(0..3) == 0 {
        text += ".";
        text += &digits(rng, 14);
    }
    text += choose(rng, SUFFIXES);
    if rng.u8(0..40) == 0 {
        text += choose(rng, &[" ", "x", "i", "0", "-", "e5", "é"]);
    }
    text
}

fn digits(rng: &mut Rng, most: usize) -> String {
    let count = choose(rng, &[0, 1, 1, 1, 2, 2, 3, 4, 5, 9, 15, 17, 18, 19, most]);
    (0..count)
        .map(|_| choose(rng, &['0', '0', '0', '1', '2', '4', '5', '8', '9']))
        .collect()
}

fn choose<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

// No exponent near 2³¹: Go writes all zeros, which takes minutes.
const SUFFIXES: &[&str] = &[
    "",
    "",
    "",
    "n",
    "u",
    "m",
    "k",
    "M",
    "G",
    "T",
    "P",
    "E",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "Pi",
    "Ei",
    "K",
    "mi",
    "ki",
    "Zi",
    "i",
    "e",
    "e0",
    "e3",
    "E3",
    "e-3",
    "e+6",
    "E-9",
    "e-10",
    "e18",
    "e19",
    "e30",
    "e100",
    "e-100",
    "e4294967297",
    "e99999999999999999999",
    "ee3",
    "e3.5",
];

const EDGE_CASES: &[&str] = &[
    "",
    "0",
    "-0",
    "+",
    "-",
    ".",
    "m",
    "Ki",
    "e3",
    "e-10",
    "1.",
    ".5",
    "007",
    "+5",
    "1024",
    "1023Ki",
    "1024Ki",
    "0.1Ki",
    "1.5Gi",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "9223372036854775807m",
    "7Ei",
    "8Ei",
    "9Ei",
    "-8Ei",
    "1E",
    "10E",
    "1000E",
    "9P",
    "9.223372036854775807P",
    "9.3P",
    "0.000000001",
    "0.0000000001",
    "-0.0000000001",
    "0.1n",
    "1.1n",
    "100000000000000000000000000000001",
    "0.00000000000000000000000000000000000000000000000001Ei",
    "12345678901234567890123456789012345678901234567890",
    "1_000",
    "0x10",
    "1,5",
    "1 Gi",
    "１",
    "1e-9",
    "1e-10",
    "999999999999999999",
    "1000000000000000000",
    "9999999999999999999",
    "-1.0000000001",
    "1e3",
    "1E3",
    "1000e0",
    "12e-7",
];
