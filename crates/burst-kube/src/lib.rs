//! What is asked of the Kubernetes API and what comes back: requests as values, answers as objects, as changes of them,
//! or as a named failure. Nothing is sent here.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/>
//!
//! The reading of an answer is the longest thing that the filter does at once. So this is a crate of its own: it is made
//! for speed, the rest of the module for size (`[profile.wasm]` of the workspace).
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

pub mod json;
pub mod label_text;
pub mod name;
pub mod object;
pub mod outcome;
pub mod page;
pub mod resource;
pub mod response;
pub mod size;
pub mod watch;

pub use object::{Hpa, Object, PolicyObject, ScaleTarget, Service, Workload};
pub use outcome::PollOutcome;
pub use page::{ListPage, ParseDecision, ParseGuard};
pub use resource::{ObjectKind, Resource, Source, Verb};
pub use response::{ApiResponse, Failure, Payload};
pub use watch::{Change, WatchBatch};
