//! The HPA controller of the lab: replicas that follow the requests. It computes what the controller of Kubernetes does, with
//! a sync period of a second, and with a stabilization window of seconds instead of five minutes.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::capacity::REQUESTS_PER_REPLICA;
use crate::cluster::{Cluster, HPAS};
use crate::hpa;
use crate::sample::Service;

/// Syncs for which replicas stay although fewer would do.
const STABILIZATION_SYNCS: usize = 5;
/// The default of `averageUtilization` in Kubernetes.
const DEFAULT_UTILIZATION: u32 = 80;

/// Scales every HPA of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Autoscaler {
    /// The newest recommendations of each HPA, by `namespace/name`.
    recommendations: BTreeMap<String, VecDeque<u32>>,
}

impl Autoscaler {
    /// Sets the replicas of the HPAs of a service, which receives this many requests per second.
    pub(crate) fn sync(&mut self, cluster: &Cluster, service: &Service, requests_per_second: f64) {
        let hpas: Vec<_> = service
            .hpas
            .iter()
            .filter_map(|key| Some((key, Limits::of(&*cluster.object(HPAS, key)?))))
            .collect();
        let all: f64 = hpas.iter().map(|(_, limits)| f64::from(limits.max)).sum();
        for (key, limits) in hpas {
            // Several workloads share the requests by their size.
            let requests = requests_per_second * f64::from(limits.max) / all.max(1.0);
            let replicas = self.stabilized(key, limits.replicas(requests));
            // An HPA that was deleted meanwhile is skipped.
            let _ = cluster.set_current_replicas(key, replicas);
        }
    }

    /// The highest of the newest recommendations.
    fn stabilized(&mut self, hpa: &str, recommendation: u32) -> u32 {
        let newest = self.recommendations.entry(hpa.to_owned()).or_default();
        newest.push_back(recommendation);
        if newest.len() > STABILIZATION_SYNCS {
            newest.pop_front();
        }
        newest.iter().copied().max().unwrap_or(recommendation)
    }
}

/// The `spec` of an HPA.
struct Limits {
    min: u32,
    max: u32,
    /// The percentage of the capacity of a replica that the HPA aims for.
    utilization: u32,
}

impl Limits {
    fn of(hpa: &Value) -> Self {
        let (min, max) = hpa::replica_range(hpa);
        let utilization = hpa::number(hpa, "/spec/metrics/0/resource/target/averageUtilization");
        Self {
            min,
            max,
            utilization: utilization.unwrap_or(DEFAULT_UTILIZATION),
        }
    }

    /// The replicas at which each of them receives its share of these requests.
    fn replicas(&self, requests_per_second: f64) -> u32 {
        let of_a_replica = f64::from(REQUESTS_PER_REPLICA) * f64::from(self.utilization.max(1)) / 100.0;
        // The controller ignores differences of less than a tenth; requests come in whole numbers, so rounding noise does too.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast from a float saturates, and the value is not negative"
        )]
        let wanted = (requests_per_second / of_a_replica - 0.1).ceil().max(0.0) as u32;
        wanted.clamp(self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn service(cluster: &Cluster, name: &str) -> Service {
        sample::services(cluster)
            .into_iter()
            .find(|service| service.name == name)
            .unwrap()
    }

    #[test]
    fn replicas_follow_the_requests_between_minimum_and_maximum() {
        let cluster = sample::cluster().unwrap();
        let service = service(&cluster, "ngsa-svc-1");
        let replicas = [0.0, 2.1, 4.2, 6.3, 8.4, 10.5, 100.0].map(|requests| {
            Autoscaler::default().sync(&cluster, &service, requests);
            cluster.current_replicas("default/ngsa-hpa-1").unwrap()
        });
        assert_eq!(
            replicas,
            [1, 1, 2, 3, 4, 5, 5],
            "each of them at 70 % of three requests a second"
        );
    }

    #[test]
    fn two_workloads_share_the_requests_by_their_maximum() {
        let cluster = sample::cluster().unwrap();
        Autoscaler::default().sync(&cluster, &service(&cluster, "checkout"), 13.0);
        let replicas =
            ["shop/checkout-stable", "shop/checkout-canary"].map(|hpa| cluster.current_replicas(hpa).unwrap());
        assert_eq!(replicas, [5, 2], "10 and 3 of 13 requests a second");
    }

    #[test]
    fn replicas_rise_at_once_and_fall_after_the_stabilization_window() {
        let cluster = sample::cluster().unwrap();
        let (mut autoscaler, service) = (Autoscaler::default(), service(&cluster, "ngsa-svc-1"));
        let mut sync = |requests| {
            autoscaler.sync(&cluster, &service, requests);
            cluster.current_replicas("default/ngsa-hpa-1").unwrap()
        };
        let replicas: Vec<_> = [1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(&mut sync).into();
        assert_eq!(replicas, [1, 5, 5, 5, 5, 5, 1]);
    }
}
