//! The filter in a real Envoy, between a client, an upstream and the stand-in Kubernetes API of burst-lab.

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
pub use bootstrap::{DIRECT, Module, Plugin, UpstreamProtocol, cluster};
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

/// The deadline for anything that takes a few polls and ticks, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The header of the first service of the sample cluster, as it starts.
pub const NGSA_1: &str = "service=default/ngsa-1, current-load=1, target-load=4, max-load=5";

/// The Envoy cluster of that service, as the rule in [`Plugin::new`] names it.
pub const NGSA_1_CLUSTER: &str = "ngsa-svc-1.default";

/// These keys of a configuration, in the mode that lists every second instead of watching.
pub fn listing(mut keys: Value) -> Value {
    keys["sync"] = json!({"mode": "list"});
    keys
}

/// Runs a test on both Envoys at the same time, because it mostly waits. The name of a failing thread is the Envoy's version.
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
