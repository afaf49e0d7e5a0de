//! The sample cluster and the load on it.

use std::time::Duration;

use serde_json::Value;

use crate::cluster::{Cluster, DEPLOYMENTS, HPAS, ObjectError, SERVICES, STATEFULSETS};
use crate::curve::Curve;
use crate::hpa;

/// The manifests of the sample cluster.
pub const OBJECTS: &str = include_str!("sample-cluster.yaml");

/// About a minute. Each HPA has a longer period than the one before, so that they drift apart.
const PERIOD: Duration = Duration::from_secs(54);
const PERIOD_STEP: Duration = Duration::from_secs(7);

/// Returns the sample cluster in its initial state.
///
/// # Errors
/// Only if the manifests in this crate are invalid.
pub fn cluster() -> Result<Cluster, ObjectError> {
    let cluster = Cluster::new();
    cluster.apply_yaml(OBJECTS)?;
    Ok(cluster)
}

/// The load on every HPA of a cluster, between its minimum and maximum, starting at its current replicas.
#[derive(Clone, Debug)]
pub struct Load(Vec<(String, Curve)>);

impl Load {
    /// Reads the HPAs of a cluster.
    pub fn of_hpas(cluster: &Cluster) -> Self {
        let mut period = PERIOD;
        let mut rising = false;
        let curves = cluster.objects(HPAS).into_iter().map(|(key, hpa)| {
            (period, rising) = (period + PERIOD_STEP, !rising);
            (key, curve(&hpa, period, rising))
        });
        Load(curves.collect())
    }

    /// Sets the replicas of every HPA to those of the load at this time.
    pub fn apply(&self, cluster: &Cluster, elapsed: Duration) {
        for (hpa, curve) in &self.0 {
            // An HPA that was deleted is skipped.
            let _ = cluster.set_current_replicas(hpa, curve.replicas(elapsed));
        }
    }

    /// The load on one HPA; `None` for an unknown HPA.
    pub fn curve(&self, hpa: &str) -> Option<Curve> {
        self.0.iter().find(|(key, _)| key == hpa).map(|(_, curve)| *curve)
    }
}

fn curve(hpa: &Value, period: Duration, rising: bool) -> Curve {
    let (min, max) = hpa::replica_range(hpa);
    let start = hpa::number(hpa, hpa::CURRENT_REPLICAS).unwrap_or(min);
    Curve {
        min,
        max,
        start: start.clamp(min, max),
        period,
        rising,
    }
}

/// A Service, and the HPAs of the workloads it selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `namespace/name` of each HPA.
    pub hpas: Vec<String>,
}

impl Service {
    /// Its DNS name in the cluster.
    pub fn host(&self) -> String {
        format!("{}.{}.svc.cluster.local", self.name, self.namespace)
    }
}

/// Returns every Service of a cluster, the `ngsa` Services first.
pub fn services(cluster: &Cluster) -> Vec<Service> {
    let found = cluster.objects(SERVICES).into_iter().filter_map(|(key, service)| {
        let (namespace, name) = key.split_once('/')?;
        let hpas = hpas_behind(cluster, namespace, &service);
        Some(Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            hpas,
        })
    });
    let mut services: Vec<Service> = found.collect();
    services.sort_by_key(|service| !service.name.starts_with("ngsa"));
    services
}

fn hpas_behind(cluster: &Cluster, namespace: &str, service: &Value) -> Vec<String> {
    let selector = service.pointer("/spec/selector").and_then(Value::as_object);
    let selects = |workload: &Value| {
        let labels = &workload["spec"]["template"]["metadata"]["labels"];
        selector
            .is_some_and(|selector| !selector.is_empty() && selector.iter().all(|(key, value)| labels[key] == *value))
    };
    let targets = |hpa: &Value| {
        let target = &hpa["spec"]["scaleTargetRef"];
        let resource = if target["kind"] == "StatefulSet" {
            STATEFULSETS
        } else {
            DEPLOYMENTS
        };
        let key = format!("{namespace}/{}", target["name"].as_str().unwrap_or_default());
        cluster
            .object(resource, &key)
            .is_some_and(|workload| selects(&workload))
    };
    let here = |key: &String| key.split_once('/').is_some_and(|(ns, _)| ns == namespace);
    let hpas = cluster
        .objects(HPAS)
        .into_iter()
        .filter(|(key, hpa)| here(key) && targets(hpa));
    hpas.map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_the_seeds_cluster_and_two_more_cases() {
        let services: Vec<_> = services(&cluster().unwrap())
            .into_iter()
            .map(|s| (s.host(), s.hpas.join(" ")))
            .collect();
        let wanted = [
            ("ngsa-svc-1.default.svc.cluster.local", "default/ngsa-hpa-1"),
            ("ngsa-svc-2.ngsa.svc.cluster.local", "ngsa/ngsa-hpa-2"),
            ("queue.data.svc.cluster.local", "data/queue"),
            (
                "checkout.shop.svc.cluster.local",
                "shop/checkout-canary shop/checkout-stable",
            ),
        ];
        assert_eq!(services, wanted.map(|(host, hpas)| (host.to_owned(), hpas.to_owned())));
    }

    #[test]
    fn load_begins_at_the_seeds_values_and_then_moves() {
        let cluster = cluster().unwrap();
        let load = Load::of_hpas(&cluster);
        load.apply(&cluster, Duration::ZERO);
        assert_eq!(
            (
                cluster.current_replicas("default/ngsa-hpa-1").unwrap(),
                cluster.current_replicas("ngsa/ngsa-hpa-2").unwrap()
            ),
            (1, 2)
        );
        let version = cluster.version();
        load.apply(&cluster, Duration::ZERO);
        assert_eq!(cluster.version(), version);
        let mut seen: Vec<u32> = Vec::new();
        for second in 0..90 {
            load.apply(&cluster, Duration::from_secs(second));
            seen.push(cluster.current_replicas("default/ngsa-hpa-1").unwrap());
        }
        assert_eq!((seen.iter().min(), seen.iter().max()), (Some(&1), Some(&5)));
    }

    #[test]
    fn neighbours_move_in_opposite_directions() {
        let load = Load::of_hpas(&cluster().unwrap());
        let moves = |hpa| {
            let curve = load.curve(hpa).unwrap();
            curve.level(Duration::from_secs(5)) - curve.level(Duration::ZERO)
        };
        assert!(moves("data/queue") > 0.0 && moves("default/ngsa-hpa-1") > 0.0);
        assert!(moves("ngsa/ngsa-hpa-2") < 0.0 || moves("shop/checkout-canary") < 0.0);
    }
}
