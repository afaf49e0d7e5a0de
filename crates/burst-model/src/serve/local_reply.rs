//! A reply of the proxy's own, whatever asked for it.

use std::rc::Rc;

/// A longer body is bulk. Shorter ones are too small to be worth refusing.
const SMALL: usize = 16 << 10;

/// A reply of the proxy's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalReply {
    /// The status code.
    pub status: u16,
    /// Headers besides the status.
    pub headers: Vec<(&'static str, String)>,
    /// The body; Envoy leaves it out for HEAD.
    pub body: Rc<[u8]>,
}

impl LocalReply {
    /// A reply with a body of this type, and no other header.
    pub fn new(status: u16, content_type: &str, body: impl Into<Rc<[u8]>>) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type.into())],
            body: body.into(),
        }
    }

    /// How long the body of a bulk answer is; `None` for any other. Envoy keeps such a body until its client takes it.
    #[must_use]
    pub fn bulk_size(&self) -> Option<usize> {
        Some(self.body.len()).filter(|size| *size > SMALL)
    }

    /// A reply without a body.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Rc::default(),
        }
    }

    /// The same reply with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Whether a list of entity tags holds this one, by weak comparison.
/// <https://www.rfc-editor.org/rfc/rfc9110#name-if-none-match>
#[must_use]
pub fn has_tag(tags: &[u8], etag: &str) -> bool {
    let mut tags = tags.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    tags.any(|tag| tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == etag.as_bytes())
}
