//! A control plane, and a proxy that serves its metrics APIs.

pub(crate) mod adapter;
mod pods;
mod proxy;
mod registered;
pub(crate) mod shop;
pub(crate) mod traffic;
mod upstream;
pub(crate) mod workers;

use std::time::Duration;

use burst_testkit::{ControlPlane, Controllers, Process, Version, port};

pub(crate) use self::{
    proxy::Proxy,
    registered::{API_SERVICES, wait_until_available},
};

/// The API server looks at an aggregated API every 30 s, and the machine does other things as well.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The metrics APIs at work.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) proxy: Proxy,
    /// The way on which the filter reads the cluster; without it the API is away for the filter and for nobody else.
    pub(crate) api: Option<Process>,
    pub(crate) api_port: u16,
    pub(crate) cluster: ControlPlane,
}

impl Stage {
    /// All of it, once the API server says that the APIs are available.
    #[track_caller]
    pub(crate) fn start(controllers: Controllers) -> Self {
        Self::with(Version::Tested, controllers, "")
    }

    /// The same on that Envoy, with `more` keys in the configuration of the filter.
    #[track_caller]
    pub(crate) fn with(version: Version, controllers: Controllers, more: &str) -> Self {
        let mut cluster = ControlPlane::start_aggregating();
        cluster.start_controllers(controllers);
        let api_port = port::free();
        let api = Some(cluster.kubectl_proxy(api_port));
        let proxy = Proxy::start(
            version,
            &cluster,
            api_port,
            &format!(r#""sync": {{"mode": "list"}}, "poll_interval": "1s", {more}"#),
        );
        registered::register(&cluster, &proxy);
        Self {
            proxy,
            api,
            api_port,
            cluster,
        }
    }

    /// `kubectl get --raw` through the aggregator.
    ///
    /// # Errors
    /// What kubectl said.
    pub(crate) fn raw(&self, path: &str) -> Result<String, String> {
        self.cluster.try_kubectl(&["get", "--raw", path], "")
    }
}
