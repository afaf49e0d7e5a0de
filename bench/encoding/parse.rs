//! CPU time of reading the answers, natively and in V8. Each program reads all of them in turn, round by round.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use burst_model::kube::Verb;
use burst_testkit::repository;
use serde_json::json;

use crate::{answers::Answers, modules, table::Table};

/// V8 compiles what runs often a second time.
const WARM_UPS: usize = 30;

const ROUNDS: usize = 41;

pub(crate) fn rows(answers: &[Answers], table: &mut Table) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let work = keep(answers, folder.path());
    eprintln!("reading");
    let natively = times(Command::new(modules::native("reader_native")).arg(&work));
    let mut node = Command::new("node");
    node.arg(repository().join("bench/encoding/node.mjs"))
        .arg(modules::module("reader_both"));
    let in_v8 = times(node.arg(&work));
    for (manner, times) in [("natively", natively), ("in V8", in_v8)] {
        println!("CPU of reading, {manner}:");
        for (answers, pair) in answers.iter().zip(times.chunks(2)) {
            let what = &answers.what;
            let mut row = |form, times: &[u64]| {
                let times = times.iter().copied().map(Duration::from_nanos).collect();
                table.times(format!("{what}, {manner}, {form}"), times).as_secs_f64()
            };
            let ratio = row("JSON", &pair[0]) / row("protobuf", &pair[1]);
            table.ratio(format!("{what}, {manner}, JSON ÷ protobuf"), ratio);
        }
    }
}

/// Writes the bodies, JSON before protobuf, and what there is to do with them.
fn keep(answers: &[Answers], folder: &Path) -> PathBuf {
    let mut list = Vec::new();
    for answers in answers {
        for (protobuf, body) in [(false, &answers.json), (true, &answers.protobuf)] {
            let file = folder.join(list.len().to_string());
            fs::write(&file, body).expect("a body that is written");
            list.push(json!({
                "file": file,
                "source": answers.source,
                "watch": answers.verb == Verb::Watch,
                "protobuf": protobuf,
                "objects": answers.count(),
            }));
        }
    }
    let work = folder.join("work.json");
    let text = json!({"warm_ups": WARM_UPS, "rounds": ROUNDS, "answers": list}).to_string();
    fs::write(&work, text).expect("a file that is written");
    work
}

/// Nanoseconds of each round, for each answer.
fn times(command: &mut Command) -> Vec<Vec<u64>> {
    let output = command.output();
    let output =
        output.unwrap_or_else(|error| panic!("{command:?}: {error}: run `make bench`, with Node.js on the PATH"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    serde_json::from_slice(&output.stdout).expect("times")
}
