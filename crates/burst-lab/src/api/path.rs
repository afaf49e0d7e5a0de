//! Parses the path of a request as RequestInfo of kube-apiserver does:
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris>

use http::Method;

use crate::cluster::group_resource;

/// The endpoint that a path addresses.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Endpoint<'a> {
    /// `/lab/…`, without the prefix.
    Control(&'a str),
    /// `/healthz`, `/livez` or `/readyz`.
    Health,
    /// A path of an API group.
    Resource(ResourcePath<'a>),
    /// Anything else.
    Other,
}

/// `/apis/{group}/{version}[/namespaces/{namespace}]/{plural}[/{name}[/…]]`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResourcePath<'a> {
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) plural: &'a str,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) subresource: Option<&'a str>,
}

impl<'a> Endpoint<'a> {
    pub(super) fn of(path: &'a str) -> Self {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        match segments.as_slice() {
            ["lab", ..] => Endpoint::Control(path.trim_start_matches('/').trim_start_matches("lab").trim_matches('/')),
            ["healthz" | "livez" | "readyz"] => Endpoint::Health,
            ["api", version, rest @ ..] => ResourcePath::of("", version, rest),
            ["apis", group, version, rest @ ..] => ResourcePath::of(group, version, rest),
            _ => Endpoint::Other,
        }
    }
}

impl<'a> ResourcePath<'a> {
    fn of(group: &'a str, version: &'a str, rest: &[&'a str]) -> Endpoint<'a> {
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            rest => (None, rest),
        };
        let [plural, rest @ ..] = rest else {
            return Endpoint::Other;
        };
        let (name, subresource) = (rest.first().copied(), rest.get(1).copied());
        Endpoint::Resource(ResourcePath {
            group,
            version,
            plural,
            namespace,
            name,
            subresource,
        })
    }

    /// The name in faults and counts, such as `deployments.apps`.
    pub(super) fn resource(&self) -> String {
        group_resource(self.group, self.plural)
    }

    /// The verb for RBAC.
    pub(super) fn verb(&self, method: &Method, watch: bool) -> &'static str {
        match (method.as_str(), self.name) {
            ("GET" | "HEAD", _) if watch => "watch",
            ("GET" | "HEAD", Some(_)) => "get",
            ("GET" | "HEAD", None) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", Some(_)) => "delete",
            ("DELETE", None) => "deletecollection",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_paths_are_taken_apart() {
        let cases = [
            ("/api/v1/services", ("", "v1", "services", None, None)),
            (
                "/api/v1/namespaces/shop/services/",
                ("", "v1", "services", Some("shop"), None),
            ),
            (
                "/apis/apps/v1/namespaces/shop/deployments/web",
                ("apps", "v1", "deployments", Some("shop"), Some("web")),
            ),
            ("/api/v1/namespaces/shop", ("", "v1", "namespaces", None, Some("shop"))),
        ];
        for (path, wanted) in cases {
            let Endpoint::Resource(found) = Endpoint::of(path) else {
                panic!("{path} is no resource")
            };
            assert_eq!(
                (found.group, found.version, found.plural, found.namespace, found.name),
                wanted,
                "{path}"
            );
        }
    }

    #[test]
    fn other_paths_are_told_apart() {
        let cases = [
            ("/lab/requests", Endpoint::Control("requests")),
            ("/lab", Endpoint::Control("")),
            ("/readyz", Endpoint::Health),
            ("/apis/apps/v1", Endpoint::Other),
            ("/labels", Endpoint::Other),
            ("/", Endpoint::Other),
        ];
        for (path, wanted) in cases {
            assert_eq!(Endpoint::of(path), wanted, "{path}");
        }
    }
}
