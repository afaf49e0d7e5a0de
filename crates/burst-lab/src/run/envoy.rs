//! Envoy as a child process: started, listened to, ended.

use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::args::Run;

/// Envoy leaves within a moment of SIGTERM; one that does not is stuck.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// The lines that tell why it ended are its last.
const KEPT_LINES: usize = 20;

/// Why there is no Envoy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnvoyError {
    /// It could not be started at all.
    #[error("cannot start Envoy {path:?}: {source}; `make setup` brings one")]
    Start {
        /// As the command line names it.
        path: std::path::PathBuf,
        source: io::Error,
    },
    /// It ended though nobody asked it to.
    #[error("Envoy ended by itself ({status}); its last lines:")]
    Exited {
        /// How.
        status: ExitStatus,
        /// Newest last.
        lines: Vec<String>,
    },
}

/// A running Envoy. It is killed when this is dropped without [`Envoy::stop`].
pub(crate) struct Envoy {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
    last: VecDeque<String>,
}

impl Envoy {
    pub(crate) fn start(options: &Run) -> Result<Self, EnvoyError> {
        let mut command = Command::new(&options.envoy);
        command
            .arg("-c")
            .arg(options.config())
            .arg("--concurrency")
            .arg(options.concurrency.to_string());
        command
            .arg("--disable-hot-restart")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // A group of its own: Ctrl-C in the terminal reaches this process, which then ends Envoy itself.
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
        })
    }

    /// Waits for its next log line, or for its end.
    pub(crate) async fn next_log_line(&mut self) -> Result<String, EnvoyError> {
        // Its log closes when it ends, so every line comes before the end.
        if let Some(line) = self.lines.recv().await {
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

    /// Ends it and waits until it is gone.
    pub(crate) async fn stop(mut self) {
        if let Some(pid) = pid(&self.child) {
            // It may have ended in this moment.
            let _ = kill_process(pid, Signal::TERM);
        }
        if timeout(STOP_TIMEOUT, self.child.wait()).await.is_err() {
            // Nothing is left to try when this fails.
            let _ = self.child.kill().await;
        }
    }
}

/// None once it has been waited for.
fn pid(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
}

async fn forward_lines(stderr: ChildStderr, send: mpsc::UnboundedSender<String>) {
    let mut lines = BufReader::new(stderr).lines();
    // A line that is no text ends the reading; Envoy's are.
    while let Ok(Some(line)) = lines.next_line().await {
        if send.send(line).is_err() {
            break;
        }
    }
}

/// A panic that aborts runs no destructor, but it does run this.
fn stop_on_panic(envoy: Pid) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // It may be gone already.
        let _ = kill_process(envoy, Signal::TERM);
        before(panic);
    }));
}
