//! `burstctl proxy`: the lists that the filter reads, from any cluster of a kubeconfig, as plain HTTP on loopback.
//!
//! The credentials stay in this process, and with them everything else they are good for: only a GET of one of those
//! lists gets through, and only from this machine.

mod allowed;
mod answer;
mod listener;
mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burst_model::config::{Artifact, Config, ConfigError};
use burst_model::kube::Source;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::live::{self, LiveError};
use crate::plugin;
use upstream::Upstream;

/// Why there is no proxy.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// No such context, or credentials that cannot be used.
    #[error(transparent)]
    Cluster(#[from] LiveError),
    /// It would speak for the kubeconfig to everyone who reaches that address.
    #[error("{0} is not on loopback; listen on 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// The address is taken, or not there.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// Where.
        addr: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

/// A proxy at work; dropping it closes it and every connection it has.
pub struct Proxy {
    addr: SocketAddr,
    server: String,
    passed: Arc<AtomicU64>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Reads the kubeconfig, where an empty context is the current one, and listens on `addr` (port 0 takes a free one).
    /// The cluster is not asked before somebody asks.
    ///
    /// # Errors
    /// If there is no such context, or the address cannot be had or is not on loopback.
    pub async fn start(context: &str, addr: SocketAddr, sources: Vec<Source>) -> Result<Self, ProxyError> {
        if !addr.ip().is_loopback() {
            return Err(ProxyError::NotLoopback(addr));
        }
        let config = live::config(context).await?;
        let server = config.cluster_url.to_string();
        let upstream = Upstream::new(config, sources).map_err(LiveError::from)?;
        let passed = upstream.passed();
        let refused = |source| ProxyError::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(refused)?;
        let addr = listener.local_addr().map_err(refused)?;
        let accepting = tokio::spawn(listener::accept(listener, Arc::new(upstream)));
        Ok(Self {
            addr,
            server,
            passed,
            accepting,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The API server it speaks to.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Requests that were passed on.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// What a filter with this configuration reads, in JSON; `None` is one that is told nothing.
///
/// # Errors
/// What the filter would say of the configuration, or that it reads no cluster.
pub fn sources(config: Option<&[u8]>) -> Result<Vec<Source>, NoSources> {
    let config = config.unwrap_or(br#"{"cluster": "kube_api"}"#);
    let config = Config::parse(config, Artifact::Full)?;
    plugin::reads_a_cluster(&config)?;
    Ok(config.content.sources)
}

/// Why a configuration does not say what to list.
#[derive(Debug, thiserror::Error)]
pub enum NoSources {
    /// The filter refuses it.
    #[error(transparent)]
    Bad(#[from] ConfigError),
    /// It reads a hub.
    #[error(transparent)]
    Hub(#[from] plugin::Refused),
}
