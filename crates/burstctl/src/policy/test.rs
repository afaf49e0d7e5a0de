//! `burstctl policy test`: evaluates policies for the external metrics of HPAs.

use std::io;

use burst_policy::evaluate::Denial;
use burst_policy::raw::{LabelSelector, LabelSelectorRequirement};
use burst_policy::{AccessRequest, LabelConstraints, PolicyDecision, evaluate, name};
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, MetricIdentifier};
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use serde_json::json;

use super::Evaluator;
use crate::args::OutputFormat;
use crate::printer::Printer;

/// The decision on one external metric of an HPA.
#[derive(Debug)]
pub struct MetricDecision {
    /// `namespace/name` of the HPA.
    pub hpa: String,
    /// The canonical name of the metric.
    pub metric: String,
    /// The label selector, as the query string has it.
    pub selector: String,
    /// The name and the decision of each policy that applies.
    pub decisions: Vec<(String, PolicyDecision)>,
    /// Why the filter would refuse the metric; `None` if it would serve it.
    pub refusal: Option<String>,
}

/// Evaluates the policies for each external metric of an HPA.
#[must_use]
pub fn test(
    evaluator: &Evaluator<'_>,
    namespace: &str,
    title: &str,
    hpa: &HorizontalPodAutoscaler,
) -> Vec<MetricDecision> {
    let metrics = hpa.spec.metrics.iter().flatten();
    let external = metrics
        .filter(|metric| metric.type_ == "External")
        .filter_map(|metric| metric.external.as_ref());
    external
        .map(|external| decide(evaluator, namespace, title, &external.metric))
        .collect()
}

fn decide(evaluator: &Evaluator<'_>, namespace: &str, title: &str, metric: &MetricIdentifier) -> MetricDecision {
    let selector = metric.selector.as_ref().map(to_policy_selector).unwrap_or_default();
    let mut decision = MetricDecision {
        hpa: title.to_owned(),
        metric: name::canonical(&metric.name),
        selector: text(&selector),
        decisions: Vec::new(),
        refusal: None,
    };
    let labels = match LabelConstraints::from_label_selector(&selector) {
        Ok(labels) => labels,
        Err(_) => {
            decision.refusal = Some("its selector has an unknown operator".to_owned());
            return decision;
        }
    };
    let query = AccessRequest {
        namespace,
        metric: &decision.metric,
        user: evaluator.user,
        groups: evaluator.groups,
        labels: &labels,
    };
    let evaluation = evaluate(evaluator.policies, evaluator.default, query);
    let named = |(policy, decision): &(&burst_policy::Policy, PolicyDecision)| (policy.name().to_owned(), *decision);
    decision.refusal = evaluation.denial().map(|refusal: Denial<'_>| refusal.to_string());
    decision.decisions = evaluation.decisions.iter().map(named).collect();
    decision
}

fn to_policy_selector(selector: &meta::LabelSelector) -> LabelSelector {
    let expression = |one: &meta::LabelSelectorRequirement| LabelSelectorRequirement {
        key: one.key.clone(),
        operator: one.operator.clone(),
        values: one.values.clone(),
    };
    let expressions = selector.match_expressions.as_ref();
    LabelSelector {
        match_labels: selector.match_labels.clone(),
        match_expressions: expressions.map(|all| all.iter().map(expression).collect()),
    }
}

fn text(selector: &LabelSelector) -> String {
    let labels = selector
        .match_labels
        .iter()
        .flatten()
        .map(|(key, value)| format!("{key}={value}"));
    let expressions = selector
        .match_expressions
        .iter()
        .flatten()
        .map(burst_policy::raw::LabelSelectorRequirement::to_string);
    labels.chain(expressions).collect::<Vec<_>>().join(",")
}

/// Writes one line per decision.
///
/// # Errors
/// Returns an error if the printer cannot write.
pub fn write(decision: &[MetricDecision], output: OutputFormat, printer: &mut Printer<'_>) -> io::Result<()> {
    decision.iter().try_for_each(|decision| match output.objects() {
        None => printer.line(line(decision)),
        Some(format) => printer.object(&object(decision), format),
    })
}

fn line(decision: &MetricDecision) -> String {
    let MetricDecision {
        hpa, metric, selector, ..
    } = decision;
    let selector = if selector.is_empty() {
        String::new()
    } else {
        format!("{{{selector}}}")
    };
    let verdict = match &decision.refusal {
        Some(reason) => format!("refused: {reason}"),
        None if decision.decisions.is_empty() => "passes: no ExternalMetricPolicy applies".to_owned(),
        None => {
            let rules = decision.decisions.iter().map(|(policy, decision)| match decision {
                PolicyDecision::Allowed(index) => format!("{policy} rule {}", index + 1),
                _ => format!("{policy} has no rule for it"),
            });
            format!("passes: {}", rules.collect::<Vec<_>>().join(", "))
        }
    };
    format!("{hpa}: {metric}{selector}: {verdict}")
}

fn object(decision: &MetricDecision) -> serde_json::Value {
    let decisions = decision.decisions.iter().map(|(policy, decision)| {
        let (says, rule) = match decision {
            PolicyDecision::Allowed(index) => ("allow", Some(index + 1)),
            PolicyDecision::Denied(index) => ("deny", Some(index + 1)),
            PolicyDecision::TooBroad(index) => ("too-wide", Some(index + 1)),
            PolicyDecision::NoMatchingRule => ("no-rule", None),
        };
        json!({"policy": policy, "rule": rule, "says": says})
    });
    json!({
        "hpa": decision.hpa, "metric": decision.metric, "selector": decision.selector, "passes": decision.refusal.is_none(),
        "decisions": decisions.collect::<Vec<_>>(), "reason": decision.refusal,
    })
}
