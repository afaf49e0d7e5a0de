//! What the flags and feature gates of kube-controller-manager set.

use std::time::Duration;

/// The controller's settings; `default()` is what kube-controller-manager v1.36 runs with when no flag is given.
///
/// The names follow the flags, see
/// <https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/>.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `--horizontal-pod-autoscaler-sync-period`: the time between two calls of [`sync`](super::sync). The
    /// algorithm itself never looks at it.
    pub sync_period: Duration,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`: for this long the highest recommendation wins, unless
    /// `behavior.scaleDown` names its own window.
    pub downscale_stabilization: Duration,
    /// `--horizontal-pod-autoscaler-tolerance`: how far a metric may be off its target, as a fraction, before the replicas change.
    pub tolerance: f64,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`: for this long after its start a pod's cpu samples may
    /// be set aside.
    pub cpu_initialization_period: Duration,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`: a pod whose readiness last changed within this long of
    /// its start is taken to have never been ready.
    pub initial_readiness_delay: Duration,
    /// Feature gate `HPAScaleToZero` (alpha, off by default).
    pub scale_to_zero: bool,
    /// Feature gate `HPAConfigurableTolerance` (on by default since v1.35).
    pub configurable_tolerance: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync_period: Duration::from_secs(15),
            downscale_stabilization: Duration::from_secs(300),
            tolerance: 0.1,
            cpu_initialization_period: Duration::from_secs(300),
            initial_readiness_delay: Duration::from_secs(30),
            scale_to_zero: false,
            configurable_tolerance: true,
        }
    }
}
