//! Answers `custom.metrics.k8s.io`: values of objects, of all objects that labels select, and of namespaces.
//! <https://github.com/kubernetes/metrics/blob/v0.36.3/pkg/apis/custom_metrics/v1beta2/types.go>

use crate::accept::ResponseFormat;
use crate::aliases;
use crate::api_version::{ApiVersion, CUSTOM_GROUP};
use crate::catalog::DescribedKind;
use crate::encoding::ListBody;
use crate::list_options::ListOptions;
use crate::metric_values::MetricValues;
use crate::milli_value::MilliValue;
use crate::objects::{
    CustomValueV1Beta1, CustomValueV1Beta2, MetricIdentifier, ObjectReference, PartialObjectMetadata, Quantity,
    StatusDetails, TableRow,
};
use crate::path::CustomMetricPath;
use crate::response::MetricsResponse;
use crate::selector_object::label_selector;
use crate::sources::MetricSources;
use crate::status::StatusError;
use crate::value_list::ValueListMeta;
use burst_kube::Resource;
use burst_labels::Selector;
use burst_model::config::Config;
use burst_model::index::PODS;
use burst_model::metric::ServedMetric;

/// The name that stands for all objects. As the namespace of a sum, it stands for all namespaces.
const ALL: &str = "*";
/// The only label of namespaces that is known: kube-apiserver sets it to the name of the namespace.
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name>
const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// Answers with the values that a path names and the options select.
pub(crate) fn answer(
    sources: &MetricSources<'_>,
    api: ApiVersion,
    format: ResponseFormat,
    path: &CustomMetricPath,
    options: &ListOptions,
) -> Result<MetricsResponse, StatusError> {
    options.check_name(&path.name)?;
    let (kind, metric) = resolve(sources, path).map_err(|error| error.to_status(path, sources.config))?;
    let values = match kind.section() {
        PODS => MetricValues::of_pods(sources, metric, path.namespace.as_deref().unwrap_or_default())?,
        _ => MetricValues::read(sources, metric)?,
    };
    let meta = ValueListMeta::new(api, format, &values, sources.now);
    let items = items(sources, path, options, &kind, &values)?;
    let namespace = kind.is_namespaced().then(|| path.namespace.clone().unwrap_or_default());
    let mut writer = CustomItemWriter::new(&meta, &kind, namespace, &path.metric, &options.metric_label_selector);
    Ok(meta.respond(&["Name", "Value", "Age"], items.len(), |body| {
        for (name, value) in items {
            writer.write(body, name, value);
        }
    }))
}

/// Why a path cannot have a value in any cluster.
#[derive(Clone, Copy, Debug)]
enum LookupError {
    /// Requests are not counted for single pods.
    Pods,
    UnknownResource,
    MissingNamespace,
    UnknownMetric,
}

impl LookupError {
    fn to_status(self, path: &CustomMetricPath, config: &Config) -> StatusError {
        let reason = match self {
            Self::Pods => {
                ": there are metrics of single pods only with requests.pods; request those of the Service or the workload"
                    .to_owned()
            }
            Self::UnknownResource => {
                let names: Vec<_> = DescribedKind::all(config).iter().map(DescribedKind::name).collect();
                format!(": there are metrics of {}", names.join(", "))
            }
            Self::MissingNamespace => ": the path has to name the namespace".to_owned(),
            Self::UnknownMetric => String::new(),
        };
        StatusError::not_found(format!("{}{reason}", not_found_message(path)), details(path))
    }
}

/// Finds the kind of objects and the metric that a path names.
fn resolve(sources: &MetricSources<'_>, path: &CustomMetricPath) -> Result<(DescribedKind, ServedMetric), LookupError> {
    let kind = DescribedKind::all(sources.config)
        .into_iter()
        .find(|kind| kind.is_called(&path.resource))
        // A path names a namespace object only inside that namespace.
        .filter(|kind| kind.is_namespaced() || path.namespace.as_ref() == Some(&path.name))
        .ok_or(match path.resource.as_str() {
            "pods" | "pod" => LookupError::Pods,
            _ => LookupError::UnknownResource,
        })?;
    if path.namespace.is_none() {
        return Err(LookupError::MissingNamespace);
    }
    let metric = aliases::find(sources, &path.metric)
        .filter(|metric| kind.has(*metric))
        .ok_or(LookupError::UnknownMetric)?;
    Ok((kind, metric))
}

/// The names and values of a path. A single object without a value is an error; a list may be empty.
fn items<'a>(
    sources: &MetricSources<'a>,
    path: &'a CustomMetricPath,
    options: &ListOptions,
    kind: &DescribedKind,
    values: &MetricValues<'a>,
) -> Result<Vec<(&'a str, MilliValue)>, StatusError> {
    let namespace = path.namespace.as_deref().unwrap_or_default();
    let is_selected = options
        .metric_label_selector
        .matches(|key| sources.apis.labels.get(key).map(String::as_str));
    if path.name == ALL {
        let items = match kind {
            DescribedKind::Namespace => namespace_sums(&options.label_selector, values)?,
            other => objects(&options.label_selector, values, other.section(), namespace),
        };
        return Ok(if is_selected { items } else { Vec::new() });
    }
    let value = match kind {
        _ if !is_selected => None,
        DescribedKind::Namespace => values.namespace_sum(namespace),
        other => values.object(other.section(), namespace, &path.name),
    };
    value
        .map(|value| vec![(path.name.as_str(), value)])
        .ok_or_else(|| not_found(path, options))
}

/// The values of the objects that a selector selects.
fn objects<'a>(
    selector: &Selector,
    values: &MetricValues<'a>,
    section: &str,
    namespace: &str,
) -> Vec<(&'a str, MilliValue)> {
    // An object whose labels are not known cannot match a selector.
    values
        .objects(section, namespace, selector.is_empty())
        .into_iter()
        .filter(|object| selector.matches(|key| object.labels.value(key)))
        .map(|object| (object.name, object.value))
        .collect()
}

/// The sums of the namespaces that a selector selects. A label that is not known neither selects a namespace nor excludes
/// it, so it is an error.
fn namespace_sums<'a>(
    selector: &Selector,
    values: &MetricValues<'a>,
) -> Result<Vec<(&'a str, MilliValue)>, StatusError> {
    let mut requirements = selector.requirements().iter();
    if !requirements.all(|requirement| *requirement.key == *NAMESPACE_LABEL) {
        let message = format!("the only known label of namespaces is {NAMESPACE_LABEL}");
        return Err(StatusError::bad_request(message));
    }
    let mut sums = values.namespace_sums();
    sums.retain(|(name, _)| selector.matches(|_| Some(name)));
    Ok(sums)
}

fn not_found(path: &CustomMetricPath, options: &ListOptions) -> StatusError {
    let mut message = not_found_message(path);
    if !options.metric_label_selector_text.is_empty() {
        message.extend([" with selector ", &options.metric_label_selector_text]);
    }
    StatusError::not_found(message, details(path))
}

/// The message of the reference implementation for a metric or an object that does not exist.
fn not_found_message(path: &CustomMetricPath) -> String {
    let name = object_name(path).map_or_else(String::new, |name| format!(" {name}"));
    let CustomMetricPath { metric, resource, .. } = path;
    format!("the server could not find the metric {metric} for {resource}{name}")
}

fn details(path: &CustomMetricPath) -> StatusDetails {
    StatusDetails {
        name: object_name(path).unwrap_or_default().to_owned(),
        group: CUSTOM_GROUP.to_owned(),
        kind: path.resource.clone(),
        ..StatusDetails::default()
    }
}

/// The object that a path names. Returns `None` if it names all of them.
fn object_name(path: &CustomMetricPath) -> Option<&str> {
    Some(path.name.as_str()).filter(|name| *name != ALL)
}

/// Writes items. The same item is filled in for each object, so that only its name and value are new.
enum CustomItemWriter {
    V1Beta1(CustomValueV1Beta1),
    V1Beta2(CustomValueV1Beta2),
    /// A row of a `Table`.
    Row {
        namespace: Option<String>,
        age: String,
    },
}

impl CustomItemWriter {
    fn new(
        meta: &ValueListMeta,
        kind: &DescribedKind,
        namespace: Option<String>,
        metric: &str,
        selector: &Selector,
    ) -> Self {
        if meta.is_table() {
            let age = format!("{}s", meta.age.as_secs());
            return Self::Row { namespace, age };
        }
        let resource = kind.resource();
        let described_object = ObjectReference {
            api_version: api_version(&resource),
            kind: resource.kind.to_string(),
            namespace: namespace.unwrap_or_default(),
            name: String::new(),
        };
        let (name, selector) = (metric.to_owned(), label_selector(selector));
        match meta.api {
            ApiVersion::CustomV1Beta1 => Self::V1Beta1(CustomValueV1Beta1 {
                described_object,
                metric_name: name,
                timestamp: meta.timestamp(),
                window: meta.window,
                value: Quantity::default(),
                selector,
            }),
            ApiVersion::CustomV1Beta2 | ApiVersion::ExternalV1Beta1 => Self::V1Beta2(CustomValueV1Beta2 {
                described_object,
                metric: MetricIdentifier { name, selector },
                timestamp: meta.timestamp(),
                window_seconds: meta.window,
                value: Quantity::default(),
            }),
        }
    }

    fn write(&mut self, body: &mut ListBody<'_>, name: &str, value: MilliValue) {
        match self {
            Self::V1Beta1(item) => {
                name.clone_into(&mut item.described_object.name);
                item.value.set(value);
                body.push(item);
            }
            Self::V1Beta2(item) => {
                name.clone_into(&mut item.described_object.name);
                item.value.set(value);
                body.push(item);
            }
            Self::Row { namespace, age } => body.push_row(&TableRow {
                cells: vec![name.to_owned(), value.to_string(), age.clone()],
                object: PartialObjectMetadata::new(name, namespace.as_deref()),
            }),
        }
    }
}

/// The `apiVersion` of a resource: `apps/v1`, or `v1` for the core group.
fn api_version(resource: &Resource) -> String {
    let Resource { group, version, .. } = resource;
    if group.is_empty() {
        version.to_string()
    } else {
        format!("{group}/{version}")
    }
}
