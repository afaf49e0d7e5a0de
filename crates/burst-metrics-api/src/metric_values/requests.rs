//! Values from the requests that the proxies count.

use super::{ObjectValue, known_rates, namespace_of};
use crate::milli_value::MilliValue;
use crate::sources::MetricSources;
use crate::status::StatusError;
use burst_kube::label_text::LabelText;
use burst_model::index::SERVICES;
use burst_model::metric::RequestMetric;
use burst_model::request_rates::{RateSums, ServiceRate};
use burst_model::snapshot::{Section, Snapshot};
use std::collections::BTreeSet;

/// The values of a metric of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestValues<'a> {
    metric: RequestMetric,
    counted: &'a RateSums,
    /// Tells which Services had no request. `None` if the cluster was never read, or without labels.
    snapshot: Option<&'a Snapshot>,
}

impl<'a> RequestValues<'a> {
    /// Also returns the counts, which have the time and the window.
    ///
    /// # Errors
    /// `503` if the counts are too old, or do not cover a whole window yet.
    pub(crate) fn read(
        sources: &MetricSources<'a>,
        metric: RequestMetric,
    ) -> Result<(Self, &'a RateSums), StatusError> {
        let counted = known_rates(sources)?;
        let values = Self {
            metric,
            counted,
            snapshot: sources.cache.snapshot().filter(|snapshot| snapshot.has_labels()),
        };
        Ok((values, counted))
    }

    fn section(&self, section: &str) -> Option<Section<'a>> {
        self.snapshot.and_then(|snapshot| snapshot.section(section))
    }

    fn rate(&self, service: &str) -> ServiceRate {
        self.counted.services.get(service).copied().unwrap_or(ServiceRate::NONE)
    }

    pub(crate) fn object(&self, section: &str, object: &str) -> Option<MilliValue> {
        let rate = self.counted.services.get(object).copied();
        let is_in_snapshot = || {
            self.section(section)
                .is_some_and(|section| section.find(object).is_some())
        };
        MilliValue::of_rate(
            rate.or_else(|| is_in_snapshot().then_some(ServiceRate::NONE))?,
            self.metric,
        )
    }

    pub(crate) fn objects(&self, section: &str, namespace: &str, with_unlabelled: bool) -> Vec<ObjectValue<'a>> {
        let in_snapshot = self
            .section(section)
            .into_iter()
            .flat_map(|section| section.namespace(namespace))
            .map(|(name, entry)| (name, entry.labels, self.rate(entry.name)));
        let others = self
            .services_outside_snapshot(namespace)
            .filter(|_| with_unlabelled)
            .map(|(name, rate)| (name, LabelText::default(), rate));
        in_snapshot
            .chain(others)
            .filter_map(|(name, labels, rate)| {
                Some(ObjectValue {
                    name,
                    labels,
                    value: MilliValue::of_rate(rate, self.metric)?,
                })
            })
            .collect()
    }

    pub(crate) fn namespace_sum(&self, namespace: &str) -> Option<MilliValue> {
        let in_snapshot = self
            .section(SERVICES)
            .into_iter()
            .flat_map(|section| section.namespace(namespace))
            .map(|(_, entry)| self.rate(entry.name));
        let others = self.services_outside_snapshot(namespace).map(|(_, rate)| rate);
        let sum = in_snapshot.chain(others).reduce(|a, b| ServiceRate {
            requests_milli: a.requests_milli.saturating_add(b.requests_milli),
            rejected_milli: a.rejected_milli.saturating_add(b.rejected_milli),
            in_flight_milli: a
                .in_flight_milli
                .zip(b.in_flight_milli)
                .map(|(a, b)| a.saturating_add(b)),
        })?;
        MilliValue::of_rate(sum, self.metric)
    }

    pub(crate) fn namespaces(&self) -> BTreeSet<&'a str> {
        let section = self.section(SERVICES).into_iter();
        let in_snapshot = section.flat_map(Section::rows).map(|entry| entry.name);
        let counted = self.counted.services.keys().map(String::as_str);
        in_snapshot.chain(counted).filter_map(namespace_of).collect()
    }

    /// The Services of a namespace that had requests and are not in the snapshot.
    fn services_outside_snapshot(&self, namespace: &str) -> impl Iterator<Item = (&'a str, ServiceRate)> + use<'a> {
        let prefix = format!("{namespace}/");
        let section = self.section(SERVICES);
        self.counted
            .services
            .range(prefix.clone()..)
            .map_while(move |(service, rate)| Some((service, service.strip_prefix(&prefix)?, *rate)))
            .filter(move |(service, ..)| section.is_none_or(|section| section.find(service).is_none()))
            .map(|(_, name, rate)| (name, rate))
    }
}
