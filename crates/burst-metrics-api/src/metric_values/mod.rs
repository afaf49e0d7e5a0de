//! The values of one metric, and when they were read.
//!
//! Values that are too old are an error, because an HPA takes any number for the current one.

mod replicas;
mod requests;

use crate::milli_value::MilliValue;
use crate::sources::MetricSources;
use crate::status::StatusError;
use burst_kube::label_text::LabelText;
use burst_model::index::{SERIES, SERVICES};
use burst_model::metric::ServedMetric;
use burst_model::time::Time;
use replicas::ReplicaValues;
use requests::RequestValues;
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

    /// The value of one object.
    pub(crate) fn object(&self, section: &str, namespace: &str, name: &str) -> Option<MilliValue> {
        let object = format!("{namespace}/{name}");
        match self.values {
            ValueSource::Replicas(values) => values.object(section, &object),
            ValueSource::Requests(values) => values.object(section, &object),
        }
    }

    /// The values of all objects of a namespace. The labels of a Service that had requests and is not in the snapshot are
    /// not known. Such a Service is included only if `with_unlabelled`.
    pub(crate) fn objects(&self, section: &str, namespace: &str, with_unlabelled: bool) -> Vec<ObjectValue<'a>> {
        match self.values {
            ValueSource::Replicas(values) => values.objects(section, namespace),
            ValueSource::Requests(values) => values.objects(section, namespace, with_unlabelled),
        }
    }

    /// The sum over a namespace. Returns `None` if the namespace has no values.
    pub(crate) fn namespace_sum(&self, namespace: &str) -> Option<MilliValue> {
        match self.values {
            ValueSource::Replicas(values) => values.namespace_sum(namespace),
            ValueSource::Requests(values) => values.namespace_sum(namespace),
        }
    }

    /// The sums over all namespaces that have values, sorted by the name of the namespace.
    pub(crate) fn namespace_sums(&self) -> Vec<(&'a str, MilliValue)> {
        let namespaces = match self.values {
            ValueSource::Replicas(values) => values.namespaces(),
            ValueSource::Requests(values) => values.namespaces(),
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
            ValueSource::Requests(_) => (SERVICES, "service"),
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

fn stale(subject: &str, age: Duration, limit: Duration) -> StatusError {
    StatusError::unavailable(format!("{subject} {}s old (limit {}s)", age.as_secs(), limit.as_secs()))
}
