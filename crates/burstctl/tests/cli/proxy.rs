//! `burstctl proxy`: startup, shutdown, and requests to a real API server. The tests of burst-lab cover failures of the
//! cluster: they use this proxy with a cluster that fails on demand.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use burst_testkit::http::{self, Answer};
use burst_testkit::{ControlPlane, port, wait};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// A running `burstctl proxy`.
struct Proxy {
    child: Child,
    addr: SocketAddr,
}

impl Proxy {
    fn start(kubeconfig: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_burstctl"))
            .args(["proxy", "--listen", "127.0.0.1:0"])
            .args(more)
            .env("KUBECONFIG", kubeconfig)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut url)
            .unwrap();
        let addr = (url.trim().strip_prefix("http://"))
            .and_then(|addr| addr.parse().ok())
            .unwrap_or_else(|| panic!("no address in {url:?}"));
        Self { child, addr }
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        http::send(method, &format!("http://{}{path}", self.addr), headers)
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[])
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A folder with the kubeconfig of a cluster that does not respond, and the configuration of a filter.
struct Folder(TempDir);

impl Folder {
    fn new(filter: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = format!("http://127.0.0.1:{}", port::free());
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "one",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
        });
        fs::write(folder.path().join("kubeconfig"), config.to_string()).unwrap();
        fs::write(folder.path().join("filter.yaml"), filter).unwrap();
        Self(folder)
    }

    fn kubeconfig(&self) -> PathBuf {
        self.0.path().join("kubeconfig")
    }

    fn filter(&self) -> String {
        self.0.path().join("filter.yaml").display().to_string()
    }
}

#[test]
fn the_configuration_selects_the_lists() {
    let configuration = "{cluster: kube_api, namespaces: [shop]}";
    let plugin = format!("{{kind: WasmPlugin, spec: {{pluginConfig: {configuration}}}}}");
    for written in [configuration, &plugin] {
        let folder = Folder::new(written);
        let proxy = Proxy::start(
            &folder.kubeconfig(),
            &["--context", "one", "--config", &folder.filter()],
        );
        let response = proxy.get("/api/v1/namespaces/shop/services");
        assert!(
            response.status == 502 && response.body.contains("Connection refused"),
            "{response:?}"
        );
        assert_eq!(proxy.get("/api/v1/services").status, 403);
    }
}

#[test]
fn startup_errors_exit_with_2_and_a_reason() {
    let folder = Folder::new("{cluster: kube_api, namespaces: shop}");
    let config = &folder.filter();
    for (args, reason) in [
        (["--context", "two"], "kubeconfig: failed to load current context: two"),
        (["--listen", "0.0.0.0:0"], "0.0.0.0:0 is not on loopback"),
        (["--listen", "10.0.0.1:0"], "10.0.0.1:0 is not on loopback"),
        (
            ["--config", config],
            "filter.yaml: namespaces: invalid type: string \"shop\"",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_burstctl"))
            .arg("proxy")
            .args(args)
            .env("KUBECONFIG", folder.kubeconfig())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(2) && stderr.contains(reason),
            "{args:?}: {stderr}"
        );
    }
}

#[test]
fn on_a_signal_the_proxy_exits_with_0() {
    let folder = Folder::new("");
    let mut proxy = Proxy::start(&folder.kubeconfig(), &[]);
    kill_process(Pid::from_raw(proxy.child.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    let status = wait::for_ok(PATIENCE, "its end", || proxy.child.try_wait().unwrap().ok_or("it runs"));
    assert!(status.success());
}

#[test]
fn a_real_api_server_gets_only_list_requests() {
    let cluster = ControlPlane::start();
    cluster.kubectl(&["create", "secret", "generic", "keys", "--from-literal=a=b"]);
    let proxy = Proxy::start(&cluster.kubeconfig(), &[]);
    let services: Value = serde_json::from_str(&proxy.get("/api/v1/services?limit=500").body).unwrap();
    assert_eq!(
        (&services["kind"], &services["items"][0]["metadata"]["name"]),
        (&json!("ServiceList"), &json!("kubernetes"))
    );
    let watch = proxy.get("/api/v1/services?watch=1&timeoutSeconds=1&resourceVersion=0");
    assert!(
        watch.status == 200 && watch.body.starts_with("{\"type\":\"ADDED\""),
        "{watch:?}"
    );

    let before = received(&cluster);
    for (method, path) in [
        ("GET", "/api/v1/namespaces/default/secrets/keys"),
        ("GET", "/api/v1/secrets"),
        ("DELETE", "/api/v1/namespaces/default/services/kubernetes"),
        ("DELETE", "/api/v1/namespaces/default/services"),
        ("POST", "/api/v1/namespaces/default/services"),
    ] {
        let answer = proxy.send(method, path, &[]);
        assert!(
            [403, 405].contains(&answer.status) && !answer.body.contains("keys\""),
            "{answer:?}"
        );
    }
    assert_eq!(received(&cluster), before);
}

/// Returns the API server's own counts of requests for Secrets, and of writes to Services.
fn received(cluster: &ControlPlane) -> Vec<String> {
    let metrics = cluster.kubectl(&["get", "--raw", "/metrics"]);
    let counted = metrics
        .lines()
        .filter(|line| line.starts_with("apiserver_request_total{"));
    let writes = ["\"POST\"", "\"DELETE\"", "\"DELETECOLLECTION\""];
    let about = |line: &str| {
        line.contains("resource=\"secrets\"")
            || line.contains("resource=\"services\"") && writes.iter().any(|verb| line.contains(verb))
    };
    let mut counted: Vec<_> = counted.filter(|line| about(line)).map(str::to_owned).collect();
    counted.sort();
    assert!(!counted.is_empty(), "the Secret of the test was created");
    counted
}
