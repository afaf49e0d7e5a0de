//! Decides which user may read which external metric, by the `ExternalMetricPolicy` objects that the design of the external
//! metrics API leaves as future work. This crate uses no host, no clock and no IO.
//!
//! ```text
//! RawPolicySpec ─▶ Policy ─┐
//! AccessRequest ───────────┴▶ Evaluation: allowed or denied, and by which rule of which policy
//! ```
//!
//! A policy is an ordered list of rules. A rule has a [pattern] for the [name] of the metric, and either a label selector or
//! `deny`. The first rule that matches the name decides. A selector allows a request that
//! [selects a subset](labels) of its series. A request is allowed if every policy that applies allows it.
//! <https://github.com/kubernetes/design-proposals-archive/blob/main/instrumentation/external-metrics-api.md>
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

pub mod cost;
pub mod evaluate;
pub mod labels;
pub mod name;
pub mod pattern;
pub mod policy;
pub mod raw;
mod rule_cache;
mod validate;

pub use cost::{LimitExceeded, MAX_RULES};
pub use evaluate::{AccessRequest, DefaultDecision, Evaluation, evaluate};
pub use labels::LabelConstraints;
pub use policy::{Policy, PolicyDecision, RuleEffect, UserInfo};
pub use validate::{PolicyError, PolicyErrorKind};
