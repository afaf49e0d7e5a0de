//! The records in shared data beside the snapshot: when the cluster was last read, and what a successor needs to continue.
//! They are encoded by postcard. Their keys contain the version of the format.

use crate::config::Config;
use crate::config::PeerConfig;
use crate::hash;
use crate::kube::{Object, PollOutcome, Verb};
use crate::policies::PolicySets;
use crate::snapshot::FORMAT;
use crate::sync::election::{FullCandidates, Lease};
use crate::sync::reflector::FailurePause;
use crate::time::Time;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// When the cluster was last read. It is written after every successful round, so a quiet cluster is never stale.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The generation of the snapshot that was confirmed.
    pub generation: u64,
    /// When each list was last read, in the order of the configuration; `None` if nothing is known of it.
    pub lists: Vec<Option<Time>>,
}

impl Confirmed {
    /// When the oldest list of the snapshot was read. A list of which nothing is known is not part of the snapshot.
    #[must_use]
    pub fn oldest(&self) -> Option<Time> {
        self.lists.iter().copied().flatten().min()
    }
}

/// The objects of the snapshot. The next leader continues from them, also one of another configuration with the same
/// lists. The leaders of two such configurations, an old one that is drained and a new one, write the same key in turn,
/// without compare-and-swap. That is safe: each record is complete in itself, and a leader that continues from the older
/// one learns from its first watches what happened since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The [content hash](crate::snapshot::Snapshot::content_hash) of the snapshot that was served with it.
    pub content_hash: u64,
    /// The lists, in the order of the configuration.
    pub lists: Vec<CheckpointedList>,
    /// The generation of that snapshot. A later one may have the same content again.
    pub generation: u64,
}

/// The objects of one list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointedList {
    /// The `resourceVersion` of the list; empty if the successor must list.
    pub resource_version: String,
    /// When the list was read; `None` if it could not be read.
    pub read_at: Option<Time>,
    /// The names of excluded objects, each with the message that says why. No watch would bring them again.
    pub excluded: Vec<(String, String)>,
    /// The objects.
    pub objects: Vec<Rc<Object>>,
}

/// What fails, so that the next leader neither reports it again nor retries sooner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// The failures, in the order of the lists in the configuration; empty if nothing fails.
    pub lists: Vec<ListFailure>,
}

/// The failure of one list; the default value if it works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListFailure {
    /// The last failure in the log that is not followed by a success.
    pub reported_failure: Option<(Verb, PollOutcome)>,
    /// The snapshot may lack this list: the API server refuses it or does not know it, or it failed alone for so long that
    /// it was excluded.
    pub unreadable: bool,
    /// The log says that it is listed instead of being watched.
    pub fallback_reported: bool,
    /// The pause until the next request.
    pub pause: Option<FailurePause>,
    /// Since when it fails while other lists work.
    pub failing_alone_since: Option<Time>,
}

/// The shared queues that wake VMs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeQueueList {
    /// One for each VM.
    pub queues: Vec<WakeQueue>,
}

/// The shared queue that wakes one VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeQueue {
    /// The number of the queue.
    pub queue: u32,
    /// When its VM last announced it.
    pub announced_at: Time,
}

/// A record in shared data.
pub trait Record: Serialize + DeserializeOwned {
    /// Encodes the record.
    fn to_bytes(&self) -> Vec<u8> {
        // Writing into a vector cannot fail. An empty value would read as an absent record.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// Decodes a record. Returns `None` if the bytes are not one.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

impl Record for Confirmed {}
impl Record for PolicySets {}
impl Record for Checkpoint {}
impl Record for Failures {}
impl Record for FullCandidates {}
impl Record for WakeQueueList {}

impl Record for Lease {
    /// Modules without [parts](crate::config::Part) wrote no `keeps_labels`, and ignore it.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let padded = || postcard::from_bytes(&[bytes, &[0]].concat()).ok();
        postcard::from_bytes(bytes).ok().or_else(padded)
    }
}

/// The keys of one [part](crate::config::Part) of a configuration in shared data. All Wasm plugins of a proxy share one namespace, and during a drain an
/// old and a new configuration, or module, run side by side. So each key contains the version of the format and a hash of
/// every setting that changes the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedKeys {
    /// [`Lease`].
    pub lease: String,
    /// [`crate::snapshot`].
    pub snapshot: String,
    /// [`Confirmed`].
    pub confirmed: String,
    /// [`Checkpoint`]; the same for all settings with the same lists.
    pub checkpoint: String,
    /// [`Failures`].
    pub failures: String,
    /// [`PolicySets`], of the part of the metrics APIs.
    pub policies: String,
    /// What the leader is parsing: a [`Mark`](crate::quarantine::Mark), or no bytes.
    pub parsing: String,
    /// [`Marks`](crate::quarantine::Marks).
    pub quarantine: String,
    /// `burst_metrics_api::adapters::AdapterResources`, of the part of the metrics APIs.
    pub adapter_resources: String,
    /// [`WakeQueueList`].
    pub wake_queues: String,
    /// [`FullCandidates`].
    pub full_candidates: String,
}

/// The keys of the request counts, by the settings that change how requests are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCountKeys {
    /// The prefix of the keys with the counts of the proxy's VMs.
    pub vms: String,
    /// The prefix of the keys with the reports of other proxies.
    pub reports: String,
    /// [`ReportIndex`](crate::request_rates::report_index::ReportIndex).
    pub report_index: String,
    /// Since when reports are accepted: 8 bytes, or none.
    pub since: String,
    /// The sum that is served.
    pub sum: String,
}

impl RequestCountKeys {
    /// The keys for settings with that [hash](crate::config::Config::metrics_hash).
    #[must_use]
    pub fn new(counting: u64) -> Self {
        let key = |name: &str| format!("burst-metrics/{FORMAT}/{counting:016x}/requests/{name}");
        Self {
            vms: key("vm"),
            reports: key("report"),
            report_index: key("reports"),
            since: key("since"),
            sum: key("sum"),
        }
    }
}

/// The keys of one peer, by the settings and by what is read of it: if another proxy takes its place in the configuration,
/// nothing of the old one is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerKeys {
    /// [`crate::snapshot`].
    pub snapshot: String,
    /// [`Confirmed`].
    pub confirmed: String,
    /// [`Failures`].
    pub failures: String,
}

impl PeerKeys {
    /// The keys of a peer, for settings with that [hash](crate::config::Config::metrics_hash).
    #[must_use]
    pub fn new(settings: u64, peer: &PeerConfig) -> Self {
        let hash = hash::of(&(settings, peer));
        let key = |name: &str| format!("burst-metrics/{FORMAT}/{hash:016x}/peer/{name}");
        Self {
            snapshot: key("snapshot"),
            confirmed: key("confirmed"),
            failures: key("failures"),
        }
    }
}

/// The key of a number that identifies this run of the proxy: 8 bytes, or none.
pub const PROXY_KEY: &str = "burst-metrics/proxy";

/// The key of the counter from which the VMs of a proxy get their ids, whatever their configuration.
pub const ID_KEY: &str = "burst-metrics/ids";

/// The keys that modules without [parts](crate::config::Part) have for what a part serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousKeys {
    /// [`crate::snapshot`].
    pub snapshot: String,
    /// [`Confirmed`].
    pub confirmed: String,
    /// [`PolicySets`].
    pub policies: String,
}

impl PreviousKeys {
    /// The keys for a part. `None` if they are the same as those of this module.
    #[must_use]
    pub fn of(config: &Config) -> Option<Self> {
        let keys = SharedKeys::new(config.previous_settings_hash()?, config.lists_hash());
        Some(Self {
            snapshot: keys.snapshot,
            confirmed: keys.confirmed,
            policies: keys.policies,
        })
    }
}

impl SharedKeys {
    /// The keys of a part of a configuration.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self::new(config.settings_hash(), config.lists_hash())
    }

    /// The keys for settings with that [hash](crate::config::Config::settings_hash), and lists with
    /// [that hash](crate::config::Config::lists_hash).
    #[must_use]
    pub fn new(settings: u64, lists: u64) -> Self {
        let of = |hash: u64, name: &str| format!("burst-metrics/{FORMAT}/{hash:016x}/{name}");
        let key = |name: &str| of(settings, name);
        Self {
            lease: key("lease"),
            snapshot: key("snapshot"),
            confirmed: key("confirmed"),
            checkpoint: of(lists, "resume"),
            failures: key("troubles"),
            policies: key("policies"),
            parsing: key("parsing"),
            quarantine: key("quarantine"),
            adapter_resources: key("offers"),
            wake_queues: key("wake"),
            full_candidates: key("full"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_snapshot_is_as_old_as_its_oldest_list() {
        let at = |millis| Some(Time::from_unix_millis(millis));
        let oldest = |lists: &[Option<Time>]| {
            Confirmed {
                generation: 1,
                lists: lists.into(),
            }
            .oldest()
        };
        assert_eq!(oldest(&[at(3), at(2), at(5)]), at(2));
        assert_eq!(
            oldest(&[at(3), None, at(4)]),
            at(3),
            "a list that was never read has no age"
        );
        assert_eq!(oldest(&[None]), None);
        assert_eq!(oldest(&[]), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_a_record_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            let _ = (Confirmed::from_bytes(&bytes), Checkpoint::from_bytes(&bytes), Lease::from_bytes(&bytes));
            let _ = (Failures::from_bytes(&bytes), crate::garbage_collection::OwnedKeysRegistry::from_bytes(&bytes));
            let _ = (crate::quarantine::Marks::from_bytes(&bytes), WakeQueueList::from_bytes(&bytes));
            let _ = FullCandidates::from_bytes(&bytes);
        }

        #[test]
        fn what_was_written_is_read(generation: u64, times in proptest::collection::vec(any::<Option<u64>>(), 0..4)) {
            let lists = times.into_iter().map(|time| time.map(Time::from_unix_millis)).collect();
            let record = Confirmed { generation, lists };
            prop_assert_eq!(Confirmed::from_bytes(&record.to_bytes()), Some(record));
        }
    }
}
