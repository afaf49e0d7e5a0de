//! Requests through Envoy; the rate follows the load.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use burst_lab::sample::{Load, Service};
use bytes::Bytes;
use http::header::HOST;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Update;
use super::dashboard::ProbeResult;

/// Requests per second at the lowest and the highest load.
const RATES: (f64, f64) = (2.0, 12.0);
/// Longer than Envoy's default route timeout is pointless.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) type Http = Client<HttpConnector, Empty<Bytes>>;

/// Sends requests to one service.
#[derive(Clone)]
struct ServiceClient {
    http: Http,
    proxy: SocketAddr,
    service: Service,
    load: Load,
    started: Instant,
}

/// Sends requests to every service until the returned tasks are dropped. Updates carry the index of the service.
pub(crate) fn start(
    services: &[Service],
    proxy: SocketAddr,
    (load, started): &(Load, Instant),
    updates: &mpsc::UnboundedSender<Update>,
) -> JoinSet<()> {
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    let mut clients = JoinSet::new();
    for (index, service) in services.iter().enumerate() {
        let client = ServiceClient {
            http: http.clone(),
            proxy,
            service: service.clone(),
            load: load.clone(),
            started: *started,
        };
        clients.spawn(client.run(index, updates.clone()));
    }
    clients
}

impl ServiceClient {
    async fn run(self, index: usize, updates: mpsc::UnboundedSender<Update>) {
        while updates.send(Update::Answer(index, self.probe().await)).is_ok() {
            tokio::time::sleep(Duration::from_secs_f64(1.0 / self.rate())).await;
        }
    }

    async fn probe(&self) -> ProbeResult {
        timeout(REQUEST_TIMEOUT, self.send())
            .await
            .ok()
            .flatten()
            .unwrap_or(ProbeResult::NoResponse)
    }

    async fn send(&self) -> Option<ProbeResult> {
        let request = Request::get(format!("http://{}/", self.proxy)).header(HOST, self.service.host());
        let response = self.http.request(request.body(Empty::new()).ok()?).await.ok()?;
        let header = response.headers().get("x-burst");
        let header = header.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let status = response.status();
        // Read the whole body, or the connection cannot be reused.
        response.into_body().collect().await.ok()?;
        Some(if status == StatusCode::OK {
            ProbeResult::Ok(header)
        } else {
            ProbeResult::Status(status.as_u16())
        })
    }

    /// Requests per second: follows the mean load of the workloads behind the service.
    fn rate(&self) -> f64 {
        let elapsed = self.started.elapsed();
        let levels: Vec<f64> = self
            .service
            .hpas
            .iter()
            .filter_map(|hpa| self.load.level(hpa, elapsed))
            .collect();
        let count = u32::try_from(levels.len().max(1)).map_or(1.0, f64::from);
        RATES.0 + (RATES.1 - RATES.0) * levels.iter().sum::<f64>() / count
    }
}
