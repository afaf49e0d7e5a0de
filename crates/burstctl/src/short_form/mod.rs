//! The short form of an HPA, which `burstctl hpa render` writes out as `autoscaling/v2`.

mod build;
mod duration;
mod raw;
mod scale_targets;

pub(crate) use build::{hpa as build, lint_finding, title};
pub(crate) use raw::is_short;
pub(crate) use scale_targets::ScaleTargets;

/// The JSON schema of the short form.
pub const SCHEMA: &str = include_str!("../../l2.schema.json");
