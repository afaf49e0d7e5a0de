//! The HorizontalPodAutoscaler of `autoscaling/v2`, offline: what kube-apiserver would say to one, without a cluster.
//!
//! Pure: no IO, no clock, no YAML. The objects are [`k8s_openapi`]'s; the program at the end of the dependency chain
//! picks the Kubernetes version by that crate's features.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

pub mod quantity;
pub mod simulate;

pub use quantity::Quantity;
