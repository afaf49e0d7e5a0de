//! What stands behind Envoy: the sample cluster, or one of the kubeconfig.

use std::error::Error;
use std::net::SocketAddr;

use burst_lab::lab::Lab;
use burst_lab::sample;
#[cfg(feature = "context")]
use burstctl::proxy::{self, Proxy};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::dashboard::Dashboard;
use super::{Update, traffic};
use crate::args::Run;

/// What stands behind Envoy.
pub(super) enum Backend {
    /// The stand-in and its services.
    Sample(Lab),
    /// A cluster, through a proxy that only reads.
    #[cfg(feature = "context")]
    Cluster(Proxy),
}

impl Backend {
    pub(super) async fn start(options: &Run) -> Result<Self, Box<dyn Error>> {
        #[cfg(feature = "context")]
        if let Some(context) = &options.context {
            let proxy = Proxy::start(context, options.lab.api, proxy::sources(None)?).await?;
            return Ok(Self::Cluster(proxy));
        }
        let lab = Lab::start(sample::cluster()?, options.lab.api, options.lab.services).await?;
        Ok(Self::Sample(lab))
    }

    /// Begins to move, and to be asked about through Envoy; until the answer is dropped.
    pub(super) fn start_traffic(
        &mut self,
        envoy: SocketAddr,
        updates: &mpsc::UnboundedSender<Update>,
    ) -> (Dashboard, JoinSet<()>) {
        match self {
            Self::Sample(lab) => {
                let load = lab.vary_load();
                let services = sample::services(&lab.api.cluster);
                let traffic = traffic::start(&services, envoy, &load, updates);
                (Dashboard::new(&services), traffic)
            }
            #[cfg(feature = "context")]
            Self::Cluster(_) => (Dashboard::new(&[]), super::snapshot_client::start(envoy, updates)),
        }
    }

    /// A host that Envoy has a route for.
    pub(super) fn host(&self) -> Option<String> {
        match self {
            Self::Sample(lab) => sample::services(&lab.api.cluster).first().map(sample::Service::host),
            #[cfg(feature = "context")]
            Self::Cluster(_) => None,
        }
    }

    /// Where the Kubernetes API is.
    pub(super) fn api(&self) -> String {
        match self {
            Self::Sample(lab) => lab.api_addr().to_string(),
            #[cfg(feature = "context")]
            Self::Cluster(proxy) => proxy.server().trim_end_matches('/').to_owned(),
        }
    }

    /// Requests that the Kubernetes API got from Envoy.
    pub(super) fn api_requests(&self) -> u64 {
        match self {
            Self::Sample(lab) => lab.api.requests.counts().total,
            #[cfg(feature = "context")]
            Self::Cluster(proxy) => proxy.forwarded(),
        }
    }
}
