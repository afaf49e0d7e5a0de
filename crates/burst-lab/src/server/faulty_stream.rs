//! A TCP stream that can be reset, or go silent while it stays open.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// How often a sender looks whether its bytes were written.
const WRITE_CHECK: Duration = Duration::from_millis(5);
/// A client that reads nothing for this long does not get the rest before the fault.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

/// The state of one connection; clones share it.
#[derive(Clone, Default)]
pub(super) struct Connection(Arc<Mutex<ConnectionState>>);

#[derive(Default)]
struct ConnectionState {
    condition: Condition,
    /// Bytes written to the socket since the start.
    written: u64,
    /// The task that serves the connection.
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Default)]
enum Condition {
    #[default]
    Healthy,
    Reset,
    Silent,
}

impl Connection {
    /// Closes the connection with a TCP reset.
    pub(super) fn reset(&self) {
        self.change(Condition::Reset);
    }

    /// Stops reading and writing. The connection stays open until the server is dropped.
    pub(super) fn silence(&self) {
        self.change(Condition::Silent);
    }

    /// Bytes written to the socket since the start.
    pub(super) fn written(&self) -> u64 {
        crate::locked(&self.0).written
    }

    /// Waits until so many bytes were written, or until the client has read too slowly for too long.
    pub(super) async fn wait_until_written(&self, bytes: u64) {
        let limit = Instant::now() + WRITE_LIMIT;
        while self.written() < bytes && Instant::now() < limit {
            sleep(WRITE_CHECK).await;
        }
    }

    fn change(&self, condition: Condition) {
        let waker = {
            let mut state = crate::locked(&self.0);
            state.condition = condition;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns the condition, and wakes this task when it changes.
    fn poll_condition(&self, cx: &Context<'_>) -> Condition {
        let mut state = crate::locked(&self.0);
        state.waker = Some(cx.waker().clone());
        state.condition
    }

    fn is_reset(&self) -> bool {
        matches!(crate::locked(&self.0).condition, Condition::Reset)
    }
}

/// A TCP stream whose faults are those of its [`Connection`].
pub(super) struct FaultyStream {
    stream: TcpStream,
    connection: Connection,
}

impl FaultyStream {
    pub(super) fn new(stream: TcpStream, connection: Connection) -> Self {
        FaultyStream { stream, connection }
    }

    /// Pending while the connection is silent, an error once it is reset.
    fn poll_healthy(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        match self.connection.poll_condition(cx) {
            Condition::Healthy => Poll::Ready(Ok(())),
            Condition::Reset => Poll::Ready(Err(ErrorKind::ConnectionReset.into())),
            Condition::Silent => Poll::Pending,
        }
    }
}

impl Drop for FaultyStream {
    fn drop(&mut self) {
        if self.connection.is_reset() {
            // With a linger time of zero the kernel sends RST on close.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for FaultyStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        std::task::ready!(self.poll_healthy(cx))?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for FaultyStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        std::task::ready!(self.poll_healthy(cx))?;
        let written = std::task::ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        crate::locked(&self.connection.0).written += written as u64;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An orderly shutdown first would prevent the reset.
        if self.connection.is_reset() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
