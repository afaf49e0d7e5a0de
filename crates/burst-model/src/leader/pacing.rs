//! How often a snapshot is published while changes stream in. A change after a quiet time is published at once; changes
//! that follow are gathered.

use crate::time::Time;
use std::time::Duration;

const MIN_PAUSE: Duration = Duration::from_millis(100);

/// A change shows within a second, however large the cluster.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The pause is so many times as long as the thread works for a publication.
const PAUSE_PER_COST: u32 = 10;

/// Paces the publications.
#[derive(Debug, Default)]
pub(super) struct PublicationPacer {
    /// The time of the last call.
    now: Time,
    /// When the last snapshot was complete.
    published_at: Option<Time>,
    cost: PublicationCost,
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
            PublicationCost::Ending(cost) => self.cost = PublicationCost::Known(cost.saturating_add(of_call)),
            PublicationCost::Unknown | PublicationCost::Known(_) => {}
        }
    }

    /// When the next snapshot may be begun; `None` if it may be begun now.
    pub(super) fn wait_until(&self) -> Option<Time> {
        let published_at = self.published_at.filter(|published_at| *published_at <= self.now)?;
        Some(published_at.after(self.pause())).filter(|end| *end > self.now)
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

    #[test]
    fn the_first_publication_and_one_after_the_clock_was_set_back_wait_for_nothing() {
        assert_eq!(PublicationPacer::default().wait_until(), None);
        let mut pacer = published([millis(50); 2]);
        pacer.observe(T0.before(millis(1)));
        assert_eq!(pacer.wait_until(), None);
    }
}
