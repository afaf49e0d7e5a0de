//! A control plane, and a proxy that serves its metrics APIs.

mod proxy;
mod registered;
mod upstream;

use std::time::Duration;

use burst_testkit::{ControlPlane, Controllers, Process, Version, port};

pub(crate) use self::proxy::Proxy;

/// The API server looks at an aggregated API every 30 s, and the machine does other things as well.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The metrics APIs at work.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) proxy: Proxy,
    /// The way on which the filter reads the cluster.
    _api: Process,
    pub(crate) cluster: ControlPlane,
}

impl Stage {
    /// All of it on that Envoy, once the API server says that the APIs are available; with `more` keys in the
    /// configuration of the filter.
    #[track_caller]
    pub(crate) fn with(version: Version, controllers: Controllers, more: &str) -> Self {
        let mut cluster = ControlPlane::start_aggregating();
        cluster.start_controllers(controllers);
        let api_port = port::free();
        let api = cluster.kubectl_proxy(api_port);
        let proxy = Proxy::start(version, &cluster, api_port, more);
        registered::register(&cluster, &proxy);
        Self {
            proxy,
            _api: api,
            cluster,
        }
    }
}
