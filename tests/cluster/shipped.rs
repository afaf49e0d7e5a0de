//! The bootstraps of `filter-config/`, with the ports and paths of the test machine.

use std::{fs, sync::LazyLock};

use burst_lab::server::Server;
use burst_testkit::{
    ControlPlane, Relay,
    filter::{Upstream, serve},
    repository, wasm,
};

use crate::{account::Mount, sample::SERVICES};

/// The shortest watches that the filter allows.
pub(crate) const SHORT_WATCHES: &str = r#""sync": {"window": "3s", "workload_window": "3s"}"#;

/// The same, without streams.
pub(crate) const SHORT_WINDOWS: &str = r#""sync": {"mode": "watch", "window": "3s", "workload_window": "3s"}"#;

/// The file of the listeners, beside a bootstrap without them.
pub(crate) const LISTENERS: &str = "listeners.yaml";

/// A busy machine may need longer than the default of five seconds.
const LONG_TIMEOUT: &str = r#""request_timeout": "60s""#;

/// The directory of the ServiceAccount's files in a pod.
const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// How Envoy adds the token to the filter's requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Token {
    /// With Envoy's credential injector, for Envoy 1.37 and later.
    Injected,
    /// With a Lua filter, for every Envoy.
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

/// The upstream of every proxy in these tests. It answers 200 to every request.
static UPSTREAM: LazyLock<Server> = LazyLock::new(|| serve(Upstream));

/// The text of a shipped file.
#[derive(Debug)]
pub(crate) struct Shipped(String);

impl Shipped {
    /// A bootstrap that uses this API server and that account.
    pub(crate) fn bootstrap(token: Token, cluster: &ControlPlane, mount: &Mount) -> Self {
        let module = wasm("burst-metrics.wasm").display().to_string();
        let api = format!("address: 127.0.0.1, port_value: {}", cluster.port());
        Self::read(token.file())
            .with("target/wasm/burst-metrics.wasm", &module)
            .with(MOUNT, &mount.path().display().to_string())
            .with("address: kubernetes.default.svc.cluster.local, port_value: 443", &api)
            .serving_the_sample()
    }

    /// Reaches the API server through a relay.
    pub(crate) fn through(self, relay: &Relay, cluster: &ControlPlane) -> Self {
        let at = |port| format!("address: 127.0.0.1, port_value: {port}");
        self.with(&at(cluster.port()), &at(relay.port()))
    }

    /// Moves the listeners to a file of their own, which Envoy watches. Returns the bootstrap and that file.
    pub(crate) fn with_listener_file(self) -> (Self, Self) {
        let (before, rest) = self.split_at("  listeners:\n");
        let (listeners, clusters) = rest.split_at("  clusters:\n");
        let filter = listeners.filter();
        // The cluster has the same filter, and there is no alias to another file.
        let clusters = clusters.with("            - *burst_metrics\n", &filter);
        let dynamic =
            format!("dynamic_resources: {{lds_config: {{path_config_source: {{path: $FOLDER/{LISTENERS}}}}}}}\n");
        let bootstrap = Self(dynamic + &before.0 + &clusters.0);
        let listener_type = r#""@type": type.googleapis.com/envoy.config.listener.v3.Listener"#;
        let resources = listeners
            .with("  listeners:\n", "resources:\n")
            .with("    - address:", &format!("    - {listener_type}\n      address:"));
        (bootstrap, resources)
    }

    /// The filter of a listener, indented as a filter of a cluster.
    fn filter(&self) -> String {
        let (_, rest) = self
            .0
            .split_once("                  - &burst_metrics\n")
            .expect("the filter");
        let (filter, _) = rest.split_once("                  - name:").expect("the next filter");
        let lines = filter
            .lines()
            .map(|line| format!("{}\n", line.strip_prefix("      ").expect("indentation")));
        lines
            .collect::<String>()
            .replacen("              name:", "            - name:", 1)
    }

    fn split_at(self, text: &str) -> (Self, Self) {
        let at = self
            .0
            .find(text)
            .unwrap_or_else(|| panic!("`{text}` is not in\n{}", self.0));
        let (before, rest) = self.0.split_at(at);
        (Self(before.to_owned()), Self(rest.to_owned()))
    }

    /// The secret file that one of the bootstraps names.
    pub(crate) fn secret(mount: &Mount) -> Self {
        Self::read("kube-token.sds.yaml").with(MOUNT, &mount.path().display().to_string())
    }

    fn read(file: &str) -> Self {
        let path = repository().join("filter-config").join(file);
        Self(fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// Adds a cluster and a host for each Service of the sample, and a named listener.
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

    /// Sets the shortest watches, a poll a second for resources that are not watched, a snapshot that does not become
    /// stale, a long request timeout, and `more` keys in the filter's configuration.
    pub(crate) fn configured(self, more: &str) -> Self {
        let shipped = r#""clusters": [{"name": "web", "service": "shop/web"}]"#;
        let here = format!(
            r#""clusters": [{{"name": "{{service}}.{{namespace}}"}}], "poll_interval": "1s", {LONG_TIMEOUT}, {SHORT_WATCHES}"#
        );
        // The JSON is inside a YAML block, where it must stay on one line.
        let more = more.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let comma = if more.is_empty() { "" } else { ", " };
        let age = if more.contains("max_staleness") {
            ""
        } else {
            r#", "max_staleness": "10m""#
        };
        self.with(shipped, &format!("{here}{age}{comma}{more}"))
    }

    /// Replaces a text of the file.
    ///
    /// # Panics
    /// If the file does not contain the text. The file has changed then, and the test would no longer test what it
    /// claims.
    #[track_caller]
    pub(crate) fn with(self, shipped: &str, here: &str) -> Self {
        assert!(self.0.contains(shipped), "`{shipped}` is not in\n{}", self.0);
        Self(self.0.replace(shipped, here))
    }

    /// Inserts a text before one of the file.
    #[track_caller]
    pub(crate) fn with_before(self, shipped: &str, more: &str) -> Self {
        self.with(shipped, &format!("{more}{shipped}"))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}
