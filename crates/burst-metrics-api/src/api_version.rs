//! The versions of the two groups.

use super::{custom, external};

/// A version that is served.
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
    /// All of them; of a group the preferred one first.
    pub(super) const ALL: [Self; 3] = [Self::CustomV1Beta2, Self::CustomV1Beta1, Self::ExternalV1Beta1];

    pub(super) fn named(group: &str, version: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|api| (api.group(), api.version()) == (group, version))
    }

    pub(super) fn group(self) -> &'static str {
        match self {
            Self::CustomV1Beta1 | Self::CustomV1Beta2 => custom::GROUP,
            Self::ExternalV1Beta1 => external::GROUP,
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            Self::CustomV1Beta2 => "v1beta2",
            Self::CustomV1Beta1 | Self::ExternalV1Beta1 => "v1beta1",
        }
    }

    /// The kind of the answers.
    pub(super) fn list_kind(self) -> &'static str {
        match self {
            Self::CustomV1Beta1 | Self::CustomV1Beta2 => custom::LIST_KIND,
            Self::ExternalV1Beta1 => "ExternalMetricValueList",
        }
    }
}
