//! What the stories play on: a cluster that is made up, an upstream, and a proxy with the filter between them.

mod backend;
mod bootstrap;
mod client;
mod http2;
mod identity;
mod proxy;
mod reports;
mod request;
mod upstream;

pub use backend::{Backend, serve};
pub use bootstrap::{DIRECT, Module, Plugin, cluster};
pub use client::Client;
pub use http2::Stalled;
pub use identity::TlsIdentity;
pub use proxy::Proxy;
pub use reports::Reports;
pub use upstream::{ITS_OWN, SILENT, Upstream, WITH_BURST, echo};

use std::thread;
use std::time::Duration;

use crate::Version;
use serde_json::{Value, json};

/// For whatever should come soon: some polls and ticks on a machine with much else to do.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// What the seed's first service says, at the start of the sample cluster.
pub const NGSA_1: &str = "service=default/ngsa-1, current-load=1, target-load=4, max-load=5";

/// The Envoy cluster of that service, as the rule in [`Plugin::new`] names it.
pub const NGSA_1_CLUSTER: &str = "ngsa-svc-1.default";

/// These keys of a configuration, for a story of lists that are read whole, every second.
pub fn listing(mut keys: Value) -> Value {
    keys["sync"] = json!({"mode": "list"});
    keys
}

/// Plays a story on each Envoy, at the same time: it waits more than it works. The thread's name says which one fails.
pub fn on_each_envoy(story: fn(Version)) {
    thread::scope(|scope| {
        for version in Version::ALL {
            let name = format!("Envoy {}", version.part().version());
            let thread = thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, move || story(version));
            thread.expect("a thread");
        }
    });
}
