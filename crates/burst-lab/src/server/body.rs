//! A response body that is sent at once, or in parts by a task of its own.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use super::Aborted;
use super::faulty_stream::Connection;

/// Chunks of a body that trickles in.
const CHUNKS: u32 = 20;
/// The rest of a frame follows its last counted byte at once: the head and the frames have bytes that are not counted.
const SETTLE: Duration = Duration::from_millis(20);

/// A response body.
pub(super) struct Body {
    /// `None` if the length is not known in advance.
    length: Option<u64>,
    content: Content,
}

enum Content {
    Whole(Option<Bytes>),
    Parts(mpsc::Receiver<Result<Bytes, Aborted>>),
}

/// The client no longer reads the body.
pub(super) struct Disconnected;

/// Sends the parts of one body.
pub(super) struct Sender {
    parts: mpsc::Sender<Result<Bytes, Aborted>>,
    connection: Connection,
    /// The bytes that the connection has written once all parts are written.
    written: u64,
}

impl Body {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Body {
            length: Some(bytes.len() as u64),
            content: Content::Whole(Some(bytes)),
        }
    }

    /// A body whose parts come from a task. It ends when the task ends, and the task ends when the client disconnects.
    pub(super) fn from_task<F>(length: Option<u64>, connection: &Connection, task: impl FnOnce(Sender) -> F) -> Self
    where
        F: Future<Output = Result<(), Disconnected>> + Send + 'static,
    {
        let (parts, received) = mpsc::channel(1);
        let sender = Sender {
            parts,
            connection: connection.clone(),
            written: connection.written(),
        };
        tokio::spawn(task(sender));
        Body {
            length,
            content: Content::Parts(received),
        }
    }

    /// The body in equal parts over this time, with a pause before each.
    pub(super) fn trickle(mut rest: Bytes, time: Duration, connection: &Connection) -> Self {
        let length = rest.len();
        let chunk = length.div_ceil(CHUNKS as usize).max(1);
        Body::from_task(Some(length as u64), connection, move |mut sender| async move {
            while !rest.is_empty() {
                sender.pause(time / CHUNKS).await?;
                sender.send(rest.split_to(chunk.min(rest.len()))).await?;
            }
            Ok(())
        })
    }

    /// Half of the body; then the connection stays open and silent.
    pub(super) fn half_then_silence(bytes: &Bytes, connection: &Connection) -> Self {
        let half = bytes.slice(..bytes.len() / 2);
        Body::from_task(Some(bytes.len() as u64), connection, |mut sender| async move {
            sender.send(half).await?;
            sender.disconnected().await
        })
    }

    /// Half of the body; then the connection is reset.
    pub(super) fn half_then_reset(bytes: &Bytes, connection: &Connection) -> Self {
        let half = bytes.slice(..bytes.len() / 2);
        Body::from_task(Some(bytes.len() as u64), connection, |mut sender| async move {
            sender.send(half).await?;
            sender.reset_connection().await
        })
    }
}

impl Sender {
    /// Sends the next part.
    pub(super) async fn send(&mut self, part: Bytes) -> Result<(), Disconnected> {
        self.written += part.len() as u64;
        self.parts.send(Ok(part)).await.map_err(|_| Disconnected)
    }

    /// Waits for this time, or until the client disconnects.
    pub(super) async fn pause(&self, time: Duration) -> Result<(), Disconnected> {
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            () = self.parts.closed() => Err(Disconnected),
        }
    }

    /// Waits until the client disconnects.
    pub(super) async fn disconnected(&self) -> Result<(), Disconnected> {
        self.parts.closed().await;
        Err(Disconnected)
    }

    /// Ends the body in the middle: resets the connection over HTTP/1.1, and only the stream over HTTP/2.
    pub(super) async fn cut(&self) -> Result<(), Disconnected> {
        self.all_written().await;
        self.parts.send(Err(Aborted)).await.map_err(|_| Disconnected)
    }

    /// Resets the connection after all parts.
    pub(super) async fn reset_connection(&self) -> Result<(), Disconnected> {
        self.all_written().await;
        self.connection.reset();
        self.disconnected().await
    }

    /// Lets the connection go silent after all parts.
    pub(super) async fn silence_connection(&self) -> Result<(), Disconnected> {
        self.all_written().await;
        self.connection.silence();
        self.disconnected().await
    }

    async fn all_written(&self) {
        self.connection.wait_until_written(self.written).await;
        tokio::time::sleep(SETTLE).await;
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        match &mut self.content {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Parts(parts) => parts.poll_recv(cx).map(|part| part.map(|part| part.map(Frame::data))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
