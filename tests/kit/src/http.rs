//! HTTP/1.1 as the tests and the benchmarks speak it: every status is an answer, and no redirect is followed.

mod connection;
mod request;
mod tls;

use std::{
    error::Error as _,
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

pub(crate) use self::connection::RUNTIME;
pub use self::{
    connection::{Connection, KeepAlive},
    request::{Answer, Request},
    tls::Tls,
};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing listens at the address.
    #[error("cannot connect to {0}: {1}")]
    Connect(SocketAddr, #[source] io::Error),
    /// A side refused the other's certificate.
    #[error("no TLS with {0}: {1}")]
    Tls(String, #[source] io::Error),
    /// The connection broke, or what came is no HTTP.
    #[error("{}", chain(.0))]
    Broken(#[from] hyper::Error),
    /// No answer came in time.
    #[error("no answer within {:?}", connection::TIMEOUT)]
    Timeout,
    /// The URL does not name an address and a port.
    #[error("{0} has no address")]
    NoAddress(String),
}

/// An error of the library with what caused it, which it does not say itself.
fn chain(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
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
pub fn try_send(method: &str, url: &str, headers: &[(&str, &str)]) -> Result<Answer, Error> {
    ask(&Request::of(method, url).headers(headers))
}

/// Sends a request to its URL, over a connection of its own: a proxy under test may go at any time, and a connection that
/// was kept would fail the next request.
///
/// # Errors
/// When the connection is refused or breaks, or no answer comes in time.
pub fn ask(request: &Request) -> Result<Answer, Error> {
    let (_, address) = request.server()?;
    Connection::open(address)?.ask(&request.to_origin())
}

/// Sends bytes as they are and gives everything that comes until the other side closes: for requests that no client
/// library would write. They should ask for `connection: close`.
///
/// # Errors
/// When there is no connection, it breaks, or the other side does not close it in time.
pub fn raw(address: SocketAddr, request: &[u8]) -> io::Result<Vec<u8>> {
    Ok(raw_at_once(address, request, 1)?.concat())
}

/// The same over so many connections that are open at the same time: a listener that balances exactly gives one to each
/// worker.
///
/// # Errors
/// As [`raw`], of any of them.
pub fn raw_at_once(address: SocketAddr, request: &[u8], connections: usize) -> io::Result<Vec<Vec<u8>>> {
    let open = || {
        let connection = TcpStream::connect(address)?;
        connection.set_read_timeout(Some(connection::TIMEOUT))?;
        Ok(connection)
    };
    let mut open: Vec<_> = (0..connections).map(|_| open()).collect::<io::Result<_>>()?;
    let mut answers = Vec::new();
    for connection in &mut open {
        connection.write_all(request)?;
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer)?;
        answers.push(answer);
    }
    Ok(answers)
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
        assert_eq!(raw(address, b"GET \xff HTTP/1.1\r\n\r\n").unwrap(), b"\xfe\xff");
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
