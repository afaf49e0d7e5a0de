//! The contenders: the filter in a real Envoy, the adapter, and an Envoy that has the filter's answers as direct responses.

use std::net::SocketAddr;

use burst_bench_kit::{Table, process::resident_bytes, proxy::PATIENCE};
use burst_lab::{api::KubeApi, server::Server};
use burst_testkit::{ControlPlane, Envoy, Version, http::Tls, port, wait};
use tokio::runtime::Runtime;

use crate::{
    rows::{ALL, Contender, SERIES},
    seed,
};
use burst_testkit::metrics_apis::{MetricsProxy, Stage, adapter::Adapter, shop::NAMESPACE};

const USER: (&str, &str) = ("x-remote-user", "system:admin");
const GROUP: (&str, &str) = ("x-remote-group", "system:masters");

/// The filter reads the cluster once, before the measurement.
const KEYS: &str = r#""poll_interval": "3600s", "max_staleness": "7200s", "#;

/// All of them, with the same objects.
pub(crate) struct Contenders {
    stage: Stage,
    adapter: Adapter,
    client: Tls,
    /// An Envoy like the filter's, with another filter in its place.
    without: Envoy,
    /// The same, with the filter's answers as direct responses.
    ready_made: Envoy,
    ready_made_at: SocketAddr,
    pub(crate) objects: usize,
    _api: Server,
    _runtime: Runtime,
}

impl Contenders {
    pub(crate) fn start(objects: usize) -> Self {
        eprintln!("starting a control plane, Envoys and an adapter");
        let runtime = Runtime::new().expect("a runtime");
        let any_port = ([127, 0, 0, 1], 0).into();
        let api = KubeApi::new(seed::cluster(objects));
        let api = runtime.block_on(Server::start(any_port, api)).expect("a listener");
        let cluster = ControlPlane::start_aggregating();
        cluster.apply(&format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: {NAMESPACE}}}}}"
        ));
        let proxy = MetricsProxy::start(Version::Tested, &cluster, api.addr().port(), KEYS);
        let without = without_filter(&proxy, None);
        let certificate = cluster.front_proxy().client("front-proxy-client", None);
        let client = Tls::keeping(&proxy.authority, Some(&certificate));
        let api_port = port::free();
        let stage = Stage {
            proxy,
            api: Some(cluster.kubectl_proxy(api_port)),
            api_port,
            cluster,
        };
        seed::create_services(api_port, objects);
        let adapter = Adapter::start(&stage);
        seed::set_values(&adapter, objects);
        let read = |address, path| wait::for_ok(PATIENCE, path, || values(&client, address, path, objects));
        read(adapter.address, ALL);
        let ready = [ALL, SERIES].map(|path| read(stage.proxy.address, path));
        let ready_made = without_filter(&stage.proxy, Some(&ready));
        Self {
            stage,
            adapter,
            client,
            without,
            ready_made_at: ready_made.listener("metrics-apis"),
            ready_made,
            objects,
            _api: api,
            _runtime: runtime,
        }
    }

    /// Sends a request whose answer has to have `count` values.
    pub(crate) fn request(&self, contender: Contender, path: &str, count: usize) {
        let address = match contender {
            Contender::Filter => self.stage.proxy.address,
            Contender::Adapter => self.adapter.address,
            Contender::ReadyMade => self.ready_made_at,
        };
        values(&self.client, address, path, count).unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn process(&self, contender: Contender) -> u32 {
        match contender {
            Contender::Filter => self.stage.proxy.envoy.id(),
            Contender::Adapter => self.adapter.id(),
            Contender::ReadyMade => self.ready_made.id(),
        }
    }

    /// Reports the memory of each after all requests.
    pub(crate) fn report_memory(&self, table: &mut Table) {
        let [with, without, adapter] =
            [self.process(Contender::Filter), self.without.id(), self.adapter.id()].map(resident_bytes);
        table.memory("Envoy with the filter", with);
        table.memory("Envoy without it", without);
        table.memory("filter: the difference", with.saturating_sub(without));
        table.memory("adapter", adapter);
    }
}

/// Returns the body of an answer, which has to have `count` values.
fn values(client: &Tls, address: SocketAddr, path: &str, count: usize) -> Result<String, String> {
    let url = format!("https://{address}/apis/{path}");
    let answer = client
        .try_send("GET", &url, &[USER, GROUP])
        .map_err(|error| format!("{url}: {error}"))?;
    let found = answer.body.matches(r#""value":"4""#).count();
    if (answer.status, found) == (200, count) {
        Ok(answer.body)
    } else {
        Err(format!("{url}: {found} values: {} {:.300}", answer.status, answer.body))
    }
}

/// Starts the same Envoy with a filter that does nothing in the place of ours. `ready` holds direct responses for the custom
/// and the external metrics API.
fn without_filter(proxy: &MetricsProxy, ready: Option<&[String; 2]>) -> Envoy {
    let path = proxy.envoy.folder().join("bootstrap.yaml");
    let with = std::fs::read_to_string(path).expect("the bootstrap");
    let (before, rest) = with.split_once("- &burst_metrics\n").expect("the filter");
    let (_, after) = rest.split_once("- &router\n").expect("what follows it");
    let mutation = "envoy.extensions.filters.http.header_mutation.v3.HeaderMutation";
    let nothing = format!(r#"{{name: nothing, typed_config: {{"@type": type.googleapis.com/{mutation}}}}}"#);
    let bootstrap = format!("{before}- &burst_metrics {nothing}\n                  - &router\n{after}");
    let envoy = Envoy::of(Version::Tested)
        .argument("--component-log-level")
        .argument("main:warning");
    let Some([custom, external]) = ready else {
        return envoy.start(&bootstrap);
    };
    let route = |api| {
        format!(
            "{{match: {{prefix: /apis/{api}}}, direct_response: {{status: 200, body: {{filename: $FOLDER/{api}}}}}}}"
        )
    };
    let routes = format!(
        "route_config: {{max_direct_response_body_size_bytes: {}, \
         virtual_hosts: [{{name: all, domains: ['*'], routes: [{}, {}]}}]}}",
        custom.len().max(external.len()),
        route("custom"),
        route("external")
    );
    envoy
        .file("custom", custom)
        .file("external", external)
        .start(&bootstrap.replace("route_config: {}", &routes))
}
