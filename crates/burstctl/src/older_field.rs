//! Advice for fields of older API versions of the HPA in an `autoscaling/v2` object.

use burst_hpa::NodeValue;

use crate::objects::Object;

/// Returns how to write a field of an older version in `autoscaling/v2`, with its value.
pub(crate) fn advice(object: &Object, path: &str) -> Option<String> {
    let (parent, field) = path.rsplit_once('.')?;
    let value = value(object, path);
    let (version, new) = match field {
        "targetCPUUtilizationPercentage" => {
            let target = format!("{{type: Utilization, averageUtilization: {value}}}");
            let metric = format!("{{type: Resource, resource: {{name: cpu, target: {target}}}}}");
            ("v1", format!("an item of spec.metrics: {metric}"))
        }
        "targetAverageUtilization" => (
            "v2beta1",
            format!("target: {{type: Utilization, averageUtilization: {value}}}"),
        ),
        "targetAverageValue" => (
            "v2beta1",
            format!("target: {{type: AverageValue, averageValue: {value}}}"),
        ),
        "targetValue" => ("v2beta1", format!("target: {{type: Value, value: {value}}}")),
        "metricName" => ("v2beta1", format!("metric: {{name: {value}}}")),
        "metricSelector" => ("v2beta1", "selector, a field of metric".to_owned()),
        _ => return None,
    };
    let is_of_hpa = parent == "spec" || parent.starts_with("spec.metrics[");
    is_of_hpa.then(|| format!("This is a field of autoscaling/{version}. In autoscaling/v2, write {new}"))
}

/// Returns the value of a field as YAML, or `…` if it is no scalar.
fn value(object: &Object, path: &str) -> String {
    match object.tree.at(path).map(|node| &node.value) {
        Some(NodeValue::Number(text) | NodeValue::String(text)) => text.clone(),
        _ => "…".to_owned(),
    }
}
