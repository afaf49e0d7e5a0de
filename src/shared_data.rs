//! Envoy's shared data, for the protocols of `burst-shared-data`.

use burst_shared_data as protocols;
use burst_shared_data::{CasConflict, SharedData};
use proxy_wasm::hostcalls;

/// The shared data of the proxy that runs this VM.
#[derive(Debug)]
pub(crate) struct EnvoySharedData;

pub(crate) type ClusterLeader = protocols::ClusterLeader<EnvoySharedData>;
pub(crate) type Election = protocols::Election<EnvoySharedData>;
pub(crate) type FencedKey = protocols::FencedKey<EnvoySharedData>;
pub(crate) type InFlightRequest = protocols::request_counts::InFlightRequest<EnvoySharedData>;
pub(crate) type LazyId = protocols::LazyId<EnvoySharedData>;
pub(crate) type LeaderGuard = protocols::LeaderGuard<EnvoySharedData>;
pub(crate) type OtherLeaders = protocols::OtherLeaders<EnvoySharedData>;
pub(crate) type PeersLeader = protocols::PeersLeader<EnvoySharedData>;
pub(crate) type Term = protocols::Term<EnvoySharedData>;
pub(crate) type WakeQueues = protocols::WakeQueues<EnvoySharedData>;
pub(crate) type View = protocols::View<EnvoySharedData>;

impl SharedData for EnvoySharedData {
    fn get(key: &str) -> Option<(Vec<u8>, u32)> {
        let (bytes, cas) = hostcalls::get_shared_data(key).ok()?;
        Some((bytes.unwrap_or_default(), cas?))
    }

    fn set(key: &str, bytes: &[u8], cas: Option<u32>) -> Result<(), CasConflict> {
        hostcalls::set_shared_data(key, Some(bytes), cas).map_err(|_| CasConflict)
    }

    /// Traps if the bytes have the name of a test. A Service of that name is in the snapshot and in the checkpoint, a metric
    /// of that name in the policies.
    #[cfg(feature = "test-trap")]
    fn before_parse(kind: burst_model::quarantine::ItemKind, bytes: &[u8]) {
        use burst_model::quarantine::ItemKind;
        let name: &[u8] = match kind {
            ItemKind::Snapshot => b"burst-test-trap-snapshot",
            ItemKind::Policies => b"burst-test-trap-policies",
            ItemKind::Checkpoint => b"burst-test-trap-checkpoint",
            ItemKind::Object => b"burst-metrics.test/trap",
            _ => return,
        };
        if bytes.windows(name.len()).any(|part| part == name) {
            crate::host::trap();
        }
    }
}
