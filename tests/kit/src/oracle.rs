//! Kubernetes' own code, as the Go programs of `tests/oracle` speak it: a line in, a line out.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::repository;

/// For any number of lines a test asks; 100,000 take some ten seconds.
const DEADLINE: Duration = Duration::from_secs(300);

/// What a program answers to each line.
///
/// # Panics
/// When it is not there, fails, takes too long, or does not answer each line with one.
#[must_use]
pub fn ask(name: &str, arguments: &[String], lines: &[String]) -> Vec<String> {
    ask_at(&program(name), arguments, lines)
}

/// As [`ask`], of a program elsewhere.
///
/// # Panics
/// As [`ask`].
#[must_use]
pub fn ask_at(program: &Path, arguments: &[String], lines: &[String]) -> Vec<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}: run `make setup`", program.display()));
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = child.stdout.take().expect("a pipe");
    let questions = lines.join("\n") + "\n";
    let (send, answered) = std::sync::mpsc::channel();
    std::thread::spawn(move || input.write_all(questions.as_bytes()));
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = output.read_to_string(&mut text);
        send.send(read.map(|_| text))
    });
    let Ok(text) = answered.recv_timeout(DEADLINE) else {
        child.kill().expect("a process of our own");
        panic!(
            "{}: no answer to {} lines within {DEADLINE:?}",
            program.display(),
            lines.len()
        );
    };
    let status = child.wait().expect("a process of our own");
    assert!(status.success(), "{} ended with {status}", program.display());
    let text = text.expect("text");
    let answers: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), lines.len(), "one answer a question");
    answers
}

/// Where a program is, built or not.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    folder(&[]).join(name)
}

/// Where the programs are that run the code of an older Kubernetes, such as `1.34`: `setup/oracle --older` builds them.
#[must_use]
pub fn program_of(name: &str, kubernetes: &str) -> PathBuf {
    folder(&[kubernetes]).join(name)
}

fn folder(older: &[&str]) -> PathBuf {
    let setup = repository().join("setup/oracle");
    let output = Command::new(&setup)
        .arg("--where")
        .args(older)
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", setup.display()));
    PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim_end())
}
