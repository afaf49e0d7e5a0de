//! A mesh: a control plane, istiod, the shop, and proxies in front of it.

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

/// From an object to its effect in a proxy: istiod waits 100 ms for more, and a first module is compiled.
pub(crate) const SOON: Duration = Duration::from_secs(120);

/// Several requests at once, each after the answer to the one before.
const CLIENTS: usize = 3;

/// Enough requests that each client sends some to each worker.
pub(crate) const SOME: usize = 100;

/// The address by which istiod knows the gateway's pod. The shop's programs have another.
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

    /// One whose istiod has these environment variables more.
    pub(crate) fn start_with(environment: &[(&str, &str)]) -> Self {
        Self::on(ControlPlane::start(), environment)
    }

    /// The same on that control plane.
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

    /// An ingress gateway as Istio's charts make it, with a `Gateway` for every host on a port of its own.
    pub(crate) fn ingress(&self, version: Version) -> Ingress {
        self.gateway(version, "ingressgateway", "istio-system", open_gateway)
    }

    /// A gateway whose pod has that label `istio`, and what makes it listen on a port.
    pub(crate) fn gateway(
        &self,
        version: Version,
        label: &str,
        namespace: &str,
        listens: impl FnOnce(&str, &str, u16) -> String,
    ) -> Ingress {
        let port = port::free();
        self.cluster.apply(&listens(label, namespace, port));
        let node = Node::gateway(label, namespace, &json!({"istio": label})).at(GATEWAY);
        let envoy = Envoy::of(version).workers(2).start(&self.istiod.bootstrap(&node));
        let url = format!("http://127.0.0.1:{port}");
        Ingress { envoy, url }
    }

    /// What the ingress gateway's pod has.
    pub(crate) fn ingress_pod(&self) -> Pod {
        Pod::new(&self.cluster, "istio-ingressgateway", "istio-system")
    }
}

/// For every host, on the gateways with that label.
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

/// A proxy, and where it serves.
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

    /// Clients of `/` of a host, over new connections; every answer has to be 200.
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

    /// Waits until a path of a host is answered so.
    #[track_caller]
    pub(crate) fn wait_for(&self, host: &str, path: &str, what: &str, wanted: impl Fn(&Answer) -> bool) -> Answer {
        wait::for_ok(SOON, &format!("{host}{path}: {what}"), || {
            self.asked(host, path, &wanted)
        })
    }

    /// Waits until every worker answers so, and gives what the last of them said.
    #[track_caller]
    pub(crate) fn wait_for_every(
        &self,
        host: &str,
        path: &str,
        what: &str,
        wanted: impl Fn(&Answer) -> bool,
    ) -> Answer {
        wait::for_every_worker(SOON, &format!("{host}{path}: {what}"), || {
            self.asked(host, path, &wanted)
        })
    }

    fn asked(&self, host: &str, path: &str, wanted: &impl Fn(&Answer) -> bool) -> Result<Answer, String> {
        let answer = self.get(host, path)?;
        if wanted(&answer) {
            Ok(answer)
        } else {
            Err(format!("{answer:?}"))
        }
    }

    /// Waits until responses of every worker have that header, or none.
    #[track_caller]
    pub(crate) fn wait_for_header(&self, host: &str, path: &str, value: Option<&str>) -> Answer {
        self.wait_for_every(host, path, &format!("x-burst is {value:?}"), |answer| {
            answer.status == 200 && answer.header("x-burst") == value
        })
    }
}
