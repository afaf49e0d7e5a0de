//! The real controller, as the Go program of `tests/oracle/simulate` runs it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::trace::{Answer, Trace};

/// The controller's answers to each trace.
pub(crate) fn answers(traces: &[Trace]) -> Vec<Vec<Answer>> {
    let folder = tempfile::tempdir().unwrap();
    let (questions, answers) = (folder.path().join("traces.jsonl"), folder.path().join("answers.jsonl"));
    let lines: Vec<_> = traces
        .iter()
        .map(|trace| serde_json::to_string(trace).unwrap())
        .collect();
    fs::write(&questions, lines.join("\n") + "\n").unwrap();
    let program = program();
    let output = Command::new(&program)
        .arg(format!("-traces={}", questions.display()))
        .arg(format!("-answers={}", answers.display()))
        .args(["-test.timeout=20m", "-test.run=^TestReplay$"])
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(
        output.status.success(),
        "{}: {}",
        program.display(),
        String::from_utf8_lossy(&output.stdout)
    );
    let text = fs::read_to_string(&answers).unwrap();
    let all: Vec<_> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(all.len(), traces.len(), "one line a trace");
    all
}

fn program() -> PathBuf {
    let program = burst_testkit::oracle::program("simulate.test");
    assert!(
        program.is_file(),
        "{} is not there: run `make setup`",
        program.display()
    );
    program
}
