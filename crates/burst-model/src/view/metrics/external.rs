//! `external.metrics.k8s.io`.

pub(super) const GROUP: &str = "external.metrics.k8s.io";
