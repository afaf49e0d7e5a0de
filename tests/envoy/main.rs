//! The filter in a real Envoy, between a client, an upstream and a stand-in Kubernetes API that can fail on demand.
//!
//! Needs `make setup` for the Envoys and `cargo xtask wasm --test` for the modules. What needs no proxy is tested in
//! `burst-model`; here stands what only a real host can show.

/// Runs each story on the oldest Envoy that is supported and on the one that everything is tested on.
macro_rules! on_each_envoy {
    ($($story:ident),+ $(,)?) => {
        mod oldest {
            $(#[test]
            fn $story() {
                super::$story(burst_testkit::Version::Oldest);
            })+
        }
        mod tested {
            $(#[test]
            fn $story() {
                super::$story(burst_testkit::Version::Tested);
            })+
        }
    };
}

mod stage;

mod bytes;
mod configuration;
mod endpoints;
mod examples;
mod failures;
mod header;
mod header_only;
mod mapping;
mod pages;
mod polling;
mod staleness;
mod stats;
mod traps;
