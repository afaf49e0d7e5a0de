//! What differs between clusters: two feature gates, and the versions in which they changed their default.

/// The feature gates that matter to an HPA.
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
    /// `HPAConfigurableTolerance`: `tolerance` is kept. Without the gate the apiserver drops the field silently.
    pub tolerance: bool,
}

impl Options {
    /// The gates of Kubernetes 1.`minor` as it ships.
    #[must_use]
    pub fn kubernetes_1(minor: u32) -> Self {
        Self {
            scale_to_zero: false,
            tolerance: minor >= TOLERANCE_ON,
        }
    }
}

/// The minor version in which `HPAConfigurableTolerance` became beta.
const TOLERANCE_ON: u32 = 35;

/// Those of Kubernetes 1.36.
impl Default for Options {
    fn default() -> Self {
        Self::kubernetes_1(36)
    }
}
