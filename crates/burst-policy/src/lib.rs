//! Who may read which external metric: the `ExternalMetricPolicy` that Kubernetes' design of the external metrics API
//! leaves to the future, with no host, no clock and no IO.
//!
//! ```text
//! words ─▶ Policy ─┐
//! query ───────────┴▶ Evaluation: may it, and which rule of which policy says so
//! ```
//!
//! A policy is an ordered list of rules. A rule has a [pattern] for the metric's [name], and then a
//! label selector or `deny`. The first rule that matches decides; a query passes a selector if it
//! [asks for no more](labels) than that selects. Every policy that applies must let a query pass.
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
