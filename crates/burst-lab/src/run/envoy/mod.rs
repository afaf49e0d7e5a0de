//! Envoy as a child process.

mod config;
mod log_line;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::args::Run;
pub(crate) use config::Ports;
pub(crate) use log_line::{FilterLine, parse as parse_log_line};

/// Envoy exits within a moment of SIGTERM; one that does not hangs.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// The last lines contain the reason of an exit.
const KEPT_LINES: usize = 20;

/// Why Envoy does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnvoyError {
    /// It could not be started.
    #[error("cannot start Envoy {path:?}: {source}; `make setup` installs it")]
    Start {
        /// The path from the command line.
        path: PathBuf,
        source: io::Error,
    },
    /// Its log cannot be kept.
    #[error("cannot write Envoy's log to {path:?}: {source}; name another file with --envoy-log")]
    Log { path: PathBuf, source: io::Error },
    /// Its configuration cannot be used.
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    /// It exited without being asked to.
    #[error("Envoy exited ({status}); its last lines:")]
    Exited {
        /// Its exit status.
        status: ExitStatus,
        /// Its last log lines, newest last.
        lines: Vec<String>,
    },
}

/// A running Envoy. It is killed if this is dropped without [`Envoy::stop`].
pub(crate) struct Envoy {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
    last: VecDeque<String>,
    log: Option<File>,
}

impl Envoy {
    pub(crate) fn start(options: &Run, ports: Ports) -> Result<Self, EnvoyError> {
        let config = config::load(options.config(), ports, options.modules.as_deref())?;
        let log = options.envoy_log.as_ref().map(|path| {
            File::create(path).map_err(|source| EnvoyError::Log {
                path: path.clone(),
                source,
            })
        });
        let log = log.transpose()?;
        let mut command = Command::new(&options.envoy);
        command
            .arg("--config-yaml")
            .arg(config)
            .arg("--concurrency")
            .arg(options.concurrency.to_string());
        command
            .arg("--disable-hot-restart")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // A process group of its own: Ctrl-C reaches only this process, which then stops Envoy.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|source| EnvoyError::Start {
            path: options.envoy.clone(),
            source,
        })?;
        let (send, lines) = mpsc::unbounded_channel();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(forward_lines(stderr, send));
        }
        pid(&child).into_iter().for_each(stop_on_panic);
        Ok(Envoy {
            child,
            lines,
            last: VecDeque::new(),
            log,
        })
    }

    /// Waits for its next log line, and keeps it in the file of its log; an error if it exits.
    pub(crate) async fn next_log_line(&mut self) -> Result<String, EnvoyError> {
        // The log closes when Envoy exits, so all lines come before the exit.
        if let Some(line) = self.lines.recv().await {
            if let Some(log) = &mut self.log {
                // A full disk must not end the run.
                let _ = writeln!(log, "{line}");
            }
            self.last.push_back(line.clone());
            if self.last.len() > KEPT_LINES {
                self.last.pop_front();
            }
            return Ok(line);
        }
        let status = self.child.wait().await.unwrap_or_default();
        Err(EnvoyError::Exited {
            status,
            lines: Vec::from(self.last.clone()),
        })
    }

    /// Terminates it and waits until it has exited.
    pub(crate) async fn stop(mut self) {
        if let Some(pid) = pid(&self.child) {
            // It may just have exited.
            let _ = kill_process(pid, Signal::TERM);
        }
        if timeout(STOP_TIMEOUT, self.child.wait()).await.is_err() {
            // Nothing else can be done if this fails.
            let _ = self.child.kill().await;
        }
    }
}

/// Returns `None` once the process was waited for.
fn pid(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
}

async fn forward_lines(stderr: ChildStderr, send: mpsc::UnboundedSender<String>) {
    let mut lines = BufReader::new(stderr).lines();
    // A line that is not UTF-8 ends the reading; Envoy writes none.
    while let Ok(Some(line)) = lines.next_line().await {
        if send.send(line).is_err() {
            break;
        }
    }
}

/// Terminates Envoy on a panic: an abort runs no destructor, but it runs the panic hook.
fn stop_on_panic(envoy: Pid) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // It may have exited already.
        let _ = kill_process(envoy, Signal::TERM);
        before(panic);
    }));
}
