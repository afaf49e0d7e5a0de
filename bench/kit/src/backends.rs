//! The servers behind a measured proxy: a simulated API server, and an upstream.

use burst_lab::{api::KubeApi, server::Server};
use burst_testkit::Envoy;
use tokio::runtime::Runtime;

use crate::{
    FixtureCluster,
    proxy::{self, Ports},
};

/// Both run until this is dropped.
pub struct Backends {
    /// The objects that the API server serves.
    pub cluster: FixtureCluster,
    api: Server,
    upstream: Envoy,
    _runtime: Runtime,
}

impl Backends {
    /// Starts an API server with so many Services, and an upstream.
    ///
    /// # Panics
    /// If one of them does not start.
    #[must_use]
    pub fn start(services: usize) -> Self {
        eprintln!("making {services} Services");
        let cluster = FixtureCluster::new(services);
        let runtime = Runtime::new().expect("a runtime");
        let any_port = ([127, 0, 0, 1], 0).into();
        let api = Server::start(any_port, KubeApi::new(cluster.cluster.clone()));
        let api = runtime.block_on(api).expect("a listener");
        Self {
            cluster,
            api,
            upstream: proxy::start_upstream(),
            _runtime: runtime,
        }
    }

    /// Returns where a proxy finds them.
    #[must_use]
    pub fn ports(&self) -> Ports {
        Ports {
            api: self.api.addr().port(),
            upstream: proxy::address(&self.upstream).port(),
        }
    }
}
