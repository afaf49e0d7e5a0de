//! A mesh: a control plane, istiod, the shop, and the proxies in front of it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use burst_testkit::{
    ControlPlane, Envoy, Istiod, Node, Traffic, TrafficBuilder, Version,
    http::{self, Answer, Request},
    port, wait,
};
use serde_json::json;

use crate::{shipped::Pod, shop};

/// The time from an object to its effect in a proxy. istiod waits 100 ms for further changes, and the proxy compiles
/// the first module.
pub(crate) const SOON: Duration = Duration::from_secs(120);

/// Concurrent clients. Each sends its next request after it has an answer.
const CLIENTS: usize = 3;

/// Enough requests that each client reaches each worker.
pub(crate) const SOME: usize = 100;

/// The address of the gateway's pod in istiod. The shop's programs have other addresses.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

/// A running mesh.
#[derive(Debug)]
pub(crate) struct Mesh {
    pub(crate) istiod: Istiod,
    pub(crate) programs: Envoy,
    pub(crate) cluster: ControlPlane,
}

impl Mesh {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// A mesh whose istiod has additional environment variables.
    pub(crate) fn start_with(environment: &[(&str, &str)]) -> Self {
        Self::on(ControlPlane::start(), environment)
    }

    /// The same, with that control plane.
    pub(crate) fn on(cluster: ControlPlane, environment: &[(&str, &str)]) -> Self {
        let istiod = Istiod::start_with(&cluster, environment);
        let programs = shop::start();
        shop::create(&cluster, &programs);
        Self {
            istiod,
            programs,
            cluster,
        }
    }

    /// An ingress gateway as Istio's charts install it, with a `Gateway` for every host on its own port.
    pub(crate) fn ingress(&self, version: Version) -> Ingress {
        self.gateway(version, "ingressgateway", "istio-system", open_gateway)
    }

    /// A gateway whose pod has that `istio` label, with the objects that open its port.
    pub(crate) fn gateway(
        &self,
        version: Version,
        label: &str,
        namespace: &str,
        listens: impl FnOnce(&str, &str, u16) -> String,
    ) -> Ingress {
        self.gateway_of(version, label, namespace, listens, |node| node)
    }

    /// An ingress gateway that gets its configuration as one with Istio's agent does: the changes only.
    pub(crate) fn incremental_ingress(&self, version: Version) -> Ingress {
        self.gateway_of(
            version,
            "ingressgateway",
            "istio-system",
            open_gateway,
            Node::incremental,
        )
    }

    fn gateway_of(
        &self,
        version: Version,
        label: &str,
        namespace: &str,
        listens: impl FnOnce(&str, &str, u16) -> String,
        adapt: impl FnOnce(Node) -> Node,
    ) -> Ingress {
        let port = port::free();
        self.cluster.apply(&listens(label, namespace, port));
        let node = adapt(Node::gateway(label, namespace, &json!({"istio": label})).at(GATEWAY));
        let envoy = Envoy::of(version).workers(2).start(&self.istiod.bootstrap(&node));
        let url = format!("http://127.0.0.1:{port}");
        Ingress { envoy, url }
    }

    /// The files of the ingress gateway's pod.
    pub(crate) fn ingress_pod(&self) -> Pod {
        Pod::new(&self.cluster, "istio-ingressgateway", "istio-system")
    }
}

/// A `Gateway` for every host, on the gateways with that label.
pub(crate) fn open_gateway(label: &str, namespace: &str, port: u16) -> String {
    format!(
        "
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {{name: public, namespace: {namespace}}}
spec:
  selector: {{istio: {label}}}
  servers: [{{port: {{number: {port}, name: http, protocol: HTTP}}, bind: 127.0.0.1, hosts: ['*']}}]
"
    )
}

/// A proxy and its port.
#[derive(Debug)]
pub(crate) struct Ingress {
    pub(crate) envoy: Envoy,
    pub(crate) url: String,
}

impl Ingress {
    /// The address of its listener.
    pub(crate) fn address(&self) -> SocketAddr {
        let address = self
            .url
            .strip_prefix("http://")
            .and_then(|address| address.parse().ok());
        address.expect("a URL of an address")
    }

    /// Clients that request `/` of a host over new connections. Every answer must be a 200.
    pub(crate) fn traffic(&self, host: &str) -> TrafficBuilder {
        Traffic::to(self.address(), Request::get("/").host(host))
            .clients(CLIENTS)
            .new_connections()
            .expecting(|answer| answer.status == 200)
    }

    /// GETs a path of a host.
    pub(crate) fn get(&self, host: &str, path: &str) -> Result<Answer, String> {
        let url = format!("{}{path}", self.url);
        http::try_send("GET", &url, &[("host", host)]).map_err(|error| error.to_string())
    }

    /// Waits until the answer for a path of a host satisfies the condition.
    #[track_caller]
    pub(crate) fn wait_for(&self, host: &str, path: &str, what: &str, wanted: impl Fn(&Answer) -> bool) -> Answer {
        wait::for_ok(SOON, &format!("{host}{path}: {what}"), || {
            self.get_if(host, path, &wanted)
        })
    }

    /// Waits until every worker's answer satisfies the condition, and returns the last answer.
    #[track_caller]
    pub(crate) fn wait_for_every(
        &self,
        host: &str,
        path: &str,
        what: &str,
        wanted: impl Fn(&Answer) -> bool,
    ) -> Answer {
        wait::for_every_worker(SOON, &format!("{host}{path}: {what}"), || {
            self.get_if(host, path, &wanted)
        })
    }

    fn get_if(&self, host: &str, path: &str, wanted: &impl Fn(&Answer) -> bool) -> Result<Answer, String> {
        let answer = self.get(host, path)?;
        if wanted(&answer) {
            Ok(answer)
        } else {
            Err(format!("{answer:?}"))
        }
    }

    /// Waits until the responses of every worker have that header, or have none.
    #[track_caller]
    pub(crate) fn wait_for_header(&self, host: &str, path: &str, value: Option<&str>) -> Answer {
        self.wait_for_every(host, path, &format!("x-burst is {value:?}"), |answer| {
            answer.status == 200 && answer.header("x-burst") == value
        })
    }
}
