//! Decides which requests the proxy forwards.

use burst_model::kube::Source;
use burst_model::name::Name;
use http::header::HOST;
use http::uri::{Authority, PathAndQuery};
use http::{Method, Request, StatusCode};

/// Why a request is not forwarded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestDenied {
    /// The host is not a loopback address. This prevents DNS rebinding: a web page could point its own host name at this
    /// machine and read the cluster.
    #[error("the host {0:?} is not this machine; use localhost, 127.0.0.1 or [::1]")]
    ForeignHost(String),
    #[error("{0} is not forwarded: this proxy only reads")]
    NotGet(Method),
    #[error("{path} is not forwarded: this proxy only lists {lists}")]
    NotAList { path: String, lists: String },
}

impl RequestDenied {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::NotGet(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::ForeignHost(_) | Self::NotAList { .. } => StatusCode::FORBIDDEN,
        }
    }
}

/// Returns the path and query to request from the API server, or why the request is denied.
pub(super) fn check<B>(request: &Request<B>, sources: &[Source]) -> Result<PathAndQuery, RequestDenied> {
    check_host(request)?;
    if request.method() != Method::GET {
        return Err(RequestDenied::NotGet(request.method().clone()));
    }
    let path = request.uri().path();
    match request.uri().path_and_query() {
        Some(requested) if sources.iter().any(|source| is_path_of(path, source)) => Ok(requested.clone()),
        _ => {
            let lists: Vec<_> = sources.iter().map(ToString::to_string).collect();
            Err(RequestDenied::NotAList {
                path: path.to_owned(),
                lists: lists.join(", "),
            })
        }
    }
}

/// Checks the `Host` headers, and the authority of the target if the client sends it in absolute form.
fn check_host<B>(request: &Request<B>) -> Result<(), RequestDenied> {
    let foreign = |host: &[u8]| RequestDenied::ForeignHost(String::from_utf8_lossy(host).into_owned());
    let hosts: Vec<_> = request.headers().get_all(HOST).iter().collect();
    if hosts.is_empty() {
        return Err(foreign(b""));
    }
    let headers = hosts.into_iter().map(http::HeaderValue::as_bytes);
    let target = request.uri().authority().map(|target| target.as_str().as_bytes());
    for host in headers.chain(target) {
        if !Authority::try_from(host).is_ok_and(|host| is_loopback(&host)) {
            return Err(foreign(host));
        }
    }
    Ok(())
}

fn is_loopback(authority: &Authority) -> bool {
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<std::net::IpAddr>();
    !authority.as_str().contains('@')
        && (host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()))
}

/// Returns whether `path` is the list of `source`. A source for all namespaces also allows the list of one namespace.
fn is_path_of(path: &str, source: &Source) -> bool {
    if is_list_path(path, source, source.namespace.clone()) {
        return true;
    }
    source.namespace.is_none() && namespace_of(path).is_some_and(|name| is_list_path(path, source, Some(name)))
}

/// Returns whether `path` lists the resource of `source` in this namespace, or in all namespaces.
fn is_list_path(path: &str, source: &Source, namespace: Option<Name>) -> bool {
    let source = Source {
        namespace,
        ..source.clone()
    };
    let with_query = source.list_path(1, None);
    with_query.split_once('?').is_some_and(|(list, _)| list == path)
}

fn namespace_of(path: &str) -> Option<Name> {
    let (_, rest) = path.split_once("/namespaces/")?;
    let (namespace, _) = rest.split_once('/')?;
    Name::parse(namespace).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::sources;

    fn check_request(method: &str, target: &str, hosts: &[&str], sources: &[Source]) -> Result<String, RequestDenied> {
        let mut request = Request::builder().method(method).uri(target);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        check(&request.body(()).unwrap(), sources).map(|path| path.to_string())
    }

    #[test]
    fn the_lists_of_the_filter_are_forwarded_with_their_query() {
        let all = sources(None).unwrap();
        for path in [
            "/api/v1/services?limit=500",
            "/api/v1/services",
            "/apis/autoscaling/v2/horizontalpodautoscalers?limit=5&continue=a%2Fb%3D%26",
            "/apis/apps/v1/deployments?watch=1&resourceVersion=7&timeoutSeconds=10",
            "/apis/apps/v1/namespaces/shop/statefulsets?labelSelector=a%20in%20%28b%29",
        ] {
            assert_eq!(
                check_request("GET", path, &["localhost:8001"], &all),
                Ok(path.to_owned()),
                "{path}"
            );
        }
    }

    #[test]
    fn other_paths_and_methods_are_denied() {
        let all = sources(None).unwrap();
        for path in [
            "/",
            "/api",
            "/api/v1/secrets",
            "/api/v1/namespaces/shop/secrets",
            "/api/v1/namespaces/services",
            "/api/v1/services/",
            "/api/v1//services",
            "/api/v1/watch/services",
            "/api/v1/namespaces/shop/services/web",
            "/api/v1/namespaces/shop/services/web/proxy",
            "/api/v1/namespaces/shop/secrets/../services",
            "/api/v1/namespaces/shop%2Fsecrets/services",
            "/api/v1/namespaces/../services",
            "/api/v1/%73ecrets",
            "/apis/autoscaling/v2/horizontalpodautoscalers/status",
            "/apis/autoscaling/v1/horizontalpodautoscalers",
            "/apis/argoproj.io/v1alpha1/rollouts",
            "/metrics",
        ] {
            let denied = check_request("GET", path, &["localhost"], &all).unwrap_err();
            assert_eq!(denied.status(), 403, "{path}");
            assert!(
                denied.to_string().ends_with(
                    "only lists horizontalpodautoscalers.autoscaling, services, \
                 deployments.apps, statefulsets.apps"
                ),
                "{denied}"
            );
        }
        for method in ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] {
            let denied = check_request(method, "/api/v1/services", &["localhost"], &all).unwrap_err();
            assert_eq!(denied.status(), 405, "{method}");
        }
    }

    #[test]
    fn the_configuration_selects_the_allowed_lists() {
        let config = br#"{"cluster": "c", "namespaces": ["shop"], "workloads": [
            {"group": "argoproj.io", "version": "v1alpha1", "resource": "rollouts", "kind": "Rollout"}]}"#;
        let some = sources(Some(config)).unwrap();
        let is_allowed = |path: &str| check_request("GET", path, &["localhost"], &some).is_ok();
        assert!(
            is_allowed("/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts")
                && is_allowed("/api/v1/namespaces/shop/services")
        );
        assert!(!is_allowed("/api/v1/services") && !is_allowed("/api/v1/namespaces/data/services"));
        assert!(!is_allowed("/apis/apps/v1/namespaces/shop/deployments"));
    }

    #[test]
    fn only_loopback_hosts_are_allowed() {
        let all = sources(None).unwrap();
        let path = "/api/v1/services";
        for host in [
            "localhost",
            "LocalHost:1",
            "127.0.0.1:8001",
            "127.9.9.9",
            "[::1]:8001",
            "[::1]",
        ] {
            assert!(check_request("GET", path, &[host], &all).is_ok(), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:8001",
            "kubernetes.default.svc",
            "10.0.0.1",
            "localhost@evil.example",
            "evil@localhost",
            "",
        ] {
            let denied = check_request("GET", path, &[host], &all).unwrap_err();
            assert_eq!(denied, RequestDenied::ForeignHost(host.to_owned()));
        }
        assert!(check_request("GET", path, &[], &all).is_err());
        assert!(check_request("GET", path, &["localhost", "evil.example"], &all).is_err());
        assert!(check_request("GET", "http://evil.example/api/v1/services", &["localhost"], &all).is_err());
        assert_eq!(
            check_request("GET", "http://localhost/api/v1/services", &["localhost"], &all),
            Ok(path.to_owned())
        );
    }
}
