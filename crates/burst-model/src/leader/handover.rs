//! The state that a leader takes over from the last one.

use super::health::Health;
use super::store::Store;
use super::watched_list::WatchedList;
use crate::config::Config;
use crate::kube::{ObjectKind, Source};
use crate::policies::PolicySets;
use crate::records::{Checkpoint, CheckpointedList, Confirmed, Failures, ListFailure};
use crate::snapshot::Snapshot;
use crate::sync::reflector::{Backlog, Reflector};
use crate::time::Time;

/// The records in shared data at the time of a takeover.
#[derive(Debug, Default)]
pub struct Handover {
    /// The snapshot of the last leader.
    pub snapshot: Option<Snapshot>,
    /// When the last leader read.
    pub confirmed: Option<Confirmed>,
    /// The objects of the last leader with these settings, or with other settings and the same lists.
    pub checkpoint: Option<Checkpoint>,
    /// The failures that the last leader recorded.
    pub failures: Option<Failures>,
    /// The policies that the last leader put in force.
    pub policies: Option<PolicySets>,
}

/// The state of one list at the takeover.
struct ListHandover {
    checkpointed: Option<CheckpointedList>,
    /// The checkpoint has the content of the snapshot.
    is_newest: bool,
    /// No snapshot was published since the checkpoint.
    is_served: bool,
    /// When the list was last read: `None` if that is not known, `Some(None)` if it could not be read.
    confirmed: Option<Option<Time>>,
    failure: ListFailure,
}

impl Handover {
    /// The lists as the last leader knew them. A list that is watched continues from any checkpoint: its watch brings what
    /// happened since. Another list must be as new as the snapshot, or older values would be served again.
    pub(super) fn restore_lists(self, config: &Config, now: Time) -> Vec<WatchedList> {
        let sources = &config.content.sources;
        let checkpoint = self.checkpoint.filter(|record| record.lists.len() == sources.len());
        let Checkpoint {
            content_hash,
            lists,
            generation,
        } = checkpoint.unwrap_or_default();
        let failures = self.failures.filter(|record| record.lists.len() == sources.len());
        let served = self.snapshot.as_ref().map(Snapshot::content_hash);
        let served_generation = self.snapshot.as_ref().map(Snapshot::generation);
        let is_newest = served.is_none_or(|served| served == content_hash);
        let is_served = is_newest && served_generation.is_none_or(|served| served == generation);
        let confirmed = self.confirmed.filter(|_| served.is_some() && is_newest);
        let mut checkpointed = lists.into_iter();
        let mut confirmed = confirmed.unwrap_or_default().lists.into_iter();
        let mut failures = failures.unwrap_or_default().lists.into_iter();
        let mut restored = Vec::with_capacity(sources.len());
        for source in sources {
            let handover = ListHandover {
                checkpointed: checkpointed.next(),
                is_newest,
                is_served,
                confirmed: confirmed.next(),
                failure: failures.next().unwrap_or_default(),
            };
            restored.push(handover.restore(source, config, now));
        }
        restored
    }
}

impl ListHandover {
    fn restore(self, source: &Source, config: &Config, now: Time) -> WatchedList {
        let schedule = config.schedule(source);
        let (is_newest, is_watched) = (self.is_newest, schedule.window.is_some());
        let checkpointed = self
            .checkpointed
            .filter(|list| is_newest || is_watched && !list.resource_version.is_empty());
        let was_unreadable = checkpointed.as_ref().is_some_and(|list| list.read_at.is_none());
        let mut checkpointed = checkpointed.unwrap_or_default();
        let resource_version = std::mem::take(&mut checkpointed.resource_version);
        let read_at = self.confirmed.unwrap_or(checkpointed.read_at);
        // A read that lies ahead was made before the clock was set back.
        let due = read_at.map_or(now, |read_at| read_at.min(now).after(config.poll_interval));
        // A snapshot does not show whether policies have changed.
        let is_served = self.is_served && read_at.is_some() && source.kind != ObjectKind::Policies;
        let backlog = match is_served {
            true => Backlog::SinceSnapshot,
            false => Backlog::BeforeSnapshot,
        };
        let mut reflector = Reflector::new(source.clone(), schedule, config.page_size, due).resuming_from(
            &resource_version,
            backlog,
            now,
        );
        reflector.set_stream_policy(config.sync.streams);
        WatchedList {
            reflector: match self.failure.pause {
                Some(pause) => reflector.with_pause(pause),
                None => reflector,
            },
            health: Health::restored(&self.failure, self.failure.unreadable || was_unreadable),
            store: Store::restored(checkpointed, read_at),
        }
    }
}
