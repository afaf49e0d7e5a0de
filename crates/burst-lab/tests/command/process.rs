//! A started `burst-lab`: its output and its exit.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use burst_testkit::{port, wait};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Everything here takes well under a second on an idle machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct Process {
    child: Child,
    lines: mpsc::Receiver<String>,
    lines_read: Vec<String>,
}

impl Process {
    pub(crate) fn burst_lab(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burst-lab"));
        command.args(args);
        Process::start(command)
    }

    pub(crate) fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (send, lines) = mpsc::channel();
        forward("out", child.stdout.take().unwrap(), send.clone());
        forward("err", child.stderr.take().unwrap(), send);
        Process {
            child,
            lines,
            lines_read: Vec::new(),
        }
    }

    /// A process whose output is not read.
    pub(crate) fn start_with_closed_output(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        Process {
            child,
            lines: mpsc::channel().1,
            lines_read: Vec::new(),
        }
    }

    /// Waits for the first line that contains `text`.
    pub(crate) fn wait_for_line(&mut self, text: &str) -> String {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(line) = self.lines_read.iter().find(|line| line.contains(text)) {
                return line.clone();
            }
            let line = self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|_| panic!("no line contains {text:?}:\n{}", self.lines_read.join("\n")));
            self.lines_read.push(line);
        }
    }

    pub(crate) fn terminate(&self) {
        kill_process(Pid::from_raw(self.child.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    }

    /// Waits for its exit; returns its status and all its lines.
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<String>) {
        let deadline = Instant::now() + LIMIT;
        // Both pipes close when it ends.
        while let Ok(line) = self
            .lines
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            self.lines_read.push(line);
        }
        wait::until(
            deadline.saturating_duration_since(Instant::now()),
            &format!("the end of {:#?}", self.lines_read),
            || self.child.try_wait().unwrap().is_some(),
        );
        (self.child.wait().unwrap(), std::mem::take(&mut self.lines_read))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that ended by itself is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(name: &'static str, pipe: impl Read + Send + 'static, send: mpsc::Sender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let _ = send.send(format!("{name}: {line}"));
        }
    });
}

/// A shell script instead of Envoy.
pub(crate) struct FakeEnvoy {
    dir: TempDir,
    script: String,
    on_term: &'static str,
}

impl FakeEnvoy {
    pub(crate) fn new(script: &str) -> Self {
        FakeEnvoy {
            dir: tempfile::tempdir().unwrap(),
            script: script.to_owned(),
            on_term: "-",
        }
    }

    /// Runs this on SIGTERM; nothing if it is empty.
    pub(crate) fn on_term(mut self, on_term: &'static str) -> Self {
        self.on_term = on_term;
        self
    }

    /// `burst-lab run` with this Envoy, on free ports except for the port of the proxy.
    pub(crate) fn run(&self, proxy: &str) -> Command {
        self.run_with_api(proxy, "127.0.0.1:0")
    }

    /// The same with this address of the Kubernetes API.
    pub(crate) fn run_with_api(&self, proxy: &str, api: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_burst-lab"));
        command.args([
            "run",
            "--proxy",
            proxy,
            "--api",
            api,
            "--services",
            "127.0.0.1:0",
            "--config",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../envoy-local/envoy.yaml"),
            "--envoy",
        ]);
        // Not written by the test: a file that another thread's fork holds open for writing cannot be executed.
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/fake-envoy.sh"));
        command
            .env("FAKE_ENVOY_PID", self.pid_file())
            .env("FAKE_ENVOY_SCRIPT", &self.script)
            .env("FAKE_ENVOY_ON_TERM", self.on_term);
        command
    }

    /// A file beside it.
    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.dir.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    fn pid_file(&self) -> PathBuf {
        self.dir.path().join("pid")
    }

    /// The content of its file: the process id, or the text that the script wrote over it.
    pub(crate) fn pid_file_content(&self) -> String {
        fs::read_to_string(self.pid_file()).unwrap_or_default()
    }

    pub(crate) fn was_started(&self) -> bool {
        self.pid_file().exists()
    }

    /// Returns whether a process of it is left, even if that has not written its process id yet.
    pub(crate) fn has_process_left(&self) -> bool {
        let file = self.pid_file().into_os_string().into_encoded_bytes();
        let is_of_it = |process: fs::DirEntry| {
            let environment = fs::read(process.path().join("environ"));
            environment.is_ok_and(|bytes| bytes.windows(file.len()).any(|part| part == file))
        };
        fs::read_dir("/proc").unwrap().flatten().any(is_of_it)
    }

    /// Waits until it runs.
    pub(crate) fn pid(&self) -> u32 {
        wait::for_ok(LIMIT, "the fake Envoy starts", || {
            let text = fs::read_to_string(self.pid_file()).map_err(|error| error.to_string())?;
            text.trim().parse().map_err(|_| format!("its process id is {text:?}"))
        })
    }
}

pub(crate) fn is_running(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// An address without a listener.
pub(crate) fn free_addr() -> String {
    format!("127.0.0.1:{}", port::free())
}
