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

use super::News;
use super::traffic::{Http, PATIENCE};

/// It costs the cluster nothing: the proxy answers from what it has.
const PAUSE: Duration = Duration::from_secs(1);

/// What the proxy told of all services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Picture {
    /// `namespace/name` to header.
    Whole(BTreeMap<String, String>),
    /// Another status than 200, and why.
    None(u16, String),
}

/// Asks until dropped; says nothing as long as there is no answer.
pub(crate) fn start(proxy: SocketAddr, news: &mpsc::UnboundedSender<News>) -> JoinSet<()> {
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    let news = news.clone();
    let mut asking = JoinSet::new();
    asking.spawn(async move {
        loop {
            let picture = timeout(PATIENCE, ask(&http, proxy)).await.ok().flatten();
            if picture.is_some_and(|picture| news.send(News::Picture(picture)).is_err()) {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    });
    asking
}

async fn ask(http: &Http, proxy: SocketAddr) -> Option<Picture> {
    let request = Request::get(format!("http://{proxy}/burstmetrics/services/")).body(Empty::new());
    let response = http.request(request.ok()?).await.ok()?;
    let status = response.status();
    let body = response.into_body().collect().await.ok()?.to_bytes();
    let words = || String::from_utf8_lossy(&body).trim().to_owned();
    Some(match status {
        StatusCode::OK => match serde_json::from_slice(&body) {
            Ok(services) => Picture::Whole(services),
            Err(error) => Picture::None(200, format!("Envoy answers something else than a picture: {error}")),
        },
        _ => Picture::None(status.as_u16(), words()),
    })
}
