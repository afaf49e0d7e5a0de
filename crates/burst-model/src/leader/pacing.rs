//! How often a snapshot is published while changes stream in. A change after a quiet time is published at once; changes
//! that follow are gathered. While changes go on, snapshots become as rare as if they were read in windows: otherwise a large
//! cluster that changes all the time would cost many times as much as in windows.

use crate::time::Time;
use std::time::Duration;

const MIN_PAUSE: Duration = Duration::from_millis(100);

/// After a quiet time a change shows within a second, however large the cluster.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The pause is so many times as long as the thread works for a publication.
const PAUSE_PER_COST: u32 = 10;

/// The mean pause is so many times as long. So publications take at most a five-hundredth of the thread's time.
const MEAN_PAUSE_PER_COST: u32 = 500;

/// The longest mean pause: the length of a window, by default.
const MAX_MEAN_PAUSE: Duration = Duration::from_secs(5);

/// How far the publications may be ahead of the mean pauses: so much may change after a quiet time before they apply.
const MAX_ADVANCE: Duration = Duration::from_secs(30);

/// Paces the publications.
#[derive(Debug, Default)]
pub(super) struct PublicationPacer {
    /// The time of the last call.
    now: Time,
    /// When the last snapshot was complete.
    published_at: Option<Time>,
    cost: PublicationCost,
    /// When the next publication would be if all pauses were mean ones.
    mean_due: Option<Time>,
}

/// How long the thread worked for the last publication.
#[derive(Debug, Default)]
enum PublicationCost {
    #[default]
    Unknown,
    /// The publication is being written.
    Growing(Duration),
    /// The publication is complete, and the call in which that happened is not reported yet.
    Ending(Duration),
    Known(Duration),
}

impl PublicationPacer {
    /// Notes the current time.
    pub(super) fn observe(&mut self, now: Time) {
        self.now = now;
    }

    /// Notes that a snapshot is begun.
    pub(super) fn begin(&mut self) {
        self.cost = PublicationCost::Growing(Duration::ZERO);
    }

    /// Notes that the snapshot is complete.
    pub(super) fn end(&mut self) {
        if let PublicationCost::Growing(cost) = self.cost {
            self.published_at = Some(self.now);
            self.cost = PublicationCost::Ending(cost);
        }
    }

    /// Notes how long a call took, with everything that its effects led to.
    pub(super) fn note_cost(&mut self, of_call: Duration) {
        match &mut self.cost {
            PublicationCost::Growing(cost) => *cost = cost.saturating_add(of_call),
            PublicationCost::Ending(cost) => {
                let cost = cost.saturating_add(of_call);
                self.cost = PublicationCost::Known(cost);
                self.add_mean_pause(cost);
            }
            PublicationCost::Unknown | PublicationCost::Known(_) => {}
        }
    }

    /// When the next snapshot may be begun; `None` if it may be begun now.
    pub(super) fn wait_until(&self) -> Option<Time> {
        let published_at = self.published_at.filter(|published_at| *published_at <= self.now)?;
        let by_mean = self.mean_due.map(|due| due.before(MAX_ADVANCE)).unwrap_or_default();
        Some(published_at.after(self.pause()).max(by_mean)).filter(|end| *end > self.now)
    }

    fn add_mean_pause(&mut self, cost: Duration) {
        let published_at = self.published_at.unwrap_or(self.now);
        // After the clock was set back the time is too late, and counts for nothing.
        let latest = published_at.after(MAX_ADVANCE);
        let due = self.mean_due.filter(|due| (published_at..=latest).contains(due));
        let pause = cost.saturating_mul(MEAN_PAUSE_PER_COST).min(MAX_MEAN_PAUSE);
        self.mean_due = Some(due.unwrap_or(published_at).after(pause));
    }

    fn pause(&self) -> Duration {
        let cost = match self.cost {
            PublicationCost::Unknown => Duration::ZERO,
            PublicationCost::Growing(cost) | PublicationCost::Ending(cost) | PublicationCost::Known(cost) => cost,
        };
        cost.saturating_mul(PAUSE_PER_COST).clamp(MIN_PAUSE, MAX_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Time = Time::from_unix_millis(1_000_000);

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A pacer after a publication that took so long in two calls.
    fn published(calls: [Duration; 2]) -> PublicationPacer {
        let mut pacer = PublicationPacer::default();
        pacer.observe(T0);
        pacer.begin();
        pacer.note_cost(calls[0]);
        pacer.end();
        pacer.note_cost(calls[1]);
        pacer.note_cost(Duration::from_secs(60));
        pacer
    }

    #[test]
    fn the_pause_is_ten_times_the_cost_between_a_tenth_of_a_second_and_a_second() {
        for (calls, pause) in [([0, 0], 100), ([4, 3], 100), ([20, 10], 300), ([500, 9], 1_000)] {
            let mut pacer = published(calls.map(millis));
            assert_eq!(pacer.wait_until(), Some(T0.after(millis(pause))), "{calls:?}");
            pacer.observe(T0.after(millis(pause)));
            assert_eq!(pacer.wait_until(), None);
        }
    }

    /// The publications in each half minute while changes go on, if a publication takes so long.
    fn publications_in_half_minutes(cost: Duration) -> Vec<usize> {
        let mut pacer = PublicationPacer::default();
        let mut counts = Vec::new();
        for half_minute in 0..4 {
            let mut count = 0;
            for tick in 0..3_000 {
                pacer.observe(T0.after(Duration::from_secs(30) * half_minute + millis(10) * tick));
                if pacer.wait_until().is_none() {
                    pacer.begin();
                    pacer.note_cost(cost);
                    pacer.end();
                    pacer.note_cost(Duration::ZERO);
                    count += 1;
                }
            }
            counts.push(count);
        }
        counts
    }

    #[test]
    fn while_changes_go_on_publications_become_as_rare_as_windows() {
        // A small cluster, one of some thousand Services, and one of ten thousand.
        for (cost, counts) in [(0, [300, 300, 300, 300]), (2, [60, 30, 30, 30]), (12, [12, 6, 6, 6])] {
            let published = publications_in_half_minutes(millis(cost));
            let is_near = |(count, wanted): (&usize, usize)| count.abs_diff(wanted) <= 1;
            assert!(published.iter().zip(counts).all(is_near), "{cost} ms: {published:?}");
        }
    }

    #[test]
    fn the_mean_pause_is_forgotten_when_the_clock_is_set_back() {
        let mut pacer = PublicationPacer::default();
        for second in (0..60).chain([0]) {
            pacer.observe(T0.after(Duration::from_secs(second)));
            pacer.begin();
            pacer.note_cost(millis(12));
            pacer.end();
            pacer.note_cost(Duration::ZERO);
        }
        assert_eq!(pacer.wait_until(), Some(T0.after(millis(120))));
    }

    #[test]
    fn the_first_publication_and_one_after_the_clock_was_set_back_wait_for_nothing() {
        assert_eq!(PublicationPacer::default().wait_until(), None);
        let mut pacer = published([millis(50); 2]);
        pacer.observe(T0.before(millis(1)));
        assert_eq!(pacer.wait_until(), None);
    }
}
