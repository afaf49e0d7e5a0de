//! `burstctl policy admission`: writes policies as a `ValidatingAdmissionPolicy`. The API server then rejects an HPA
//! whose external metrics the filter would refuse to the HPA controller later.
//! <https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/>

use burst_policy::evaluate::Denial;
use burst_policy::{DefaultDecision, Policy, PolicyDecision, RuleEffect, UserInfo};
use serde_json::{Value, json};

use super::Evaluator;
use super::cel_labels::{literal, selects_nothing, within};

/// The name of the policy and of its binding.
const NAME: &str = "external-metric-policies";

/// CEL: the external metrics of an HPA.
const EXTERNAL: &str = "has(object.spec.metrics) ? object.spec.metrics.filter(m, m.type == 'External' && \
    has(m.external)).map(m, m.external.metric) : []";

/// CEL: the canonical name of a metric, the same as [`burst_policy::name::canonical`] returns.
const METRIC: &str = r"[m.name.lowerAscii().replace('\\|', '/').replace('|', '/')].map(n, n.startsWith('burst/') ? 'burst_' + n.substring(6) : n)[0]";

const OPERATORS: &str = "['In', 'NotIn', 'Exists', 'DoesNotExist']";

/// Returns the `ValidatingAdmissionPolicy` and its binding.
#[must_use]
pub fn admission(evaluator: &Evaluator<'_>) -> [Value; 2] {
    let user = UserInfo::new(evaluator.user, evaluator.groups);
    let applies = |policy: &&Policy| {
        let namespace = policy.namespace().unwrap_or_default();
        policy.applies(namespace, &user)
    };
    let policies: Vec<_> = evaluator.policies.iter().filter(applies).collect();
    let mut variables = vec![
        variable("external", EXTERNAL),
        variable("asked", queries_with_wants()),
        variable("queries", queries()),
    ];
    let mut validations = vec![json!({
        "expression": "!variables.queries.exists(q, q.odd)",
        "messageExpression":
            "variables.queries.filter(q, q.odd).map(q, 'external metric ' + q.metric + ': its selector has an unknown operator')[0]",
        "reason": "Forbidden",
    })];
    validations.extend(without_policy(evaluator.default, &policies));
    for (index, policy) in policies.iter().enumerate() {
        variables.push(variable(&format!("words{index}"), reasons(policy)));
        variables.push(variable(&format!("refused{index}"), refused(policy, evaluator.default)));
        validations.push(validation(index, policy));
    }
    let spec = json!({
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{
            "apiGroups": ["autoscaling"], "apiVersions": ["v2"], "operations": ["CREATE", "UPDATE"],
            "resources": ["horizontalpodautoscalers"],
        }]},
        // Do not block the deletion of an HPA.
        "matchConditions": [{"name": "stays", "expression": "!has(object.metadata.deletionTimestamp)"}],
        "variables": variables,
        "validations": validations,
    });
    let of = |kind: &str, spec: Value| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": NAME}, "spec": spec,
        })
    };
    [
        of("ValidatingAdmissionPolicy", spec),
        of(
            "ValidatingAdmissionPolicyBinding",
            json!({"policyName": NAME, "validationActions": ["Deny"]}),
        ),
    ]
}

fn variable(name: &str, expression: impl Into<String>) -> Value {
    json!({"name": name, "expression": expression.into()})
}

/// CEL: each query with its canonical name, and its label requirements as one list.
fn queries_with_wants() -> String {
    let want = |key: &str, operator: &str, values: &str| {
        format!("{{'key': dyn({key}), 'operator': dyn({operator}), 'values': dyn({values})}}")
    };
    let label = want("k", "'In'", "[m.selector.matchLabels[k]]");
    let expression = want("e.key", "e.operator", "has(e.values) ? e.values : []");
    let labels =
        format!("has(m.selector) && has(m.selector.matchLabels) ? m.selector.matchLabels.map(k, {label}) : []");
    let expressions = format!(
        "has(m.selector) && has(m.selector.matchExpressions) ? m.selector.matchExpressions.map(e, {expression}) : []"
    );
    format!("variables.external.map(m, {{'metric': dyn({METRIC}), 'wants': dyn(({labels}) + ({expressions}))}})")
}

fn queries() -> String {
    let nothing = selects_nothing();
    format!(
        "variables.asked.map(q, {{'metric': dyn(q.metric), 'wants': dyn(q.wants), 'odd': dyn(q.wants.exists(w, \
         !(w.operator in {OPERATORS}))), 'nothing': dyn({nothing})}})"
    )
}

/// Rejects external metrics in a namespace without a policy, if the default is to deny. `None` if no check is needed.
fn without_policy(default: DefaultDecision, policies: &[&Policy]) -> Option<Value> {
    if default == DefaultDecision::Allow {
        return None;
    }
    // A policy without a namespace applies to every namespace.
    let namespaces: Vec<_> = policies
        .iter()
        .map(|policy| policy.namespace().map(literal))
        .collect::<Option<_>>()?;
    Some(json!({
        "expression": format!("size(variables.external) == 0 || request.namespace in [{}]", namespaces.join(", ")),
        "message": Denial::NoPolicy.to_string(),
        "reason": "Forbidden",
    }))
}

/// CEL: the message for each rule that refuses, by the index of the rule.
fn reasons(policy: &Policy) -> String {
    let reason = |(index, rule): (usize, &burst_policy::policy::Rule)| {
        let decision = match rule.effect {
            RuleEffect::Deny => PolicyDecision::Denied(index),
            RuleEffect::AllowWithin { .. } => PolicyDecision::TooBroad(index),
        };
        literal(&Denial::Policy(policy, decision).to_string())
    };
    let reasons: Vec<_> = policy.rules().iter().enumerate().map(reason).collect();
    format!("[{}]", reasons.join(", "))
}

/// CEL: the queries that a policy refuses, each with the index of the first rule that matches it.
fn refused(policy: &Policy, default: DefaultDecision) -> String {
    let patterns: Vec<_> = policy
        .rules()
        .iter()
        .map(|rule| format!("q.metric.matches({})", literal(&rule.pattern.anchored_text())))
        .collect();
    let patterns = patterns.join(", ");
    let passes = passes(policy, default);
    format!(
        "variables.queries.map(q, {{'query': dyn(q), 'rule': dyn([{patterns}].indexOf(true))}}).filter(d, !({passes}))"
    )
}

/// CEL: whether a policy allows the query `d`.
fn passes(policy: &Policy, default: DefaultDecision) -> String {
    let mut conditions = Vec::new();
    if default == DefaultDecision::Allow {
        conditions.push("d.rule == -1".to_owned());
    }
    for (index, rule) in policy.rules().iter().enumerate() {
        if let RuleEffect::AllowWithin { selected, .. } = &rule.effect {
            let within = within(selected);
            conditions.push(format!("d.rule == {index} && (d.query.nothing || ({within}))"));
        }
    }
    if conditions.is_empty() {
        return "false".to_owned();
    }
    conditions.join(" || ")
}

fn validation(index: usize, policy: &Policy) -> Value {
    let everywhere = format!("size(variables.refused{index}) == 0");
    let expression = match policy.namespace() {
        None => everywhere,
        Some(namespace) => format!("request.namespace != {} || {everywhere}", literal(namespace)),
    };
    let no_rule = literal(&Denial::Policy(policy, PolicyDecision::NoMatchingRule).to_string());
    let reason = format!("d.rule == -1 ? {no_rule} : variables.words{index}[d.rule]");
    let message =
        format!("variables.refused{index}.map(d, 'external metric ' + d.query.metric + ': ' + ({reason}))[0]");
    json!({"expression": expression, "messageExpression": message, "reason": "Forbidden"})
}
