//! A cluster of many Services, each with a Deployment and an HPA. The objects are copies, under other names, of objects that
//! a real API server answered, so they are as large as in a real cluster.

use std::{fs, ops::Range};

use burst_lab::cluster::{Cluster, DEPLOYMENTS};
use serde_json::{Value, json};

const SERVICES_PER_NAMESPACE: usize = 100;

/// How often a rolling update changes the status of a Deployment.
const STATUS_UPDATES: u32 = 4;

/// A cluster of Services, each with a Deployment and an HPA. Clones share the objects.
#[derive(Clone)]
pub struct FixtureCluster {
    /// The objects.
    pub cluster: Cluster,
    /// The number of Services.
    pub services: usize,
    /// How many HPAs were scaled, and how many Deployments restarted, so that the next call takes others.
    scaled: usize,
    restarted: usize,
}

impl FixtureCluster {
    /// Makes the Services `0..services`.
    ///
    /// # Panics
    /// If the recorded answers are not in `tests/golden/kubernetes`.
    #[must_use]
    pub fn new(services: usize) -> Self {
        let cluster = Cluster::new();
        let templates = [
            Template::new("services", "v1", "Service", "ngsa-svc-1"),
            Template::new("deployments", "apps/v1", "Deployment", "ngsa-1"),
            Template::new("hpas", "autoscaling/v2", "HorizontalPodAutoscaler", "ngsa-hpa-1"),
        ];
        for number in 0..services {
            for template in &templates {
                cluster.apply(template.object(number)).expect("a registered kind");
            }
        }
        Self {
            cluster,
            services,
            scaled: 0,
            restarted: 0,
        }
    }

    /// Sets the current replicas in the status of an HPA.
    ///
    /// # Panics
    /// If there is no Service of that number.
    pub fn set_current_replicas(&self, number: usize, replicas: u32) {
        let set = self.cluster.set_current_replicas(&key(number), replicas);
        set.expect("the HPA");
    }

    /// Changes the status of the next `count` HPAs. That of the first Service never changes.
    ///
    /// # Panics
    /// If the cluster has less than two Services.
    pub fn scale_next(&mut self, count: usize) {
        let others = self.services - 1;
        for step in next(&mut self.scaled, count) {
            // When all HPAs had their turn, the next number of replicas follows.
            let replicas = 1 + (step / others) % 4;
            self.set_current_replicas(1 + step % others, u32::try_from(replicas).unwrap_or_default() + 1);
        }
    }

    /// Restarts the next `count` Deployments: a change of the pod template, then the status updates of a rollout.
    ///
    /// # Panics
    /// If the cluster has no Services.
    pub fn restart_next(&mut self, count: usize) {
        for step in next(&mut self.restarted, count) {
            let restarted = json!({"kubectl.kubernetes.io/restartedAt": step.to_string()});
            self.patch(
                step,
                &json!({"spec": {"template": {"metadata": {"annotations": restarted}}}}),
            );
            for updated in 1..=STATUS_UPDATES {
                self.patch(
                    step,
                    &json!({"status": {"updatedReplicas": updated, "observedGeneration": step}}),
                );
            }
        }
    }

    fn patch(&self, step: usize, patch: &Value) {
        let patched = self.cluster.patch(DEPLOYMENTS, &key(step % self.services), patch);
        patched.expect("the Deployment");
    }
}

fn next(done: &mut usize, count: usize) -> Range<usize> {
    let from = *done;
    *done += count;
    from..*done
}

/// Returns the name of the Envoy cluster for a Service, by the rule `{service}.{namespace}`.
#[must_use]
pub fn envoy_cluster(number: usize) -> String {
    format!("{}.{}", name(number), namespace(number))
}

/// Returns `namespace/name` of a Service, of its Deployment and of its HPA.
#[must_use]
pub fn key(number: usize) -> String {
    format!("{}/{}", namespace(number), name(number))
}

fn name(number: usize) -> String {
    format!("web-{number}")
}

fn namespace(number: usize) -> String {
    format!("team-{}", number / SERVICES_PER_NAMESPACE)
}

/// An object of a Kubernetes API server, as text.
struct Template {
    json: String,
    name: &'static str,
}

impl Template {
    /// Takes the object of that name from `tests/golden/kubernetes/FILE.json`.
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
        // kubectl keeps a copy of the object in an annotation. Objects that it did not apply have none.
        object["metadata"]["annotations"] = json!({});
        Self {
            json: object.to_string(),
            name,
        }
    }

    fn object(&self, number: usize) -> Value {
        let name = name(number);
        // The target of the HPA and the selector of the Service contain the name of the Deployment.
        let text = self
            .json
            .replace(self.name, &name)
            .replace("ngsa-1", &name)
            .replace("\"default\"", &format!("\"{}\"", namespace(number)));
        serde_json::from_str(&text).expect("JSON")
    }
}
