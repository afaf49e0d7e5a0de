//! `burstctl proxy`: serves the lists that the filter reads from a cluster of your kubeconfig, as plain HTTP on
//! loopback.
//!
//! The credentials never leave this process. The proxy only forwards a GET of one of those lists, and only from this
//! machine.

mod allowlist;
mod listener;
mod response;
mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burst_model::config::{Artifact, Config, ConfigError};
use burst_model::kube::Source;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::args::ClusterArgs;
use crate::live::{self, LiveError};
use crate::plugin_config;
use upstream::Upstream;

/// Why the proxy could not start.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The context does not exist, or its credentials cannot be used.
    #[error(transparent)]
    Cluster(#[from] LiveError),
    /// The address is not on loopback, so other machines could use the credentials of the kubeconfig.
    #[error("{0} is not on loopback; listen on 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// The address is in use or not available.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// A running proxy. Dropping it closes the listener and every connection.
pub struct Proxy {
    addr: SocketAddr,
    server: String,
    forwarded: Arc<AtomicU64>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Reads the kubeconfig and listens on `addr`. An empty context is the current one, and port 0 takes a free port.
    ///
    /// # Errors
    /// The errors of [`start_with`](Self::start_with).
    pub async fn start(context: &str, addr: SocketAddr, sources: Vec<Source>) -> Result<Self, ProxyError> {
        Self::start_with(&ClusterArgs::of_context(context), addr, sources).await
    }

    /// Reads the kubeconfig of the arguments and listens on `addr`. Port 0 takes a free port.
    /// The proxy does not contact the cluster before the first request.
    ///
    /// # Errors
    /// Returns an error if the context cannot be used, or if the address is not available or not on loopback.
    pub async fn start_with(args: &ClusterArgs, addr: SocketAddr, sources: Vec<Source>) -> Result<Self, ProxyError> {
        if !addr.ip().is_loopback() {
            return Err(ProxyError::NotLoopback(addr));
        }
        let config = live::config(args).await?;
        let server = config.cluster_url.to_string();
        let upstream = Upstream::new(config, sources).map_err(LiveError::from)?;
        let forwarded = upstream.forwarded();
        let listen_error = |source| ProxyError::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(listen_error)?;
        let addr = listener.local_addr().map_err(listen_error)?;
        let accepting = tokio::spawn(listener::accept(listener, Arc::new(upstream)));
        Ok(Self {
            addr,
            server,
            forwarded,
            accepting,
        })
    }

    /// Returns the address that the proxy listens on.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the URL of the API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the number of requests that were forwarded.
    #[must_use]
    pub fn forwarded(&self) -> u64 {
        self.forwarded.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Returns the lists that a filter with this JSON configuration reads. `None` is the default configuration.
///
/// # Errors
/// Returns an error if the filter would reject the configuration, or if the filter would read a hub.
pub fn sources(config: Option<&[u8]>) -> Result<Vec<Source>, SourcesError> {
    let json = config.unwrap_or(br#"{"cluster": "kube_api"}"#);
    let config = Config::parse(json, Artifact::Full)?;
    plugin_config::require_cluster_source(&config)?;
    Ok(config.sources().cloned().collect())
}

/// Why a configuration has no lists to serve.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// The filter rejects the configuration.
    #[error(transparent)]
    Bad(#[from] ConfigError),
    /// The filter reads a hub, not a cluster.
    #[error(transparent)]
    Hub(#[from] plugin_config::InvalidConfig),
}
