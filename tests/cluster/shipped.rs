//! The bootstraps of `filter-config/`, with the ports and paths of the test machine.

use std::{fs, sync::LazyLock};

use burst_lab::server::Server;
use burst_testkit::{
    ControlPlane,
    filter::{Upstream, serve},
    repository, wasm,
};

use crate::{account::Mount, sample::SERVICES};

/// Watches as short as they may be.
pub(crate) const PACE: &str = r#""sync": {"window": "3s", "workload_window": "3s"}"#;

/// A machine with much else to do may take longer than the five seconds that there are otherwise.
const PATIENT: &str = r#""request_timeout": "60s""#;

/// Where a pod has the files of its ServiceAccount.
const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// How the token comes onto the filter's requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Token {
    /// By Envoy's credential injector, for Envoy 1.37 and later.
    Injected,
    /// By a Lua filter, for every Envoy.
    ByLua,
}

impl Token {
    fn file(self) -> &'static str {
        match self {
            Self::Injected => "02-kubernetes-api.yaml",
            Self::ByLua => "03-token-by-lua.yaml",
        }
    }
}

/// The server behind every proxy of these tests: it answers 200 to everything.
static UPSTREAM: LazyLock<Server> = LazyLock::new(|| serve(Upstream));

/// The text of a shipped file.
#[derive(Debug)]
pub(crate) struct Shipped(String);

impl Shipped {
    /// A bootstrap that asks this API server with that account.
    pub(crate) fn bootstrap(token: Token, cluster: &ControlPlane, mount: &Mount) -> Self {
        let module = wasm("burst-metrics.wasm").display().to_string();
        let api = format!("address: 127.0.0.1, port_value: {}", cluster.port());
        Self::read(token.file())
            .with("target/wasm/burst-metrics.wasm", &module)
            .with(MOUNT, &mount.path().display().to_string())
            .with("address: kubernetes.default.svc.cluster.local, port_value: 443", &api)
            .serving_the_sample()
    }

    /// The secret that one of the bootstraps names, as a file beside it.
    pub(crate) fn secret(mount: &Mount) -> Self {
        Self::read("kube-token.sds.yaml").with(MOUNT, &mount.path().display().to_string())
    }

    fn read(file: &str) -> Self {
        let path = repository().join("filter-config").join(file);
        Self(fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// A cluster and a host for each Service of the sample, and a listener that is found by its name.
    fn serving_the_sample(self) -> Self {
        let port = UPSTREAM.addr().port();
        let endpoint =
            format!("{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}}}}}");
        let host = |name| {
            let routes = format!("[{{match: {{prefix: /}}, route: {{cluster: {name}}}}}]");
            format!("{{name: {name}, domains: [{name}], routes: {routes}}}")
        };
        let cluster = |name| {
            let load = format!("{{cluster_name: {name}, endpoints: [{{lb_endpoints: [{endpoint}]}}]}}");
            format!("{{name: {name}, load_assignment: {load}}}")
        };
        let address = "{socket_address: {address: 127.0.0.1, port_value: 8080}}";
        self.with(address, &format!("{}\n      name: http", address.replace("8080", "0")))
            .with_before(
                "- {name: all, ",
                &SERVICES.map(|name| format!("- {}\n{:20}", host(name), "")).concat(),
            )
            .with_before(
                "    - name: web\n",
                &SERVICES.map(|name| format!("    - {}\n", cluster(name))).concat(),
            )
    }

    /// Windows as short as they may be, a poll a second where nothing is watched, a snapshot that does not grow old and a
    /// request that does not take too long by chance, and `more` keys in the configuration of the filter.
    pub(crate) fn configured(self, more: &str) -> Self {
        let shipped = r#""clusters": [{"name": "web", "service": "shop/web"}]"#;
        let here = format!(
            r#""clusters": [{{"name": "{{service}}.{{namespace}}"}}], "poll_interval": "1s", {PATIENT}, {PACE}"#
        );
        // The JSON stands in a block of YAML: on one line it cannot break out of it.
        let more = more.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let comma = if more.is_empty() { "" } else { ", " };
        let age = if more.contains("max_staleness") {
            ""
        } else {
            r#", "max_staleness": "10m""#
        };
        self.with(shipped, &format!("{here}{age}{comma}{more}"))
    }

    /// Puts another text in the place of one that stands there.
    ///
    /// # Panics
    /// When it does not: then the file has changed, and the test would run something else than it says.
    #[track_caller]
    pub(crate) fn with(self, shipped: &str, here: &str) -> Self {
        assert!(self.0.contains(shipped), "`{shipped}` is not in\n{}", self.0);
        Self(self.0.replace(shipped, here))
    }

    /// Puts a text before one that stands there.
    #[track_caller]
    pub(crate) fn with_before(self, shipped: &str, more: &str) -> Self {
        self.with(shipped, &format!("{more}{shipped}"))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}
