//! A control plane, and a proxy that serves its metrics APIs.

pub mod adapter;
mod pods;
mod proxy;
mod registered;
pub mod review_server;
pub mod shop;
mod upstream;
pub mod workers;

use std::time::Duration;

use crate::{ControlPlane, Controllers, Process, Version, port, wait};

pub use self::{
    proxy::{Example, MetricsProxy, SERVER},
    registered::{API_SERVICES, wait_until_available},
};

/// The API server checks an aggregated API every 30 s, and the machine is busy.
pub const SOON: Duration = Duration::from_secs(120);

/// The metrics APIs at work.
pub struct Stage {
    /// The proxy that serves the metrics APIs.
    pub proxy: MetricsProxy,
    /// `kubectl proxy`, through which the filter reads the cluster: without it only the filter cannot reach the API.
    pub api: Option<Process>,
    /// The port of `kubectl proxy`.
    pub api_port: u16,
    /// The control plane.
    pub cluster: ControlPlane,
}

impl Stage {
    /// All of it, once the API server says that the APIs are available.
    #[track_caller]
    pub fn start(controllers: Controllers) -> Self {
        Self::with(Version::Tested, controllers, "")
    }

    /// The same on that Envoy, with `more` keys in the configuration of the filter.
    #[track_caller]
    pub fn with(version: Version, controllers: Controllers, more: &str) -> Self {
        Self::of(version, controllers, more, |_| Example::unchanged())
    }

    /// The same with more keys of `metrics_apis`, too.
    #[track_caller]
    pub fn with_apis(version: Version, controllers: Controllers, more: &str, of_apis: &str) -> Self {
        let keys = format!(r#""metrics_apis": {{{of_apis}"#);
        let example = Example {
            changes: vec![(r#""metrics_apis": {"#, keys)],
            ..Example::unchanged()
        };
        Self::of(version, controllers, more, |_| example)
    }

    /// The same with another example, which may need something of the cluster.
    #[track_caller]
    pub fn of(
        version: Version,
        controllers: Controllers,
        more: &str,
        example: impl FnOnce(&ControlPlane) -> Example,
    ) -> Self {
        let mut cluster = ControlPlane::start_aggregating();
        cluster.start_controllers(controllers);
        let api_port = port::free();
        let api = Some(cluster.kubectl_proxy(api_port));
        let proxy = MetricsProxy::of(
            version,
            &cluster,
            api_port,
            &format!(r#""sync": {{"mode": "list"}}, "poll_interval": "1s", {more}"#),
            &example(&cluster),
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
    pub fn raw(&self, path: &str) -> Result<String, String> {
        self.cluster.try_kubectl(&["get", "--raw", path], "")
    }

    /// Waits until every worker has read the shop, observed: one may be a second behind the other.
    #[track_caller]
    pub fn wait_for_the_shop(&self) {
        let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/burst_current_load";
        let certificate = self.cluster.front_proxy().client("front-proxy-client", None);
        let client = self.proxy.client(Some(&certificate));
        let user = [("x-remote-user", "system:admin"), ("x-remote-group", "system:masters")];
        wait::for_every_worker(SOON, "the shop on every worker", || {
            let answer = self.proxy.try_ask(&client, path, &user)?;
            if answer.body.matches("metricName").count() == shop::SERVICES.len() {
                Ok(())
            } else {
                Err(format!("{answer:?}"))
            }
        });
    }
}
