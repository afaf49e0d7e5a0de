//! The pure half of burst-metrics: it turns Kubernetes API responses into burst headers without a host, a clock or IO.
//!
//! Data flows in one direction:
//!
//! ```text
//! config ─▶ sync ─▶ API request ═▶ (the shell) ═▶ API response ─▶ index ─▶ snapshot ─▶ serve
//! ```
//!
//! The current time and random numbers are arguments everywhere. No input bytes make this crate panic.
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

pub mod budget;
pub mod cluster_reader;
pub mod config;
pub mod confirmation;
pub mod failure_state;
pub mod garbage_collection;
pub mod hash;
pub mod hub_client;
pub mod hub_request;
pub mod index;
pub mod leader;
pub mod leader_list;
pub mod load;
pub mod metric;
pub mod order;
pub mod peers;
pub mod policies;
pub mod quarantine;
pub mod quota;
pub mod records;
pub mod request_rates;
pub mod serve;
pub mod signals;
pub mod snapshot;
pub mod sync;
pub mod time;
pub mod upstream;
pub mod version;

pub use burst_kube as kube;
pub use burst_kube::{label_text, name};
pub use burst_printable as printable;

use burst_kube::json;
