//! HTTP as the tests speak it: every status is an answer, and no answer is followed elsewhere.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use ureq::{
    Agent,
    http::Request,
    tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig},
};

use crate::authority::{Authority, Credential};

/// Longer than any proxy under test keeps a request.
const TIMEOUT: Duration = Duration::from_secs(120);

/// An answer, whatever its status.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names in lower case, in the order of the wire; values that are not UTF-8 have replacement characters.
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
}

/// GETs a URL of 127.0.0.1.
///
/// # Panics
/// When there is no answer.
#[track_caller]
pub fn get(url: &str) -> Answer {
    send("GET", url, &[])
}

/// Sends a request without a body. A header `host` takes the place of the URL's.
///
/// # Panics
/// When there is no answer.
#[track_caller]
pub fn send(method: &str, url: &str, headers: &[(&str, &str)]) -> Answer {
    try_send(method, url, headers).unwrap_or_else(|error| panic!("{method} {url}: {error}"))
}

/// The same where there may be no answer.
///
/// # Errors
/// When the connection is refused or breaks, or no answer comes in time.
pub fn try_send(method: &str, url: &str, headers: &[(&str, &str)]) -> Result<Answer, ureq::Error> {
    run(&agent(TlsConfig::default(), 0), method, url, headers)
}

/// A client that speaks TLS.
#[derive(Clone, Debug)]
pub struct Tls(Agent);

impl Tls {
    /// One that believes what that authority signed, and shows what it was given.
    ///
    /// # Panics
    /// When the certificates cannot be read.
    #[must_use]
    pub fn new(authority: &Authority, shows: Option<&Credential>) -> Self {
        Self(agent(tls(authority, shows), 0))
    }

    /// The same that keeps its connection for the next request, as the API server does.
    ///
    /// # Panics
    /// When the certificates cannot be read.
    #[must_use]
    pub fn keeping(authority: &Authority, shows: Option<&Credential>) -> Self {
        Self(agent(tls(authority, shows), 8))
    }

    /// Sends a request without a body.
    ///
    /// # Errors
    /// When a side refuses the other's certificate, the connection breaks, or no answer comes in time.
    pub fn try_send(&self, method: &str, url: &str, headers: &[(&str, &str)]) -> Result<Answer, ureq::Error> {
        run(&self.0, method, url, headers)
    }
}

fn tls(authority: &Authority, shows: Option<&Credential>) -> TlsConfig {
    let certificate = |pem: &str| Certificate::from_pem(pem.as_bytes()).expect("a certificate").to_owned();
    let client = shows.map(|Credential { certificate: pem, key }| {
        let key = PrivateKey::from_pem(key.as_bytes()).expect("a key");
        ClientCert::new_with_certs(&[certificate(pem)], key)
    });
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&[certificate(&authority.pem())]))
        .client_cert(client)
        .build()
}

fn run(agent: &Agent, method: &str, url: &str, headers: &[(&str, &str)]) -> Result<Answer, ureq::Error> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut response = agent.run(request.body(())?)?;
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let body = String::from_utf8_lossy(&response.body_mut().with_config().limit(u64::MAX).read_to_vec()?).into_owned();
    Ok(Answer {
        status: response.status().as_u16(),
        headers,
        body,
    })
}

/// Sends bytes as they are and gives everything that comes until the other side closes: for requests that no client
/// library would write. They should ask for `connection: close`.
///
/// # Panics
/// When there is no connection, it breaks, or nobody closes it in time.
#[must_use]
#[track_caller]
pub fn raw(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    try_raw(address, request).unwrap_or_else(|error| panic!("{address}: {error}"))
}

/// The same where there may be no answer.
///
/// # Errors
/// When there is no connection, it breaks, or nobody closes it in time.
pub fn try_raw(address: SocketAddr, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.write_all(request)?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer)?;
    Ok(answer)
}

/// `kept` is how many connections: a proxy under test may go at any time, and one to it would fail the next request.
fn agent(tls: TlsConfig, kept: usize) -> Agent {
    Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .max_idle_connections(kept)
        .tls_config(tls)
        .build()
        .into()
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    #[test]
    fn an_error_status_is_an_answer() {
        let address = answer_once(b"HTTP/1.1 503 No\r\nX-Why: \xff busy\r\ncontent-length: 3\r\n\r\nno\n");
        let answer = get(&format!("http://{address}/"));
        assert_eq!(
            (answer.status, answer.header("x-why"), answer.body.as_str()),
            (503, Some("\u{fffd} busy"), "no\n")
        );
    }

    #[test]
    fn raw_bytes_come_and_go_as_they_are() {
        let address = answer_once(b"\xfe\xff");
        assert_eq!(raw(address, b"GET \xff HTTP/1.1\r\n\r\n"), b"\xfe\xff");
    }

    /// A server that reads one request head, answers these bytes and is gone.
    fn answer_once(answer: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                connection.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            connection.write_all(answer).unwrap();
        });
        address
    }
}
