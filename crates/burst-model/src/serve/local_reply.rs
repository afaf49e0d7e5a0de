//! A response that the filter sends itself.

use std::rc::Rc;

/// A longer body is a bulk body. Shorter ones are too small to limit.
const MAX_SMALL_BODY: usize = 16 << 10;

/// A response that the filter sends itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalReply {
    /// The status code.
    pub status: u16,
    /// Headers besides the status.
    pub headers: Vec<(&'static str, String)>,
    /// The body. Envoy drops it for HEAD.
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

    /// The size of a bulk body. `None` for a small one. Envoy holds the body in memory until the client reads it.
    #[must_use]
    pub fn bulk_size(&self) -> Option<usize> {
        Some(self.body.len()).filter(|size| *size > MAX_SMALL_BODY)
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

/// Returns whether the value of `If-None-Match` is one entity tag, and not a list or `*`.
#[must_use]
pub(crate) fn is_tag(tags: &[u8]) -> bool {
    let inner = opaque(tags)
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    inner.is_some_and(|inner| !inner.iter().any(|b| matches!(b, b'"' | b',')))
}

/// Returns whether a list of entity tags contains this one, by weak comparison.
/// <https://www.rfc-editor.org/rfc/rfc9110#name-if-none-match>
#[must_use]
pub fn has_tag(tags: &[u8], etag: &str) -> bool {
    let mut tags = tags.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    tags.any(|tag| tag == b"*" || opaque(tag) == opaque(etag.as_bytes()))
}

/// The reply without a body, if the client has the content with this entity tag already.
#[must_use]
pub(super) fn not_modified(etag: &str, if_none_match: Option<&[u8]>) -> Option<LocalReply> {
    let is_known = if_none_match.is_some_and(|tags| has_tag(tags, etag));
    is_known.then(|| LocalReply::empty(304).with("etag", etag))
}

/// An entity tag without the mark of a weak one.
fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}
