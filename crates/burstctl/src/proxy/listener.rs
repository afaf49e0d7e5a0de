//! The HTTP/1.1 server of the proxy.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::upstream::Upstream;

/// The pause after a failed accept: long enough not to spin, short enough for a user not to notice.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Accepts connections until the task is aborted. Aborting it also closes every connection.
pub(super) async fn accept(listener: TcpListener, upstream: Arc<Upstream>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&upstream)))),
                // The process may be out of file descriptors. Other connections may close in the meantime.
                Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, upstream: Arc<Upstream>) {
    let answer = service_fn(|request| {
        let upstream = Arc::clone(&upstream);
        async move { Ok::<_, Infallible>(upstream.respond(&request).await) }
    });
    // Ignore the error: a client that disconnects is not a failure of the proxy.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}
