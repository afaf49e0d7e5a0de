//! `external.metrics.k8s.io`: series of a namespace, by their labels.
//! <https://github.com/kubernetes/metrics/blob/v0.36.3/pkg/apis/external_metrics/v1beta1/types.go>

use super::accept::ResponseFormat;
use super::api_version::ApiVersion;
use super::catalog::ServedMetric;
use super::json::{Quoted, list};
use super::metric_values::{MetricValues, SeriesValue};
use super::response_body::{ResponseBody, ValueListMeta, row_object};
use super::status::{StatusDetails, StatusError};
use super::{Ask, Values, policy_check};
use burst_labels::Selector;
use burst_model::config::{MetricsApis, UnknownExternal};
use std::fmt::Write as _;

pub(super) const GROUP: &str = "external.metrics.k8s.io";

/// The kind of the items of an answer, as clients read it from the kind of the list, and the resource that discovery
/// lists for it. The resource has no verbs and is no metric: without it kubectl does not recognize the items.
pub(super) const ITEM_KIND: &str = "ExternalMetricValue";
pub(super) const ITEM_RESOURCE: &str = "externalmetricvalues";

const COLUMNS: [&str; 4] = ["Name", "Value", "Labels", "Age"];

/// What a path asks for: a namespace, and a metric that may be spelled in several ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExternalMetricPath<'a> {
    pub(super) namespace: &'a str,
    pub(super) metric: String,
}

pub(super) fn answer(
    ask: &Ask<'_>,
    form: ResponseFormat,
    wanted: &ExternalMetricPath<'_>,
) -> Result<Values, StatusError> {
    if ask.query.watch {
        return Err(StatusError::watch());
    }
    policy_check::check(ask, wanted)?;
    let Some(metric) = named(ask.apis, &wanted.metric) else {
        return unknown(ask, form, wanted);
    };
    let reading = MetricValues::new(ask.config, ask.sources, metric)?;
    let head = ValueListMeta::new(ApiVersion::ExternalV1Beta1, form, &reading, ask.sources.now);
    let series = reading.series(wanted.namespace);
    let template = ExternalItemWriter::new(&head, wanted.namespace, metric);
    let (mut sheet, mut all) = (ResponseBody::new(&head, &COLUMNS, series.len()), Vec::new());
    for series in &series {
        let labels = SeriesLabels::new(wanted.namespace, series, ask.apis);
        if let Some(service) = labels.service(&ask.query.labels) {
            labels.list(&mut all, service);
            template.write(sheet.item(), series, &all);
        }
    }
    Ok(Values {
        body: sheet.end(),
        api: ApiVersion::ExternalV1Beta1,
        age: head.age,
    })
}

/// The metric of a name, whatever its case, as client-go makes it lower. Seed 004 escapes a slash as `\|`; adapters have
/// made do with `|`. A name has a slash where ours have their first underscore: `burst/headroom`.
pub(super) fn named(apis: &MetricsApis, name: &str) -> Option<ServedMetric> {
    let name = name.to_ascii_lowercase().replace("\\|", "/").replace('|', "/");
    ServedMetric::all(apis).find(|metric| metric.name() == name || metric.name().replacen('_', "/", 1) == name)
}

fn unknown(ask: &Ask<'_>, form: ResponseFormat, wanted: &ExternalMetricPath<'_>) -> Result<Values, StatusError> {
    if ask.apis.unknown_external == UnknownExternal::Empty {
        let head = ValueListMeta::of_nothing(ApiVersion::ExternalV1Beta1, form, ask.sources.now);
        let sheet = ResponseBody::new(&head, &COLUMNS, 0);
        return Ok(Values {
            body: sheet.end(),
            api: ApiVersion::ExternalV1Beta1,
            age: head.age,
        });
    }
    let known: Vec<_> = ServedMetric::all(ask.apis).map(ServedMetric::name).collect();
    let (metric, known) = (&wanted.metric, known.join(", "));
    let message = format!("the server could not find the external metric {metric}: there are {known}");
    Err(StatusError::not_found(
        message,
        StatusDetails {
            name: String::new(),
            group: GROUP.into(),
            kind: metric.clone(),
        },
    ))
}

/// The labels of a series. Of the Services in front of an HPA one is shown.
struct SeriesLabels<'a> {
    namespace: &'a str,
    series: &'a SeriesValue<'a>,
    /// What an HPA scales: the kind in lower case, and the name.
    target: Option<(&'a str, &'a str)>,
    more: &'a MetricsApis,
}

impl<'a> SeriesLabels<'a> {
    fn new(namespace: &'a str, series: &'a SeriesValue<'a>, more: &'a MetricsApis) -> Self {
        let target = series.labels.iter().next().filter(|(key, _)| *key != "service");
        Self {
            namespace,
            series,
            target,
            more,
        }
    }

    /// The first of its Services with which the series is selected; `None` where it is with none.
    fn service(&self, selector: &Selector) -> Option<Option<&'a str>> {
        let services = self.series.labels.iter().filter(|(key, _)| *key == "service");
        let mut services = services.map(|(_, name)| Some(name)).peekable();
        let none = services.peek().is_none().then_some(None);
        services
            .chain(none)
            .find(|service| selector.matches(|key| self.value(key, *service)))
    }

    fn value(&self, key: &str, service: Option<&'a str>) -> Option<&'a str> {
        match key {
            "namespace" => Some(self.namespace),
            key if key == self.series.key => Some(self.series.name),
            "service" => service,
            key => {
                let target = self.target.filter(|(kind, _)| *kind == key).map(|(_, name)| name);
                target.or_else(|| self.more.labels.get(key).map(String::as_str))
            }
        }
    }

    /// Puts all of them into `all`, sorted.
    fn list(&self, all: &mut Vec<(&'a str, &'a str)>, service: Option<&'a str>) {
        let own = [("namespace", self.namespace), (self.series.key, self.series.name)];
        let service = service.map(|name| ("service", name));
        let more = self
            .more
            .labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        all.clear();
        for label in own.into_iter().chain(self.target).chain(service).chain(more) {
            all.insert(all.partition_point(|before| *before < label), label);
        }
        // The kind of a custom resource may have the name of a label of ours.
        all.dedup_by_key(|(key, _)| *key);
    }
}

/// An item without its labels and its value, or a row of a Table.
enum ExternalItemWriter<'a> {
    Item { before: String, between: String },
    Row { namespace: &'a str, age: u64 },
}

impl<'a> ExternalItemWriter<'a> {
    fn new(head: &ValueListMeta, namespace: &'a str, metric: ServedMetric) -> Self {
        if let ResponseFormat::Table(_) = head.form {
            let age = head.age.as_secs();
            return Self::Row { namespace, age };
        }
        let window = head
            .window
            .map_or_else(String::new, |window| format!(r#""window":{window},"#));
        Self::Item {
            before: format!(r#"{{"metricName":"{}","metricLabels":{{"#, metric.name()),
            between: format!(r#"}},"timestamp":"{}",{window}"value":"#, head.timestamp),
        }
    }

    fn write(&self, body: &mut String, series: &SeriesValue<'_>, labels: &[(&str, &str)]) {
        let SeriesValue { name, value, .. } = series;
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Item { before, between } => {
                body.push_str(before);
                for (place, (key, value)) in labels.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    let _ = write!(body, "{comma}{}:{}", Quoted(key), Quoted(value));
                }
                write!(body, r#"{between}"{value}"}}"#)
            }
            Self::Row { namespace, age } => {
                let labels = list(labels.iter().map(|(key, value)| format!("{key}={value}")));
                let object = row_object(name, Some(namespace));
                write!(
                    body,
                    r#"{{"cells":[{},"{value}",{},"{age}s"],{object}}}"#,
                    Quoted(name),
                    Quoted(&labels)
                )
            }
        };
    }
}
