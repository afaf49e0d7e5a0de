//! Parses the path of a request into the document or metric that it names.
//!
//! kube-apiserver's proxy encodes paths again: `*` arrives as `%2A`, `|` as `%7C` and `\` as `%5C`.

use crate::api_version::{ApiVersion, CUSTOM_GROUP, EXTERNAL_GROUP};
use crate::status::StatusError;
use percent_encoding::percent_decode;
use std::borrow::Cow;

/// In bytes, with the query. Only a selector of a broken program is longer. kube-apiserver allows a megabyte.
const MAX_LENGTH: usize = 64 << 10;

/// The path of a request, without its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MetricsPath {
    /// The path, percent-decoded as a whole, like `URL.Path` in Go. Authorization is about this form.
    pub(crate) decoded: String,
    /// The document or metric that the path names. Here a segment is decoded by itself, so an encoded slash does not
    /// separate segments.
    pub(crate) target: ApiPath,
    /// Whether another server could resolve the path differently: it has a dot segment or an encoded slash.
    pub(crate) is_ambiguous: bool,
}

/// The document or metric that a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApiPath {
    /// `/`.
    Root,
    /// Any other path outside of the served groups and versions.
    Elsewhere,
    /// `/healthz`, `/livez` and `/readyz`.
    Health,
    /// `/version`.
    Version,
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`.
    OpenApiV3,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(&'static str),
    /// `/apis/GROUP/VERSION`.
    Resources(ApiVersion),
    /// The values of a custom metric.
    Custom(ApiVersion, CustomMetricPath),
    /// The series of an external metric.
    External(ExternalMetricPath),
    /// A path below a served version that names nothing.
    NotFound,
}

/// The path of a custom metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CustomMetricPath {
    /// `None` if the path names no namespace, as for resources at the cluster scope.
    pub(crate) namespace: Option<String>,
    /// `deployments.apps`.
    pub(crate) resource: String,
    /// The name of an object, or `*`.
    pub(crate) name: String,
    pub(crate) metric: String,
}

/// The path of an external metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExternalMetricPath {
    pub(crate) namespace: String,
    /// As the client spells it.
    pub(crate) metric: String,
}

impl MetricsPath {
    /// Parses `:path`. Also returns the query.
    ///
    /// # Errors
    /// `414` for a path that is too long, `400` for one that is not UTF-8.
    pub(crate) fn parse(path_and_query: &[u8]) -> Result<(Self, &[u8]), StatusError> {
        if path_and_query.len() > MAX_LENGTH {
            return Err(StatusError::uri_too_long(MAX_LENGTH));
        }
        let without_fragment = path_and_query.split(|byte| *byte == b'#').next().unwrap_or_default();
        let mut parts = without_fragment.splitn(2, |byte| *byte == b'?');
        let (path, query) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let decoded_segments: Vec<_> = path.split(|byte| *byte == b'/').map(decode).collect::<Result<_, _>>()?;
        let decoded = decoded_segments.join("/");
        let all_segments: Vec<&str> = decoded_segments.iter().map(|segment| &**segment).collect();
        let segments = without_outer_slashes(&all_segments);
        let path = Self {
            decoded,
            target: ApiPath::parse(segments),
            is_ambiguous: segments
                .iter()
                .any(|segment| [".", ".."].contains(segment) || segment.contains('/')),
        };
        Ok((path, query))
    }
}

fn decode(segment: &[u8]) -> Result<Cow<'_, str>, StatusError> {
    percent_decode(segment)
        .decode_utf8()
        .map_err(|_| StatusError::bad_request("the path is not UTF-8 after percent-decoding"))
}

/// Leaves out one slash at the start, and one at the end. At least one segment is left.
fn without_outer_slashes<'a, 'b>(segments: &'a [&'b str]) -> &'a [&'b str] {
    let without_first = match segments {
        ["", rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    match without_first {
        [rest @ .., ""] if !rest.is_empty() => rest,
        all => all,
    }
}

impl ApiPath {
    fn parse(segments: &[&str]) -> Self {
        match *segments {
            [""] => Self::Root,
            ["healthz" | "livez" | "readyz"] => Self::Health,
            ["version"] => Self::Version,
            ["openapi", "v2"] => Self::OpenApiV2,
            ["openapi", "v3"] => Self::OpenApiV3,
            ["apis"] => Self::Groups,
            ["apis", CUSTOM_GROUP] => Self::Group(CUSTOM_GROUP),
            ["apis", EXTERNAL_GROUP] => Self::Group(EXTERNAL_GROUP),
            ["apis", group, version, ref below @ ..] => match ApiVersion::find(group, version) {
                Some(api) if below.is_empty() => Self::Resources(api),
                Some(_) if below.contains(&"") => Self::NotFound,
                Some(ApiVersion::ExternalV1Beta1) => {
                    ExternalMetricPath::parse(below).map_or(Self::NotFound, Self::External)
                }
                Some(api) => CustomMetricPath::parse(below).map_or(Self::NotFound, |path| Self::Custom(api, path)),
                None => Self::Elsewhere,
            },
            _ => Self::Elsewhere,
        }
    }
}

impl CustomMetricPath {
    /// Parses the segments below the version.
    fn parse(segments: &[&str]) -> Option<Self> {
        let (namespace, resource, name, metric) = match *segments {
            ["namespaces", namespace, "metrics", metric] => (Some(namespace), "namespaces", namespace, metric),
            ["namespaces", namespace, resource, name, metric] => (Some(namespace), resource, name, metric),
            ["namespaces", ..] => return None,
            [resource, name, metric] => (None, resource, name, metric),
            _ => return None,
        };
        Some(Self {
            namespace: namespace.map(str::to_owned),
            resource: resource.to_owned(),
            name: name.to_owned(),
            metric: metric.to_owned(),
        })
    }
}

impl ExternalMetricPath {
    /// Parses the segments below the version.
    fn parse(segments: &[&str]) -> Option<Self> {
        match *segments {
            // client-go refuses a metric name with a slash; other clients send it as several segments.
            ["namespaces", namespace, ref metric @ ..] if !metric.is_empty() => Some(Self {
                namespace: namespace.to_owned(),
                metric: metric.join("/"),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Namespace, resource, name and metric, or namespace and metric.
    fn metric(path: &str) -> Option<String> {
        let (path, _) = MetricsPath::parse(path.as_bytes()).ok()?;
        match path.target {
            ApiPath::Custom(_, path) => {
                let namespace = path.namespace.as_deref().unwrap_or("-");
                Some(format!("{namespace} {} {} {}", path.resource, path.name, path.metric))
            }
            ApiPath::External(path) => Some(format!("{} {}", path.namespace, path.metric)),
            _ => None,
        }
    }

    #[test]
    fn metric_paths_are_parsed_as_the_aggregator_writes_them() {
        for (path, expected) in [
            (
                "custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/m",
                Some("shop services web m"),
            ),
            (
                "custom.metrics.k8s.io/v1beta1/namespaces/shop/deployments.apps/%2A/m?a=b",
                Some("shop deployments.apps * m"),
            ),
            (
                "custom.metrics.k8s.io/v1beta2/namespaces/shop/services/a%2Fb/m/",
                Some("shop services a/b m"),
            ),
            (
                "custom.metrics.k8s.io/v1beta2/namespaces/shop/metrics/m",
                Some("shop namespaces shop m"),
            ),
            ("custom.metrics.k8s.io/v1beta2/nodes/*/m", Some("- nodes * m")),
            ("external.metrics.k8s.io/v1beta1/namespaces/shop/m", Some("shop m")),
            (
                "external.metrics.k8s.io/v1beta1/namespaces/shop/a%5C%7Cb",
                Some("shop a\\|b"),
            ),
            ("external.metrics.k8s.io/v1beta1/namespaces/shop/a/b", Some("shop a/b")),
            ("custom.metrics.k8s.io/v1beta2/namespaces/shop", None),
            ("custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web", None),
            ("custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/m/n", None),
            ("custom.metrics.k8s.io/v1beta2/namespaces/shop//web/m", None),
            ("custom.metrics.k8s.io/v1beta2/services/web", None),
            ("custom.metrics.k8s.io/v1beta3/services/web/m", None),
            ("external.metrics.k8s.io/v1beta1/m", None),
            ("external.metrics.k8s.io/v1beta1/namespaces/shop", None),
            ("external.metrics.k8s.io/v1beta1/namespaces//m", None),
        ] {
            assert_eq!(metric(&format!("/apis/{path}")).as_deref(), expected, "{path}");
        }
        assert!(MetricsPath::parse(&[b'a'; MAX_LENGTH + 1]).is_err());
        assert!(MetricsPath::parse(b"/%ff").is_err());
    }

    #[test]
    fn one_slash_at_each_end_does_not_count() {
        for (path, target) in [
            ("", ApiPath::Root),
            ("/", ApiPath::Root),
            ("//", ApiPath::Root),
            ("///", ApiPath::Elsewhere),
            ("/apis/", ApiPath::Groups),
            ("apis", ApiPath::Groups),
            ("/apis//", ApiPath::Elsewhere),
        ] {
            let (parsed, _) = MetricsPath::parse(path.as_bytes()).unwrap();
            assert_eq!((parsed.target, parsed.decoded.as_str()), (target, path), "{path}");
        }
    }

    #[test]
    fn a_path_that_another_server_may_read_differently_is_ambiguous() {
        for (path, is_ambiguous) in [
            ("/apis/a/b", false),
            ("/apis/../b", true),
            ("/apis/%2E/b", true),
            ("/apis/a%2Fb", true),
            ("/apis/a..b", false),
        ] {
            let (parsed, _) = MetricsPath::parse(path.as_bytes()).unwrap();
            assert_eq!(parsed.is_ambiguous, is_ambiguous, "{path}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(path in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok((parsed, query)) = MetricsPath::parse(&path) {
                prop_assert!(parsed.decoded.len() + query.len() <= path.len());
            }
        }
    }
}
