//! `custom.metrics.k8s.io`.

pub(super) const GROUP: &str = "custom.metrics.k8s.io";
