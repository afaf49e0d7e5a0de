//! Stats of the whole proxy: all threads share them by name, and they are never removed.

use super::state::VmState;
use proxy_wasm::types::{MetricType, Status};
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Stats {
    counters: BTreeMap<String, u64>,
    gauges: BTreeMap<String, u64>,
    histograms: BTreeMap<String, Vec<u64>>,
}

impl Stats {
    pub(super) fn define(&mut self, kind: MetricType, name: &str) {
        match kind {
            MetricType::Counter => drop(self.counters.entry(name.to_owned()).or_default()),
            MetricType::Gauge => drop(self.gauges.entry(name.to_owned()).or_default()),
            _ => drop(self.histograms.entry(name.to_owned()).or_default()),
        }
    }

    /// Counts an event that Envoy itself counts.
    pub(super) fn count(&mut self, name: &str) {
        *self.counters.entry(name.to_owned()).or_default() += 1;
    }

    /// Adds to a counter. A counter only grows: zero and negative numbers are refused.
    pub(super) fn increment(&mut self, kind: MetricType, name: &str, by: i64) -> Result<(), Status> {
        match (kind, u64::try_from(by)) {
            (MetricType::Counter, Ok(by @ 1..)) => *self.counters.entry(name.to_owned()).or_default() += by,
            (MetricType::Gauge, _) => {
                let gauge = self.gauges.entry(name.to_owned()).or_default();
                *gauge = gauge.wrapping_add_signed(by);
            }
            _ => return Err(Status::BadArgument),
        }
        Ok(())
    }

    /// Sets a gauge, but adds to a counter.
    pub(super) fn record(&mut self, kind: MetricType, name: &str, value: u64) {
        match kind {
            MetricType::Counter => *self.counters.entry(name.to_owned()).or_default() += value,
            MetricType::Gauge => drop(self.gauges.insert(name.to_owned(), value)),
            _ => self.histograms.entry(name.to_owned()).or_default().push(value),
        }
    }

    pub(super) fn read(&self, kind: MetricType, name: &str) -> Result<u64, Status> {
        let values = match kind {
            MetricType::Counter => &self.counters,
            MetricType::Gauge => &self.gauges,
            _ => return Err(Status::BadArgument),
        };
        values.get(name).copied().ok_or(Status::NotFound)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let numbers = self.counters.keys().chain(self.gauges.keys());
        numbers.chain(self.histograms.keys()).map(String::as_str)
    }

    pub(super) fn histogram(&self, name: &str) -> Option<Vec<u64>> {
        self.histograms.get(name).cloned()
    }

    /// The counter or gauge of that name.
    pub(super) fn value(&self, name: &str) -> Option<u64> {
        match (self.counters.get(name), self.gauges.get(name)) {
            (Some(_), Some(_)) => panic!("{name} is a counter and a gauge: Envoy would show two series"),
            (counter, gauge) => counter.or(gauge).copied(),
        }
    }
}

impl VmState {
    /// Returns a new id at each call, even for a name that is defined already.
    pub(super) fn define_metric(&mut self, kind: MetricType, name: &str) -> u32 {
        let before = self.metrics.values().filter(|(other, _)| *other == kind).count();
        let id = (u32::try_from(before).expect("a few metrics") + 1) << 2 | kind as u32;
        self.proxy.state().stats.define(kind, name);
        self.metrics.insert(id, (kind, name.to_owned()));
        id
    }

    pub(super) fn metric(&self, id: u32) -> Result<&(MetricType, String), Status> {
        self.metrics.get(&id).ok_or(Status::NotFound)
    }
}
