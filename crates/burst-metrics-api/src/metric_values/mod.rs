//! The values of one metric, and when they were read.
//!
//! Values that are too old are an error, because an HPA takes any number for the current one.

mod pods;
mod replicas;
mod requests;

use crate::milli_value::MilliValue;
use crate::sources::MetricSources;
use crate::status::StatusError;
use burst_kube::label_text::LabelText;
use burst_model::index::{SERIES, SERVICES};
use burst_model::metric::ServedMetric;
use burst_model::request_rates::{RateSums, Rates};
use burst_model::serve::cache::Freshness;
use burst_model::snapshot::Snapshot;
use burst_model::time::Time;
use pods::PodValues;
use replicas::ReplicaValues;
use requests::RequestValues;
use std::collections::BTreeSet;
use std::time::Duration;

/// The values of one metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricValues<'a> {
    values: ValueSource<'a>,
    /// When the values were read.
    pub(crate) as_of: Time,
    /// The time over which requests are averaged; `None` for replicas.
    pub(crate) window: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
enum ValueSource<'a> {
    Replicas(ReplicaValues<'a>),
    Requests(RequestValues<'a>),
    Pods(PodValues<'a>),
}

/// The value of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectValue<'a> {
    pub(crate) name: &'a str,
    pub(crate) labels: LabelText<'a>,
    pub(crate) value: MilliValue,
}

/// The value of a series of an external metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeriesValue<'a> {
    /// The label with the name of the object: `hpa` or `service`.
    pub(crate) key: &'static str,
    /// The name of the object.
    pub(crate) name: &'a str,
    /// For an HPA, its scale target and then its Services.
    pub(crate) labels: LabelText<'a>,
    pub(crate) value: MilliValue,
}

impl<'a> MetricValues<'a> {
    /// # Errors
    /// `503` if the values are missing or too old.
    pub(crate) fn read(sources: &MetricSources<'a>, metric: ServedMetric) -> Result<Self, StatusError> {
        match metric {
            ServedMetric::Replicas(metric) => {
                let (values, as_of) = ReplicaValues::read(sources, metric)?;
                Ok(Self {
                    values: ValueSource::Replicas(values),
                    as_of,
                    window: None,
                })
            }
            ServedMetric::Requests(metric, _) => {
                let (values, counted) = RequestValues::read(sources, metric)?;
                Ok(Self {
                    values: ValueSource::Requests(values),
                    as_of: counted.as_of,
                    window: Some(counted.window),
                })
            }
        }
    }

    /// The values of the pods of a namespace.
    ///
    /// # Errors
    /// `503` if the values are missing or too old. `404` if pods do not have this metric.
    pub(crate) fn of_pods(
        sources: &MetricSources<'a>,
        metric: ServedMetric,
        namespace: &str,
    ) -> Result<Self, StatusError> {
        let ServedMetric::Requests(metric, _) = metric else {
            return Self::read(sources, metric);
        };
        let (values, counted) = PodValues::read(sources, metric, namespace)?;
        Ok(Self {
            values: ValueSource::Pods(values),
            as_of: counted.as_of,
            window: Some(counted.window),
        })
    }

    /// The value of one object.
    pub(crate) fn object(&self, section: &str, namespace: &str, name: &str) -> Option<MilliValue> {
        let object = format!("{namespace}/{name}");
        match self.values {
            ValueSource::Replicas(values) => values.object(section, &object),
            ValueSource::Requests(values) => values.object(section, &object),
            ValueSource::Pods(values) => values.pod(&object),
        }
    }

    /// The values of all objects of a namespace. The labels of a Service that had requests and is not in the snapshot are
    /// not known. Such a Service is included only if `with_unlabelled`.
    pub(crate) fn objects(&self, section: &str, namespace: &str, with_unlabelled: bool) -> Vec<ObjectValue<'a>> {
        match self.values {
            ValueSource::Replicas(values) => values.objects(section, namespace),
            ValueSource::Requests(values) => values.objects(section, namespace, with_unlabelled),
            ValueSource::Pods(values) => values.pods(namespace),
        }
    }

    /// The sum over a namespace. Returns `None` if the namespace has no values.
    pub(crate) fn namespace_sum(&self, namespace: &str) -> Option<MilliValue> {
        match self.values {
            ValueSource::Replicas(values) => values.namespace_sum(namespace),
            ValueSource::Requests(values) => values.namespace_sum(namespace),
            ValueSource::Pods(_) => None,
        }
    }

    /// The sums over all namespaces that have values, sorted by the name of the namespace.
    pub(crate) fn namespace_sums(&self) -> Vec<(&'a str, MilliValue)> {
        let namespaces = match self.values {
            ValueSource::Replicas(values) => values.namespaces(),
            ValueSource::Requests(values) => values.namespaces(),
            ValueSource::Pods(_) => BTreeSet::new(),
        };
        namespaces
            .into_iter()
            .filter_map(|namespace| Some((namespace, self.namespace_sum(namespace)?)))
            .collect()
    }

    /// The series of a namespace.
    pub(crate) fn series(&self, namespace: &str) -> Vec<SeriesValue<'a>> {
        let (section, key) = match self.values {
            ValueSource::Replicas(_) => (SERIES, "hpa"),
            ValueSource::Requests(_) | ValueSource::Pods(_) => (SERVICES, "service"),
        };
        self.objects(section, namespace, true)
            .into_iter()
            .map(|ObjectValue { name, labels, value }| SeriesValue {
                key,
                name,
                // The labels of a Service object are not labels of its series.
                labels: if key == "hpa" { labels } else { LabelText::default() },
                value,
            })
            .collect()
    }
}

/// The namespace of `namespace/name`.
fn namespace_of(object: &str) -> Option<&str> {
    object.split_once('/').map(|(namespace, _)| namespace)
}

/// The snapshot, and when the cluster was read.
///
/// # Errors
/// `503` if the cluster was never read, or too long ago, or for the header only.
fn fresh_snapshot<'a>(sources: &MetricSources<'a>) -> Result<(&'a Snapshot, Time), StatusError> {
    let cache = sources.cache;
    match (cache.freshness(), cache.snapshot(), cache.as_of()) {
        (Freshness::Fresh, Some(snapshot), _) if !snapshot.has_labels() => Err(StatusError::unavailable(
            "the snapshot has no labels: its leader serves no metrics APIs; a leader that does takes over within seconds",
        )),
        (Freshness::Fresh, Some(snapshot), Some(as_of)) => Ok((snapshot, as_of)),
        (Freshness::Stale(age), ..) => Err(stale("the snapshot is", age, sources.config.max_staleness)),
        _ => Err(StatusError::unavailable(
            "there is no snapshot yet: the Kubernetes API was never read in full",
        )),
    }
}

/// The counted requests.
///
/// # Errors
/// `503` if the counts are too old, or do not cover a whole window yet.
fn known_rates<'a>(sources: &MetricSources<'a>) -> Result<&'a RateSums, StatusError> {
    match sources.rates {
        Rates::Known(counted) => Ok(counted),
        Rates::Stale { age, limit } => Err(stale("counts of requests are", *age, *limit)),
        Rates::Unknown => Err(StatusError::unavailable(
            "requests were not counted for a whole window yet",
        )),
    }
}

fn stale(subject: &str, age: Duration, limit: Duration) -> StatusError {
    StatusError::unavailable(format!("{subject} {}s old (limit {}s)", age.as_secs(), limit.as_secs()))
}
