//! Kubernetes' own YAML reader: the Go program `tests/oracle/yaml`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Documents, Line};

/// Returns the documents that Kubernetes reads from each text.
pub(crate) fn kubernetes(texts: &[String]) -> Vec<Documents> {
    let program = program();
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}: run `make setup`", program.display()));
    let questions: String = texts
        .iter()
        .map(|yaml| serde_json::json!({ "yaml": yaml }).to_string() + "\n")
        .collect();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(questions.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(
        output.status.success(),
        "{} ended with {}",
        program.display(),
        output.status
    );
    let lines = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Documents> = lines
        .lines()
        .map(|line| serde_json::from_str::<Line>(line).unwrap().documents)
        .collect();
    assert_eq!(answers.len(), texts.len(), "one answer a question");
    answers
}

fn program() -> PathBuf {
    let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../setup/oracle");
    let output = Command::new(&setup)
        .arg("--where")
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", setup.display()));
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end()).join("yaml")
}
