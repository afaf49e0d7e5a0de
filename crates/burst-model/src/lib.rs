//! The pure half of burst-metrics: from Kubernetes answers to burst headers, with no host, no clock and no IO.
//!
//! The way of the data, one direction only:
//!
//! ```text
//! config ─▶ sync ─▶ kube request ═▶ (the shell) ═▶ kube answer ─▶ index ─▶ snapshot ─▶ view
//! ```
//!
//! `now` and chance are arguments everywhere. Nothing here panics on foreign bytes.
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
pub mod index;
pub mod leader;
pub mod load;
pub mod order;
pub mod policies;
pub mod quarantine;
pub mod quota;
pub mod records;
pub mod request_rates;
pub mod serve;
pub mod snapshot;
pub mod sync;
pub mod time;
pub mod upstream;
pub mod version;

pub use burst_kube as kube;
pub use burst_kube::{label_text, name};
pub use burst_printable as printable;

use burst_kube::json;
