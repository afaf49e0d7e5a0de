//! A server as a queue before some cores: who comes first is served first, who has waited for too long has gone, and
//! who finds too many waiting is sent away.

use crate::costs::Cost;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Requests that wait at most: all queues of a priority level of API Priority and Fairness, 128 of 50.
/// <https://kubernetes.io/docs/concepts/cluster-administration/flow-control/>
const MOST_WAITING: usize = 6_400;

/// A moment of the simulation, in microseconds from its beginning.
pub type Micros = u64;

/// A server.
#[derive(Debug)]
pub struct Server {
    /// When each core is free again.
    free: BinaryHeap<Reverse<Micros>>,
    /// When the ones who wait begin to be served, in their order.
    waiting: VecDeque<Micros>,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is answered then.
    Answered(Micros),
    /// Who asked has gone before its turn came.
    Abandoned,
    /// 429.
    SentAway,
}

impl Server {
    /// One with so many cores.
    #[must_use]
    pub fn new(cores: usize) -> Self {
        Self {
            free: std::iter::repeat_n(Reverse(0), cores).collect(),
            waiting: VecDeque::new(),
        }
    }

    /// Takes a request at a time, from somebody who waits until another. Times do not go back.
    pub fn take(&mut self, cost: Cost, now: Micros, until: Micros) -> Fate {
        while self.waiting.front().is_some_and(|begins| *begins <= now) {
            self.waiting.pop_front();
        }
        let free = self.free.peek().map_or(now, |Reverse(free)| *free);
        let begins = free.max(now);
        if self.waiting.len() >= MOST_WAITING {
            return Fate::SentAway;
        }
        if begins > now {
            self.waiting.push_back(begins);
        }
        if begins > until {
            return Fate::Abandoned;
        }
        let ends = begins + u64::try_from(cost.cpu.as_micros()).unwrap_or(Micros::MAX);
        self.free.pop();
        self.free.push(Reverse(ends));
        // The work is done, whether or not anybody is there for the end of it.
        if ends > until {
            Fate::Abandoned
        } else {
            Fate::Answered(ends)
        }
    }

    /// Forgets who waits, as a process that ends does.
    pub fn end(&mut self, now: Micros) {
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
    fn one_core_serves_one_after_the_other() {
        let mut server = Server::new(1);
        assert_eq!(server.take(SECOND, 0, 9 * S), Fate::Answered(S));
        assert_eq!(server.take(SECOND, 0, 9 * S), Fate::Answered(2 * S));
        assert_eq!(server.take(SECOND, 5 * S, 9 * S), Fate::Answered(6 * S));
    }

    #[test]
    fn who_has_gone_costs_nothing_and_who_goes_meanwhile_all() {
        let mut server = Server::new(1);
        assert_eq!(
            server.take(SECOND, 0, S / 2),
            Fate::Abandoned,
            "begun and not ended in time"
        );
        assert_eq!(server.take(SECOND, 0, S / 2), Fate::Abandoned, "never begun");
        assert_eq!(server.take(SECOND, 0, 9 * S), Fate::Answered(2 * S));
    }

    #[test]
    fn who_finds_too_many_is_sent_away() {
        let mut server = Server::new(1);
        let fates: Vec<_> = (0..=MOST_WAITING + 1)
            .map(|_| server.take(SECOND, 0, Micros::MAX))
            .collect();
        let away = fates.iter().filter(|fate| **fate == Fate::SentAway).count();
        assert_eq!(away, 1, "one is served, so many wait");
    }

    #[test]
    fn as_many_as_there_are_cores_are_served_at_once() {
        let mut server = Server::new(3);
        let ends = [(); 4].map(|()| server.take(SECOND, 0, 9 * S));
        assert_eq!(ends, [S, S, S, 2 * S].map(Fate::Answered));
    }
}
