//! The settings of kube-controller-manager: its flags and feature gates.

use std::time::Duration;

/// The settings of the controller. `default()` has the default flags of kube-controller-manager v1.36.
///
/// The fields are named after the flags. See
/// <https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/>.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerOptions {
    /// `--horizontal-pod-autoscaler-sync-period`: the time between two calls of [`sync`](super::sync). The
    /// algorithm does not use it.
    pub sync_period: Duration,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`: for this long the highest recommendation wins, unless
    /// `behavior.scaleDown` names its own window.
    pub downscale_stabilization: Duration,
    /// `--horizontal-pod-autoscaler-tolerance`: how far a metric may differ from its target, as a fraction, before the replicas change.
    pub tolerance: f64,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`: for this long after the start of a pod, the controller
    /// may ignore its cpu samples.
    pub cpu_initialization_period: Duration,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`: if the readiness of a pod last changed within this time
    /// after its start, the controller assumes that the pod has never been ready.
    pub initial_readiness_delay: Duration,
    /// Feature gate `HPAScaleToZero` (alpha, off by default).
    pub scale_to_zero: bool,
    /// Feature gate `HPAConfigurableTolerance` (on by default since v1.35).
    pub configurable_tolerance: bool,
}

impl Default for ControllerOptions {
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
