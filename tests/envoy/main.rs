//! The filter in a real Envoy, between a client, an upstream and a stand-in Kubernetes API that can fail on demand.
//!
//! Needs `make setup` for the Envoys and `cargo xtask wasm --test` for the modules. What needs no proxy is tested in
//! `burst-model`; here stands what only a real host can show.

/// Makes each story a test, of the oldest Envoy that is supported and of the one that everything is tested on.
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
mod endpoints;
mod examples;
mod failures;
mod header;
mod header_only;
mod limits;
mod mapping;
mod metrics_apis;
mod overload;
mod pages;
mod polling;
mod quarantine;
mod requests;
mod restart;
mod reviews;
mod roles;
mod spokes;
mod staleness;
mod stats;
mod traps;
mod watching;
