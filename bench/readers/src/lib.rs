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

use burst_model::kube::{Answer, Failure, Reads, Resource, Response, Source, Verb, answer};

/// The lists that are kept by default.
#[must_use]
pub fn sources() -> [Source; 4] {
    [
        Source::everywhere(Reads::Hpas, Resource::hpas()),
        Source::everywhere(Reads::Services, Resource::services()),
        Source::everywhere(Reads::Workloads, Resource::deployments()),
        Source::everywhere(Reads::Workloads, Resource::statefulsets()),
    ]
}

/// Reads the JSON body of a success.
///
/// # Errors
/// See [`answer::read`].
pub fn json(source: &Source, verb: Verb, body: &[u8]) -> Result<Answer, Failure> {
    let response = Response {
        status: Some(200),
        content_type: Some(b"application/json"),
        retry_after: None,
        body,
    };
    answer::read(source, verb, response, &mut ())
}

/// How many objects, or changes of them, an answer brought.
#[must_use]
pub fn count(answer: &Answer) -> usize {
    match answer {
        Answer::Page(page) => page.objects.len(),
        Answer::Window(window) => window.changes.len(),
    }
}
