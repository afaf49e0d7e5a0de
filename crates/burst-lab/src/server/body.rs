//! A response body that can end early or come late.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;

use super::Aborted;
use crate::api::Watch;

/// Chunks of a body that trickles in.
const CHUNKS: u32 = 20;

/// A response body that may stop halfway or come late.
pub(super) struct Body {
    /// `None` if the length is not known in advance.
    length: Option<u64>,
    rest: Option<Bytes>,
    ending: Ending,
}

enum Ending {
    Complete,
    Hang,
    /// Returns pending once, so that the first half is sent before the reset.
    Pause(Arc<AtomicBool>),
    Reset(Arc<AtomicBool>),
    /// Sends the rest in chunks of this size, with a pause before each.
    Trickle {
        rest: Bytes,
        chunk: usize,
        pause: Duration,
        sleep: Pin<Box<Sleep>>,
    },
    /// The events of a watch, sent when its time is over.
    Watch(Pin<Box<Sleep>>, Box<Watch>),
}

impl Body {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Body {
            length: Some(bytes.len() as u64),
            rest: Some(bytes),
            ending: Ending::Complete,
        }
    }

    pub(super) fn watch(watch: Watch) -> Self {
        Body {
            length: None,
            rest: None,
            ending: Ending::Watch(Box::pin(tokio::time::sleep(watch.timeout())), Box::new(watch)),
        }
    }

    pub(super) fn trickle(rest: Bytes, time: Duration) -> Self {
        let pause = time / CHUNKS;
        Body {
            length: Some(rest.len() as u64),
            ending: Ending::Trickle {
                chunk: rest.len().div_ceil(CHUNKS as usize).max(1),
                rest,
                pause,
                sleep: Box::pin(tokio::time::sleep(pause)),
            },
            rest: None,
        }
    }

    pub(super) fn half_then_silence(bytes: &Bytes) -> Self {
        Body::half(bytes, Ending::Hang)
    }

    pub(super) fn half_then_reset(bytes: &Bytes, reset: Arc<AtomicBool>) -> Self {
        Body::half(bytes, Ending::Pause(reset))
    }

    fn half(bytes: &Bytes, ending: Ending) -> Self {
        Body {
            length: Some(bytes.len() as u64),
            rest: Some(bytes.slice(..bytes.len() / 2)),
            ending,
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
        match &mut self.ending {
            Ending::Complete => Poll::Ready(None),
            Ending::Hang => Poll::Pending,
            Ending::Pause(reset) => {
                let reset = Arc::clone(reset);
                self.ending = Ending::Reset(reset);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Ending::Reset(reset) => {
                reset.store(true, Ordering::Release);
                Poll::Ready(Some(Err(Aborted)))
            }
            Ending::Trickle { rest, .. } if rest.is_empty() => Poll::Ready(None),
            Ending::Trickle {
                rest,
                chunk,
                pause,
                sleep,
            } => {
                ready!(sleep.as_mut().poll(cx));
                sleep.set(tokio::time::sleep(*pause));
                let bytes = rest.split_to((*chunk).min(rest.len()));
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Ending::Watch(time, watch) => {
                ready!(time.as_mut().poll(cx));
                let lines = watch.event_lines();
                self.ending = Ending::Complete;
                Poll::Ready(Some(Ok(Frame::data(lines))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
