#![doc = include_str!("../README.md")]
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

mod admit;
pub mod behavior;
pub mod builder;
pub mod decode;
mod defaults;
mod field_error;
mod field_path;
pub mod lint;
mod locate;
pub mod metric;
pub mod migrate;
mod nearest;
pub mod node;
mod options;
pub mod selector;
pub mod simulate;
mod spec;
pub mod status;
mod string_enum;
mod validate;
mod workload;

pub use burst_quantity::{self as quantity, Quantity};

pub use admit::{Refusal, admit};
pub use decode::{DecodeError, decode};
pub use defaults::defaulted;
pub use field_error::{ErrorType, FieldError};
pub use lint::{Finding, Lint, Objects, Severity, lint, lint_among, lint_with_target};
pub use migrate::{MigrateError, Migration, migrate};
pub use node::{Node, NodeValue};
pub use options::Options;
pub use string_enum::UnknownValue;
pub use validate::validate;
pub use workload::Workload;
