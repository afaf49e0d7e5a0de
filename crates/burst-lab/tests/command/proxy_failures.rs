//! `burst-lab run --context` before an API with faults: how burstctl's proxy passes the failures on, and which requests it
//! refuses itself.

use std::net::SocketAddr;

use burst_lab::api::Fault;
use burst_lab::lab::Lab;
use burst_lab::sample;
use burst_testkit::http::{self, Answer};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::process::{FakeEnvoy, Process, free_addr};

/// The lab's API with one user, and a `burst-lab run` that speaks for that user.
struct Fixture {
    run: Option<Process>,
    addr: SocketAddr,
    lab: Lab,
    _envoy: FakeEnvoy,
    _runtime: Runtime,
}

impl Fixture {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let lab = runtime
            .block_on(Lab::start(sample::cluster().unwrap(), any, any))
            .unwrap();
        lab.api.access.add_token("secret-of-the-user", "user");
        let envoy = FakeEnvoy::new("exec sleep 1000");
        let addr = free_addr();
        let mut command = envoy.run_with_api(&free_addr(), &addr);
        command.args(["--context", "one"]);
        command.env("KUBECONFIG", kubeconfig(&envoy, lab.api_addr()));
        let run = Some(Process::start(command));
        // Envoy is started behind the proxy.
        envoy.pid();
        Self {
            run,
            addr: addr.parse().unwrap(),
            lab,
            _envoy: envoy,
            _runtime: runtime,
        }
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        http::send(method, &format!("http://{}{path}", self.addr), headers)
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[])
    }

    fn get_directly(&self, path: &str) -> Answer {
        let token = [("authorization", "Bearer secret-of-the-user")];
        http::send("GET", &format!("http://{}{path}", self.lab.api_addr()), &token)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(run) = self.run.take() {
            // It ends its Envoy.
            run.terminate();
            run.end();
        }
    }
}

fn kubeconfig(envoy: &FakeEnvoy, server: SocketAddr) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "another",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{server}")}}],
        "users": [{"name": "u", "user": {"token": "secret-of-the-user"}}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
    });
    envoy.file("kubeconfig", &config.to_string())
}

/// The parts of a response that a client acts on.
fn summary(answer: &Answer) -> (u16, Option<&str>, Option<&str>, &str) {
    let header = |name| answer.header(name);
    (
        answer.status,
        header("content-type"),
        header("retry-after"),
        &answer.body,
    )
}

#[test]
fn responses_are_forwarded_unchanged() {
    let fixture = Fixture::new();
    let paths = [
        "/api/v1/services?limit=1",
        "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers",
        "/apis/apps/v1/deployments?labelSelector=app%20in%20%28a%2Cb%29",
        "/apis/apps/v1/statefulsets?continue=of-another-cluster",
    ];
    for path in paths {
        assert_eq!(
            summary(&fixture.get(path)),
            summary(&fixture.get_directly(path)),
            "{path}"
        );
    }
    let seen = fixture.lab.api.requests.entries();
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
        fixture.lab.api.faults.inject_times("services", fault.clone(), 2);
        let path = "/api/v1/services";
        let (passed, direct) = (fixture.get(path), fixture.get_directly(path));
        assert_eq!(summary(&passed), summary(&direct), "{fault:?}");
        assert_eq!(passed.status, status, "{fault:?}: asked once");
    }
}

#[test]
fn a_truncated_response_stays_truncated() {
    let fixture = Fixture::new();
    fixture.lab.api.faults.inject_times("services", Fault::ResetMidway, 1);
    let url = format!("http://{}/api/v1/services", fixture.addr);
    assert!(http::try_send("GET", &url, &[]).is_err());
    fixture.lab.api.faults.inject_times("services", Fault::Reset, 1);
    let answer = fixture.get("/api/v1/services");
    let status: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        (answer.status, status["kind"].as_str()),
        (502, Some("Status")),
        "{status}"
    );
    assert_eq!(fixture.get("/api/v1/services").status, 200);
}

#[test]
fn only_the_lists_of_the_filter_reach_the_cluster() {
    let fixture = Fixture::new();
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
        let answer = fixture.send(method, path, &[("host", host)]);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(
            (answer.status, &body["reason"]),
            (status, &json!(reason)),
            "{method} {path} {body}"
        );
        assert_eq!(answer.header("allow"), (status == 405).then_some("GET"));
    }
    assert_eq!(fixture.lab.api.requests.counts().total, 0);
}

#[test]
fn every_request_is_sent_as_the_user_of_the_kubeconfig() {
    let fixture = Fixture::new();
    fixture.lab.api.access.add_token("another", "another");
    fixture.lab.api.access.set_rules("user", Vec::new());
    let answer = fixture.send("GET", "/api/v1/services", &[("authorization", "Bearer another")]);
    assert!(
        answer.status == 403 && answer.body.contains("User \\\"user\\\" cannot list"),
        "{answer:?}"
    );
}
