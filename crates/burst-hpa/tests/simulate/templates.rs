//! Made-up pod specs.

use fastrand::Rng;
use k8s_openapi::api::core::v1::PodSpec;
use serde_json::{Value, json};

use crate::random::{chance, pick};

/// One to three specs that make all necessary requests. Sometimes the last one is a spec that does not.
pub(crate) fn templates(rng: &mut Rng) -> Vec<PodSpec> {
    let mut all: Vec<_> = (0..rng.usize(1..=3)).map(|_| sound(rng)).collect();
    if chance(rng, 0.3) {
        all.push(flawed(rng));
    }
    all.into_iter()
        .map(|spec| serde_json::from_value(spec).unwrap())
        .collect()
}

fn sound(rng: &mut Rng) -> Value {
    let app = json!({"name": "app", "resources": {"requests": requests(rng)}});
    let proxy = json!({"name": "proxy", "resources": {"requests": requests(rng)}});
    // Sometimes it requests more than the containers that run later. Then the scheduler counts it instead of them.
    let needs = pick(rng, &["100m", "4"]);
    let migrate = json!({"name": "migrate", "resources": {"requests": {"cpu": needs, "memory": "2Gi"}}});
    let mut spec = json!({"containers": [app]});
    if chance(rng, 0.5) {
        let mut sidecar = proxy;
        sidecar["restartPolicy"] = json!("Always");
        spec["initContainers"] = if chance(rng, 0.5) {
            json!([migrate, sidecar])
        } else {
            json!([sidecar, migrate])
        };
    } else {
        spec["containers"] = json!([spec["containers"][0], proxy]);
    }
    if chance(rng, 0.4) {
        let mut pod_requests = requests(rng);
        if chance(rng, 0.5) {
            pod_requests
                .as_object_mut()
                .unwrap()
                .remove(pick(rng, &["cpu", "memory"]));
        }
        spec["resources"] = json!({"requests": pod_requests});
        if chance(rng, 0.5) {
            spec["overhead"] = json!({"cpu": "5m", "memory": "1Mi"});
        }
    }
    spec
}

fn flawed(rng: &mut Rng) -> Value {
    let mut spec = sound(rng);
    match rng.u8(..4) {
        0 => spec["containers"][0]["resources"] = json!({}),
        1 => spec["containers"][0]["resources"] = json!({"requests": {"memory": "64Mi"}}),
        2 => spec["containers"] = json!([{"name": "other", "resources": {"requests": requests(rng)}}]),
        _ => {
            spec = json!({
                "containers": [{"name": "app"}, {"name": "proxy"}],
                "resources": {"requests": {"cpu": "100m"}},
            });
        }
    }
    spec
}

fn requests(rng: &mut Rng) -> Value {
    json!({
        "cpu": pick(rng, &["0", "50m", "100m", "100m", "250m", "1", "2500m"]),
        "memory": pick(rng, &["64Mi", "100M", "1Gi"]),
    })
}
