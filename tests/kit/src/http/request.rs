//! A request, and the answer to it.

use std::net::{SocketAddr, ToSocketAddrs as _};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Uri, header::HOST};
use http_body_util::Full;

use super::Error;

/// A request to be sent; its method and its path may be anything that the library writes.
#[derive(Clone, Debug)]
pub struct Request {
    method: Method,
    target: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
}

impl Request {
    /// A GET of a path, or of a whole URL.
    ///
    /// # Panics
    /// When it is no URI.
    #[must_use]
    #[track_caller]
    pub fn get(target: impl AsRef<str>) -> Self {
        Self::of("GET", target)
    }

    /// A request with that method.
    ///
    /// # Panics
    /// When the target is no URI.
    #[must_use]
    #[track_caller]
    pub fn of(method: &str, target: impl AsRef<str>) -> Self {
        let target = target.as_ref();
        Self {
            method: method.parse().expect("a method"),
            target: target.parse().unwrap_or_else(|error| panic!("{target}: {error}")),
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    /// With that host; a URL's own host is the default, and `proxy.test` that of a path.
    #[must_use]
    #[track_caller]
    pub fn host(mut self, host: impl AsRef<[u8]>) -> Self {
        self.headers.retain(|(name, _)| name != HOST);
        self.header("host", host)
    }

    /// With one more header, whose value may be any bytes that can stand in one.
    ///
    /// # Panics
    /// When it cannot be a header.
    #[must_use]
    #[track_caller]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let value = HeaderValue::from_bytes(value.as_ref()).expect("the value of a header");
        self.headers.push((name.parse().expect("the name of a header"), value));
        self
    }

    /// With these headers as well.
    ///
    /// # Panics
    /// When one of them cannot be a header.
    #[must_use]
    #[track_caller]
    pub fn headers(self, headers: &[(&str, &str)]) -> Self {
        headers
            .iter()
            .fold(self, |request, (name, value)| request.header(name, value))
    }

    /// With that body, in the place of none.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// The host that a URL names, and its address.
    pub(super) fn server(&self) -> Result<(String, SocketAddr), Error> {
        let no_address = || Error::NoAddress(self.target.to_string());
        let authority = self.target.authority().ok_or_else(no_address)?;
        let mut addresses = authority.as_str().to_socket_addrs().map_err(|_| no_address())?;
        // Nothing under test listens on `::1`, which is what `localhost` may mean first.
        let address = addresses.find(SocketAddr::is_ipv4).ok_or_else(no_address)?;
        Ok((authority.host().to_owned(), address))
    }

    /// The request to the server of the URL itself, whose target is a path.
    pub(super) fn to_origin(&self) -> Self {
        let mut request = self.clone();
        let path = self.target.path_and_query().map_or("/", |path| path.as_str());
        request.target = path.parse().expect("a path");
        if let Some(authority) = self.target.authority()
            && !self.has_host()
        {
            return request.host(authority.as_str());
        }
        request
    }

    fn has_host(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == HOST)
    }

    /// The request as the library takes it.
    pub(super) fn encode(&self) -> http::Request<Full<Bytes>> {
        let mut request = http::Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.target.clone();
        let headers = request.headers_mut();
        if !self.has_host() {
            headers.append(HOST, HeaderValue::from_static("proxy.test"));
        }
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        request
    }
}

/// An answer, whatever its status.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names in lower case; values that are not UTF-8 have replacement characters.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: String,
}

impl Answer {
    /// The first header of that name, given in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header == name)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn new(head: &http::response::Parts, body: &[u8]) -> Self {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        Self {
            status: head.status.as_u16(),
            headers: head
                .headers
                .iter()
                .map(|(name, value)| (name.to_string(), text(value)))
                .collect(),
            body: String::from_utf8_lossy(body).into_owned(),
        }
    }
}
