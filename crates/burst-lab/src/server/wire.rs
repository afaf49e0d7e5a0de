//! A connection and a body that can end badly.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::Aborted;
use crate::api::Watch;

/// A TCP stream that is closed with a reset rather than politely once its flag is set.
pub(super) struct ResettableStream {
    stream: TcpStream,
    reset: Arc<AtomicBool>,
}

impl ResettableStream {
    pub(super) fn new(stream: TcpStream, reset: Arc<AtomicBool>) -> Self {
        ResettableStream { stream, reset }
    }
}

impl Drop for ResettableStream {
    fn drop(&mut self) {
        if self.reset.load(Ordering::Acquire) {
            // Closing a socket that lingers for no time makes the kernel send RST.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for ResettableStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for ResettableStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A polite end first would turn the reset into one.
        if self.reset.load(Ordering::Acquire) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The drops that a body trickles in.
const DROPS: u32 = 20;

/// A body that may stop at its half, or come after a while.
pub(super) struct Body {
    /// Not known of what comes later.
    length: Option<u64>,
    rest: Option<Bytes>,
    end: End,
}

enum End {
    Good,
    Hang,
    /// Says first that it is pending, so that what is there goes out before the reset.
    Pause(Arc<AtomicBool>),
    Reset(Arc<AtomicBool>),
    /// The rest comes in drops of that size, each after that pause.
    Trickle {
        rest: Bytes,
        drop: usize,
        pause: Duration,
        sleep: Pin<Box<Sleep>>,
    },
    /// What a watch says, when its time is over.
    Watch(Pin<Box<Sleep>>, Box<Watch>),
}

impl Body {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Body {
            length: Some(bytes.len() as u64),
            rest: Some(bytes),
            end: End::Good,
        }
    }

    pub(super) fn watch(watch: Watch) -> Self {
        Body {
            length: None,
            rest: None,
            end: End::Watch(Box::pin(tokio::time::sleep(watch.timeout())), Box::new(watch)),
        }
    }

    pub(super) fn trickle(rest: Bytes, time: Duration) -> Self {
        let pause = time / DROPS;
        Body {
            length: Some(rest.len() as u64),
            end: End::Trickle {
                drop: rest.len().div_ceil(DROPS as usize).max(1),
                rest,
                pause,
                sleep: Box::pin(tokio::time::sleep(pause)),
            },
            rest: None,
        }
    }

    pub(super) fn half_then_silence(bytes: &Bytes) -> Self {
        Body::half(bytes, End::Hang)
    }

    pub(super) fn half_then_reset(bytes: &Bytes, reset: Arc<AtomicBool>) -> Self {
        Body::half(bytes, End::Pause(reset))
    }

    fn half(bytes: &Bytes, end: End) -> Self {
        Body {
            length: Some(bytes.len() as u64),
            rest: Some(bytes.slice(..bytes.len() / 2)),
            end,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        if let Some(bytes) = self.rest.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        match &mut self.end {
            End::Good => Poll::Ready(None),
            End::Hang => Poll::Pending,
            End::Pause(reset) => {
                let reset = Arc::clone(reset);
                self.end = End::Reset(reset);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            End::Reset(reset) => {
                reset.store(true, Ordering::Release);
                Poll::Ready(Some(Err(Aborted)))
            }
            End::Trickle { rest, .. } if rest.is_empty() => Poll::Ready(None),
            End::Trickle {
                rest,
                drop,
                pause,
                sleep,
            } => {
                ready!(sleep.as_mut().poll(cx));
                sleep.set(tokio::time::sleep(*pause));
                let bytes = rest.split_to((*drop).min(rest.len()));
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            End::Watch(time, watch) => {
                ready!(time.as_mut().poll(cx));
                let lines = watch.event_lines();
                self.end = End::Good;
                Poll::Ready(Some(Ok(Frame::data(lines))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
