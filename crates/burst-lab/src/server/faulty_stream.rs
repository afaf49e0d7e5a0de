//! A TCP stream that can be closed with a reset.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A TCP stream that is closed with a reset once its flag is set.
pub(super) struct FaultyStream {
    stream: TcpStream,
    reset: Arc<AtomicBool>,
}

impl FaultyStream {
    pub(super) fn new(stream: TcpStream, reset: Arc<AtomicBool>) -> Self {
        FaultyStream { stream, reset }
    }
}

impl Drop for FaultyStream {
    fn drop(&mut self) {
        if self.reset.load(Ordering::Acquire) {
            // With a linger time of zero the kernel sends RST on close.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for FaultyStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for FaultyStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An orderly shutdown first would prevent the reset.
        if self.reset.load(Ordering::Acquire) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
