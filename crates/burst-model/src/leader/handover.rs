//! What a leader takes over from the one before it.

use super::list_store::ListStore;
use crate::config::Config;
use crate::policies::PolicySets;
use crate::records::{Checkpoint, Confirmed, Failures, ListFailure};
use crate::snapshot::Snapshot;
use crate::sync::reflector::Reflector;
use crate::time::Time;

/// What a leader finds in shared data when it takes over.
#[derive(Debug, Default)]
pub struct Handover {
    /// The snapshot of the last leader.
    pub snapshot: Option<Snapshot>,
    /// When the last leader read.
    pub confirmed: Option<Confirmed>,
    /// What the last leader knew: of these settings, or of others with the same lists.
    pub checkpoint: Option<Checkpoint>,
    /// What failed under the last leader.
    pub failures: Option<Failures>,
    /// The policies that it put in force.
    pub policies: Option<PolicySets>,
}

impl Handover {
    /// The lists, each as it stands and as it is kept from now on. What is watched goes on from where it was left,
    /// whoever left it: the first window brings what happened since. What is not must be as new as what is served, or
    /// that would go back to what it was.
    pub(super) fn lists(self, config: &Config, now: Time) -> Vec<(ListStore, Reflector)> {
        let sources = &config.content.sources;
        let resume = self.checkpoint.filter(|resume| resume.lists.len() == sources.len());
        let resume = resume.unwrap_or_default();
        let troubles = self.failures.filter(|troubles| troubles.lists.len() == sources.len());
        let mut troubles = troubles.unwrap_or_default().lists.into_iter();
        let served = self.snapshot.as_ref().map(Snapshot::content_hash);
        let is_newest = served.is_none_or(|content| content == resume.content_hash);
        let confirmed = self.confirmed.filter(|_| served.is_some() && is_newest);
        let mut reads = confirmed.unwrap_or_default().lists.into_iter();
        let mut left = resume.lists.into_iter();
        let take_over = |source| {
            let ListFailure {
                reported_failure: told,
                unreadable,
                fallback_reported: unwatched,
                pause,
                failing_alone_since: alone,
            } = troubles.next().unwrap_or_default();
            let pace = config.pace(source);
            let (left, confirmed) = (left.next(), reads.next());
            let left = left.filter(|list| is_newest || pace.window.is_some() && !list.resource_version.is_empty());
            let unreadable = unreadable || left.as_ref().is_some_and(|list| list.read_at.is_none());
            let mut left = left.unwrap_or_default();
            let (version, read) = (
                std::mem::take(&mut left.resource_version),
                confirmed.unwrap_or(left.read_at),
            );
            let mut list = ListStore::restored(left, read);
            (list.reported_failure, list.unreadable, list.unwatched) = (told, unreadable, unwatched);
            (list.failing, list.failing_alone_since) = (told.is_some() || pause.is_some(), alone);
            // A read that lies ahead was made before the clock was set back.
            let due = list
                .read_at
                .map_or(now, |read| read.min(now).after(config.poll_interval));
            let kept = Reflector::new(source.clone(), pace, config.page_size, due).resuming_from(&version, now);
            let kept = match pause {
                Some(pause) => kept.with_pause(pause),
                None => kept,
            };
            (list, kept)
        };
        sources.iter().map(take_over).collect()
    }
}
