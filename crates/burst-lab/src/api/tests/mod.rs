//! The answers as a client gets them. The texts of errors were recorded from kube-apiserver v1.36.3.

mod control;
mod errors;
mod faults;
mod lists;
mod reviews;
mod watches;

use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use super::*;
use crate::cluster::{HPAS, SERVICES};

const ALL_HPAS: &str = "/apis/autoscaling/v2/horizontalpodautoscalers";

/// A cluster with one HPA per key.
fn api(hpas: &[&str]) -> KubeApi {
    let api = KubeApi::default();
    for key in hpas {
        let (namespace, name) = key.split_once('/').unwrap();
        let metadata = json!({ "name": name, "namespace": namespace, "labels": { "name": name } });
        let spec = json!({ "scaleTargetRef": { "kind": "Deployment", "name": name }, "maxReplicas": 5 });
        let hpa = json!({ "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec });
        api.cluster.apply(hpa).unwrap();
    }
    api
}

fn request(uri: &str) -> Request<Bytes> {
    Request::builder()
        .uri(uri)
        .header("user-agent", "test")
        .body(Bytes::new())
        .unwrap()
}

fn complete(reply: Reply) -> Response<Bytes> {
    match reply {
        Reply::Response(answer) => answer,
        other => panic!("no complete answer: {other:?}"),
    }
}

fn text(api: &KubeApi, uri: &str) -> (u16, String) {
    let answer = complete(api.handle(&request(uri)));
    (
        answer.status().as_u16(),
        String::from_utf8(answer.into_body().to_vec()).unwrap(),
    )
}

fn get(api: &KubeApi, uri: &str) -> Value {
    serde_json::from_str(&text(api, uri).1).unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}
