//! HTTP/1.1 on loopback.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::upstream::Upstream;

/// After a failed accept; long enough not to spin, short enough not to be seen.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Until it is aborted, which ends every connection as well.
pub(super) async fn accept(listener: TcpListener, upstream: Arc<Upstream>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&upstream)))),
                // No file descriptors left, say: others may end meanwhile.
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
    // A client that goes away is no one's error here, and the cluster is not asked on for it.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}
