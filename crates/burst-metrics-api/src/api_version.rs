//! The API versions that are served.

/// The group of metrics that describe Kubernetes objects.
pub(crate) const CUSTOM_GROUP: &str = "custom.metrics.k8s.io";

/// The group of metrics that need not describe an object.
pub(crate) const EXTERNAL_GROUP: &str = "external.metrics.k8s.io";

/// A group and version of the metrics APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiVersion {
    /// `custom.metrics.k8s.io/v1beta2`, which HPAs prefer.
    CustomV1Beta2,
    /// `custom.metrics.k8s.io/v1beta1`.
    CustomV1Beta1,
    /// `external.metrics.k8s.io/v1beta1`.
    ExternalV1Beta1,
}

impl ApiVersion {
    /// All versions; the preferred version of a group comes first.
    pub(crate) const ALL: [Self; 3] = [Self::CustomV1Beta2, Self::CustomV1Beta1, Self::ExternalV1Beta1];

    pub(crate) fn find(group: &str, version: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|api| (api.group(), api.version()) == (group, version))
    }

    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::CustomV1Beta1 | Self::CustomV1Beta2 => CUSTOM_GROUP,
            Self::ExternalV1Beta1 => EXTERNAL_GROUP,
        }
    }

    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::CustomV1Beta2 => "v1beta2",
            Self::CustomV1Beta1 | Self::ExternalV1Beta1 => "v1beta1",
        }
    }

    /// As in the field `apiVersion`.
    pub(crate) fn group_version(self) -> String {
        format!("{}/{}", self.group(), self.version())
    }

    /// The kind of the lists that carry values.
    pub(crate) fn list_kind(self) -> &'static str {
        match self {
            Self::CustomV1Beta1 | Self::CustomV1Beta2 => "MetricValueList",
            Self::ExternalV1Beta1 => "ExternalMetricValueList",
        }
    }
}
