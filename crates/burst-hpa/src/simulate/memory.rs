//! The state that the controller keeps in memory between syncs and loses on a restart.

use super::time::Time;

/// The controller's memory of one autoscaler.
///
/// As in the controller, a new entry overwrites one outdated entry, and the other outdated entries stay. If the windows of
/// a spec grow, entries that were out of the window count again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) recommendations: Recommendations,
    pub(super) added: Changes,
    pub(super) removed: Changes,
}

/// The recommendations of the metrics, before stabilization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recommendations(Vec<Recommendation>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recommendation {
    pub(super) replicas: i32,
    pub(super) at: Time,
}

impl Recommendations {
    /// Records the replicas of the first sync as a recommendation, so that the target does not shrink in the first window.
    pub(super) fn begin(&mut self, replicas: i32, at: Time) {
        if self.0.is_empty() {
            self.0.push(Recommendation { replicas, at });
        }
    }

    /// Adds a recommendation. It replaces the last recommendation that is `outdated`, if any.
    pub(super) fn add(&mut self, new: Recommendation, outdated: impl Fn(&Recommendation) -> bool) {
        match self.0.iter_mut().rfind(|old| outdated(old)) {
            Some(old) => *old = new,
            None => self.0.push(new),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Recommendation> {
        self.0.iter()
    }
}

/// The rescales in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes(Vec<Change>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    replicas: i32,
    at: Time,
    outdated: bool,
}

impl Changes {
    /// Returns the sum of the changes after `start`.
    pub(super) fn since(&self, start: Time) -> i32 {
        self.0
            .iter()
            .filter(|change| change.at > start)
            .fold(0, |sum, change| sum.wrapping_add(change.replicas))
    }

    /// Adds a change of `replicas`. This or a later call may overwrite a change that is older than `horizon`.
    pub(super) fn add(&mut self, replicas: i32, at: Time, horizon: Time) {
        for change in &mut self.0 {
            change.outdated |= change.at < horizon;
        }
        let new = Change {
            replicas,
            at,
            outdated: false,
        };
        match self.0.iter_mut().rfind(|old| old.outdated) {
            Some(old) => *old = new,
            None => self.0.push(new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_at_the_start_of_the_period_no_longer_count() {
        let mut changes = Changes::default();
        changes.add(2, Time::from_secs(10), Time::from_secs(0));
        changes.add(3, Time::from_secs(20), Time::from_secs(0));
        assert_eq!(changes.since(Time::from_secs(9)), 5);
        assert_eq!(changes.since(Time::from_secs(10)), 3);
    }

    #[test]
    fn of_several_outdated_entries_the_last_is_overwritten() {
        let recommendation = |second| Recommendation {
            replicas: 1,
            at: Time::from_secs(second),
        };
        let mut recommendations = Recommendations::default();
        for second in 0..3 {
            recommendations.add(recommendation(second), |_| false);
        }
        recommendations.add(recommendation(9), |old| old.at < Time::from_secs(2));
        let seconds: Vec<_> = recommendations.iter().map(|entry| entry.at).collect();
        assert_eq!(seconds, [0, 9, 2].map(Time::from_secs));
    }

    #[test]
    fn an_outdated_change_stays_outdated_even_if_it_counts_again() {
        let mut changes = Changes::default();
        changes.add(1, Time::from_secs(1), Time::DISTANT_PAST);
        changes.add(2, Time::from_secs(2), Time::DISTANT_PAST);
        changes.add(4, Time::from_secs(3), Time::from_secs(2));
        assert_eq!(
            changes.since(Time::DISTANT_PAST),
            6,
            "the second is at the horizon and stays"
        );
        changes.add(8, Time::from_secs(4), Time::from_secs(4));
        assert_eq!(
            changes.since(Time::DISTANT_PAST),
            12,
            "of the two outdated ones the last in place is gone"
        );
        changes.add(16, Time::from_secs(5), Time::DISTANT_PAST);
        assert_eq!(
            changes.since(Time::DISTANT_PAST),
            24,
            "and the other goes next, whatever the horizon"
        );
    }

    #[test]
    fn memory_keeps_entries_within_its_horizon_only() {
        let mut changes = Changes::default();
        let mut recommendations = Recommendations::default();
        for second in 0..1000 {
            let (at, horizon) = (Time::from_secs(second), Time::from_secs(second - 10));
            changes.add(1, at, horizon);
            recommendations.add(Recommendation { replicas: 1, at }, |old| old.at < horizon);
        }
        assert_eq!((changes.0.len(), recommendations.0.len()), (11, 11));
    }
}
