//! Signals that terminate the process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from its creation on, so that no signal is missed during startup.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Signals {
            interrupt,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for SIGINT, SIGTERM or SIGHUP.
    pub(crate) async fn shutdown_requested(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
