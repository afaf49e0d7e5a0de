//! The custom and external metrics APIs, as kube-apiserver's aggregation layer requests them.
//!
//! A request takes four steps, and nothing is parsed twice:
//!
//! ```text
//! headers ─▶ parse ─▶ authorize ─▶ route ─┬─▶ answer
//!                                         └─▶ another adapter
//! ```
//!
//! 1. *Parse*: [`MetricsRequest::parse`] reads the path, the query, the user and the accepted formats from the headers. The
//!    other steps see only this value.
//! 2. *Authorize*: [`connection`] accepts a user from the API server's front proxy only, which shows a client certificate.
//!    kube-apiserver has authorized that user. With [`review`], the filter asks the API server once more. Policies for
//!    external metrics are checked with the next step, because they also protect the metrics of another adapter.
//! 3. *Route*: [`serve`] answers a request itself, unless another adapter has the metric ([`adapters`]).
//! 4. *Answer*: values come from the snapshot of the cluster and from the requests that the proxies count. Discovery,
//!    health and OpenAPI follow from the configuration alone, so an outage of the Kubernetes API is an error of each metric
//!    and not of the API.
//!
//! The crate knows no host, no clock and no IO. The shell (`src/metrics_apis` of the filter) carries out what it decides.
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

mod accept;
pub mod adapters;
mod aliases;
mod api_version;
mod catalog;
pub mod connection;
mod custom;
mod discovery;
mod encoding;
mod external;
mod fallback;
mod field_selector;
mod list_options;
mod metric_values;
mod milli_value;
mod objects;
mod path;
mod policy_check;
mod request;
mod response;
pub mod review;
mod selector_object;
mod server;
mod sources;
mod status;
mod user_info;
mod value_list;

pub use api_version::ApiVersion;
pub use request::MetricsRequest;
pub use response::MetricsResponse;
pub use server::{RoutedRequest, quarantined, serve, too_many_bulk_answers};
pub use sources::MetricSources;

#[cfg(test)]
mod tests;
