//! Kubernetes' label selectors and the formats of its names, with the same results and messages as Go's implementation.
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

pub mod content;
pub mod selector;

pub use selector::Selector;
