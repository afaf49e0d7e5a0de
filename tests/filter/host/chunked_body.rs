//! A response body that a server sends piece by piece.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clones are handles to the same body: the server keeps one and sends, and the proxy receives with another.
/// [`Vm::receive`](super::Vm::receive) and each [`FakeEnvoy::advance`](super::FakeEnvoy::advance) deliver what was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkedBody(Arc<Mutex<VecDeque<BodyPart>>>);

#[derive(Debug)]
pub(super) enum BodyPart {
    Chunk(Vec<u8>),
    End,
    /// The server resets the stream.
    Reset,
}

impl ChunkedBody {
    /// Sends a chunk. The upstream filter gets it in one piece.
    pub(crate) fn send(&self, chunk: impl Into<Vec<u8>>) -> &Self {
        self.push(BodyPart::Chunk(chunk.into()))
    }

    /// Ends the body.
    pub(crate) fn end(&self) -> &Self {
        self.push(BodyPart::End)
    }

    /// Resets the stream in the middle of the body.
    pub(crate) fn reset(&self) -> &Self {
        self.push(BodyPart::Reset)
    }

    /// Whether the proxy still receives the body. It does not after the end, after a reset by either side, and once the
    /// callout is gone. Before the answer with this body is given, nothing receives it either.
    pub(crate) fn is_received(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    fn push(&self, part: BodyPart) -> &Self {
        self.parts().push_back(part);
        self
    }

    pub(super) fn next(&self) -> Option<BodyPart> {
        self.parts().pop_front()
    }

    pub(super) fn has_next(&self) -> bool {
        !self.parts().is_empty()
    }

    fn parts(&self) -> MutexGuard<'_, VecDeque<BodyPart>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
