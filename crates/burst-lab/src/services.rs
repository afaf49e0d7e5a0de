//! The sample services: one listener that answers for every Service of the cluster with its name, or with 503 if the service
//! has a limited capacity and receives more requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderValue, Request, Response, StatusCode};

use crate::api::Reply;
use crate::autoscaler::Autoscaler;
use crate::capacity::Capacity;
use crate::cluster::Cluster;
use crate::sample::{self, Service};
use crate::server::Handler;

/// The services of a cluster, selected by the host of a request.
#[derive(Clone)]
pub struct SampleServices {
    cluster: Cluster,
    capacities: Capacities,
}

/// How much the services can answer.
#[derive(Clone)]
enum Capacities {
    Unlimited,
    /// What the replicas of each Service can, by its host.
    OfReplicas(Arc<Mutex<BTreeMap<String, Capacity>>>, Instant),
}

impl SampleServices {
    /// Answers for the Services that the cluster has at the time of a request.
    pub fn new(cluster: Cluster) -> Self {
        SampleServices {
            cluster,
            capacities: Capacities::Unlimited,
        }
    }

    /// The same, but requests beyond the [`Capacity`] of the current replicas get a 503.
    pub fn with_capacity(cluster: Cluster) -> Self {
        SampleServices {
            cluster,
            capacities: Capacities::OfReplicas(Arc::default(), Instant::now()),
        }
    }

    /// Scales every HPA by the requests that its service receives.
    pub(crate) fn scale(&self, autoscaler: &mut Autoscaler) {
        let Capacities::OfReplicas(capacities, started) = &self.capacities else {
            return;
        };
        for service in sample::services(&self.cluster) {
            let mut capacities = crate::locked(capacities);
            let capacity = capacities.entry(service.host()).or_default();
            let requests = capacity.requests_per_second(started.elapsed());
            drop(capacities);
            autoscaler.sync(&self.cluster, &service, requests);
        }
    }

    fn admits(&self, service: &Service) -> bool {
        let Capacities::OfReplicas(capacities, started) = &self.capacities else {
            return true;
        };
        let current = |hpa: &String| self.cluster.current_replicas(hpa).unwrap_or(0);
        let replicas = service.hpas.iter().map(current).sum();
        crate::locked(capacities)
            .entry(service.host())
            .or_default()
            .admit(replicas, started.elapsed())
    }
}

impl Handler for SampleServices {
    fn handle(&self, request: &Request<Bytes>) -> Reply {
        let host = requested_host(request).unwrap_or_default();
        let services = sample::services(&self.cluster);
        let (status, body) = match services.iter().find(|service| service.host() == host) {
            Some(service) if self.admits(service) => (
                StatusCode::OK,
                format!("hello from {}/{}\n", service.namespace, service.name),
            ),
            Some(service) => (
                StatusCode::SERVICE_UNAVAILABLE,
                format!("all replicas of {}/{} are busy\n", service.namespace, service.name),
            ),
            None => {
                let hosts: Vec<_> = services.iter().map(sample::Service::host).collect();
                (
                    StatusCode::NOT_FOUND,
                    format!("no service {host:?} here, only {}\n", hosts.join(", ")),
                )
            }
        };
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = status;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        Reply::Response(response)
    }
}

/// The host of a request without its port. HTTP/2 has it in the URI.
fn requested_host(request: &Request<Bytes>) -> Option<&str> {
    match request.uri().host() {
        Some(host) => Some(host),
        None => request.headers().get(HOST)?.to_str().ok()?.split(':').next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(host: &str) -> (u16, String) {
        answer(Request::builder().uri("/").header("host", host))
    }

    fn answer(request: http::request::Builder) -> (u16, String) {
        let services = SampleServices::new(sample::cluster().unwrap());
        let request = request.body(Bytes::new()).unwrap();
        let Reply::Response(response) = services.handle(&request) else {
            panic!("no response")
        };
        (
            response.status().as_u16(),
            String::from_utf8(response.into_body().to_vec()).unwrap(),
        )
    }

    #[test]
    fn the_host_selects_the_service() {
        let wanted = (200, "hello from default/ngsa-svc-1\n".to_owned());
        assert_eq!(get("ngsa-svc-1.default.svc.cluster.local"), wanted);
        assert_eq!(get("ngsa-svc-1.default.svc.cluster.local:8080"), wanted);
        let of_http2 = Request::get("http://ngsa-svc-1.default.svc.cluster.local:8080/");
        assert_eq!(answer(of_http2), wanted);
    }

    #[test]
    fn requests_beyond_the_capacity_of_the_replicas_get_a_503() {
        let cluster = sample::cluster().unwrap();
        let services = SampleServices::with_capacity(cluster.clone());
        let get = |host: &str| {
            let request = Request::builder().uri("/").header("host", host);
            match services.handle(&request.body(Bytes::new()).unwrap()) {
                Reply::Response(response) => (response.status().as_u16(), response.into_body()),
                reply => panic!("{reply:?}"),
            }
        };
        let statuses = |host: &str, requests: usize| (0..requests).map(|_| get(host).0).collect::<Vec<_>>();
        // They all arrive within a second, even on a slow machine, or a few more are answered.
        let of_one_replica = statuses("ngsa-svc-1.default.svc.cluster.local", 20);
        assert_eq!(
            (&of_one_replica[..3], of_one_replica.contains(&503)),
            (&[200; 3][..], true)
        );
        assert_eq!(
            statuses("ngsa-svc-2.ngsa.svc.cluster.local", 6),
            [200; 6],
            "its own two replicas"
        );
        cluster.set_current_replicas("default/ngsa-hpa-1", 5).unwrap();
        assert_eq!(statuses("ngsa-svc-1.default.svc.cluster.local", 1), [200]);
        cluster.set_current_replicas("default/ngsa-hpa-1", 0).unwrap();
        let refused = get("ngsa-svc-1.default.svc.cluster.local");
        assert_eq!(refused, (503, "all replicas of default/ngsa-svc-1 are busy\n".into()));
    }

    #[test]
    fn the_autoscaler_adds_replicas_for_the_requests() {
        let cluster = sample::cluster().unwrap();
        let services = SampleServices::with_capacity(cluster.clone());
        let host = "ngsa-svc-1.default.svc.cluster.local";
        let mut autoscaler = Autoscaler::default();
        let request = || {
            Request::builder()
                .uri("/")
                .header("host", host)
                .body(Bytes::new())
                .unwrap()
        };
        (0..100).for_each(|_| drop(services.handle(&request())));
        services.scale(&mut autoscaler);
        assert_eq!(services.cluster.current_replicas("default/ngsa-hpa-1"), Some(5));
        assert_eq!(
            services.cluster.current_replicas("ngsa/ngsa-hpa-2"),
            Some(1),
            "without requests it is at its minimum"
        );
    }

    #[test]
    fn the_answer_to_an_unknown_host_lists_the_known_hosts() {
        let (status, body) = get("nobody.here");
        assert_eq!(status, 404);
        assert!(body.contains("queue.data.svc.cluster.local"), "{body}");
    }
}
