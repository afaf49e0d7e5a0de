//! Two readers of what the Kubernetes API answers, which give the same values: that of the filter, for JSON, and one for
//! protobuf, which no filter has. The examples are modules with the one, the other and both, and a program that reads
//! natively.
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

pub mod module;
pub mod protobuf;

use burst_model::kube::{ApiResponse, Failure, ObjectKind, Payload, Resource, Source, Verb, response};

/// The lists that are kept by default.
#[must_use]
pub fn sources() -> [Source; 4] {
    [
        Source::all_namespaces(ObjectKind::Hpas, Resource::hpas()),
        Source::all_namespaces(ObjectKind::Services, Resource::services()),
        Source::all_namespaces(ObjectKind::Workloads, Resource::deployments()),
        Source::all_namespaces(ObjectKind::Workloads, Resource::statefulsets()),
    ]
}

/// Reads the JSON body of a success.
///
/// # Errors
/// See [`response::parse`].
pub fn json(source: &Source, verb: Verb, body: &[u8]) -> Result<Payload, Failure> {
    let response = ApiResponse {
        status: Some(200),
        content_type: Some(b"application/json"),
        retry_after: None,
        body,
    };
    response::parse(source, verb, response, &mut ())
}

/// How many objects, or changes of them, an answer brought.
#[must_use]
pub fn count(answer: &Payload) -> usize {
    match answer {
        Payload::Page(page) => page.objects.len(),
        Payload::WatchBatch(window) => window.changes.len(),
    }
}
