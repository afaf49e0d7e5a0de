//! `burstctl policy test`: what policies say of the external metrics of HPAs.

use std::io;

use burst_policy::evaluate::Denial;
use burst_policy::raw::{LabelSelector, LabelSelectorRequirement};
use burst_policy::{AccessRequest, LabelConstraints, PolicyDecision, evaluate, name};
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, MetricIdentifier};
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use serde_json::json;

use super::Court;
use crate::args::Output;
use crate::page::Page;

/// What is said of one metric of an HPA.
#[derive(Debug)]
pub struct Told {
    /// `namespace/name` of the HPA.
    pub hpa: String,
    /// The canonical name.
    pub metric: String,
    /// As a query has it.
    pub selector: String,
    /// What each policy that applies says.
    pub decisions: Vec<(String, PolicyDecision)>,
    /// Why the metric would not be served; `None` if it would.
    pub refusal: Option<String>,
}

/// What the policies say of each external metric.
#[must_use]
pub fn test(court: &Court<'_>, namespace: &str, title: &str, hpa: &HorizontalPodAutoscaler) -> Vec<Told> {
    let metrics = hpa.spec.metrics.iter().flatten();
    let external = metrics
        .filter(|metric| metric.type_ == "External")
        .filter_map(|metric| metric.external.as_ref());
    external
        .map(|external| of_metric(court, namespace, title, &external.metric))
        .collect()
}

fn of_metric(court: &Court<'_>, namespace: &str, title: &str, metric: &MetricIdentifier) -> Told {
    let selector = metric.selector.as_ref().map(words).unwrap_or_default();
    let mut told = Told {
        hpa: title.to_owned(),
        metric: name::canonical(&metric.name),
        selector: text(&selector),
        decisions: Vec::new(),
        refusal: None,
    };
    let labels = match LabelConstraints::from_label_selector(&selector) {
        Ok(labels) => labels,
        Err(_) => {
            told.refusal = Some("its selector has an operator that is none".to_owned());
            return told;
        }
    };
    let query = AccessRequest {
        namespace,
        metric: &told.metric,
        user: court.user,
        groups: court.groups,
        labels: &labels,
    };
    let evaluation = evaluate(court.policies, court.default, query);
    let named = |(policy, decision): &(&burst_policy::Policy, PolicyDecision)| (policy.name().to_owned(), *decision);
    told.refusal = evaluation.denial().map(|refusal: Denial<'_>| refusal.to_string());
    told.decisions = evaluation.decisions.iter().map(named).collect();
    told
}

fn words(selector: &meta::LabelSelector) -> LabelSelector {
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

/// Writes what is said: a line each.
///
/// # Errors
/// If it cannot be written.
pub fn write(told: &[Told], output: Output, page: &mut Page<'_>) -> io::Result<()> {
    told.iter().try_for_each(|told| match output {
        Output::Text => page.line(line(told)),
        Output::Json => page.json(&object(told)),
    })
}

fn line(told: &Told) -> String {
    let Told {
        hpa, metric, selector, ..
    } = told;
    let selector = if selector.is_empty() {
        String::new()
    } else {
        format!("{{{selector}}}")
    };
    let verdict = match &told.refusal {
        Some(reason) => format!("refused: {reason}"),
        None if told.decisions.is_empty() => "passes: no ExternalMetricPolicy applies".to_owned(),
        None => {
            let rules = told.decisions.iter().map(|(policy, decision)| match decision {
                PolicyDecision::Allowed(place) => format!("{policy} rule {}", place + 1),
                _ => format!("{policy} has no rule for it"),
            });
            format!("passes: {}", rules.collect::<Vec<_>>().join(", "))
        }
    };
    format!("{hpa}: {metric}{selector}: {verdict}")
}

fn object(told: &Told) -> serde_json::Value {
    let decisions = told.decisions.iter().map(|(policy, decision)| {
        let (says, rule) = match decision {
            PolicyDecision::Allowed(place) => ("allow", Some(place + 1)),
            PolicyDecision::Denied(place) => ("deny", Some(place + 1)),
            PolicyDecision::TooBroad(place) => ("too-wide", Some(place + 1)),
            PolicyDecision::NoMatchingRule => ("no-rule", None),
        };
        json!({"policy": policy, "rule": rule, "says": says})
    });
    json!({
        "hpa": told.hpa, "metric": told.metric, "selector": told.selector, "passes": told.refusal.is_none(),
        "decisions": decisions.collect::<Vec<_>>(), "reason": told.refusal,
    })
}
