//! Builds requests to the Kubernetes API, and parses responses into objects, changes of objects, or a named failure. It
//! does not send requests.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/>
//!
//! Parsing a response is the longest task that the filter does in one call. This is a separate crate so that it can be
//! optimized for speed, while the rest of the module is optimized for size (`[profile.wasm]` of the workspace).
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

pub mod body;
mod event_reader;
pub mod failure;
pub mod item;
pub mod json;
pub mod label_text;
mod large_value;
mod list_reader;
pub mod name;
pub mod object;
pub mod outcome;
pub mod page;
pub mod resource;
pub mod response;
pub mod signal;
pub mod size;
mod value_scanner;
pub mod watch;

pub use body::{BodyEnd, BodyItem, BodyReader};
pub use failure::{ApiResponse, Failure};
pub use item::{InvalidItem, ListedItem, ParseDecision, ParseGuard};
pub use object::pod::{EndpointSlice, PodEndpoint, PodObject};
pub use object::{Hpa, Object, PolicyObject, ScaleTarget, Service, Workload};
pub use outcome::PollOutcome;
pub use page::ListPage;
pub use resource::{KeptFields, ObjectKind, Resource, Source, StreamStart, Verb};
pub use response::Payload;
pub use signal::{ScalingState, Signal, SignalSet};
pub use watch::{Change, WatchBatch};
