//! The questions, and what a slice of them costs.

use std::time::Duration;

use crate::{process::spent, sides::Sides};

/// A question that is asked some times in each round.
pub(crate) struct Row {
    pub(crate) what: &'static str,
    /// The row of the adapter that it stands against.
    pub(crate) peer: Option<&'static str>,
    /// The row of the same answer from an Envoy that has it ready: what is more than that is the filter's own work.
    pub(crate) ready_made: Option<&'static str>,
    side: Side,
    path: &'static str,
    times: u32,
    /// How many values the answer has, where `*` stands for all.
    values: Values,
}

#[derive(Clone, Copy)]
pub(crate) enum Side {
    Filter,
    Adapter,
    /// An Envoy without the filter, which has the answers ready.
    ReadyMade,
}

#[derive(Clone, Copy)]
enum Values {
    One,
    All,
}

const NAMED: &str = "custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web-1/burst_headroom";
pub(crate) const ALL: &str = "custom.metrics.k8s.io/v1beta2/namespaces/shop/services/*/burst_headroom";
pub(crate) const SERIES: &str = "external.metrics.k8s.io/v1beta1/namespaces/shop/burst_headroom";

const ADAPTER_NAMED: &str = "adapter: named object";
const ADAPTER_ALL: &str = "adapter: * over 10,000 objects";
const READY_ALL: &str = "Envoy alone: the answer to * ready-made";
const READY_SERIES: &str = "Envoy alone: the answer of 10,000 series ready-made";

pub(crate) const ROWS: [Row; 7] = [
    Row::new("filter: named object", Side::Filter, NAMED, 200).beside(ADAPTER_NAMED),
    Row::new(ADAPTER_NAMED, Side::Adapter, NAMED, 200),
    Row::new("filter: * over 10,000 objects", Side::Filter, ALL, 1)
        .all()
        .beside(ADAPTER_ALL)
        .more_than(READY_ALL),
    Row::new(ADAPTER_ALL, Side::Adapter, ALL, 1).all(),
    Row::new(READY_ALL, Side::ReadyMade, ALL, 1).all(),
    Row::new("filter: external metric of 10,000 series", Side::Filter, SERIES, 1)
        .all()
        .more_than(READY_SERIES),
    Row::new(READY_SERIES, Side::ReadyMade, SERIES, 1).all(),
];

/// The cost of one request, the mean over a slice of them.
pub(crate) struct Slice {
    pub(crate) process: Duration,
    /// Zero where the process has no workers.
    pub(crate) busiest_worker: Duration,
}

impl Row {
    const fn new(what: &'static str, side: Side, path: &'static str, times: u32) -> Self {
        Self {
            what,
            peer: None,
            side,
            path,
            times,
            values: Values::One,
            ready_made: None,
        }
    }

    const fn beside(mut self, peer: &'static str) -> Self {
        self.peer = Some(peer);
        self
    }

    const fn all(mut self) -> Self {
        self.values = Values::All;
        self
    }

    const fn more_than(mut self, ready_made: &'static str) -> Self {
        self.ready_made = Some(ready_made);
        self
    }

    /// Asks, and counts what it cost.
    pub(crate) fn run(&self, sides: &Sides) -> Slice {
        let values = match self.values {
            Values::One => 1,
            Values::All => sides.objects,
        };
        let process = sides.process(self.side);
        let before = spent(process);
        for _ in 0..self.times {
            sides.ask(self.side, self.path, values);
        }
        let after = spent(process);
        let workers = after.workers.iter().zip(&before.workers);
        let busiest = workers.map(|(after, before)| after.saturating_sub(*before)).max();
        Slice {
            process: (after.process - before.process) / self.times,
            busiest_worker: busiest.unwrap_or_default() / self.times,
        }
    }
}
