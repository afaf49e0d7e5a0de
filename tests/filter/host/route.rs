//! The upstream of a request, and its properties in Envoy.

use super::message::{Headers, Response};

/// The destination of a request's route.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// Known to the filter as `xds.cluster_name`.
    pub(super) cluster: Option<String>,
    /// `xds.cluster_metadata.filter_metadata.istio.services`, in order.
    pub(super) services: Vec<IstioService>,
    /// Further properties that hold from the route's choice on, such as `xds.route_name`.
    pub(super) properties: Vec<(Vec<String>, Vec<u8>)>,
    pub(super) end: End,
    /// A route before this one, for requests with that header.
    pub(super) with_header: Option<(String, Box<Route>)>,
}

#[derive(Clone, Debug)]
pub(super) struct IstioService {
    pub(super) host: String,
    pub(super) name: String,
    pub(super) namespace: String,
}

#[derive(Clone, Debug)]
pub(super) enum End {
    Upstream(Response),
    /// A local reply of Envoy, with its `response.code_details`.
    Envoy(Response, &'static str),
}

impl Route {
    /// To a cluster whose upstream answers 200 with an empty body, unless [`Self::answering`] says otherwise.
    pub(crate) fn to(cluster: &str) -> Self {
        Self {
            cluster: Some(cluster.to_owned()),
            ..Self::ending(End::Upstream(Response::ok()))
        }
    }

    /// To the outbound cluster that Istio makes for port 80 of a Kubernetes service, with its metadata.
    pub(crate) fn istio(name: &str, namespace: &str) -> Self {
        let host = format!("{name}.{namespace}.svc.cluster.local");
        Self::to(&format!("outbound|80||{host}")).service(&host, name, namespace)
    }

    /// To a cluster that does not exist.
    pub(crate) fn unknown_cluster() -> Self {
        Self::ending(End::Envoy(Response::status(503), "cluster_not_found"))
    }

    /// To a `direct_response` of the route table.
    pub(crate) fn direct_response(response: Response) -> Self {
        Self::ending(End::Envoy(response, "direct_response"))
    }

    fn ending(end: End) -> Self {
        Self {
            cluster: None,
            services: Vec::new(),
            properties: Vec::new(),
            end,
            with_header: None,
        }
    }

    /// Sends requests that have this header, whatever its value is, elsewhere.
    pub(crate) fn or_with(mut self, header: &str, elsewhere: Self) -> Self {
        self.with_header = Some((header.to_owned(), Box::new(elsewhere)));
        self
    }

    /// The route of a request with these headers.
    pub(super) fn of(&self, headers: &Headers) -> &Self {
        match &self.with_header {
            Some((name, elsewhere)) if headers.first(name).is_some() => elsewhere,
            Some(_) | None => self,
        }
    }

    pub(crate) fn answering(mut self, response: Response) -> Self {
        self.end = End::Upstream(response);
        self
    }

    /// The cluster is there, its hosts are not: Envoy answers 503 itself.
    pub(crate) fn without_hosts(mut self) -> Self {
        let reply = Response::local_reply(503, &Default::default(), b"no healthy upstream".to_vec());
        self.end = End::Envoy(reply, "no_healthy_upstream");
        self
    }

    /// One more entry of Istio's metadata.
    pub(crate) fn service(mut self, host: &str, name: &str, namespace: &str) -> Self {
        let (host, name, namespace) = (host.to_owned(), name.to_owned(), namespace.to_owned());
        self.services.push(IstioService { host, name, namespace });
        self
    }

    pub(crate) fn property(mut self, path: &[&str], value: impl AsRef<[u8]>) -> Self {
        let path = path.iter().map(|&part| part.to_owned()).collect();
        self.properties.push((path, value.as_ref().to_vec()));
        self
    }
}
