//! A cluster of many Services, each with its Deployment and its HPA, as large as an API server sends them: the objects
//! are those it sent once, under other names.

use std::{fs, ops::Range};

use burst_lab::cluster::{Cluster, DEPLOYMENTS};
use serde_json::{Value, json};

/// Services in a namespace.
const TEAM: usize = 100;

/// What a rolling update writes into the status of a Deployment: pod by pod, and the end of it.
const STEPS: u32 = 4;

/// Services, and what scales them.
pub struct Crowd {
    pub cluster: Cluster,
    pub services: usize,
    /// What has been changed so far, of HPAs and of Deployments: the next ones are others.
    scaled: usize,
    rolled: usize,
}

impl Crowd {
    pub fn new(services: usize) -> Self {
        let cluster = Cluster::new();
        let kinds = [
            Template::new("services", "v1", "Service", "ngsa-svc-1"),
            Template::new("deployments", "apps/v1", "Deployment", "ngsa-1"),
            Template::new("hpas", "autoscaling/v2", "HorizontalPodAutoscaler", "ngsa-hpa-1"),
        ];
        for number in 0..services {
            for kind in &kinds {
                cluster.apply(kind.object(number)).expect("a registered kind");
            }
        }
        Self {
            cluster,
            services,
            scaled: 0,
            rolled: 0,
        }
    }

    /// Scales the Deployment of that number, as its HPA says from now on.
    pub fn scale(&self, number: usize, replicas: u32) {
        let scaled = self.cluster.set_current_replicas(&key(number), replicas);
        scaled.expect("the HPA");
    }

    /// Changes the status of so many HPAs: those that come after the last ones.
    pub fn scale_next(&mut self, count: usize) {
        for place in next(&mut self.scaled, count) {
            // Each round of all of them has another number.
            let replicas = 1 + (place / self.services) % 4;
            self.scale(place % self.services, u32::try_from(replicas).unwrap_or_default() + 1);
        }
    }

    /// Rolls so many Deployments out anew: a change of the pods' template, then a status for each step.
    pub fn roll_next(&mut self, count: usize) {
        for place in next(&mut self.rolled, count) {
            let restarted = json!({"kubectl.kubernetes.io/restartedAt": place.to_string()});
            self.patch(
                place,
                &json!({"spec": {"template": {"metadata": {"annotations": restarted}}}}),
            );
            for step in 1..=STEPS {
                self.patch(
                    place,
                    &json!({"status": {"updatedReplicas": step, "observedGeneration": place}}),
                );
            }
        }
    }

    fn patch(&self, place: usize, patch: &Value) {
        let patched = self.cluster.patch(DEPLOYMENTS, &key(place % self.services), patch);
        patched.expect("the Deployment");
    }
}

fn next(done: &mut usize, count: usize) -> Range<usize> {
    let from = *done;
    *done += count;
    from..*done
}

/// The Envoy cluster of a Service, as the rule `{service}.{namespace}` names it.
pub fn upstream(number: usize) -> String {
    format!("{}.{}", name(number), namespace(number))
}

/// `namespace/name`, of the Service and of all that goes with it.
pub fn key(number: usize) -> String {
    format!("{}/{}", namespace(number), name(number))
}

fn name(number: usize) -> String {
    format!("web-{number}")
}

fn namespace(number: usize) -> String {
    format!("team-{}", number / TEAM)
}

/// An object that a Kubernetes API server answered, as text.
struct Template {
    json: String,
    name: &'static str,
}

impl Template {
    /// The one of that name in `tests/golden/kubernetes/FILE.json`.
    fn new(file: &str, api_version: &str, kind: &str, name: &'static str) -> Self {
        let path = burst_testkit::repository().join(format!("tests/golden/kubernetes/{file}.json"));
        let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let list: Value = serde_json::from_slice(&text).expect("JSON");
        let items = list["items"].as_array().expect("items");
        let found = items.iter().find(|item| item["metadata"]["name"] == name);
        let mut object = found
            .unwrap_or_else(|| panic!("no {name} in {}", path.display()))
            .clone();
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        // It repeats the object, and only where kubectl writes it.
        object["metadata"]["annotations"] = json!({});
        Self {
            json: object.to_string(),
            name,
        }
    }

    fn object(&self, number: usize) -> Value {
        let name = name(number);
        let text = self.json.replace(self.name, &name);
        // What an HPA scales, and what a Service selects, has the name of the Deployment.
        let text = text
            .replace("ngsa-1", &name)
            .replace("\"default\"", &format!("\"{}\"", namespace(number)));
        serde_json::from_str(&text).expect("JSON")
    }
}
