//! `custom.metrics.k8s.io`: values of objects, of all objects that labels select, and of namespaces.
//! <https://github.com/kubernetes/metrics/blob/v0.36.3/pkg/apis/custom_metrics/v1beta2/types.go>

use super::accept::ResponseFormat;
use super::api_version::ApiVersion;
use super::catalog::{DescribedKind, ServedMetric};
use super::json::Quoted;
use super::list_options::ListOptions;
use super::metric_values::MetricValues;
use super::milli_value::MilliValue;
use super::response_body::{ResponseBody, ValueListMeta, row_object};
use super::selector_json::echo;
use super::status::{StatusDetails, StatusError};
use super::{Ask, Values};
use burst_kube::Resource;
use burst_labels::Selector;
use burst_model::config::Config;
use std::fmt::Write as _;

pub(super) const GROUP: &str = "custom.metrics.k8s.io";

/// The kind of the answers, and of every metric in discovery: all of them are subresources, which kubectl does not look
/// up by their kinds.
pub(super) const LIST_KIND: &str = "MetricValueList";

/// The name that stands for all objects, and for all namespaces where it is the namespace of a sum.
const ALL: &str = "*";
/// The one label of a namespace that is known: kube-apiserver gives each its name.
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name>
const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// What a path asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CustomMetricPath<'a> {
    /// `None` in the form of what lives in no namespace.
    pub(super) namespace: Option<&'a str>,
    /// `deployments.apps`.
    pub(super) resource: &'a str,
    /// A name, or `*`.
    pub(super) name: &'a str,
    pub(super) metric: &'a str,
}

pub(super) fn answer(
    ask: &Ask<'_>,
    api: ApiVersion,
    form: ResponseFormat,
    wanted: CustomMetricPath<'_>,
) -> Result<Values, StatusError> {
    ask.query.check_name(wanted.name)?;
    let (described, metric) = wanted.resolve(ask).map_err(|why| wanted.refusal(ask.config, why))?;
    let reading = MetricValues::new(ask.config, ask.sources, metric)?;
    let head = ValueListMeta::new(api, form, &reading, ask.sources.now);
    let items = wanted.items(ask, &described, &reading)?;
    let namespace = wanted.namespace.unwrap_or_default();
    let template = CustomItemWriter::new(&head, &described, namespace, metric, &ask.query.metric_labels);
    let mut sheet = ResponseBody::new(&head, &["Name", "Value", "Age"], items.len());
    for (name, value) in items {
        template.write(sheet.item(), name, value);
    }
    Ok(Values {
        body: sheet.end(),
        api,
        age: head.age,
    })
}

/// LookupError there can be no value, whatever is read.
#[derive(Clone, Copy, Debug)]
enum LookupError {
    Pods,
    Resource,
    Scope,
    ServedMetric,
}

impl CustomMetricPath<'_> {
    fn resolve(&self, ask: &Ask<'_>) -> Result<(DescribedKind, ServedMetric), LookupError> {
        if matches!(self.resource, "pods" | "pod") {
            return Err(LookupError::Pods);
        }
        let described = DescribedKind::all(ask.config)
            .into_iter()
            .find(|described| described.is_called(self.resource));
        // Of namespaces there is the one that the path lies in.
        let is_there = |described: &DescribedKind| described.is_namespaced() || self.namespace == Some(self.name);
        let described = described.filter(is_there).ok_or(LookupError::Resource)?;
        if self.namespace.is_none() {
            return Err(LookupError::Scope);
        }
        let metric = ServedMetric::named(ask.apis, self.metric).filter(|metric| described.has(*metric));
        Ok((described, metric.ok_or(LookupError::ServedMetric)?))
    }

    /// The names and values; a single one that is not there is refused, and of all there may be none.
    fn items<'a>(
        &'a self,
        ask: &Ask<'a>,
        described: &DescribedKind,
        reading: &MetricValues<'a>,
    ) -> Result<Vec<(&'a str, MilliValue)>, StatusError> {
        let (namespace, labels) = (self.namespace.unwrap_or_default(), &ask.query.labels);
        let has_metric_labels = ask
            .query
            .metric_labels
            .matches(|key| ask.apis.labels.get(key).map(String::as_str));
        if self.name == ALL && *described == DescribedKind::Namespace {
            let namespaces = namespaces(labels, reading)?;
            return Ok(if has_metric_labels { namespaces } else { Vec::new() });
        }
        if self.name == ALL && has_metric_labels {
            // Those without labels that are known cannot be told to match.
            let objects = reading
                .objects(described.section(), namespace, labels.is_empty())
                .into_iter();
            let selected = objects.filter(|object| labels.matches(|key| object.labels.value(key)));
            return Ok(selected.map(|object| (object.name, object.value)).collect());
        }
        if self.name == ALL {
            return Ok(Vec::new());
        }
        let value = match described {
            _ if !has_metric_labels => None,
            DescribedKind::Namespace => reading.namespace(namespace),
            other => reading.object(other.section(), namespace, self.name),
        };
        value
            .map(|value| vec![(self.name, value)])
            .ok_or_else(|| self.not_found(&ask.query))
    }

    fn details(&self) -> StatusDetails {
        let name = Some(self.name).filter(|name| *name != ALL).unwrap_or_default();
        StatusDetails {
            name: name.into(),
            group: GROUP.into(),
            kind: self.resource.into(),
        }
    }

    /// The words of the reference for a metric, or an object, that is not there.
    fn message(&self) -> String {
        let Self {
            metric, resource, name, ..
        } = self;
        let name = if *name == ALL {
            String::new()
        } else {
            format!(" {name}")
        };
        format!("the server could not find the metric {metric} for {resource}{name}")
    }

    fn not_found(&self, query: &ListOptions) -> StatusError {
        let mut message = self.message();
        if !query.metric_labels_text.is_empty() {
            message.extend([" with selector ", &query.metric_labels_text]);
        }
        StatusError::not_found(message, self.details())
    }

    fn refusal(&self, config: &Config, why: LookupError) -> StatusError {
        let mut message = self.message();
        message.push_str(&match why {
            LookupError::Pods => ": nothing is known of a single pod; ask for its Service or its workload".to_owned(),
            LookupError::Resource => {
                let known: Vec<_> = DescribedKind::all(config).iter().map(DescribedKind::name).collect();
                format!(": there are metrics of {}", known.join(", "))
            }
            LookupError::Scope => ": it is asked for in its namespace".to_owned(),
            LookupError::ServedMetric => String::new(),
        });
        StatusError::not_found(message, self.details())
    }
}

/// The namespaces that labels select. A label that is not known can neither select nor leave out, so it is refused.
fn namespaces<'a>(labels: &Selector, reading: &MetricValues<'a>) -> Result<Vec<(&'a str, MilliValue)>, StatusError> {
    let is_known = labels
        .requirements()
        .iter()
        .all(|requirement| *requirement.key == *NAMESPACE_LABEL);
    if !is_known {
        let message = format!("of the labels of namespaces only {NAMESPACE_LABEL} is known");
        return Err(StatusError::bad_request(message));
    }
    let is_selected = |(name, _): &(&str, MilliValue)| labels.matches(|_| Some(name));
    Ok(reading.namespaces().into_iter().filter(is_selected).collect())
}

/// An item without its name and its value.
struct CustomItemWriter {
    before: String,
    between: String,
    after: String,
    is_row: bool,
    namespace: Option<String>,
}

impl CustomItemWriter {
    fn new(
        head: &ValueListMeta,
        described: &DescribedKind,
        namespace: &str,
        metric: ServedMetric,
        selector: &Selector,
    ) -> Self {
        let namespace = described.is_namespaced().then(|| namespace.to_owned());
        if let ResponseFormat::Table(_) = head.form {
            let age = head.age.as_secs();
            let (before, between) = (r#"{"cells":["#.to_owned(), String::new());
            return Self {
                before,
                between,
                after: format!(r#","{age}s"],"#),
                is_row: true,
                namespace,
            };
        }
        let Resource {
            group, version, kind, ..
        } = described.resource();
        let api_version = if group.is_empty() {
            version
        } else {
            format!("{group}/{version}")
        };
        let place = namespace
            .as_deref()
            .map_or_else(String::new, |name| format!(r#""namespace":{},"#, Quoted(name)));
        let (timestamp, name, selector) = (&head.timestamp, metric.name(), echo(selector));
        let window = |key| {
            head.window
                .map_or_else(String::new, |window| format!(r#""{key}":{window},"#))
        };
        let (metric, window, after) = match head.api {
            ApiVersion::CustomV1Beta1 => (
                format!(r#""metricName":"{name}""#),
                window("window"),
                format!(r#","selector":{selector}}}"#),
            ),
            _ => (
                format!(r#""metric":{{"name":"{name}","selector":{selector}}}"#),
                window("windowSeconds"),
                "}".to_owned(),
            ),
        };
        Self {
            before: format!(r#"{{"describedObject":{{"kind":"{kind}",{place}"name":"#),
            between: format!(r#","apiVersion":"{api_version}"}},{metric},"timestamp":"{timestamp}",{window}"value":"#),
            after,
            is_row: false,
            namespace,
        }
    }

    fn write(&self, body: &mut String, name: &str, value: MilliValue) {
        let Self {
            before, between, after, ..
        } = self;
        // Writing to a string cannot fail.
        let _ = if self.is_row {
            let object = row_object(name, self.namespace.as_deref());
            write!(body, r#"{before}{},"{value}"{after}{object}}}"#, Quoted(name))
        } else {
            write!(body, r#"{before}{}{between}"{value}"{after}"#, Quoted(name))
        };
    }
}
