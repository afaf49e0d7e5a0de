//! Which document or metric a path names. kube-apiserver's proxy writes a path anew: `*` comes as `%2A`, `|` as `%7C`
//! and `\` as `%5C`.

use super::api_version::ApiVersion;
use super::status::StatusError;
use super::{custom, external};
use percent_encoding::percent_decode;

/// Longer than anything but a selector of a program that ran away. kube-apiserver lets a megabyte pass.
const LONGEST: usize = 64 << 10;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ApiPath<'a> {
    /// `/`.
    Root,
    /// No document, and of no group that is served.
    Elsewhere,
    /// `/healthz` and its like.
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
    /// A custom metric.
    Custom(ApiVersion, custom::CustomMetricPath<'a>),
    /// An external metric.
    External(external::ExternalMetricPath<'a>),
    /// Below a version, where nothing is.
    Nothing,
}

/// The decoded segments of a path, and its query.
pub(super) fn split(path: &[u8]) -> Result<(Vec<String>, &[u8]), StatusError> {
    if path.len() > LONGEST {
        return Err(StatusError::too_long(LONGEST));
    }
    let path = path.split(|byte| *byte == b'#').next().unwrap_or_default();
    let mut parts = path.splitn(2, |byte| *byte == b'?');
    let (path, query) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let path = path.strip_suffix(b"/").unwrap_or(path);
    // Segments are told apart before they are decoded: an escaped slash is no border.
    let decode = |segment| percent_decode(segment).decode_utf8().map(Into::into);
    let segments: Result<Vec<_>, _> = path.split(|byte| *byte == b'/').map(decode).collect();
    let segments = segments.map_err(|_| StatusError::bad_request("the path is not UTF-8 after percent-decoding"))?;
    Ok((segments, query))
}

pub(super) fn parse(segments: &[String]) -> ApiPath<'_> {
    let segments: Vec<_> = segments.iter().map(String::as_str).collect();
    match segments[..] {
        [""] => ApiPath::Root,
        ["healthz" | "livez" | "readyz"] => ApiPath::Health,
        ["version"] => ApiPath::Version,
        ["openapi", "v2"] => ApiPath::OpenApiV2,
        ["openapi", "v3"] => ApiPath::OpenApiV3,
        ["apis"] => ApiPath::Groups,
        ["apis", custom::GROUP] => ApiPath::Group(custom::GROUP),
        ["apis", external::GROUP] => ApiPath::Group(external::GROUP),
        ["apis", group, version, ref below @ ..] => match ApiVersion::named(group, version) {
            Some(api) if below.is_empty() => ApiPath::Resources(api),
            Some(_) if below.contains(&"") => ApiPath::Nothing,
            Some(ApiVersion::ExternalV1Beta1) => external(below),
            Some(api) => custom(api, below),
            None => ApiPath::Elsewhere,
        },
        _ => ApiPath::Elsewhere,
    }
}

fn custom<'a>(api: ApiVersion, below: &[&'a str]) -> ApiPath<'a> {
    let (namespace, resource, name, metric) = match *below {
        ["namespaces", namespace, "metrics", metric] => (Some(namespace), "namespaces", namespace, metric),
        ["namespaces", namespace, resource, name, metric] => (Some(namespace), resource, name, metric),
        ["namespaces", ..] => return ApiPath::Nothing,
        [resource, name, metric] => (None, resource, name, metric),
        _ => return ApiPath::Nothing,
    };
    ApiPath::Custom(
        api,
        custom::CustomMetricPath {
            namespace,
            resource,
            name,
            metric,
        },
    )
}

fn external<'a>(below: &[&'a str]) -> ApiPath<'a> {
    match *below {
        // More segments are a name with slashes, by who asks without client-go, which refuses them.
        ["namespaces", namespace, ref metric @ ..] if !metric.is_empty() => {
            ApiPath::External(external::ExternalMetricPath {
                namespace,
                metric: metric.join("/"),
            })
        }
        _ => ApiPath::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wanted(path: &str) -> Option<String> {
        let (segments, _) = split(path.as_bytes()).ok()?;
        match parse(&segments) {
            ApiPath::Custom(_, wanted) => {
                let custom::CustomMetricPath {
                    namespace,
                    resource,
                    name,
                    metric,
                } = wanted;
                Some(format!("{} {resource} {name} {metric}", namespace.unwrap_or("-")))
            }
            ApiPath::External(wanted) => Some(format!("{} {}", wanted.namespace, wanted.metric)),
            _ => None,
        }
    }

    #[test]
    fn paths_are_those_of_the_seeds_as_the_aggregator_writes_them() {
        for (path, shape) in [
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
            assert_eq!(wanted(&format!("/apis/{path}")).as_deref(), shape, "{path}");
        }
        assert!(split(&[b'a'; LONGEST + 1]).is_err());
        assert!(split(b"/%ff").is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_survived(path in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok((segments, _)) = split(&path) {
                let _ = parse(&segments);
            }
        }
    }
}
