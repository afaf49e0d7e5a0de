//! The sample services: one listener that answers for every Service of the cluster with its name.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderValue, Request, Response, StatusCode};

use crate::api::Reply;
use crate::cluster::Cluster;
use crate::sample;
use crate::server::Handler;

/// The services of a cluster, selected by the host of a request.
pub struct SampleServices {
    cluster: Cluster,
}

impl SampleServices {
    /// Answers for the Services that the cluster has at the time of a request.
    pub fn new(cluster: Cluster) -> Self {
        SampleServices { cluster }
    }
}

impl Handler for SampleServices {
    fn handle(&self, request: &Request<Bytes>) -> Reply {
        let host = requested_host(request).unwrap_or_default();
        let services = sample::services(&self.cluster);
        let (status, body) = match services.iter().find(|service| service.host() == host) {
            Some(service) => (
                StatusCode::OK,
                format!("hello from {}/{}\n", service.namespace, service.name),
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
    fn the_answer_to_an_unknown_host_lists_the_known_hosts() {
        let (status, body) = get("nobody.here");
        assert_eq!(status, 404);
        assert!(body.contains("queue.data.svc.cluster.local"), "{body}");
    }
}
