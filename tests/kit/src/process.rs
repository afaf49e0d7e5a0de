//! A program under test: its output in a file, itself gone when the test is over.

use std::{
    fmt::Display,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crate::wait;

/// What a failed test shows of each log.
const SHOWN_LINES: usize = 60;

/// A running program. It is killed when dropped, and its log is shown when that happens in a failing test.
///
/// A `static` is never dropped: keep a process in the test that uses it.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; both its outputs go to `NAME.log` in `folder`.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    #[track_caller]
    pub fn start(name: &str, folder: &Path, command: &mut Command) -> Self {
        let log = folder.join(format!("{name}.log"));
        let output = File::create(&log).expect("a log file");
        let errors = output.try_clone().expect("a second handle of the log file");
        let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
        let child = child.unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        Self {
            name: name.to_owned(),
            child,
            log,
        }
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything it wrote so far.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Waits until `attempt` succeeds; gives up at once when the program ends.
    ///
    /// # Panics
    /// When the program ends, or `attempt` does not succeed within `patience`.
    #[track_caller]
    pub fn wait_for<T, E: Display>(
        &mut self,
        patience: Duration,
        what: &str,
        mut attempt: impl FnMut() -> Result<T, E>,
    ) -> T {
        wait::for_ok(patience, what, || {
            if let Some(status) = self.ended() {
                panic!("{} ended with {status} before {what}", self.name);
            }
            attempt()
        })
    }

    /// Waits until the log has `text`.
    ///
    /// # Panics
    /// When it does not within `patience`.
    #[track_caller]
    pub fn wait_for_log(&self, patience: Duration, text: &str) {
        wait::until(patience, &format!("`{text}` in the log of {}", self.name), || {
            self.log().contains(text)
        });
    }

    fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        if thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            let end = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
            eprintln!(
                "---- the end of the log of {} ----\n{}\n----",
                self.name,
                end.join("\n")
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_dropped_process_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::start("sleep", folder.path(), Command::new("sleep").arg("600"));
        let entry = PathBuf::from(format!("/proc/{}", process.id()));
        assert!(entry.exists());
        drop(process);
        assert!(!entry.exists());
    }

    #[test]
    fn its_output_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::start(
            "sh",
            folder.path(),
            Command::new("sh").args(["-c", "echo here; echo there >&2; sleep 600"]),
        );
        process.wait_for_log(PATIENCE, "here\nthere\n");
    }

    #[test]
    #[should_panic(expected = "sh ended with exit status: 3 before it is ready")]
    fn waiting_for_a_process_that_ended_fails_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Process::start("sh", folder.path(), Command::new("sh").args(["-c", "exit 3"]));
        process.wait_for(PATIENCE, "it is ready", || Err::<(), _>("not yet"));
    }
}
