//! Connections that are kept: HTTP/1.1 as far as Envoy speaks it to these stories.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::http::Answer;

use super::request::Request;

/// Longer than Envoy keeps any request of these stories.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A connection to a listener.
#[derive(Debug)]
pub struct Connection(BufReader<TcpStream>);

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// When the address refuses the connection.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends a request and does not wait for its answer.
    pub fn send(&mut self, request: &Request) -> io::Result<()> {
        self.0.get_mut().write_all(&request.bytes())
    }

    /// The answer; an error where the other side closed or reset the connection instead.
    pub fn ask(&mut self, request: &Request) -> io::Result<Answer> {
        self.send(request)?;
        self.answer(request)
    }

    /// Waits for the first byte of an answer; an error where the other side closed the connection instead.
    fn wait(&mut self) -> io::Result<()> {
        loop {
            match self.0.fill_buf() {
                Ok([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => return Ok(()),
                // What the other reads here do by themselves; a machine that was stopped and goes on says so.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The answer to a request that was sent.
    pub fn answer(&mut self, request: &Request) -> io::Result<Answer> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut answer = Answer {
            status: status.ok_or_else(|| unexpected(&status_line))?,
            headers: self.headers()?,
            body: String::new(),
        };
        let bodiless = request.method == "HEAD" || matches!(answer.status, 204 | 304);
        let length = answer.header("content-length").unwrap_or("0").parse();
        let length: usize = length.map_err(|_| unexpected("content-length"))?;
        if answer.header("transfer-encoding").is_some() {
            return Err(unexpected("transfer-encoding"));
        }
        if !bodiless {
            let mut body = vec![0; length];
            self.0.read_exact(&mut body)?;
            answer.body = String::from_utf8_lossy(&body).into_owned();
        }
        Ok(answer)
    }

    fn headers(&mut self) -> io::Result<Vec<(String, String)>> {
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
                None if line.is_empty() => return Ok(headers),
                None => return Err(unexpected(&line)),
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line)?;
        match line.strip_suffix(b"\r\n") {
            Some(line) => Ok(String::from_utf8_lossy(line).into_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn unexpected(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("unexpected in an answer: {what}"))
}

/// Connections to a listener, one after the other: each is kept for as long as the other side keeps it.
#[derive(Debug)]
pub struct Kept {
    address: SocketAddr,
    open: Option<Connection>,
}

impl Kept {
    /// Opens the first one, where somebody listens yet.
    pub fn to(address: SocketAddr) -> Self {
        let open = Connection::open(address).ok();
        Self { address, open }
    }

    /// The answer, and whether it was asked for again: Envoy closes the connections of a configuration that is gone, maybe
    /// just when a request sets out. That one is sent over a new connection, as every client does.
    /// <https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1>
    pub fn ask(&mut self, request: &Request) -> io::Result<(Answer, bool)> {
        let before = self.open.take();
        let (mut open, again) = match before.map(|open| begin(open, request)) {
            Some(Ok(open)) => (open, false),
            // Somebody who does not answer would not answer another time either.
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            closed => (begin(Connection::open(self.address)?, request)?, closed.is_some()),
        };
        let answer = open.answer(request)?;
        self.open = Some(open).filter(|_| answer.header("connection") != Some("close"));
        Ok((answer, again))
    }
}

/// Sends a request and waits until its answer begins.
fn begin(mut open: Connection, request: &Request) -> io::Result<Connection> {
    open.send(request)?;
    open.wait()?;
    Ok(open)
}
