//! The small records in shared data, beside the snapshot: when the cluster was last read, and what a successor needs
//! to go on. Encoded by postcard; the format's version is part of their keys.

use crate::kube::{Object, PollOutcome, Verb};
use crate::policies::PolicySets;
use crate::snapshot::FORMAT;
use crate::sync::election::Lease;
use crate::sync::reflector::FailurePause;
use crate::time::Time;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// When the cluster was last read, written after every good round: a quiet cluster is never stale.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The snapshot that was confirmed.
    pub generation: u64,
    /// The last good read of each list, in the order of the configuration; `None` of one that cannot be read,
    /// and of which nothing is known.
    pub lists: Vec<Option<Time>>,
}

impl Confirmed {
    /// How old the picture is at its oldest corner. A list that nothing is known of is no part of it.
    #[must_use]
    pub fn oldest(&self) -> Option<Time> {
        self.lists.iter().copied().flatten().min()
    }
}

/// The objects behind the snapshot, so that the next leader goes on where the last one stopped: also one of another
/// configuration, as long as its lists are the same. Two of them, an old one in its drain and a new one, write one key
/// in turn, over whatever stands there: each record is whole by itself, and whoever goes on from the older one is told
/// by its first window what happened since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The [hash](crate::snapshot::Snapshot::content_hash) of what was served with it.
    pub content: u64,
    /// Of each list in the order of the configuration.
    pub lists: Vec<CheckpointedList>,
}

/// One list as it was read last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointedList {
    /// Its `resourceVersion`.
    pub version: String,
    /// When they were read; `None` of a list that could not be.
    pub read: Option<Time>,
    /// The names of the objects that are left out, each with the line that says why: no window brings them again.
    pub bad: Vec<(String, String)>,
    /// Its objects.
    pub objects: Vec<Rc<Object>>,
}

/// What fails, so that the next leader neither says it again nor asks sooner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// Of each list in the order of the configuration.
    pub lists: Vec<ListFailure>,
}

/// What fails of one list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListFailure {
    /// What the operator was told of last; `None` where it works.
    pub told: Option<(Verb, PollOutcome)>,
    /// It may be missing from the picture: the API's last word is that it may not be read, or is not there; or it failed
    /// alone for so long that it was left out.
    pub unreadable: bool,
    /// The operator was told that it is listed instead of being watched.
    pub unwatched: bool,
    /// For how long the API is left alone.
    pub pause: Option<FailurePause>,
    /// Since when it fails while others work.
    pub alone: Option<Time>,
}

/// A record that is kept in shared data.
pub trait Record: Serialize + DeserializeOwned {
    /// The record as bytes.
    fn to_bytes(&self) -> Vec<u8> {
        // Into a vector nothing can fail; an empty record reads as an absent one.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// The record that some bytes are; `None` where they are not one.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

impl Record for Confirmed {}
impl Record for PolicySets {}
impl Record for Checkpoint {}
impl Record for Failures {}
impl Record for Lease {}

/// The keys of one configuration. All Wasm plugins of a proxy share one namespace, and during a drain an old and a
/// new configuration, or binary, run side by side: so each key names the format and a hash of every setting that
/// changes the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedKeys {
    /// [`Lease`].
    pub lease: String,
    /// [`crate::snapshot`].
    pub snapshot: String,
    /// [`Confirmed`].
    pub confirmed: String,
    /// [`Checkpoint`]; for all settings with the same lists.
    pub checkpoint: String,
    /// [`Failures`].
    pub failures: String,
    /// [`PolicySets`].
    pub policies: String,
    /// What the leader is parsing: a [`Mark`](crate::quarantine::Mark), or nothing.
    pub parsing: String,
    /// [`Marks`](crate::quarantine::Marks).
    pub quarantine: String,
    /// `burst_metrics_api::adapters::AdapterResources`.
    pub adapter_resources: String,
}

/// The keys of what is counted with one set of settings, for the same reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCountKeys {
    /// The beginning of the keys with the shares of the proxy's VMs.
    pub vms: String,
    /// The beginning of the keys with the reports of other proxies.
    pub reports: String,
    /// [`ReportIndex`](crate::request_rates::report_index::ReportIndex).
    pub report_index: String,
    /// Since when reports are taken: 8 bytes, or none.
    pub since: String,
    /// The sum that is served.
    pub sum: String,
}

impl RequestCountKeys {
    /// The keys for settings of that [hash](crate::config::Config::counting_hash).
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

/// A number of this proxy that no other has, and that it does not have again after a restart: 8 bytes, or none.
pub const PROXY_KEY: &str = "burst-metrics/proxy";

/// Counts the root contexts of a proxy, whatever their configuration.
pub const ID_KEY: &str = "burst-metrics/ids";

impl SharedKeys {
    /// The keys for settings of that [hash](crate::config::Config::settings_hash), with lists of
    /// [that](crate::config::Config::lists_hash).
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_picture_is_as_old_as_its_oldest_list() {
        let at = |millis| Some(Time::from_unix_millis(millis));
        let oldest = |lists: &[Option<Time>]| {
            Confirmed {
                generation: 1,
                lists: lists.into(),
            }
            .oldest()
        };
        assert_eq!(oldest(&[at(3), at(2), at(5)]), at(2));
        assert_eq!(oldest(&[at(3), None, at(4)]), at(3), "what is refused has no age");
        assert_eq!(oldest(&[None]), None);
        assert_eq!(oldest(&[]), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_a_record_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            let _ = (Confirmed::from_bytes(&bytes), Checkpoint::from_bytes(&bytes), Lease::from_bytes(&bytes));
            let _ = (Failures::from_bytes(&bytes), crate::garbage_collection::OwnedKeysRegistry::from_bytes(&bytes));
            let _ = crate::quarantine::Marks::from_bytes(&bytes);
        }

        #[test]
        fn what_was_written_is_read(generation: u64, times in proptest::collection::vec(any::<Option<u64>>(), 0..4)) {
            let lists = times.into_iter().map(|time| time.map(Time::from_unix_millis)).collect();
            let record = Confirmed { generation, lists };
            prop_assert_eq!(Confirmed::from_bytes(&record.to_bytes()), Some(record));
        }
    }
}
