//! `external.metrics.k8s.io`: series of a namespace, by their labels.
//! <https://github.com/kubernetes/metrics/blob/v0.36.3/pkg/apis/external_metrics/v1beta1/types.go>

use super::accept::Form;
use super::api::Api;
use super::catalog::Metric;
use super::json::{Quoted, list};
use super::reading::{Reading, Series};
use super::sheet::{Head, Sheet, row_object};
use super::status::{Details, Refusal};
use super::{Ask, Values, permission};
use crate::config::{MetricsApisConfig, UnknownExternal};
use burst_labels::Selector;
use std::fmt::Write as _;

pub(super) const GROUP: &str = "external.metrics.k8s.io";

/// The kind of the items of an answer, as clients read it from the kind of the list, and the resource that discovery
/// lists for it. The resource has no verbs and is no metric: without it kubectl does not recognize the items.
pub(super) const ITEM_KIND: &str = "ExternalMetricValue";
pub(super) const ITEM_RESOURCE: &str = "externalmetricvalues";

const COLUMNS: [&str; 4] = ["Name", "Value", "Labels", "Age"];

/// What a path asks for: a namespace, and a metric that may be spelled in several ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted<'a> {
    pub(super) namespace: &'a str,
    pub(super) metric: String,
}

pub(super) fn answer(ask: &Ask<'_>, form: Form, wanted: &Wanted<'_>) -> Result<Values, Refusal> {
    if ask.query.watch {
        return Err(Refusal::watch());
    }
    permission::check(ask, wanted)?;
    let Some(metric) = named(ask.apis, &wanted.metric) else {
        return unknown(ask, form, wanted);
    };
    let reading = Reading::new(ask.config, ask.sources, metric)?;
    let head = Head::new(Api::External, form, &reading, ask.sources.now);
    let series = reading.series(wanted.namespace);
    let template = Template::new(&head, wanted.namespace, metric);
    let (mut sheet, mut all) = (Sheet::new(&head, &COLUMNS, series.len()), Vec::new());
    for series in &series {
        let labels = Labels::new(wanted.namespace, series, ask.apis);
        if let Some(service) = labels.service(&ask.query.labels) {
            labels.list(&mut all, service);
            template.write(sheet.item(), series, &all);
        }
    }
    Ok(Values {
        body: sheet.end(),
        api: Api::External,
        age: head.age,
    })
}

/// The metric of a name, whatever its case, as client-go makes it lower. Seed 004 escapes a slash as `\|`; adapters have
/// made do with `|`. A name has a slash where ours have their first underscore: `burst/headroom`.
pub(super) fn named(apis: &MetricsApisConfig, name: &str) -> Option<Metric> {
    let name = name.to_ascii_lowercase().replace("\\|", "/").replace('|', "/");
    Metric::all(apis).find(|metric| metric.name() == name || metric.name().replacen('_', "/", 1) == name)
}

fn unknown(ask: &Ask<'_>, form: Form, wanted: &Wanted<'_>) -> Result<Values, Refusal> {
    if ask.apis.unknown_external == UnknownExternal::Empty {
        let head = Head::of_nothing(Api::External, form, ask.sources.now);
        let sheet = Sheet::new(&head, &COLUMNS, 0);
        return Ok(Values {
            body: sheet.end(),
            api: Api::External,
            age: head.age,
        });
    }
    let known: Vec<_> = Metric::all(ask.apis).map(Metric::name).collect();
    let (metric, known) = (&wanted.metric, known.join(", "));
    let message = format!("the server could not find the external metric {metric}: there are {known}");
    Err(Refusal::not_found(
        message,
        Details {
            name: String::new(),
            group: GROUP.into(),
            kind: metric.clone(),
        },
    ))
}

/// The labels of a series. Of the Services in front of an HPA one is shown.
struct Labels<'a> {
    namespace: &'a str,
    series: &'a Series<'a>,
    /// What an HPA scales: the kind in lower case, and the name.
    target: Option<(&'a str, &'a str)>,
    more: &'a MetricsApisConfig,
}

impl<'a> Labels<'a> {
    fn new(namespace: &'a str, series: &'a Series<'a>, more: &'a MetricsApisConfig) -> Self {
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
enum Template<'a> {
    Item { before: String, between: String },
    Row { namespace: &'a str, age: u64 },
}

impl<'a> Template<'a> {
    fn new(head: &Head, namespace: &'a str, metric: Metric) -> Self {
        if let Form::Table(_) = head.form {
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

    fn write(&self, body: &mut String, series: &Series<'_>, labels: &[(&str, &str)]) {
        let Series { name, value, .. } = series;
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
