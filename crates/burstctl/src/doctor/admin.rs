//! A client of Envoy's admin interface over any stream.
//! <https://www.envoyproxy.io/docs/envoy/latest/operations/admin>

use std::future::Future;
use std::time::Duration;

use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::stats::Stats;

/// The stats of Wasm: those of the runtime, and those of the filter, with the prefix of a cluster (`^(cluster\.[^.]+\.)?wasm`) on
/// Envoy 1.36 if the filter is an upstream filter of it.
const STATS_PATH: &str = "/stats?filter=%5E(cluster%5C.%5B%5E.%5D%2B%5C.)%3Fwasm";

/// An admin interface answers at once; a port-forward adds a kubelet and a network.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The information that an Envoy reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvoyInfo {
    /// Its version, such as `1.36.2`; empty if unknown.
    pub envoy: String,
    /// The stats.
    pub stats: Stats,
}

/// Why an admin interface cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// An invalid URL.
    #[error("{0:?} is not the URL of an admin interface, such as http://127.0.0.1:9901")]
    Url(String),
    /// No connection.
    #[error("{0}")]
    Connect(#[from] std::io::Error),
    /// No response, or an incomplete one.
    #[error("{0}")]
    Http(#[from] hyper::Error),
    /// A response that is not from an admin interface.
    #[error("{path} returned {status}: this is not an admin interface")]
    Status {
        /// The requested path.
        path: &'static str,
        /// The status code.
        status: StatusCode,
    },
    /// No response in time.
    #[error("no answer within {TIMEOUT:?}")]
    Timeout,
}

/// Reads the admin interface at a URL.
///
/// # Errors
/// It cannot be reached, or is not an admin interface.
pub(super) async fn fetch_from_url(url: &str) -> Result<EnvoyInfo, AdminError> {
    let invalid = || AdminError::Url(url.to_owned());
    let parsed: Uri = url.parse().map_err(|_| invalid())?;
    if parsed.scheme_str() != Some("http") {
        return Err(invalid());
    }
    let host = parsed.host().ok_or_else(invalid)?.trim_matches(['[', ']']).to_owned();
    let port = parsed.port_u16().unwrap_or(80);
    with_timeout(async move { fetch(TcpStream::connect((host, port)).await?).await }).await
}

/// Reads the admin interface over a stream.
///
/// # Errors
/// The peer is not an admin interface.
pub(super) async fn fetch_over_stream<S>(stream: S) -> Result<EnvoyInfo, AdminError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    with_timeout(fetch(stream)).await
}

async fn with_timeout(fetch: impl Future<Output = Result<EnvoyInfo, AdminError>>) -> Result<EnvoyInfo, AdminError> {
    tokio::time::timeout(TIMEOUT, fetch)
        .await
        .unwrap_or(Err(AdminError::Timeout))
}

async fn fetch<S>(stream: S) -> Result<EnvoyInfo, AdminError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let info = read_info(&mut sender).await;
    connection.abort();
    info
}

async fn read_info(sender: &mut SendRequest<Empty<Bytes>>) -> Result<EnvoyInfo, AdminError> {
    let server_info = get(sender, "/server_info").await?;
    let stats = get(sender, STATS_PATH).await?;
    Ok(EnvoyInfo {
        envoy: version(&server_info),
        stats: Stats::read(&stats),
    })
}

async fn get(sender: &mut SendRequest<Empty<Bytes>>, path: &'static str) -> Result<Bytes, AdminError> {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = Uri::from_static(path);
    let host = http::HeaderValue::from_static("localhost");
    request.headers_mut().insert(http::header::HOST, host);
    sender.ready().await?;
    let answer = sender.send_request(request).await?;
    match answer.status() {
        StatusCode::OK => Ok(answer.into_body().collect().await?.to_bytes()),
        status => Err(AdminError::Status { path, status }),
    }
}

/// `hash/1.36.2/Clean/RELEASE/BoringSSL` in `/server_info`.
fn version(info: &[u8]) -> String {
    let info: Value = serde_json::from_slice(info).unwrap_or_default();
    let version = info.get("version").and_then(Value::as_str).unwrap_or_default();
    version.split('/').nth(1).unwrap_or_default().to_owned()
}
