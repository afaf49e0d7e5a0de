//! Connections to a server, which are kept for the next request.

use std::{net::SocketAddr, sync::LazyLock, time::Duration};

use bytes::Bytes;
use http::Response;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    runtime::Runtime,
    task::JoinHandle,
    time::timeout,
};

use super::{Answer, Error, Request, tls::Tls};

/// Longer than any proxy under test keeps a request.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// The clients of every test, and the servers that a test runs itself.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

type Sent = JoinHandle<hyper::Result<Response<Incoming>>>;

/// An open connection; dropping it closes it, also while a request is under way.
#[derive(Debug)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    io: JoinHandle<()>,
    sent: Option<Sent>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// When nothing listens at the address.
    pub fn open(address: SocketAddr) -> Result<Self, Error> {
        RUNTIME.block_on(async { Self::handshake(connect(address).await?).await })
    }

    /// Connects with TLS, as that client, to a server whose certificate is for that host.
    ///
    /// # Errors
    /// When nothing listens at the address, or a side refuses the other's certificate.
    pub fn open_tls(address: SocketAddr, host: &str, tls: &Tls) -> Result<Self, Error> {
        RUNTIME.block_on(async {
            let stream = tls.connect(host, connect(address).await?).await?;
            Self::handshake(stream).await
        })
    }

    async fn handshake(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<Self, Error> {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // An error of the connection also ends its requests, which report it.
        let io = tokio::spawn(async { drop(connection.await) });
        Ok(Self { sender, io, sent: None })
    }

    /// Whether the server has closed it.
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// When the connection breaks, or no answer comes in time.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, Error> {
        self.send(request)?;
        self.answer()
    }

    /// Sends a request and does not wait for its answer.
    ///
    /// # Errors
    /// When the server has closed the connection.
    pub fn send(&mut self, request: &Request) -> Result<(), Error> {
        RUNTIME.block_on(async {
            self.sender.ready().await?;
            self.sent = Some(tokio::spawn(self.sender.send_request(request.encode())));
            Ok(())
        })
    }

    /// The answer to the request that was sent last.
    ///
    /// # Errors
    /// When the connection breaks, or no answer comes in time.
    ///
    /// # Panics
    /// When no request was sent.
    pub fn answer(&mut self) -> Result<Answer, Error> {
        let head = self.head()?;
        RUNTIME.block_on(in_time(whole(head)))
    }

    /// Sends a request and waits until its answer begins.
    fn begin(mut self, request: &Request) -> Result<(Self, Response<Incoming>), Error> {
        self.send(request)?;
        let head = self.head()?;
        Ok((self, head))
    }

    /// Waits until the answer begins.
    fn head(&mut self) -> Result<Response<Incoming>, Error> {
        let sent = self.sent.take().expect("a request under way");
        RUNTIME.block_on(in_time(async { Ok(sent.await.expect("no panic in the client")?) }))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.io.abort();
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream, Error> {
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| Error::Connect(address, error))?;
    stream.set_nodelay(true).expect("a socket");
    Ok(stream)
}

async fn whole(response: Response<Incoming>) -> Result<Answer, Error> {
    let (head, body) = response.into_parts();
    Ok(Answer::new(&head, &body.collect().await?.to_bytes()))
}

async fn in_time<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    timeout(TIMEOUT, work).await.unwrap_or(Err(Error::Timeout))
}

/// Connections to one listener, one after the other: each is kept for as long as the server keeps it.
#[derive(Debug)]
pub struct KeepAlive {
    address: SocketAddr,
    open: Option<Connection>,
}

impl KeepAlive {
    /// Opens the first connection, if something listens there yet.
    #[must_use]
    pub fn to(address: SocketAddr) -> Self {
        let open = Connection::open(address).ok();
        Self { address, open }
    }

    /// The answer, and whether the request was sent twice. Envoy closes the connections of a configuration that is gone,
    /// perhaps just as a request is sent; that request is sent again over a new connection, as every client does.
    /// <https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1>
    ///
    /// # Errors
    /// When nothing listens, a new connection breaks, or no answer comes in time.
    pub fn ask(&mut self, request: &Request) -> Result<(Answer, bool), Error> {
        match self.open.take().map(|kept| kept.begin(request)) {
            None => Ok((self.ask_anew(request)?, false)),
            Some(Ok(begun)) => Ok((self.finish(begun)?, false)),
            // A server that does not answer would not answer over another connection either.
            Some(Err(Error::Timeout)) => Err(Error::Timeout),
            Some(Err(_)) => Ok((self.ask_anew(request)?, true)),
        }
    }

    fn ask_anew(&mut self, request: &Request) -> Result<Answer, Error> {
        let begun = Connection::open(self.address)?.begin(request)?;
        self.finish(begun)
    }

    fn finish(&mut self, (connection, head): (Connection, Response<Incoming>)) -> Result<Answer, Error> {
        let answer = RUNTIME.block_on(in_time(whole(head)))?;
        self.open = Some(connection).filter(|_| answer.header("connection") != Some("close"));
        Ok(answer)
    }
}
