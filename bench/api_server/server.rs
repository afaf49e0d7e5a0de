//! The API server, by `kubectl proxy`.
#![allow(dead_code, reason = "a benchmark needs a part")]

use std::{
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use burst_lab::cluster::{Cluster, DEPLOYMENTS, HPAS, SERVICES, STATEFULSETS};
use burst_testkit::{
    ControlPlane, Process,
    http::{self, Answer, Request},
    port, wait,
};
use serde_json::{Value, json};

use crate::{crowd, process::spent};

const SOON: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    cluster: ControlPlane,
    address: SocketAddr,
    _proxy: Process,
}

/// A kind of object.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// As burst-lab names it.
    pub(crate) resource: &'static str,
    pub(crate) path: &'static str,
    pub(crate) plural: &'static str,
}

impl Kind {
    pub(crate) const HPAS: Self = Self::new(HPAS, "/apis/autoscaling/v2", "horizontalpodautoscalers");
    pub(crate) const SERVICES: Self = Self::new(SERVICES, "/api/v1", "services");
    pub(crate) const DEPLOYMENTS: Self = Self::new(DEPLOYMENTS, "/apis/apps/v1", "deployments");
    pub(crate) const STATEFULSETS: Self = Self::new(STATEFULSETS, "/apis/apps/v1", "statefulsets");

    const fn new(resource: &'static str, path: &'static str, plural: &'static str) -> Self {
        Self { resource, path, plural }
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        let cluster = ControlPlane::start();
        let address = SocketAddr::from(([127, 0, 0, 1], port::free()));
        let proxy = cluster.kubectl_proxy(address.port());
        wait::for_ok(SOON, "kubectl proxy listens", || TcpStream::connect(address).map(drop));
        Self {
            cluster,
            address,
            _proxy: proxy,
        }
    }

    /// CPU time of the API server alone.
    pub(crate) fn spends(&self, meanwhile: impl FnOnce()) -> Duration {
        let process = self.cluster.apiserver_id();
        let before = spent(process).process;
        meanwhile();
        spent(process).process.saturating_sub(before)
    }

    /// Creates what is of that kind in another cluster.
    pub(crate) fn create(&self, kind: Kind, from: &Cluster) {
        for (key, object) in from.objects(kind.resource) {
            let (namespace, name) = key.split_once('/').expect("a namespace");
            if name.ends_with("00") || name == "web-0" {
                let body = json!({"metadata": {"name": namespace}});
                self.ask("POST", "/api/v1/namespaces", &body.to_string());
            }
            let mut object = Value::clone(&object);
            let labels = object["metadata"]["labels"].take();
            object["metadata"] = json!({"name": name, "namespace": namespace, "labels": labels});
            if kind.plural == "services" {
                object["spec"] = json!({"selector": object["spec"]["selector"], "ports": object["spec"]["ports"], "clusterIP": "None"});
            }
            let path = format!("{}/namespaces/{namespace}/{}", kind.path, kind.plural);
            let answer = self.ask("POST", &path, &object.to_string());
            assert_eq!(answer.status, 201, "{:.500}", answer.body);
            if kind.plural == "horizontalpodautoscalers" {
                self.ask("PUT", &format!("{path}/{name}/status"), &object.to_string());
            }
        }
    }

    /// A page; its size.
    pub(crate) fn list(&self, kind: Kind, limit: u32) -> u64 {
        self.ask("GET", &format!("{}/{}?limit={limit}", kind.path, kind.plural), "")
            .body
            .len() as u64
    }

    /// Where a watch can begin.
    pub(crate) fn version(&self, kind: Kind) -> String {
        let answer = self.ask("GET", &format!("{}/{}?limit=1", kind.path, kind.plural), "");
        let (_, rest) = answer.body.split_once("\"resourceVersion\":\"").expect("a version");
        rest.split('"').next().unwrap_or_default().to_owned()
    }

    pub(crate) fn watch(&self, kind: Kind, version: &str, lasts: Duration) {
        let query = format!(
            "watch=1&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds={}",
            lasts.as_secs()
        );
        self.ask("GET", &format!("{}/{}?{query}", kind.path, kind.plural), "");
    }

    /// Gives one of that kind another annotation.
    pub(crate) fn change(&self, kind: Kind, number: u32, round: usize) {
        let key = crowd::key(number as usize);
        let (namespace, name) = key.split_once('/').expect("a namespace");
        let path = format!("{}/namespaces/{namespace}/{}/{name}", kind.path, kind.plural);
        let patch = json!({"metadata": {"annotations": {"burst-metrics.test/round": round.to_string()}}});
        self.ask("PATCH", &path, &patch.to_string());
    }

    /// The head and the body of what a GET brings. HTTP/1.0 has no chunks: the body comes as it is.
    pub(crate) fn fetch(&self, path: &str, headers: &str) -> (String, Vec<u8>) {
        let request = format!("GET {path} HTTP/1.0\r\nhost: localhost\r\nuser-agent: burst-metrics\r\n{headers}\r\n");
        let mut answer = http::raw(self.address, request.as_bytes()).expect("an answer");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let body = answer.split_off(end + 4);
        (String::from_utf8_lossy(&answer).into_owned(), body)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        // With the agent of a browser, or of curl, JSON would come indented; and where nothing is said of compression,
        // `kubectl proxy` asks for it, which Envoy does not.
        let request = Request::of(method, format!("http://{}{path}", self.address))
            .header("user-agent", "burst-metrics")
            .header("content-type", kind)
            .header("accept-encoding", "identity")
            .body(body.to_owned());
        http::ask(&request).expect("an answer")
    }
}
