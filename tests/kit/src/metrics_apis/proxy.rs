//! `filter-config/12-metrics-apis.yaml` in a real Envoy, with the ports, the module and the certificates of a test.

use std::{fs, net::SocketAddr, time::Duration};

use burst_lab::server::Server;

use crate::{
    Authority, ControlPlane, Credential, Envoy, Traffic, TrafficBuilder, Version,
    http::{Answer, Request, Tls},
    repository, wasm,
};

use super::upstream;

/// The name in the listener's certificate: that of the Service in `istio/metrics-apis/`.
pub const SERVER: &str = "burst-metrics-apis.istio-system.svc";

/// The files that the bootstrap names.
const CERTIFICATE: &str = "metrics-apis.sds.yaml";
const TRUSTED: &str = "request-header-ca.sds.yaml";

/// What makes the example's only Service.
const WEB_RULE: &str = r#"{"name": "web", "service": "shop/web"}"#;
const WEB_ROUTE: &str = "{match: {prefix: /}, route: {cluster: web}}";

/// A running proxy.
pub struct MetricsProxy {
    /// The process.
    pub envoy: Envoy,
    /// The authority of the listener's certificate.
    pub authority: Authority,
    /// The address of the listener for the API server.
    pub address: SocketAddr,
    _upstream: Server,
}

impl MetricsProxy {
    /// One whose filter reads the cluster at that port, with these keys beside those that ship, each with its comma.
    #[track_caller]
    pub fn start(version: Version, cluster: &ControlPlane, api: u16, keys: &str) -> Self {
        Self::of(version, cluster, api, keys, &Example::unchanged())
    }

    /// The same of another example.
    #[track_caller]
    pub fn of(version: Version, cluster: &ControlPlane, api: u16, keys: &str, example: &Example) -> Self {
        let authority = Authority::new("metrics-apis-ca");
        // 127.0.0.1 is for the tests that come without the API server.
        let server = authority.server(SERVER, &[SERVER, "127.0.0.1"]);
        let envoy = Envoy::of(version)
            .argument("--component-log-level")
            .argument("main:warning")
            .file(
                CERTIFICATE,
                &shipped(CERTIFICATE).replace("/etc/metrics-apis", "$FOLDER"),
            )
            .file(TRUSTED, &shipped(TRUSTED).replace("/etc/request-header-ca", "$FOLDER"))
            .file("authority.crt", &authority.pem())
            .file("tls.crt", &server.certificate)
            .file("tls.key", &server.key)
            .file("ca.crt", &cluster.front_proxy().pem());
        let envoy = example
            .files
            .iter()
            .fold(envoy, |envoy, (name, text)| envoy.file(name, text));
        let upstream = upstream::start();
        let envoy = envoy.start(&bootstrap(upstream.addr().port(), api, keys, example));
        let address = envoy.listener("metrics-apis");
        Self {
            envoy,
            authority,
            address,
            _upstream: upstream,
        }
    }

    /// Where the sample's Services are reached.
    pub fn public(&self) -> SocketAddr {
        self.envoy.listener("public")
    }

    /// Clients of the sample's Services, at a pace that a busy machine keeps: 40 requests a second for each path, twice what
    /// any autoscaler wants. Every answer has to be 200.
    #[must_use]
    pub fn traffic(&self, paths: &[&str]) -> Traffic {
        let mut requests = paths.iter().map(Request::get);
        let first = requests.next().expect("a path");
        requests
            .fold(Traffic::to(self.public(), first), TrafficBuilder::and)
            .clients(2)
            .pace(Duration::from_millis(50))
            .new_connections()
            .expecting(|answer| answer.status == 200)
            .start()
    }

    /// A client of the listener for the API server, which shows that certificate.
    pub fn client(&self, shows: Option<&Credential>) -> Tls {
        Tls::new(&self.authority, shows)
    }

    /// What the API server itself would be answered.
    #[track_caller]
    pub fn ask(&self, client: &Tls, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.try_ask(client, path, headers)
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The same where there may be no answer.
    ///
    /// # Errors
    /// Why there is none.
    pub fn try_ask(&self, client: &Tls, path: &str, headers: &[(&str, &str)]) -> Result<Answer, String> {
        let url = format!("https://{}{path}", self.address);
        client.try_send("GET", &url, headers).map_err(|error| error.to_string())
    }
}

/// One of the examples that ship.
#[derive(Debug)]
pub struct Example {
    /// Its name in `filter-config/`.
    pub file: &'static str,
    /// What is written there, and what takes its place here.
    pub changes: Vec<(&'static str, String)>,
    /// Files beside it.
    pub files: Vec<(&'static str, String)>,
}

impl Example {
    /// The metrics APIs by themselves.
    pub fn unchanged() -> Self {
        Self {
            file: "12-metrics-apis.yaml",
            changes: Vec::new(),
            files: Vec::new(),
        }
    }
}

fn shipped(file: &str) -> String {
    let path = repository().join("filter-config").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A second Service beside the one that ships.
fn bootstrap(upstream: u16, api: u16, keys: &str, example: &Example) -> String {
    let endpoint =
        format!("{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {upstream}}}}}}}}}");
    let api_cluster = format!("load_assignment: {{cluster_name: api, endpoints: [{{lb_endpoints: [{endpoint}]}}]}}");
    let module = wasm("burst-metrics.wasm").display().to_string();
    let keys = format!(r#"{keys}"metrics_apis": {{"#);
    let changes = example.changes.iter().map(|(ships, here)| (*ships, here.as_str()));
    [
        ("target/wasm/burst-metrics.wasm", module.as_str()),
        ("filter-config/", "$FOLDER/"),
        ("port_value: 8080}}", "port_value: 0}}\n      name: public"),
        ("port_value: 6443", "port_value: 0"),
        (
            WEB_RULE,
            r#"{"name": "web", "service": "shop/web"}, {"name": "api", "service": "shop/api"}"#,
        ),
        (
            WEB_ROUTE,
            "{match: {prefix: /api}, route: {cluster: api}}, {match: {prefix: /}, route: {cluster: web}}",
        ),
        (
            "    - name: web\n",
            &format!("    - {{name: api, {api_cluster}}}\n    - name: web\n"),
        ),
        ("port_value: 8002", &format!("port_value: {upstream}")),
        ("port_value: 8001", &format!("port_value: {api}")),
        (r#""metrics_apis": {"#, &keys),
    ]
    .into_iter()
    .chain(changes)
    .fold(shipped(example.file), |text, (ships, here)| {
        replaced(&text, ships, here)
    })
}

/// Puts another text in the place of one that has to stand there.
#[track_caller]
fn replaced(text: &str, ships: &str, here: &str) -> String {
    assert!(text.contains(ships), "`{ships}` is not in\n{text}");
    text.replace(ships, here)
}
