//! How watches are served, and the watches that are open.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::stream_fault::StreamFault;

/// How kube-apiserver serves watches.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct WatchConfig {
    /// The feature gate `WatchList`: whether a watch may have `sendInitialEvents`.
    pub watch_list: bool,
    /// Milliseconds between the bookmarks of a quiet watch.
    pub bookmark_period: u64,
}

impl Default for WatchConfig {
    /// Like kube-apiserver v1.36.
    fn default() -> Self {
        WatchConfig {
            watch_list: true,
            bookmark_period: 60_000,
        }
    }
}

/// The configuration and the open watches; clones share them.
#[derive(Clone, Default)]
pub struct Watches(Arc<Mutex<WatchSettings>>);

#[derive(Default)]
struct WatchSettings {
    config: WatchConfig,
    open: Vec<OpenWatch>,
}

#[derive(Clone)]
struct OpenWatch {
    resource: String,
    /// Closed when the watch ends.
    faults: mpsc::UnboundedSender<StreamFault>,
}

impl Watches {
    /// Returns how watches are served.
    pub fn config(&self) -> WatchConfig {
        crate::locked(&self.0).config
    }

    /// Changes how later watches are served.
    pub fn configure(&self, config: WatchConfig) {
        crate::locked(&self.0).config = config;
    }

    /// Switches the feature gate `WatchList` on or off.
    pub fn set_watch_list(&self, enabled: bool) {
        crate::locked(&self.0).config.watch_list = enabled;
    }

    /// Sets the time between the bookmarks of later watches.
    pub fn set_bookmark_period(&self, period: Duration) {
        crate::locked(&self.0).config.bookmark_period = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
    }

    /// Returns the number of open watches of a resource, such as `services`; `*` counts all.
    pub fn count(&self, resource: &str) -> usize {
        self.open().iter().filter(|watch| watch.is_of(resource)).count()
    }

    /// Returns the number of open watches of each resource that has any.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for watch in self.open() {
            *counts.entry(watch.resource).or_default() += 1;
        }
        counts
    }

    /// Lets the open watches of a resource (`*` is all) fail from now on. Returns how many there are. Later watches do not
    /// fail; for these see [`Fault::Stream`](super::Fault::Stream).
    pub fn inject(&self, resource: &str, fault: StreamFault) -> usize {
        let open = self.open();
        let chosen = open.iter().filter(|watch| watch.is_of(resource));
        chosen.filter(|watch| watch.faults.send(fault).is_ok()).count()
    }

    /// Registers a watch. It counts as open until the receiver is dropped.
    pub(super) fn register(&self, resource: String) -> mpsc::UnboundedReceiver<StreamFault> {
        let (faults, received) = mpsc::unbounded_channel();
        crate::locked(&self.0).open.push(OpenWatch { resource, faults });
        received
    }

    fn open(&self) -> Vec<OpenWatch> {
        let mut state = crate::locked(&self.0);
        state.open.retain(|watch| !watch.faults.is_closed());
        state.open.clone()
    }
}

impl OpenWatch {
    fn is_of(&self, resource: &str) -> bool {
        resource == "*" || self.resource == resource
    }
}
