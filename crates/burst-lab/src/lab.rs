//! The simulated Kubernetes API and the sample services in one process.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::api::KubeApi;
use crate::autoscaler::Autoscaler;
use crate::cluster::Cluster;
use crate::sample::Load;
use crate::server::Server;
use crate::services::SampleServices;

/// The default address of `kubectl proxy`.
pub const API_ADDR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8001);
/// The next port.
pub const SERVICES_ADDR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8002);

/// The HPA controller syncs every 15 s; one second makes the changes visible.
const LOAD_STEP: Duration = Duration::from_secs(1);

/// The running servers; dropping it stops them.
pub struct Lab {
    /// The API, to change its objects, faults and rules.
    pub api: KubeApi,
    kube: Server,
    services: Server,
    load: Option<JoinHandle<()>>,
}

impl Lab {
    /// Listens on both addresses (port 0 chooses a free port). The replicas stay constant until [`Lab::vary_load`], and a
    /// service answers any number of requests.
    ///
    /// # Errors
    /// An address cannot be bound; the message contains it.
    pub async fn start(cluster: Cluster, api: SocketAddr, services: SocketAddr) -> io::Result<Lab> {
        let handler = SampleServices::new(cluster.clone());
        Lab::serve(cluster, api, services, handler).await
    }

    /// The same, but a service answers only what its replicas can (see [`crate::capacity`]), and the replicas follow its
    /// requests.
    ///
    /// # Errors
    /// As [`Lab::start`].
    pub async fn start_autoscaled(cluster: Cluster, api: SocketAddr, services: SocketAddr) -> io::Result<Lab> {
        let handler = SampleServices::with_capacity(cluster.clone());
        let mut lab = Lab::serve(cluster, api, services, handler.clone()).await?;
        let mut autoscaler = Autoscaler::default();
        lab.each_step(move || handler.scale(&mut autoscaler));
        Ok(lab)
    }

    async fn serve(
        cluster: Cluster,
        api: SocketAddr,
        services: SocketAddr,
        handler: SampleServices,
    ) -> io::Result<Lab> {
        let answering = KubeApi::new(cluster);
        let kube = Server::start(api, answering.clone()).await?;
        let services = Server::start(services, handler).await?;
        Ok(Lab {
            api: answering,
            kube,
            services,
            load: None,
        })
    }

    /// Starts to vary the replicas of every HPA, whatever the services receive.
    pub fn vary_load(&mut self) {
        let (cluster, started) = (self.api.cluster.clone(), Instant::now());
        let load = Load::of_hpas(&cluster);
        self.each_step(move || load.apply(&cluster, started.elapsed()));
    }

    /// Replaces what changes the replicas.
    fn each_step(&mut self, mut change: impl FnMut() + Send + 'static) {
        let task = tokio::spawn(async move {
            let mut steps = interval(LOAD_STEP);
            steps.set_missed_tick_behavior(MissedTickBehavior::Skip);
            loop {
                steps.tick().await;
                change();
            }
        });
        if let Some(before) = self.load.replace(task) {
            before.abort();
        }
    }

    /// Returns the address of the Kubernetes API.
    pub fn api_addr(&self) -> SocketAddr {
        self.kube.addr()
    }

    /// Returns the address of the sample services.
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
