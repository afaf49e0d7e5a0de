//! The requests, and the cost of a slice of them.

use std::time::Duration;

use burst_bench_kit::process::cpu_time;

use crate::contenders::Contenders;

/// A request that is sent several times in each round.
pub(crate) struct Row {
    pub(crate) label: &'static str,
    /// The row of the adapter to compare it with.
    pub(crate) peer: Option<&'static str>,
    /// The row of an Envoy with the same answer as a direct response. The difference is the filter's own work.
    pub(crate) ready_made: Option<&'static str>,
    contender: Contender,
    path: &'static str,
    times: u32,
    /// How many values the answer has.
    values: Values,
}

#[derive(Clone, Copy)]
pub(crate) enum Contender {
    Filter,
    Adapter,
    /// An Envoy without the filter, with the answers as direct responses.
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
    Row::new("filter: named object", Contender::Filter, NAMED, 200).compared_with(ADAPTER_NAMED),
    Row::new(ADAPTER_NAMED, Contender::Adapter, NAMED, 200),
    Row::new("filter: * over 10,000 objects", Contender::Filter, ALL, 1)
        .all()
        .compared_with(ADAPTER_ALL)
        .on_top_of(READY_ALL),
    Row::new(ADAPTER_ALL, Contender::Adapter, ALL, 1).all(),
    Row::new(READY_ALL, Contender::ReadyMade, ALL, 1).all(),
    Row::new("filter: external metric of 10,000 series", Contender::Filter, SERIES, 1)
        .all()
        .on_top_of(READY_SERIES),
    Row::new(READY_SERIES, Contender::ReadyMade, SERIES, 1).all(),
];

/// The cost of one request: the mean of a slice.
pub(crate) struct Slice {
    pub(crate) process: Duration,
    /// Zero if the process has no workers.
    pub(crate) busiest_worker: Duration,
}

impl Row {
    const fn new(label: &'static str, contender: Contender, path: &'static str, times: u32) -> Self {
        Self {
            label,
            peer: None,
            contender,
            path,
            times,
            values: Values::One,
            ready_made: None,
        }
    }

    const fn compared_with(mut self, peer: &'static str) -> Self {
        self.peer = Some(peer);
        self
    }

    const fn all(mut self) -> Self {
        self.values = Values::All;
        self
    }

    const fn on_top_of(mut self, ready_made: &'static str) -> Self {
        self.ready_made = Some(ready_made);
        self
    }

    /// Sends the requests of a slice.
    pub(crate) fn run(&self, contenders: &Contenders) -> Slice {
        let values = match self.values {
            Values::One => 1,
            Values::All => contenders.objects,
        };
        let process = contenders.process(self.contender);
        let before = cpu_time(process);
        for _ in 0..self.times {
            contenders.request(self.contender, self.path, values);
        }
        let after = cpu_time(process);
        let workers = after.workers.iter().zip(&before.workers);
        let busiest = workers.map(|(after, before)| after.saturating_sub(*before)).max();
        Slice {
            process: (after.process - before.process) / self.times,
            busiest_worker: busiest.unwrap_or_default() / self.times,
        }
    }
}
