//! `burstctl proxy` before the lab's API, which can be told to fail, and before a real API server.
#![cfg(feature = "live")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use burst_lab::api::Fault;
use burst_lab::lab::Lab;
use burst_lab::sample;
use burst_testkit::http::{self, Answer};
use burst_testkit::{ControlPlane, wait};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_secs(30);

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
        let addr = url.trim().strip_prefix("http://").and_then(|addr| addr.parse().ok());
        let addr = addr.unwrap_or_else(|| panic!("no address in {url:?}"));
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

/// The lab's API, and the kubeconfig of a user that it knows.
struct Stage {
    lab: Lab,
    folder: TempDir,
    _runtime: Runtime,
}

impl Stage {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let lab = runtime
            .block_on(Lab::start(sample::cluster().unwrap(), any, any))
            .unwrap();
        lab.api.access.accept("secret-of-the-user", "user");
        let folder = tempfile::tempdir().unwrap();
        let server = json!({"server": format!("http://{}", lab.api_addr())});
        let user = json!({"token": "secret-of-the-user"});
        kubeconfig(&folder.path().join("kubeconfig"), &server, &user);
        Self {
            lab,
            folder,
            _runtime: runtime,
        }
    }

    fn proxy(&self, more: &[&str]) -> Proxy {
        Proxy::start(&self.folder.path().join("kubeconfig"), more)
    }

    fn asked_directly(&self, path: &str) -> Answer {
        let token = [("authorization", "Bearer secret-of-the-user")];
        http::send("GET", &format!("http://{}{path}", self.lab.api_addr()), &token)
    }

    fn requests(&self) -> u64 {
        self.lab.api.requests.counts().total
    }
}

/// One context, `one`, which is not the current one.
fn kubeconfig(path: &Path, cluster: &Value, user: &Value) {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "one",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
    });
    fs::write(path, config.to_string()).unwrap();
}

/// What a client goes by.
fn told(answer: &Answer) -> (u16, Option<&str>, Option<&str>, &str) {
    let header = |name| answer.header(name);
    (
        answer.status,
        header("content-type"),
        header("retry-after"),
        &answer.body,
    )
}

#[test]
fn an_answer_comes_as_the_cluster_gave_it() {
    let stage = Stage::new();
    let proxy = stage.proxy(&["--context", "one"]);
    let paths = [
        "/api/v1/services?limit=1",
        "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers",
        "/apis/apps/v1/deployments?labelSelector=app%20in%20%28a%2Cb%29",
        "/apis/apps/v1/statefulsets?continue=of-another-cluster",
    ];
    for path in paths {
        assert_eq!(told(&proxy.get(path)), told(&stage.asked_directly(path)), "{path}");
    }
    let seen = stage.lab.api.requests.seen();
    let queries: Vec<_> = seen.iter().map(|seen| seen.query.as_str()).collect();
    assert_eq!(queries[4], "labelSelector=app%20in%20%28a%2Cb%29", "{queries:?}");

    let faults = [
        (Fault::Unauthorized, 401),
        (Fault::Forbidden, 403),
        (Fault::NotFound, 404),
        (Fault::Gone, 410),
        (Fault::TooManyRequests { retry_after: 7 }, 429),
        (Fault::InternalError, 500),
        (Fault::Unavailable, 503),
        (Fault::NotJson, 200),
    ];
    for (fault, status) in faults {
        stage.lab.api.faults.inject_times("services", fault.clone(), 2);
        let path = "/api/v1/services";
        let (passed, direct) = (proxy.get(path), stage.asked_directly(path));
        assert_eq!(told(&passed), told(&direct), "{fault:?}");
        assert_eq!(passed.status, status, "{fault:?}: once, and not tried again");
    }
}

#[test]
fn an_answer_that_breaks_off_is_not_made_whole() {
    let stage = Stage::new();
    let proxy = stage.proxy(&[]);
    stage.lab.api.faults.inject_times("services", Fault::ResetMidway, 1);
    let url = format!("http://{}/api/v1/services", proxy.addr);
    assert!(http::try_send("GET", &url, &[]).is_err());
    stage.lab.api.faults.inject_times("services", Fault::Reset, 1);
    let answer = proxy.get("/api/v1/services");
    let status: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        (answer.status, status["kind"].as_str()),
        (502, Some("Status")),
        "{status}"
    );
    assert_eq!(proxy.get("/api/v1/services").status, 200);
}

#[test]
fn what_is_no_list_of_the_filter_never_reaches_the_cluster() {
    let stage = Stage::new();
    let proxy = stage.proxy(&[]);
    let services = "/api/v1/namespaces/shop/services";
    for (method, path, host, status, reason) in [
        ("GET", "/api/v1/secrets", "localhost", 403, "Forbidden"),
        (
            "GET",
            "/api/v1/namespaces/shop/secrets/token",
            "localhost",
            403,
            "Forbidden",
        ),
        (
            "GET",
            "/api/v1/namespaces/shop/services/checkout",
            "localhost",
            403,
            "Forbidden",
        ),
        ("POST", services, "localhost", 405, "MethodNotAllowed"),
        ("DELETE", services, "localhost", 405, "MethodNotAllowed"),
        ("PATCH", services, "localhost", 405, "MethodNotAllowed"),
        ("GET", services, "rebound.example", 403, "Forbidden"),
    ] {
        let answer = proxy.send(method, path, &[("host", host)]);
        let said: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(
            (answer.status, &said["reason"]),
            (status, &json!(reason)),
            "{method} {path} {said}"
        );
        assert_eq!(answer.header("allow"), (status == 405).then_some("GET"));
    }
    assert_eq!(stage.requests(), 0);
}

#[test]
fn whoever_asks_speaks_as_the_user_of_the_kubeconfig_and_as_nobody_else() {
    let stage = Stage::new();
    stage.lab.api.access.accept("another", "another");
    stage.lab.api.access.restrict("user", Vec::new());
    let proxy = stage.proxy(&[]);
    let answer = proxy.send("GET", "/api/v1/services", &[("authorization", "Bearer another")]);
    assert!(
        answer.status == 403 && answer.body.contains("User \\\"user\\\" cannot list"),
        "{answer:?}"
    );
}

#[test]
fn a_configuration_of_the_filter_says_what_is_served() {
    let stage = Stage::new();
    let file = stage.folder.path().join("filter.yaml");
    fs::write(&file, "{cluster: kube_api, namespaces: [shop]}").unwrap();
    let proxy = stage.proxy(&["--config", file.to_str().unwrap()]);
    assert_eq!(proxy.get("/api/v1/namespaces/shop/services").status, 200);
    assert_eq!(proxy.get("/api/v1/services").status, 403);
}

#[test]
fn what_cannot_work_ends_with_two_and_a_reason() {
    let stage = Stage::new();
    let file = stage.folder.path().join("filter.yaml");
    fs::write(&file, "{cluster: kube_api, namespaces: shop}").unwrap();
    let config = file.to_str().unwrap();
    for (words, reason) in [
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
            .args(words)
            .env("KUBECONFIG", stage.folder.path().join("kubeconfig"))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(2) && said.contains(reason),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn it_ends_well_when_it_is_asked_to() {
    let stage = Stage::new();
    let mut proxy = stage.proxy(&[]);
    kill_process(Pid::from_raw(proxy.child.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    let status = wait::for_ok(PATIENCE, "its end", || proxy.child.try_wait().unwrap().ok_or("it runs"));
    assert!(status.success());
}

#[test]
fn a_real_api_server_is_read_and_nothing_else() {
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

/// How many requests for Secrets, and to write Services, the API server says it got.
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
