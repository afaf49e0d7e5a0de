//! A real API server, reached through `kubectl proxy`.

use std::{
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use burst_bench_kit::{fixture_cluster, process::cpu_time};
use burst_lab::cluster::{Cluster, DEPLOYMENTS, HPAS, SERVICES};
use burst_testkit::{
    ControlPlane, Process,
    http::{self, Answer, Request},
    port, wait,
};
use serde_json::{Value, json};

use crate::open_watches::metric;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct ApiServer {
    cluster: ControlPlane,
    address: SocketAddr,
    _proxy: Process,
}

/// The shortest that there is.
const TOKEN_LIFETIME: Duration = Duration::from_secs(600);

/// A kind of object.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// The name in burst-lab.
    pub(crate) resource: &'static str,
    pub(crate) path: &'static str,
    pub(crate) plural: &'static str,
}

impl Kind {
    pub(crate) const HPAS: Self = Self::new(HPAS, "/apis/autoscaling/v2", "horizontalpodautoscalers");
    pub(crate) const SERVICES: Self = Self::new(SERVICES, "/api/v1", "services");
    pub(crate) const DEPLOYMENTS: Self = Self::new(DEPLOYMENTS, "/apis/apps/v1", "deployments");

    const fn new(resource: &'static str, path: &'static str, plural: &'static str) -> Self {
        Self { resource, path, plural }
    }
}

impl ApiServer {
    pub(crate) fn start() -> Self {
        let cluster = ControlPlane::start();
        let address = SocketAddr::from(([127, 0, 0, 1], port::free()));
        let proxy = cluster.kubectl_proxy(address.port());
        wait::for_ok(PATIENCE, "kubectl proxy listens", || {
            TcpStream::connect(address).map(drop)
        });
        Self {
            cluster,
            address,
            _proxy: proxy,
        }
    }

    /// Returns the CPU time of the API server during `meanwhile`.
    pub(crate) fn cpu_time_of(&self, meanwhile: impl FnOnce()) -> Duration {
        let process = self.cluster.apiserver_id();
        let before = cpu_time(process).process;
        meanwhile();
        cpu_time(process).process.saturating_sub(before)
    }

    /// Creates the objects of a kind that another cluster has.
    pub(crate) fn create(&self, kind: Kind, from: &Cluster) {
        for (key, object) in from.objects(kind.resource) {
            let (namespace, name) = key.split_once('/').expect("a namespace");
            if name.ends_with("00") || name == "web-0" {
                let body = json!({"metadata": {"name": namespace}});
                self.send("POST", "/api/v1/namespaces", &body.to_string());
            }
            let mut object = Value::clone(&object);
            let labels = object["metadata"]["labels"].take();
            object["metadata"] = json!({"name": name, "namespace": namespace, "labels": labels});
            if kind.plural == "services" {
                object["spec"] = json!({"selector": object["spec"]["selector"], "ports": object["spec"]["ports"], "clusterIP": "None"});
            }
            let path = format!("{}/namespaces/{namespace}/{}", kind.path, kind.plural);
            let answer = self.send("POST", &path, &object.to_string());
            assert_eq!(answer.status, 201, "{:.500}", answer.body);
            if kind.plural == "horizontalpodautoscalers" {
                self.send("PUT", &format!("{path}/{name}/status"), &object.to_string());
            }
        }
    }

    pub(crate) fn process(&self) -> u32 {
        self.cluster.apiserver_id()
    }

    /// Returns the URL of a path at the API server itself.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.cluster.port())
    }

    /// Returns the token of a ServiceAccount that may read everything.
    pub(crate) fn token(&self) -> String {
        let role = [
            "clusterrolebinding",
            "bench",
            "--clusterrole=cluster-admin",
            "--serviceaccount=default:bench",
        ];
        // They exist from the second time on.
        let _ = self.cluster.try_kubectl(&["create", "serviceaccount", "bench"], "");
        let _ = self.cluster.try_kubectl(&[&["create"], &role[..]].concat(), "");
        self.cluster.token("bench", "default", TOKEN_LIFETIME)
    }

    /// Returns the number of watches that are open.
    pub(crate) fn open_watches(&self) -> u64 {
        let metrics = self.get("/metrics");
        let watches = metrics.lines().filter(|line| line.contains("verb=\"WATCH\""));
        let lines: Vec<_> = watches.collect();
        metric(&lines.join("\n"), "apiserver_longrunning_requests{")
    }

    /// Returns the body of a response.
    pub(crate) fn get(&self, path: &str) -> String {
        self.send("GET", path, "").body
    }

    /// Lists a page, and returns the size of the response.
    pub(crate) fn list(&self, kind: Kind, limit: u32) -> u64 {
        self.send("GET", &format!("{}/{}?limit={limit}", kind.path, kind.plural), "")
            .body
            .len() as u64
    }

    /// Returns a resource version that a watch can start from.
    pub(crate) fn resource_version(&self, kind: Kind) -> String {
        let answer = self.send("GET", &format!("{}/{}?limit=1", kind.path, kind.plural), "");
        let (_, rest) = answer
            .body
            .split_once("\"resourceVersion\":\"")
            .expect("a resource version");
        rest.split('"').next().unwrap_or_default().to_owned()
    }

    /// Watches the changes from a resource version on.
    pub(crate) fn watch(&self, kind: Kind, version: &str, length: Duration) {
        self.watch_from(kind, &format!("resourceVersion={version}"), length);
    }

    /// Watches a kind from its present objects on.
    pub(crate) fn watch_list(&self, kind: Kind, length: Duration) {
        let all = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=";
        self.watch_from(kind, all, length);
    }

    fn watch_from(&self, kind: Kind, start: &str, length: Duration) {
        let seconds = length.as_secs();
        let query = format!("watch=1&allowWatchBookmarks=true&{start}&timeoutSeconds={seconds}");
        self.send("GET", &format!("{}/{}?{query}", kind.path, kind.plural), "");
    }

    /// Changes an annotation of an object.
    pub(crate) fn change(&self, kind: Kind, number: u32, round: usize) {
        let key = fixture_cluster::key(number as usize);
        let (namespace, name) = key.split_once('/').expect("a namespace");
        let path = format!("{}/namespaces/{namespace}/{}/{name}", kind.path, kind.plural);
        let patch = json!({"metadata": {"annotations": {"burst-metrics.test/round": round.to_string()}}});
        self.send("PATCH", &path, &patch.to_string());
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        // The API server indents JSON for the user agents of browsers and of curl. `kubectl proxy` requests compression
        // unless the client does, and Envoy does not.
        let request = Request::of(method, format!("http://{}{path}", self.address))
            .header("user-agent", "burst-metrics")
            .header("content-type", kind)
            .header("accept-encoding", "identity")
            .body(body.to_owned());
        http::ask(&request).expect("an answer")
    }
}
