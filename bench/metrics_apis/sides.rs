//! Who is asked: the filter in a real Envoy, the adapter, and an Envoy that has the filter's answers ready.

use std::{net::SocketAddr, time::Duration};

use burst_lab::{api::KubeApi, server::Server};
use burst_testkit::{ControlPlane, Envoy, Version, http::Tls, port, wait};
use tokio::runtime::Runtime;

use crate::{
    process::resident,
    rows::{ALL, SERIES, Side},
    seed,
    table::Table,
};
use burst_testkit::metrics_apis::{Proxy, Stage, adapter::Adapter, shop::NAMESPACE};

const USER: (&str, &str) = ("x-remote-user", "system:admin");
const GROUP: (&str, &str) = ("x-remote-group", "system:masters");

/// The cluster is read once: what reading it costs is another question than what an answer costs.
const KEYS: &str = r#""poll_interval": "3600s", "max_staleness": "7200s", "#;

/// For the filter to read tens of thousands of objects on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// All of them, with as many objects.
pub(crate) struct Sides {
    stage: Stage,
    adapter: Adapter,
    client: Tls,
    /// The filter's Envoy with another filter in its place.
    without: Envoy,
    /// The same, with what the filter answered as the answers of its routes.
    ready_made: Envoy,
    ready_made_at: SocketAddr,
    pub(crate) objects: usize,
    _api: Server,
    _runtime: Runtime,
}

impl Sides {
    pub(crate) fn start(objects: usize) -> Self {
        eprintln!("starting a control plane, Envoys and an adapter");
        let runtime = Runtime::new().expect("a runtime");
        let anywhere = ([127, 0, 0, 1], 0).into();
        let api = KubeApi::new(seed::cluster(objects));
        let api = runtime.block_on(Server::start(anywhere, api)).expect("a listener");
        let cluster = ControlPlane::start_aggregating();
        cluster.apply(&format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: {NAMESPACE}}}}}"
        ));
        let proxy = Proxy::start(Version::Tested, &cluster, api.addr().port(), KEYS);
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
        seed::tell(&adapter, objects);
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

    /// Asks for values, of which there have to be as many.
    pub(crate) fn ask(&self, side: Side, path: &str, count: usize) {
        let address = match side {
            Side::Filter => self.stage.proxy.address,
            Side::Adapter => self.adapter.address,
            Side::ReadyMade => self.ready_made_at,
        };
        values(&self.client, address, path, count).unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn process(&self, side: Side) -> u32 {
        match side {
            Side::Filter => self.stage.proxy.envoy.id(),
            Side::Adapter => self.adapter.id(),
            Side::ReadyMade => self.ready_made.id(),
        }
    }

    /// What each holds after all the questions.
    pub(crate) fn footprint(&self, table: &mut Table) {
        let [with, without, adapter] = [self.process(Side::Filter), self.without.id(), self.adapter.id()].map(resident);
        table.memory("Envoy with the filter", with);
        table.memory("Envoy without it", without);
        table.memory("filter: the difference", with.saturating_sub(without));
        table.memory("adapter", adapter);
    }
}

/// The body of an answer with as many values.
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

/// The same Envoy with a filter in the place of ours that does nothing, and with those answers ready: of the custom API
/// and of the external one.
fn without_filter(proxy: &Proxy, ready: Option<&[String; 2]>) -> Envoy {
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
