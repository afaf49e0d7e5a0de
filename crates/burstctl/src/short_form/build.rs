//! Builds an HPA from the short form.

use burst_hpa::behavior::SelectPolicy;
use burst_hpa::builder::{
    AverageValue, BuildError, ContainerResourceMetric, ExternalMetric, Hpa, Metric, ObjectMetric, ObjectReference,
    PodsMetric, ResourceMetric, ScaleTarget, ScalingPolicy, ScalingRules, Selector, Utilization, Value,
};
use burst_hpa::metric::Resource;
use burst_hpa::{ErrorType, Options, Severity};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use super::raw;
use super::scale_targets::ScaleTargets;
use crate::deserialize::DeserializeError;
use crate::finding::{Finding, FindingKind};
use crate::objects::Object;

/// Builds the HPA. If the input contains the target, the containers of the target must request the resources that the
/// metrics measure.
pub(crate) fn hpa(
    object: &Object,
    targets: &ScaleTargets<'_>,
    options: Options,
) -> Result<HorizontalPodAutoscaler, Vec<Finding>> {
    let raw = read(object).map_err(|finding| vec![*finding])?;
    let metrics: Vec<Metric> = collect(raw.metrics.iter().enumerate().map(|(index, written)| {
        metric(written).map_err(|message| short_form_finding(object, &format!("metrics[{index}]"), message.to_owned()))
    }))?;
    let mut hpa = Hpa::new(target(&raw, targets), raw.max).for_cluster(options);
    hpa = raw.name.iter().fold(hpa, Hpa::name);
    hpa = raw.namespace.iter().fold(hpa, Hpa::namespace);
    hpa = raw.labels.iter().fold(hpa, |hpa, (key, value)| hpa.label(key, value));
    hpa = raw
        .annotations
        .iter()
        .fold(hpa, |hpa, (key, value)| hpa.annotation(key, value));
    hpa = raw.min.into_iter().fold(hpa, Hpa::min_replicas);
    hpa = metrics.into_iter().fold(hpa, Hpa::metric);
    if let Some(written) = &raw.scale_up {
        hpa = hpa.scale_up(rules(written, "scaleUp", object)?);
    }
    if let Some(written) = &raw.scale_down {
        hpa = hpa.scale_down(rules(written, "scaleDown", object)?);
    }
    hpa.build().map(|built| built.hpa).map_err(|errors| {
        errors
            .as_slice()
            .iter()
            .map(|error| build_finding(object, error))
            .collect()
    })
}

/// Collects the values, or all the errors.
fn collect<T>(results: impl Iterator<Item = Result<T, Box<Finding>>>) -> Result<Vec<T>, Vec<Finding>> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => good.push(value),
            Err(finding) => bad.push(*finding),
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(bad) }
}

fn read(object: &Object) -> Result<raw::ShortHpa, Box<Finding>> {
    crate::deserialize::deserialize(&object.tree).map_err(|DeserializeError { field, span, detail }| {
        let mut finding = short_form_finding(object, &field, detail);
        finding.span = span;
        finding
    })
}

fn target(raw: &raw::ShortHpa, targets: &ScaleTargets<'_>) -> ScaleTarget {
    let reference = &raw.target;
    let namespace = raw.namespace.as_deref().unwrap_or("default");
    let found = (reference.api_version == "apps/v1")
        .then(|| targets.find(&reference.kind, namespace, &reference.name))
        .flatten();
    let json = || found.map(|object| object.tree.to_json()).unwrap_or_default();
    let read = match reference.kind.as_str() {
        "Deployment" => serde_json::from_value::<Deployment>(json())
            .ok()
            .map(|deployment| ScaleTarget::from(&deployment)),
        "StatefulSet" => serde_json::from_value::<StatefulSet>(json())
            .ok()
            .map(|set| ScaleTarget::from(&set)),
        _ => None,
    };
    read.unwrap_or_else(|| ScaleTarget::reference_to(&reference.api_version, &reference.kind, &reference.name))
}

const SOURCES: &str = "name one source: resource (perhaps of a container), pods, object with metric, or external";

fn metric(written: &raw::Metric) -> Result<Metric, &'static str> {
    let raw::Metric {
        resource,
        container,
        pods,
        object,
        external,
        metric,
        selector,
        ..
    } = written;
    let selector = selector.as_ref().map(|labels| {
        labels
            .iter()
            .fold(Selector::new(), |selector, (key, value)| selector.label(key, value))
    });
    let named = [pods.is_some(), object.is_some(), external.is_some(), resource.is_some()];
    if named.iter().filter(|named| **named).count() != 1 {
        return Err(SOURCES);
    }
    if metric.is_some() != object.is_some() {
        return Err("object and metric belong together");
    }
    if let Some(resource) = resource {
        if selector.is_some() {
            return Err("a resource has no labels to select by");
        }
        return resource_metric(*resource, container.as_deref(), written);
    }
    if container.is_some() {
        return Err("container belongs to resource");
    }
    if written.utilization.is_some() {
        return Err("utilization is a share of a request, and only a resource has one; use average");
    }
    if let Some(name) = pods {
        let (Some(average), None) = (&written.average, &written.value) else {
            return Err("pods are compared by average");
        };
        let metric = PodsMetric::new(name, AverageValue::new(average.0.clone()));
        return Ok(match selector {
            Some(selector) => metric.selector(selector).into(),
            None => metric.into(),
        });
    }
    series(written, selector)
}

fn resource_metric(
    resource: raw::Resource,
    container: Option<&str>,
    written: &raw::Metric,
) -> Result<Metric, &'static str> {
    let resource = match resource {
        raw::Resource::Cpu => Resource::Cpu,
        raw::Resource::Memory => Resource::Memory,
    };
    let target: burst_hpa::builder::ResourceTarget = match (written.utilization, &written.average, &written.value) {
        (Some(percent), None, None) => Utilization(percent).into(),
        (None, Some(average), None) => AverageValue::new(average.0.clone()).into(),
        _ => return Err("a resource is compared by utilization or by average, one of them"),
    };
    Ok(match container {
        Some(container) => ContainerResourceMetric::new(container, resource, target).into(),
        None => ResourceMetric::new(resource, target).into(),
    })
}

/// Builds an object metric or an external metric.
fn series(written: &raw::Metric, selector: Option<Selector>) -> Result<Metric, &'static str> {
    let target: burst_hpa::builder::SeriesTarget = match (&written.average, &written.value) {
        (Some(average), None) => AverageValue::new(average.0.clone()).into(),
        (None, Some(value)) => Value::new(value.0.clone()).into(),
        _ => return Err("compared by value or by average, one of them"),
    };
    Ok(match (&written.object, &written.metric, &written.external) {
        (Some(object), Some(name), _) => {
            let object = ObjectReference::new(&object.api_version, &object.kind, &object.name);
            let metric = ObjectMetric::new(object, name, target);
            selector
                .map(|selector| metric.clone().selector(selector))
                .unwrap_or(metric)
                .into()
        }
        (_, _, Some(name)) => {
            let metric = ExternalMetric::new(name, target);
            selector
                .map(|selector| metric.clone().selector(selector))
                .unwrap_or(metric)
                .into()
        }
        _ => return Err(SOURCES),
    })
}

fn rules(written: &raw::Rules, field: &str, object: &Object) -> Result<ScalingRules, Vec<Finding>> {
    let mut rules = ScalingRules::new();
    if let Some(length) = written.window {
        rules = rules.window(length.0);
    }
    rules = match (written.disabled, written.select) {
        (true, None) => rules.select(SelectPolicy::Disabled),
        (true, Some(_)) => {
            return Err(vec![*short_form_finding(
                object,
                field,
                "select has no effect if disabled is set".to_owned(),
            )]);
        }
        (false, Some(raw::Select::Max)) => rules.select(SelectPolicy::Max),
        (false, Some(raw::Select::Min)) => rules.select(SelectPolicy::Min),
        (false, None) => rules,
    };
    if let Some(amount) = &written.tolerance {
        rules = rules.tolerance(amount.0.clone());
    }
    let policies = written
        .policies
        .iter()
        .enumerate()
        .map(|(index, policy)| match (policy.pods, policy.percent) {
            (Some(count), None) => Ok(ScalingPolicy::pods(count, policy.every.0)),
            (None, Some(percent)) => Ok(ScalingPolicy::percent(percent, policy.every.0)),
            _ => Err(short_form_finding(
                object,
                &format!("{field}.policies[{index}]"),
                "either pods or percent".to_owned(),
            )),
        });
    Ok(collect(policies)?.into_iter().fold(rules, ScalingRules::policy))
}

fn short_form_finding(object: &Object, field: &str, detail: String) -> Box<Finding> {
    Box::new(Finding {
        object: title(object),
        kind: FindingKind::Short,
        ..Finding::at(object, field, detail)
    })
}

/// Returns `namespace/name`. If the short form has no name, it is the name of the target.
pub(crate) fn title(object: &Object) -> String {
    let text = |name| object.tree.text(name);
    let named = || object.tree.field("target")?.text("name");
    let target = text("target")
        .and_then(|target| target.split_once('/'))
        .map(|(_, name)| name)
        .or_else(named);
    format!(
        "{}/{}",
        text("namespace").unwrap_or("default"),
        text("name").or(target).unwrap_or_default()
    )
}

/// Converts an error of the builder. The error names a field of `autoscaling/v2`; the finding has the position of the
/// corresponding field of the short form.
fn build_finding(object: &Object, error: &BuildError) -> Finding {
    let (field, kind, detail, advice) = match error {
        BuildError::Refused(error) => (
            &error.field,
            FindingKind::Invalid(error.error_type),
            error.detail.clone(),
            None,
        ),
        BuildError::NeverWorks(finding) => (
            &finding.field,
            FindingKind::Lint(finding.lint),
            finding.effect.clone(),
            Some(finding.advice.clone()),
        ),
        BuildError::OtherNamespace { .. } => {
            return Finding {
                object: title(object),
                kind: FindingKind::Short,
                ..Finding::at(object, &short_path("metadata.namespace"), error.to_string())
            };
        }
        BuildError::NotWholeSeconds { field, duration } => {
            let detail = format!("{duration:?} is not a whole number of seconds");
            (field, FindingKind::Invalid(ErrorType::Invalid), detail, None)
        }
    };
    let at = Finding::at(object, &short_path(field), detail);
    Finding {
        object: title(object),
        field: field.clone(),
        kind,
        advice,
        severity: Severity::Error,
        ..at
    }
}

/// Converts a lint finding about the built HPA into one with a position in the short form.
pub(crate) fn lint_finding(object: &Object, finding: burst_hpa::Finding) -> Finding {
    let severity = finding.severity;
    let build_finding = build_finding(object, &BuildError::NeverWorks(finding));
    Finding {
        severity,
        ..build_finding
    }
}

const SHORT_NAMES: [(&str, &str); 9] = [
    ("spec.behavior.", ""),
    ("spec.", ""),
    ("metadata.", ""),
    ("stabilizationWindowSeconds", "window"),
    ("selectPolicy", "select"),
    ("periodSeconds", "every"),
    ("scaleTargetRef", "target"),
    ("maxReplicas", "max"),
    ("minReplicas", "min"),
];

fn short_path(field: &str) -> String {
    let shortened = SHORT_NAMES
        .iter()
        .fold(field.to_owned(), |field, (long, short)| field.replace(long, short));
    short_metric_path(&shortened).unwrap_or(shortened)
}

/// Shortens the path of a metric's field: `metrics[0].pods.target.averageValue` is `metrics[0].average`.
fn short_metric_path(field: &str) -> Option<String> {
    let (metric, field) = field.strip_prefix("metrics")?.split_once("].")?;
    let short = match field.split_once('.')? {
        (_, "target.averageUtilization") => "utilization",
        (_, "target.averageValue") => "average",
        (_, "target.value") => "value",
        (_, field) if field.starts_with("metric.selector") => "selector",
        ("object", "metric.name") => "metric",
        (source @ ("pods" | "external"), "metric.name") => source,
        ("object", field) => {
            return Some(format!(
                "metrics{metric}].{}",
                field.replace("describedObject", "object")
            ));
        }
        ("resource" | "containerResource", "name") => "resource",
        ("containerResource", "container") => "container",
        _ => return None,
    };
    Some(format!("metrics{metric}].{short}"))
}

#[cfg(test)]
mod tests {
    use super::short_path;

    #[test]
    fn a_field_is_mapped_to_its_path_in_the_short_form() {
        for (field, expected) in [
            ("spec.maxReplicas", "max"),
            (
                "spec.behavior.scaleUp.policies[1].periodSeconds",
                "scaleUp.policies[1].every",
            ),
            ("spec.scaleTargetRef.apiVersion", "target.apiVersion"),
            ("spec.metrics[12].pods.target.averageValue", "metrics[12].average"),
            (
                "spec.metrics[0].resource.target.averageUtilization",
                "metrics[0].utilization",
            ),
            ("spec.metrics[0].object.target.value", "metrics[0].value"),
            ("spec.metrics[0].object.describedObject.name", "metrics[0].object.name"),
            ("spec.metrics[0].object.metric.name", "metrics[0].metric"),
            ("spec.metrics[0].external.metric.name", "metrics[0].external"),
            (
                "spec.metrics[0].external.metric.selector.matchLabels",
                "metrics[0].selector",
            ),
            ("spec.metrics[0].containerResource.container", "metrics[0].container"),
            ("spec.metrics[0].containerResource.name", "metrics[0].resource"),
        ] {
            assert_eq!(short_path(field), expected, "{field}");
        }
    }
}
