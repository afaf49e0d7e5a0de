//! The same requests to one listener after the other, and their cost.

use std::{thread, time::Duration};

use burst_bench_kit::process::{CpuTime, cpu_time};

use crate::{client::Client, requests::RequestKind};

/// Time between two checks for idle workers.
const POLL_INTERVAL: Duration = Duration::from_micros(100);

/// The variants, ready for requests.
pub(crate) struct Slices {
    process: u32,
    clients: Vec<Client>,
}

impl Slices {
    pub(crate) fn new(process: u32, clients: Vec<Client>) -> Self {
        Self { process, clients }
    }

    /// Returns the CPU time of one request of that kind, for each variant in each round. A round has a slice of every variant.
    pub(crate) fn of(&mut self, kind: RequestKind) -> Vec<Vec<Duration>> {
        let (count, _) = kind.rounds();
        let rounds = (0..count)
            .map(|round| {
                eprint!("\r{}: round {} of {count} ", kind.name(), round + 1);
                self.round(round, kind)
            })
            .collect();
        eprintln!();
        rounds
    }

    fn round(&mut self, round: usize, kind: RequestKind) -> Vec<Duration> {
        let count = self.clients.len();
        let (_, requests_in_slice) = kind.rounds();
        let mut slices = vec![Duration::ZERO; count];
        for turn in 0..count {
            // Over all rounds, each variant follows every other one equally often.
            let variant = (turn * step(round, count) + round) % count;
            let before = self.when_idle().process;
            let requests = self.clients[variant].send(kind, requests_in_slice);
            slices[variant] = (self.when_idle().process - before) / requests;
        }
        slices
    }

    /// Waits until the worker is idle, and returns the CPU time so far. Its work after the last response belongs to the slice.
    fn when_idle(&self) -> CpuTime {
        let mut last = cpu_time(self.process);
        loop {
            thread::sleep(POLL_INTERVAL);
            let now = cpu_time(self.process);
            if now.workers == last.workers {
                return now;
            }
            last = now;
        }
    }
}

/// Returns a number that is coprime to `count`, another one in each round.
fn step(round: usize, count: usize) -> usize {
    let coprime: Vec<_> = (1..count)
        .filter(|step| greatest_common_divisor(*step, count) == 1)
        .collect();
    coprime[round % coprime.len()]
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
