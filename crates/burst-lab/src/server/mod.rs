//! An HTTP/1.1 listener for anything that answers a request with a [`Reply`]: the Kubernetes API, the sample services.

mod wire;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::api::{KubeApi, Reply};
use wire::{Body, Wire};

/// After a failed accept; long enough not to spin, short enough not to be seen.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// What answers requests.
pub trait Answer: Send + Sync + 'static {
    /// The reply to one whole request.
    fn answer(&self, request: &Request<Bytes>) -> Reply;
}

impl Answer for KubeApi {
    fn answer(&self, request: &Request<Bytes>) -> Reply {
        KubeApi::answer(self, request)
    }
}

/// A listener at work; dropping it closes it and every connection it has.
pub struct Server {
    addr: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens on `addr` (port 0 takes a free one) and answers from then on.
    ///
    /// # Errors
    /// The address cannot be bound; the error names it.
    pub async fn start(addr: SocketAddr, what: impl Answer) -> io::Result<Server> {
        let listener = TcpListener::bind(addr)
            .await
            .map_err(|error| bind_error(addr, &error))?;
        let addr = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, Arc::new(what)));
        Ok(Server { addr, accepting })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The same kind of error, with the address in its words.
pub(crate) fn bind_error(addr: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {addr}: {error}"))
}

async fn accept(listener: TcpListener, what: Arc<impl Answer>) {
    // Owned here, so that an end of this task ends every connection.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&what)))),
                // No file descriptors left, say: others may end meanwhile.
                Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, what: Arc<impl Answer>) {
    let reset = Arc::new(AtomicBool::new(false));
    let wire = Wire::new(stream, Arc::clone(&reset));
    let answer = service_fn(move |request| respond(request, Arc::clone(&what), Arc::clone(&reset)));
    // A client that goes away is no one's error here.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(wire), answer)
        .await;
}

/// An error of this service makes hyper close the connection; the wire then resets it.
async fn respond(
    request: Request<Incoming>,
    what: Arc<impl Answer>,
    reset: Arc<AtomicBool>,
) -> Result<Response<Body>, Cut> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
    match what.answer(&Request::from_parts(parts, body)) {
        Reply::Answer(answer) => Ok(answer.map(Body::whole)),
        Reply::Window(window) => Ok(window.head().map(|_| Body::window(window))),
        Reply::Trickle(answer, time) => Ok(answer.map(|body| Body::trickle(body, time))),
        Reply::Stall(answer) => Ok(answer.map(|body| Body::half_then_silence(&body))),
        Reply::ResetMidway(answer) => Ok(answer.map(|body| Body::half_then_reset(&body, reset))),
        Reply::Silence => Err(never().await),
        Reply::Reset => {
            reset.store(true, std::sync::atomic::Ordering::Release);
            Err(Cut)
        }
    }
}

async fn never() -> Cut {
    match std::future::pending::<Infallible>().await {}
}

/// The connection ends in the middle of an answer.
#[derive(Debug, thiserror::Error)]
#[error("cut on purpose")]
struct Cut;
