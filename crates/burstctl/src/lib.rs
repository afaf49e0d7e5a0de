//! The commands of `burstctl`, as functions from text to text.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        // All output goes through `printer`, which escapes untrusted text.
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

pub mod args;
mod deserialize;
#[cfg(feature = "live")]
pub mod doctor;
mod duration;
pub mod explain;
pub mod finding;
mod hpa;
pub mod input;
pub mod istio;
pub mod lint;
#[cfg(feature = "live")]
pub mod live;
pub mod metric_model;
pub mod objects;
mod older_field;
pub mod outcome;
pub mod plugin_config;
pub mod policy;
pub mod preview;
pub mod printer;
#[cfg(feature = "live")]
pub mod proxy;
pub mod render;
pub mod run;
mod short_form;
pub mod simulate;
pub mod terminal;
pub mod unit;
mod user;
pub mod yaml;
