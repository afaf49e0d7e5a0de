//! The filter in a real Envoy, between a client, an upstream and a stand-in Kubernetes API that can fail on demand.
//!
//! Needs `make setup` for the Envoys and `cargo xtask wasm --test` for the modules. `burst-model` tests what needs no
//! proxy; these tests cover what only a real host can show.

/// Makes each function a test on the oldest supported Envoy and on the default one.
macro_rules! on_each_envoy {
    ($($story:ident),+ $(,)?) => {
        mod on_each_envoy {
            $(#[test]
            fn $story() {
                burst_testkit::filter::on_each_envoy(super::$story);
            })+
        }
    };
}

mod bytes;
mod configuration;
mod degraded;
mod endpoints;
mod examples;
mod failure_policies;
mod failures;
mod front;
mod header;
mod header_only;
mod limits;
mod mapping;
mod metrics_apis;
mod orca;
mod overflow;
mod overload;
mod pages;
mod peers;
mod polling;
mod quarantine;
mod requests;
mod restart;
mod retries;
mod retry_after;
mod reviews;
mod roles;
mod signals;
mod split;
mod spokes;
mod staleness;
mod stats;
mod streaming;
mod traps;
mod watching;
