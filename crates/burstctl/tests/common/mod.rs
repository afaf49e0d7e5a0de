//! Commands as a person gives them, without a process.

use std::fmt::Write as _;
use std::io::Cursor;
use std::sync::{Arc, Mutex};

use burstctl::args::Burstctl;
use burstctl::run::{End, Terminal, run};
use clap::Parser as _;

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

/// `burstctl hpa …`: its end, data and words.
#[allow(dead_code, reason = "not every test is about them")]
pub(crate) fn command(words: &[&str], stdin: impl AsRef<[u8]>) -> (End, String, String) {
    burstctl(&[&["hpa"], words].concat(), stdin)
}

/// `burstctl …`: its end, data and words.
pub(crate) fn burstctl(words: &[&str], stdin: impl AsRef<[u8]>) -> (End, String, String) {
    printed(words, stdin, false)
}

/// The same, in colours if it is `styled`.
pub(crate) fn printed(words: &[&str], stdin: impl AsRef<[u8]>, styled: bool) -> (End, String, String) {
    let (out, said) = (Heard::default(), Heard::default());
    let mut terminal = Terminal::of(Cursor::new(stdin.as_ref().to_vec()), out.clone(), said.clone(), styled);
    let words = ["burstctl"].iter().chain(words);
    let end = run(&Burstctl::try_parse_from(words).unwrap().topic, &mut terminal);
    drop(terminal);
    (end, out.text(), said.text())
}

/// All of it in one text.
#[allow(dead_code, reason = "not every test shows it")]
pub(crate) fn told(words: &[&str], stdin: &str) -> String {
    let (end, out, said) = command(words, stdin);
    let mut told = String::new();
    write!(told, "{out}--- words\n{said}--- end {}", end.code()).unwrap();
    told
}
