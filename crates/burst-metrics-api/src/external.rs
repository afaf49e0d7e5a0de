//! Answers `external.metrics.k8s.io`: the series of a namespace that labels select.
//! <https://github.com/kubernetes/metrics/blob/v0.36.3/pkg/apis/external_metrics/v1beta1/types.go>

use crate::accept::ResponseFormat;
use crate::api_version::{ApiVersion, EXTERNAL_GROUP};
use crate::encoding::ListBody;
use crate::list_options::ListOptions;
use crate::metric_values::{MetricValues, SeriesValue};
use crate::objects::{ExternalValue, PartialObjectMetadata, Quantity, StatusDetails, TableRow};
use crate::path::ExternalMetricPath;
use crate::response::MetricsResponse;
use crate::sources::MetricSources;
use crate::status::StatusError;
use crate::value_list::ValueListMeta;
use burst_labels::Selector;
use burst_model::config::{MetricsApisConfig, UnknownExternal};
use burst_model::metric::ServedMetric;
use std::collections::BTreeMap;

const COLUMNS: [&str; 4] = ["Name", "Value", "Labels", "Age"];

/// Answers with the series of a metric that the options select.
pub(crate) fn answer(
    sources: &MetricSources<'_>,
    format: ResponseFormat,
    path: &ExternalMetricPath,
    options: &ListOptions,
) -> Result<MetricsResponse, StatusError> {
    let Some(metric) = ServedMetric::find_external(sources.apis.counting, &path.metric) else {
        return unknown_metric(sources, format, path);
    };
    let values = MetricValues::read(sources, metric)?;
    let meta = ValueListMeta::new(ApiVersion::ExternalV1Beta1, format, &values, sources.now);
    let series = values.series(&path.namespace);
    let (mut writer, mut labels) = (ExternalItemWriter::new(&meta, &path.namespace, metric), Vec::new());
    Ok(meta.respond(&COLUMNS, series.len(), |body| {
        for series in &series {
            let series_labels = SeriesLabels::new(&path.namespace, series, sources.apis);
            if let Some(service) = series_labels.matching_service(&options.label_selector) {
                series_labels.write_sorted(&mut labels, service);
                writer.write(body, series, &labels);
            }
        }
    }))
}

fn unknown_metric(
    sources: &MetricSources<'_>,
    format: ResponseFormat,
    path: &ExternalMetricPath,
) -> Result<MetricsResponse, StatusError> {
    if sources.apis.unknown_external == UnknownExternal::Empty {
        let meta = ValueListMeta::without_values(ApiVersion::ExternalV1Beta1, format, sources.now);
        return Ok(meta.respond(&COLUMNS, 0, |_| {}));
    }
    let names: Vec<_> = ServedMetric::all(sources.apis.counting)
        .map(ServedMetric::name)
        .collect();
    let (metric, names) = (&path.metric, names.join(", "));
    let message = format!("the server could not find the external metric {metric}: there are {names}");
    let details = StatusDetails {
        group: EXTERNAL_GROUP.to_owned(),
        kind: metric.clone(),
        ..StatusDetails::default()
    };
    Err(StatusError::not_found(message, details))
}

/// The labels of a series. Of the Services in front of an HPA, only one is shown.
struct SeriesLabels<'a> {
    namespace: &'a str,
    series: &'a SeriesValue<'a>,
    /// The scale target of an HPA: its kind in lower case, and its name.
    scale_target: Option<(&'a str, &'a str)>,
    apis: &'a MetricsApisConfig,
}

impl<'a> SeriesLabels<'a> {
    fn new(namespace: &'a str, series: &'a SeriesValue<'a>, apis: &'a MetricsApisConfig) -> Self {
        Self {
            namespace,
            series,
            scale_target: series.labels.iter().next().filter(|(key, _)| *key != "service"),
            apis,
        }
    }

    /// The first Service with which the selector matches the series. Returns `None` if the series does not match, and
    /// `Some(None)` if it has no Services and matches without one.
    fn matching_service(&self, selector: &Selector) -> Option<Option<&'a str>> {
        let labels = self.series.labels.iter();
        let mut services = labels
            .filter(|(key, _)| *key == "service")
            .map(|(_, name)| Some(name))
            .peekable();
        let without_service = services.peek().is_none().then_some(None);
        services
            .chain(without_service)
            .find(|service| selector.matches(|key| self.value(key, *service)))
    }

    fn value(&self, key: &str, service: Option<&'a str>) -> Option<&'a str> {
        match key {
            "namespace" => Some(self.namespace),
            key if key == self.series.key => Some(self.series.name),
            "service" => service,
            key => self
                .scale_target
                .filter(|(kind, _)| *kind == key)
                .map(|(_, name)| name)
                .or_else(|| self.apis.labels.get(key).map(String::as_str)),
        }
    }

    /// Replaces `labels` by all labels of the series, sorted.
    fn write_sorted(&self, labels: &mut Vec<(&'a str, &'a str)>, service: Option<&'a str>) {
        let series_labels = [("namespace", self.namespace), (self.series.key, self.series.name)];
        let configured = self.apis.labels.iter();
        let series = series_labels
            .into_iter()
            .chain(self.scale_target)
            .chain(service.map(|name| ("service", name)))
            .chain(configured.map(|(key, value)| (key.as_str(), value.as_str())));
        labels.clear();
        for label in series {
            labels.insert(labels.partition_point(|before| *before < label), label);
        }
        // The kind of a custom resource may equal the key of another label.
        labels.dedup_by_key(|(key, _)| *key);
    }
}

/// Writes items. The same item is filled in for each series, so that only its labels and value are new.
enum ExternalItemWriter<'a> {
    Item(ExternalValue),
    /// A row of a `Table`.
    Row {
        namespace: &'a str,
        age: String,
    },
}

impl<'a> ExternalItemWriter<'a> {
    fn new(meta: &ValueListMeta, namespace: &'a str, metric: ServedMetric) -> Self {
        if meta.is_table() {
            let age = format!("{}s", meta.age.as_secs());
            return Self::Row { namespace, age };
        }
        Self::Item(ExternalValue {
            metric_name: metric.name().to_owned(),
            metric_labels: BTreeMap::new(),
            timestamp: meta.timestamp(),
            window: meta.window,
            value: Quantity::default(),
        })
    }

    fn write(&mut self, body: &mut ListBody<'_>, series: &SeriesValue<'_>, labels: &[(&str, &str)]) {
        match self {
            Self::Item(item) => {
                let labels = labels
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
                item.metric_labels = labels.collect();
                item.value.set(series.value);
                body.push(item);
            }
            Self::Row { namespace, age } => {
                let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
                body.push_row(&TableRow {
                    cells: vec![
                        series.name.to_owned(),
                        series.value.to_string(),
                        labels.join(","),
                        age.clone(),
                    ],
                    object: PartialObjectMetadata::new(series.name, Some(namespace)),
                });
            }
        }
    }
}
