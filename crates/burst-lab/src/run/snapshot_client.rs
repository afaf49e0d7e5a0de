//! Reads all services of a cluster from `/burstmetrics` of the local Envoy.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Update;
use super::traffic::Proxy;

/// The proxy answers from memory, so a short interval costs the cluster nothing.
const INTERVAL: Duration = Duration::from_secs(1);

/// The result of one request for all services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SnapshotResult {
    /// The header of each service, by `namespace/name`.
    Services(BTreeMap<String, String>),
    /// A status other than 200, and the reason in the body.
    Unavailable(u16, String),
}

/// Requests the services until the returned task is dropped; sends no update while Envoy does not answer.
pub(crate) fn start(proxy: SocketAddr, updates: &mpsc::UnboundedSender<Update>) -> JoinSet<()> {
    let proxy = Proxy::new(proxy);
    let updates = updates.clone();
    let mut task = JoinSet::new();
    task.spawn(async move {
        loop {
            let result = fetch(&proxy).await;
            if result.is_some_and(|result| updates.send(Update::SnapshotResult(result)).is_err()) {
                return;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    });
    task
}

async fn fetch(proxy: &Proxy) -> Option<SnapshotResult> {
    let (status, _, body) = proxy.get("/burstmetrics/services/", None).await?;
    let reason = || String::from_utf8_lossy(&body).trim().to_owned();
    Some(match status {
        StatusCode::OK => match serde_json::from_slice(&body) {
            Ok(services) => SnapshotResult::Services(services),
            Err(error) => SnapshotResult::Unavailable(
                200,
                format!("Envoy answered with something other than a result: {error}"),
            ),
        },
        _ => SnapshotResult::Unavailable(status.as_u16(), reason()),
    })
}
