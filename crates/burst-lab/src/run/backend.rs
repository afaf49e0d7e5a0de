//! The Kubernetes API behind Envoy: the sample cluster, or a cluster of the kubeconfig.

use std::error::Error;
use std::net::SocketAddr;

use burst_lab::lab::Lab;
use burst_lab::sample::{self, Load};
#[cfg(feature = "context")]
use burstctl::proxy::{self, Proxy};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::dashboard::Dashboard;
use super::envoy::Ports;
use super::{Update, ports, traffic};
use crate::args::Run;

/// The Kubernetes API that Envoy reads.
pub(super) enum Backend {
    /// The simulated API and its sample services.
    Sample(Lab),
    /// A real cluster, through a proxy that only reads.
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
        // Only Envoy needs the port of the services, so any port will do.
        let services = ports::or_any(options.lab.services);
        let lab = Lab::start_autoscaled(sample::cluster()?, options.lab.api, services).await?;
        lab.api.watches.configure(options.watches.config());
        Ok(Self::Sample(lab))
    }

    /// Returns the ports that Envoy has to use.
    pub(super) fn ports(&self, options: &Run) -> Ports {
        match self {
            Self::Sample(lab) => ports::of_envoy(options, lab.api_addr(), Some(lab.services_addr())),
            #[cfg(feature = "context")]
            Self::Cluster(_) => ports::of_envoy(options, options.lab.api, None),
        }
    }

    /// Starts the requests through Envoy. The requests end when the returned tasks are dropped.
    pub(super) fn start_traffic(
        &self,
        envoy: SocketAddr,
        updates: &mpsc::UnboundedSender<Update>,
    ) -> (Dashboard, JoinSet<()>) {
        match self {
            Self::Sample(lab) => {
                let services = sample::services(&lab.api.cluster);
                let load = Load::of_hpas(&lab.api.cluster);
                let traffic = traffic::start(&services, load, envoy, updates);
                (Dashboard::of_services(&services), traffic)
            }
            #[cfg(feature = "context")]
            Self::Cluster(_) => (Dashboard::of_cluster(), super::snapshot_client::start(envoy, updates)),
        }
    }

    /// Returns a host that Envoy has a route for.
    pub(super) fn host(&self) -> Option<String> {
        match self {
            Self::Sample(lab) => sample::services(&lab.api.cluster).first().map(sample::Service::host),
            #[cfg(feature = "context")]
            Self::Cluster(_) => None,
        }
    }

    /// Returns the address of the Kubernetes API.
    pub(super) fn api(&self) -> String {
        match self {
            Self::Sample(lab) => lab.api_addr().to_string(),
            #[cfg(feature = "context")]
            Self::Cluster(proxy) => proxy.server().trim_end_matches('/').to_owned(),
        }
    }

    /// Returns how many requests Envoy has sent to the Kubernetes API.
    pub(super) fn api_requests(&self) -> u64 {
        match self {
            Self::Sample(lab) => lab.api.requests.counts().total,
            #[cfg(feature = "context")]
            Self::Cluster(proxy) => proxy.forwarded(),
        }
    }
}
