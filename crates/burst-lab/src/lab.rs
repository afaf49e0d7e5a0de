//! The stand-in Kubernetes API and the sample services together, as one process serves them.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::api::KubeApi;
use crate::cluster::Cluster;
use crate::sample::Load;
use crate::server::Server;
use crate::services::SampleServices;

/// Where a Kubernetes API usually is when `kubectl proxy` brings it to a machine.
pub const API_ADDR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8001);
/// Next to it.
pub const SERVICES_ADDR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8002);

/// An HPA controller looks every 15 s; one second makes the numbers move while someone watches.
const LOAD_STEP: Duration = Duration::from_secs(1);

/// Both listeners at work; dropping it ends them.
pub struct Lab {
    /// The API with its handles.
    pub api: KubeApi,
    kube: Server,
    services: Server,
    load: Option<JoinHandle<()>>,
}

impl Lab {
    /// Listens on both addresses (port 0 takes a free one). The objects stay as they are until
    /// [`Lab::vary_load`].
    ///
    /// # Errors
    /// An address cannot be bound; the error names it.
    pub async fn start(cluster: Cluster, api: SocketAddr, services: SocketAddr) -> io::Result<Lab> {
        let answering = KubeApi::new(cluster.clone());
        let kube = Server::start(api, answering.clone()).await?;
        let services = Server::start(services, SampleServices::new(cluster)).await?;
        Ok(Lab {
            api: answering,
            kube,
            services,
            load: None,
        })
    }

    /// From now on every HPA's replicas rise and fall; the answer tells how, and since when.
    pub fn vary_load(&mut self) -> (Load, Instant) {
        let (cluster, started) = (self.api.cluster.clone(), Instant::now());
        let load = Load::of_hpas(&cluster);
        let moving = load.clone();
        let task = tokio::spawn(async move {
            let mut steps = interval(LOAD_STEP);
            steps.set_missed_tick_behavior(MissedTickBehavior::Skip);
            loop {
                steps.tick().await;
                moving.apply(&cluster, started.elapsed());
            }
        });
        if let Some(before) = self.load.replace(task) {
            before.abort();
        }
        (load, started)
    }

    /// Where the Kubernetes API listens.
    pub fn api_addr(&self) -> SocketAddr {
        self.kube.addr()
    }

    /// Where the sample services listen.
    pub fn services_addr(&self) -> SocketAddr {
        self.services.addr()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(load) = &self.load {
            load.abort();
        }
    }
}
