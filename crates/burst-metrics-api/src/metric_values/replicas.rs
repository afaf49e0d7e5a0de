//! Values from the replica counts of the snapshot.

use super::{ObjectValue, namespace_of};
use crate::milli_value::MilliValue;
use crate::sources::MetricSources;
use crate::status::StatusError;
use burst_model::index::SERIES;
use burst_model::load::Load;
use burst_model::metric::ReplicaMetric;
use burst_model::snapshot::{Section, Snapshot};
use burst_model::time::Time;
use std::collections::BTreeSet;

/// The values of a metric of replicas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplicaValues<'a> {
    metric: ReplicaMetric,
    snapshot: &'a Snapshot,
}

impl<'a> ReplicaValues<'a> {
    /// Also returns when the cluster was read.
    ///
    /// # Errors
    /// `503` if the cluster was never read, or too long ago, or for the header only.
    pub(crate) fn read(sources: &MetricSources<'a>, metric: ReplicaMetric) -> Result<(Self, Time), StatusError> {
        let (snapshot, as_of) = super::fresh_snapshot(sources)?;
        Ok((Self { metric, snapshot }, as_of))
    }

    pub(crate) fn object(&self, section: &str, object: &str) -> Option<MilliValue> {
        MilliValue::of_load(self.snapshot.section(section)?.find(object)?.load, self.metric)
    }

    pub(crate) fn objects(&self, section: &str, namespace: &str) -> Vec<ObjectValue<'a>> {
        let snapshot = self.snapshot;
        let section = snapshot.section(section).into_iter();
        section
            .flat_map(|section| section.namespace(namespace))
            .filter_map(|(name, entry)| {
                Some(ObjectValue {
                    name,
                    labels: entry.labels,
                    value: MilliValue::of_load(entry.load, self.metric)?,
                })
            })
            .collect()
    }

    pub(crate) fn namespace_sum(&self, namespace: &str) -> Option<MilliValue> {
        let entries = self.snapshot.section(SERIES)?.namespace(namespace);
        let sum = entries.map(|(_, entry)| entry.load).reduce(|a, b| Load {
            current: a.current.saturating_add(b.current),
            target: a.target.saturating_add(b.target),
            max: a.max.saturating_add(b.max),
        })?;
        MilliValue::of_load(sum, self.metric)
    }

    pub(crate) fn namespaces(&self) -> BTreeSet<&'a str> {
        let snapshot = self.snapshot;
        let section = snapshot.section(SERIES).into_iter();
        section
            .flat_map(Section::rows)
            .filter_map(|entry| namespace_of(entry.name))
            .collect()
    }
}
