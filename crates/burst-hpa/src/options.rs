//! Differences between clusters: two feature gates, and the versions that changed a rule.

/// The cluster an HPA is meant for.
///
/// ```
/// # use burst_hpa::Options;
/// assert!(Options::kubernetes_1(36).tolerance);
/// assert!(!Options::kubernetes_1(34).tolerance);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// `HPAScaleToZero`: `minReplicas: 0` is allowed. Alpha and off in every version so far.
    pub scale_to_zero: bool,
    /// `HPAConfigurableTolerance`: `tolerance` is kept. Without the gate the API server drops the field silently.
    pub tolerance: bool,
    /// The version: 36 for Kubernetes 1.36. The rules cover 1.33 and later, each with its own messages.
    pub minor: u32,
}

impl Options {
    /// Kubernetes 1.`minor` with the gates it ships with.
    #[must_use]
    pub const fn kubernetes_1(minor: u32) -> Self {
        Self {
            scale_to_zero: false,
            tolerance: minor >= TOLERANCE_ON,
            minor,
        }
    }

    /// Returns whether `apiVersion` in references is checked.
    pub(crate) fn checks_api_versions(self) -> bool {
        self.minor >= API_VERSIONS_CHECKED
    }

    /// Returns whether a malformed key is refused as a label key, and a long one by its bytes; before, as a qualified name
    /// by its characters.
    pub(crate) fn has_label_key_messages(self) -> bool {
        self.minor >= LABEL_KEYS
    }

    /// Returns whether the error about an empty field of an owner begins with the field's name.
    pub(crate) fn names_empty_owner_field(self) -> bool {
        self.minor < OWNERS_REWORDED
    }

    /// Returns whether `maxReplicas: 0` counts as missing; before, it was too small.
    pub(crate) fn requires_max_replicas(self) -> bool {
        self.minor >= MAX_REPLICAS_REQUIRED
    }
}

/// The minor version in which `HPAConfigurableTolerance` became beta.
const TOLERANCE_ON: u32 = 35;

/// The minor version from which on a scale target without a group is refused.
const API_VERSIONS_CHECKED: u32 = 34;

/// The minor version from which on the fields of an owner are only named by their path.
const OWNERS_REWORDED: u32 = 34;

/// The minor version from which on qualified names are called keys of labels.
const LABEL_KEYS: u32 = 35;

/// The minor version from which on a `maxReplicas` of 0 is a missing one.
const MAX_REPLICAS_REQUIRED: u32 = 36;

/// The options of Kubernetes 1.36.
impl Default for Options {
    fn default() -> Self {
        Self::kubernetes_1(36)
    }
}
