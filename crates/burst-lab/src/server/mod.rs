//! An HTTP server for a [`Handler`]: the Kubernetes API or the sample services. It speaks HTTP/1.1, and HTTP/2 to a client
//! that begins with the preface of HTTP/2, on the same port and without TLS.

mod body;
mod faulty_stream;
mod watch_body;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::api::{KubeApi, Reply};
use body::Body;
use faulty_stream::{Connection, FaultyStream};

/// The delay after a failed accept: long enough not to spin, short enough not to be noticed.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Returns the reply to one complete request.
    fn handle(&self, request: &Request<Bytes>) -> Reply;
}

impl Handler for KubeApi {
    fn handle(&self, request: &Request<Bytes>) -> Reply {
        KubeApi::handle(self, request)
    }
}

/// A running server; dropping it closes the listener and every connection.
pub struct Server {
    addr: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens on `addr` (port 0 chooses a free port) and answers from then on.
    ///
    /// # Errors
    /// The address cannot be bound; the error names it.
    pub async fn start(addr: SocketAddr, handler: impl Handler) -> io::Result<Server> {
        let listener = TcpListener::bind(addr)
            .await
            .map_err(|error| bind_error(addr, &error))?;
        let addr = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, Arc::new(handler)));
        Ok(Server { addr, accepting })
    }

    /// Returns the address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Adds the address to the message of a bind error.
pub(crate) fn bind_error(addr: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {addr}: {error}"))
}

async fn accept(listener: TcpListener, handler: Arc<impl Handler>) {
    // Owned by this task, so that aborting it closes every connection.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&handler)))),
                // For example no file descriptors; other connections may close meanwhile.
                Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, handler: Arc<impl Handler>) {
    // An event of a watch is one small write, and must not wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let connection = Connection::default();
    let wire = FaultyStream::new(stream, connection.clone());
    let answer = service_fn(move |request| respond(request, Arc::clone(&handler), connection.clone()));
    // A client that disconnects is not an error.
    let _ = auto::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(wire), answer)
        .await;
}

/// An error makes hyper end the connection, or over HTTP/2 the stream.
async fn respond(
    request: Request<Incoming>,
    handler: Arc<impl Handler>,
    connection: Connection,
) -> Result<Response<Body>, Aborted> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Aborted)?.to_bytes();
    match handler.handle(&Request::from_parts(parts, body)) {
        Reply::Response(answer) => Ok(answer.map(Body::whole)),
        Reply::Watch(watch) => Ok(watch.head().map(|()| watch_body::of(*watch, &connection))),
        Reply::Trickle(answer, time) => Ok(answer.map(|body| Body::trickle(body, time, &connection))),
        Reply::Stall(answer) => Ok(answer.map(|body| Body::half_then_silence(&body, &connection))),
        Reply::ResetMidway(answer) => Ok(answer.map(|body| Body::half_then_reset(&body, &connection))),
        Reply::Hang => Err(never().await),
        Reply::Reset => {
            connection.reset();
            Err(Aborted)
        }
    }
}

async fn never() -> Aborted {
    match std::future::pending::<Infallible>().await {}
}

/// The response ends in the middle.
#[derive(Debug, thiserror::Error)]
#[error("response aborted on purpose")]
struct Aborted;
