//! The same Services for both: with HPAs and Deployments for the filter, with values for the adapter.

use std::{
    net::{SocketAddr, TcpStream},
    thread,
};

use burst_lab::cluster::Cluster;
use burst_testkit::{
    http::{self, Request},
    metrics_apis::{
        SOON,
        adapter::Adapter,
        shop::{NAMESPACE, deployment},
    },
    wait,
};
use serde_json::{Value, json};

/// Threads that create objects at the same time.
const THREADS: usize = 4;

const MAX: usize = 5;

/// One replica of five is in use.
const HEADROOM: u32 = 4;

/// Returns the cluster that the filter reads.
pub(crate) fn cluster(objects: usize) -> Cluster {
    let cluster = Cluster::new();
    for number in 0..objects {
        let name = name(number);
        let labels = json!({"app": name});
        for object in [service(&name), deployment(&name, &labels, 1), autoscaler(&name)] {
            cluster.apply(object).expect("a registered kind");
        }
    }
    cluster
}

/// Creates the Services on an API server, through `kubectl proxy`.
pub(crate) fn create_services(api: u16, objects: usize) {
    let api = SocketAddr::from(([127, 0, 0, 1], api));
    wait::for_ok(SOON, "kubectl proxy listens", || TcpStream::connect(api).map(drop));
    in_parallel(objects, "Services created", |number| {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/services");
        let mut service = service(&name(number));
        // To allocate an address takes longer than the rest, and no client connects.
        service["spec"]["clusterIP"] = json!("None");
        let request = Request::of("POST", format!("http://{api}{path}"))
            .header("content-type", "application/json")
            .body(service.to_string());
        let answer = http::ask(&request).expect("an answer");
        assert_eq!(answer.status, 201, "{}", answer.body);
    });
}

/// Sets the value of each Service in an adapter.
pub(crate) fn set_values(adapter: &Adapter, objects: usize) {
    in_parallel(objects, "values set", |number| {
        adapter.set_value(
            &format!("{NAMESPACE}/services/{}", name(number)),
            "burst_headroom",
            HEADROOM,
        );
    });
}

fn in_parallel(objects: usize, label: &str, work: impl Fn(usize) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for number in (thread..objects).step_by(THREADS) {
                    work(number);
                    if number % 1_000 == 0 {
                        eprint!("\r{number} {label} ");
                    }
                }
            });
        }
    });
    eprintln!("\r{objects} {label}");
}

fn name(number: usize) -> String {
    format!("web-{number}")
}

fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": name}},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
    })
}

/// Returns an HPA with the status that its controller sets.
fn autoscaler(name: &str) -> Value {
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": name}},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "maxReplicas": MAX,
        },
        "status": {
            "currentReplicas": 1,
            "desiredReplicas": 1,
            "conditions": [{"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"}],
        },
    })
}
