//! A server with a queue and several cores. Requests are served in the order of their arrival. A request is abandoned when its
//! client has waited too long, and throttled when the queue is full.

use crate::costs::Cost;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The length of the queue: that of all queues of a priority level of API Priority and Fairness, 128 of 50 requests.
/// <https://kubernetes.io/docs/concepts/cluster-administration/flow-control/>
pub const QUEUE_LENGTH: usize = 6_400;

/// A time of the simulation, in microseconds since its start.
pub type Micros = u64;

/// A server.
#[derive(Debug)]
pub struct Server {
    /// When each core is free again.
    free: BinaryHeap<Reverse<Micros>>,
    /// When the waiting requests will start to be served, in their order.
    waiting: VecDeque<Micros>,
    queue_length: usize,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is answered at this time.
    Answered(Micros),
    /// The client has stopped waiting before the answer.
    Abandoned,
    /// 429.
    Throttled,
}

impl Server {
    /// Makes an idle server with so many cores, for which so many requests wait at most.
    #[must_use]
    pub fn new(cores: usize, queue_length: usize) -> Self {
        Self {
            free: std::iter::repeat_n(Reverse(0), cores).collect(),
            waiting: VecDeque::new(),
            queue_length,
        }
    }

    /// Handles a request that arrives at `now` from a client that waits until `until`. Times must not go back.
    pub fn take(&mut self, cost: Cost, now: Micros, until: Micros) -> Outcome {
        while self.waiting.front().is_some_and(|begins| *begins <= now) {
            self.waiting.pop_front();
        }
        let free = self.free.peek().map_or(now, |Reverse(free)| *free);
        let begins = free.max(now);
        if self.waiting.len() >= self.queue_length {
            return Outcome::Throttled;
        }
        if begins > now {
            self.waiting.push_back(begins);
        }
        if begins > until {
            return Outcome::Abandoned;
        }
        let ends = begins + u64::try_from(cost.cpu.as_micros()).unwrap_or(Micros::MAX);
        self.free.pop();
        self.free.push(Reverse(ends));
        // The server does the work even if the client stops waiting in the meantime.
        if ends > until {
            Outcome::Abandoned
        } else {
            Outcome::Answered(ends)
        }
    }

    /// Does some work that no client waits for, on all cores.
    pub fn work(&mut self, cost: Cost, now: Micros) {
        let cores = self.free.len().max(1) as u64;
        let each = u64::try_from(cost.cpu.as_micros()).unwrap_or(Micros::MAX) / cores;
        let free = std::mem::take(&mut self.free);
        self.free = free
            .into_iter()
            .map(|Reverse(free)| Reverse(free.max(now) + each))
            .collect();
    }

    /// Drops all requests, as a process that restarts does.
    pub fn restart(&mut self, now: Micros) {
        self.waiting.clear();
        let cores = self.free.len();
        self.free = std::iter::repeat_n(Reverse(now), cores).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SECOND: Cost = Cost {
        cpu: Duration::from_secs(1),
        bytes: 0,
    };
    const S: Micros = 1_000_000;

    #[test]
    fn one_core_serves_one_request_at_a_time() {
        let mut server = Server::new(1, QUEUE_LENGTH);
        assert_eq!(server.take(SECOND, 0, 9 * S), Outcome::Answered(S));
        assert_eq!(server.take(SECOND, 0, 9 * S), Outcome::Answered(2 * S));
        assert_eq!(server.take(SECOND, 5 * S, 9 * S), Outcome::Answered(6 * S));
    }

    #[test]
    fn an_abandoned_request_costs_its_whole_work_once_it_has_started_and_nothing_before() {
        let mut server = Server::new(1, QUEUE_LENGTH);
        assert_eq!(
            server.take(SECOND, 0, S / 2),
            Outcome::Abandoned,
            "started, but not finished in time"
        );
        assert_eq!(server.take(SECOND, 0, S / 2), Outcome::Abandoned, "never started");
        assert_eq!(server.take(SECOND, 0, 9 * S), Outcome::Answered(2 * S));
    }

    #[test]
    fn a_request_is_throttled_when_the_queue_is_full() {
        let mut server = Server::new(1, QUEUE_LENGTH);
        let outcomes: Vec<_> = (0..=QUEUE_LENGTH + 1)
            .map(|_| server.take(SECOND, 0, Micros::MAX))
            .collect();
        let throttled = outcomes
            .iter()
            .filter(|outcome| **outcome == Outcome::Throttled)
            .count();
        assert_eq!(throttled, 1, "one is served, and {QUEUE_LENGTH} wait");
    }

    #[test]
    fn each_core_serves_a_request_at_the_same_time() {
        let mut server = Server::new(3, QUEUE_LENGTH);
        let ends = [(); 4].map(|()| server.take(SECOND, 0, 9 * S));
        assert_eq!(ends, [S, S, S, 2 * S].map(Outcome::Answered));
    }
}
