//! Helpers for the tests: they run commands in this process and write kubeconfigs.

#[cfg(feature = "live")]
pub(crate) mod api;
#[cfg(feature = "live")]
pub(crate) mod kubeconfig;
pub(crate) mod screen;
#[cfg(feature = "live")]
pub(crate) mod service_account;

use std::fmt::Write as _;
use std::io::Cursor;
use std::process::Command;
use std::sync::{Arc, Mutex};

use burstctl::args::Burstctl;
use burstctl::run::{Outcome, Terminal, run};
use clap::Parser as _;

/// A stream that keeps what was written to it.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Captured {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Runs `burstctl hpa …` and returns its outcome, stdout and stderr.
#[allow(dead_code, reason = "not every test is about them")]
pub(crate) fn hpa_command(args: &[&str], stdin: impl AsRef<[u8]>) -> (Outcome, String, String) {
    burstctl(&[&["hpa"], args].concat(), stdin)
}

/// Runs `burstctl …` and returns its outcome, stdout and stderr.
pub(crate) fn burstctl(args: &[&str], stdin: impl AsRef<[u8]>) -> (Outcome, String, String) {
    burstctl_styled(args, stdin, false)
}

/// Like [`burstctl`], with colours if `styled` is set.
pub(crate) fn burstctl_styled(args: &[&str], stdin: impl AsRef<[u8]>, styled: bool) -> (Outcome, String, String) {
    let (out, messages) = (Captured::default(), Captured::default());
    let mut terminal = Terminal::with_streams(
        Cursor::new(stdin.as_ref().to_vec()),
        out.clone(),
        messages.clone(),
        styled,
    );
    let args = ["burstctl"].iter().chain(args);
    let outcome = run(&Burstctl::try_parse_from(args).unwrap(), &mut terminal);
    drop(terminal);
    (outcome, out.text(), messages.text())
}

/// Runs the program, without a terminal. Returns stdout, stderr and the exit code.
pub(crate) fn program(args: &[&str]) -> (String, String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_burstctl"))
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

/// Returns text that was wrapped at 80 columns as one line with single spaces.
pub(crate) fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs `burstctl hpa …` and returns its outcome and output as one text.
#[allow(dead_code, reason = "not every test shows it")]
pub(crate) fn transcript(args: &[&str], stdin: &str) -> String {
    let (outcome, out, messages) = hpa_command(args, stdin);
    let mut output = String::new();
    write!(output, "{out}--- stderr\n{messages}--- exit code {}", outcome.code()).unwrap();
    output
}
