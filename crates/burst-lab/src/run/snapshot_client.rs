//! All services of a cluster at once, as the local Envoy's own `/burstmetrics` tells them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Update;
use super::traffic::{Http, REQUEST_TIMEOUT};

/// It costs the cluster nothing: the proxy answers from what it has.
const INTERVAL: Duration = Duration::from_secs(1);

/// What the proxy told of all services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SnapshotResult {
    /// `namespace/name` to header.
    Services(BTreeMap<String, String>),
    /// Another status than 200, and why.
    Unavailable(u16, String),
}

/// Asks until dropped; says nothing as long as there is no answer.
pub(crate) fn start(proxy: SocketAddr, updates: &mpsc::UnboundedSender<Update>) -> JoinSet<()> {
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    let updates = updates.clone();
    let mut task = JoinSet::new();
    task.spawn(async move {
        loop {
            let result = timeout(REQUEST_TIMEOUT, fetch(&http, proxy)).await.ok().flatten();
            if result.is_some_and(|result| updates.send(Update::SnapshotResult(result)).is_err()) {
                return;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    });
    task
}

async fn fetch(http: &Http, proxy: SocketAddr) -> Option<SnapshotResult> {
    let request = Request::get(format!("http://{proxy}/burstmetrics/services/")).body(Empty::new());
    let response = http.request(request.ok()?).await.ok()?;
    let status = response.status();
    let body = response.into_body().collect().await.ok()?.to_bytes();
    let reason = || String::from_utf8_lossy(&body).trim().to_owned();
    Some(match status {
        StatusCode::OK => match serde_json::from_slice(&body) {
            Ok(services) => SnapshotResult::Services(services),
            Err(error) => {
                SnapshotResult::Unavailable(200, format!("Envoy answers something else than a result: {error}"))
            }
        },
        _ => SnapshotResult::Unavailable(status.as_u16(), reason()),
    })
}
