//! A request, byte for byte: what no client library would write must be harmless too.

use super::bootstrap::TO;

/// A request without a body.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) method: &'static str,
    path: Vec<u8>,
    host: Vec<u8>,
    headers: Vec<(&'static str, Vec<u8>)>,
}

impl Request {
    /// A GET of a path.
    pub fn get(path: impl AsRef<[u8]>) -> Self {
        Self::of("GET", path)
    }

    /// A request with that method.
    pub fn of(method: &'static str, path: impl AsRef<[u8]>) -> Self {
        Self {
            method,
            path: path.as_ref().into(),
            host: b"proxy.test".into(),
            headers: Vec::new(),
        }
    }

    /// For any path of the upstream, by way of that Envoy cluster.
    pub fn to(cluster: &str) -> Self {
        Self::get("/").through(cluster)
    }

    /// The same by way of that Envoy cluster.
    pub fn through(self, cluster: &str) -> Self {
        self.header(TO, cluster)
    }

    /// With that host instead of `proxy.test`.
    pub fn host(mut self, host: impl AsRef<[u8]>) -> Self {
        self.host = host.as_ref().into();
        self
    }

    /// With one more header.
    pub fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name, value.as_ref().into()));
        self
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = [
            self.method.as_bytes(),
            b" ",
            &self.path,
            b" HTTP/1.1\r\nhost: ",
            &self.host,
        ]
        .concat();
        for (name, value) in &self.headers {
            bytes.extend([b"\r\n", name.as_bytes(), b": ", value].concat());
        }
        bytes.extend(b"\r\n\r\n");
        bytes
    }
}
