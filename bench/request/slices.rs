//! The same requests to one listener after the other, and what they cost.

use std::{thread, time::Duration};

use crate::{
    client::Client,
    process::{Spent, spent},
    traffic::Traffic,
};

/// Slices of each variant; one of every variant makes a round.
const ROUNDS: usize = 501;

/// Requests in a slice, on each connection.
const REQUESTS: u32 = 12;

/// Between two looks at whether the worker rests.
const PACE: Duration = Duration::from_micros(100);

/// The variants, ready for requests.
pub(crate) struct Slices {
    process: u32,
    clients: Vec<Client>,
}

impl Slices {
    pub(crate) fn new(process: u32, clients: Vec<Client>) -> Self {
        Self { process, clients }
    }

    /// The CPU time of one request of that traffic, for each variant of each round.
    pub(crate) fn of(&mut self, traffic: Traffic) -> Vec<Vec<Duration>> {
        let rounds = (0..ROUNDS).map(|round| {
            eprint!("\r{}: round {} of {ROUNDS} ", traffic.name(), round + 1);
            self.round(round, traffic)
        });
        let rounds = rounds.collect();
        eprintln!();
        rounds
    }

    fn round(&mut self, round: usize, traffic: Traffic) -> Vec<Duration> {
        let count = self.clients.len();
        let mut slices = vec![Duration::ZERO; count];
        for place in 0..count {
            // Each variant follows every other one as often.
            let place = (place * step(round, count) + round) % count;
            let before = self.rested().process;
            let requests = self.clients[place].send(traffic, REQUESTS);
            slices[place] = (self.rested().process - before) / requests;
        }
        slices
    }

    /// What was spent, as soon as the worker rests: what it does after the last answer is part of the slice.
    fn rested(&self) -> Spent {
        let mut last = spent(self.process);
        loop {
            thread::sleep(PACE);
            let now = spent(self.process);
            if now.workers == last.workers {
                return now;
            }
            last = now;
        }
    }
}

/// A number that has no divisor in common with `count`, another one in the next round.
fn step(round: usize, count: usize) -> usize {
    let coprime: Vec<_> = (1..count).filter(|step| divisor(*step, count) == 1).collect();
    coprime[round % coprime.len()]
}

fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}
