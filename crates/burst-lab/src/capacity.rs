//! How many requests the replicas of a service can answer, as a pure function of time.

use std::collections::VecDeque;
use std::time::Duration;

/// Requests per second that one replica answers. It is small, so that a whole cluster is full on any machine.
pub const REQUESTS_PER_REPLICA: u32 = 3;

/// The time in which a replica answers that many.
const SECOND: Duration = Duration::from_secs(1);
/// The time over which requests are counted for the autoscaler: two samples smooth the steps between single requests.
const COUNTED: Duration = Duration::from_secs(2);

/// The requests of one service. Times are durations since any fixed moment.
#[derive(Debug, Default)]
pub struct Capacity {
    received: VecDeque<Duration>,
    answered: VecDeque<Duration>,
}

impl Capacity {
    /// Takes a request. Returns whether one of the replicas answers it; none does if all of them have answered as much as
    /// they can in the last second.
    pub fn admit(&mut self, replicas: u32, now: Duration) -> bool {
        drop_older(&mut self.received, COUNTED, now);
        drop_older(&mut self.answered, SECOND, now);
        self.received.push_back(now);
        let most = usize::try_from(replicas.saturating_mul(REQUESTS_PER_REPLICA)).unwrap_or(usize::MAX);
        let is_admitted = self.answered.len() < most;
        if is_admitted {
            self.answered.push_back(now);
        }
        is_admitted
    }

    /// The requests per second of the last two seconds, answered or not.
    pub fn requests_per_second(&mut self, now: Duration) -> f64 {
        drop_older(&mut self.received, COUNTED, now);
        let received = u32::try_from(self.received.len()).unwrap_or(u32::MAX);
        f64::from(received) / COUNTED.as_secs_f64()
    }
}

fn drop_older(times: &mut VecDeque<Duration>, age: Duration, now: Duration) {
    while times.front().is_some_and(|time| *time + age <= now) {
        times.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn replicas_answer_three_requests_a_second_each_and_refuse_the_rest() {
        let mut capacity = Capacity::default();
        let mut second = |from: u64, replicas| {
            (0..10)
                .filter(|n| capacity.admit(replicas, millis(from + n * 100)))
                .count()
        };
        assert_eq!([second(0, 1), second(1_000, 2), second(2_000, 5)], [3, 6, 10]);
        assert_eq!(second(5_000, 0), 0);
    }

    #[test]
    fn a_replica_answers_again_after_a_second_and_not_before() {
        let mut capacity = Capacity::default();
        let times = [0, 100, 200, 999, 1_000, 1_050, 1_100];
        let admitted = times.map(|time| capacity.admit(1, millis(time)));
        assert_eq!(admitted, [true, true, true, false, true, false, true]);
    }

    #[test]
    fn refused_requests_count_for_the_autoscaler() {
        let mut capacity = Capacity::default();
        let admitted = (0..20).filter(|n| capacity.admit(1, millis(n * 100))).count();
        assert_eq!(admitted, 6);
        assert!((capacity.requests_per_second(millis(1_900)) - 10.0).abs() < f64::EPSILON);
        assert!(capacity.requests_per_second(millis(4_000)).abs() < f64::EPSILON);
    }
}
