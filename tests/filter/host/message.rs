//! HTTP messages: headers as Envoy keeps them, requests, responses.

use std::fmt;

/// A header map: ordered, with repeated names, names in lower case, values as bytes.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The first value, which is the only one that the ABI can read by name.
    pub(crate) fn first(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.0
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_slice()))
    }

    pub(crate) fn add(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.0.push((name.to_ascii_lowercase(), value.as_ref().to_vec()));
    }

    /// Replaces every value of the name with this one, at the end of the map (`setCopy`).
    pub(crate) fn set(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.remove(name);
        self.add(name, value);
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|(name, value)| (name, Text(value))))
            .finish()
    }
}

/// Shows bytes as text.
struct Text<'a>(&'a [u8]);

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// A client's request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(crate) fn get(path: impl AsRef<[u8]>) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn new(method: &str, path: impl AsRef<[u8]>) -> Self {
        let mut headers = Headers::default();
        headers.add(":authority", "localhost");
        headers.add(":path", path);
        headers.add(":method", method);
        headers.add(":scheme", "http");
        Self {
            headers,
            body: Vec::new(),
        }
    }

    pub(crate) fn host(self, host: impl AsRef<[u8]>) -> Self {
        self.header(":authority", host)
    }

    /// Replaces a pseudo-header. Adds any other header.
    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        if name.starts_with(':') {
            self.headers.set(name, value);
        } else {
            self.headers.add(name, value);
        }
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(super) fn is_head(&self) -> bool {
        self.headers.first(":method") == Some(b"HEAD")
    }
}

/// An upstream's response, either to a client's request or to a callout.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
    pub(super) trailers: Headers,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} {:?}", self.headers, Text(&self.body), self.trailers)
    }
}

impl Response {
    pub(crate) fn ok() -> Self {
        Self::status(200)
    }

    pub(crate) fn status(code: u16) -> Self {
        let mut headers = Headers::default();
        headers.add(":status", code.to_string());
        Self {
            headers,
            body: Vec::new(),
            trailers: Headers::default(),
        }
    }

    /// 200 with this JSON.
    pub(crate) fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::ok().header("content-type", "application/json").body(body)
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.add(name, value);
        self
    }

    pub(crate) fn trailer(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.trailers.add(name, value);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The response that `sendLocalReply` makes of a status, the caller's headers and a body. It writes the length,
    /// marks a body without a type as text, and removes length and type if the body is empty.
    pub(super) fn local_reply(code: u32, headers: &Headers, body: Vec<u8>) -> Self {
        let mut reply = Self::status(0);
        reply.headers.set(":status", code.to_string());
        for (name, value) in headers.iter() {
            reply.headers.add(name, value);
        }
        if body.is_empty() {
            reply.headers.remove("content-length");
            reply.headers.remove("content-type");
        } else {
            reply.headers.set("content-length", body.len().to_string());
            if reply.headers.first("content-type").is_none() {
                reply.headers.add("content-type", "text/plain");
            }
        }
        reply.body = body;
        reply
    }
}

/// The sender of the response that a client received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Upstream,
    /// Envoy itself: no route, no healthy upstream, a trapped VM and the like.
    Envoy,
    /// The filter, by `send_http_response`.
    Filter,
}

/// The response that the client receives, as it leaves the filter chain (before the codec adds `content-length: 0` and
/// the like).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) by: By,
    pub(super) response: Response,
}

impl Seen {
    pub(crate) fn status(&self) -> u16 {
        let status = self.header(":status").expect("every response has a status");
        status.parse().expect("a status is a number")
    }

    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.response.headers.first(name)?;
        Some(std::str::from_utf8(value).expect("ask for header_bytes() where a value need not be text"))
    }

    pub(crate) fn header_bytes(&self, name: &str) -> Option<&[u8]> {
        self.response.headers.first(name)
    }

    pub(crate) fn headers(&self) -> &Headers {
        &self.response.headers
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.response.body
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.response.body).expect("the body is text")
    }
}
