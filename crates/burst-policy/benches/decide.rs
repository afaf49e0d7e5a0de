//! Measures policies of a thousand rules in native code. Wasm takes about twice as long. `make bench` prints the table.
#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;

use burst_bench_kit::Table;
use burst_policy::name::MAX_LENGTH;
use burst_policy::policy::Rule;
use burst_policy::{AccessRequest, DefaultDecision, LabelConstraints, Policy, evaluate};

/// The largest number of rules of a namespace.
const RULES: usize = 1000;

/// The number of queries in a measurement: those of one second.
const QUERIES: usize = 1000;

fn main() {
    let mut table = Table::new("policy");
    let spec = spec();
    table.measure(format!("{RULES} rules: read"), || drop(black_box(policy(&spec))));
    let labels = LabelConstraints::from_query(&"team=web,queue in (a,b),tier!=x".parse().unwrap());
    for (what, first) in [
        ("names that were asked for", "metric_998_depth"),
        ("a name that the first rule matches", "metric_0_depth"),
    ] {
        let policy = policy(&spec);
        table.measure(format!("{QUERIES} queries, {what}"), || {
            (0..QUERIES).for_each(|_| query(&policy, first, &labels));
        });
    }
    let (fresh, mut queried) = (policy(&spec), 0);
    table.measure(format!("{QUERIES} queries, each for another name"), || {
        for _ in 0..QUERIES {
            queried += 1;
            query(&fresh, &format!("metric_none_{queried}"), &labels);
        }
    });
    for (what, pattern) in [
        ("a pattern that never gives up", "(?:a|aa|[a-c]{1,9})*b"),
        ("one that is in many places at once", "(?:.{0,9}){9}x"),
        ("one that looks for words", ".*_(cpu|memory)_.*"),
        ("one with large classes", "[a-c0-9_.,:=@/]{1,250}b"),
    ] {
        worst(&mut table, what, pattern, &labels);
    }
    values(&mut table);
    table.save(env!("CARGO_TARGET_TMPDIR"));
}

/// Measures the largest policy with a pattern, and the longest names.
fn worst(table: &mut Table, what: &str, pattern: &str, labels: &LabelConstraints) {
    let rule = format!(r#"{{"metric":"{pattern}","deny":true}}"#);
    let policies = (1..=RULES).map_while(|rules| {
        let spec = format!(r#"{{"rules":[{}]}}"#, vec![&*rule; rules].join(","));
        Policy::parse("shop/worst", Some("shop"), &spec).ok()
    });
    let policy = policies.last().unwrap();
    let (name, mut queried) = ("a".repeat(MAX_LENGTH - 8), 0);
    let steps: usize = policy.rules().iter().map(|rule| rule.pattern.steps()).sum();
    table.measure(format!("1 query, {steps} steps: {what}"), || {
        queried += 1;
        query(&policy, &format!("{name}{queried}"), labels);
    });
    let spec = spec_of(&policy);
    let read = || Policy::parse("shop/worst", Some("shop"), &spec).unwrap();
    table.measure(format!("{} rules of it: read", policy.rules().len()), || {
        drop(black_box(read()));
    });
    table.measure("… and compiled, for a name that ends at once", || {
        query(&read(), "", labels);
    });
}

fn spec_of(policy: &Policy) -> String {
    let rule = |rule: &Rule| format!(r#"{{"metric":"{}","deny":true}}"#, rule.pattern);
    let rules: Vec<_> = policy.rules().iter().map(rule).collect();
    format!(r#"{{"rules":[{}]}}"#, rules.join(","))
}

/// Measures a selector with the largest number of values, and a query with as many values as fit into a path.
fn values(table: &mut Table) {
    let all = |count: usize| (0..count).map(|value| format!("v{value:08}")).collect::<Vec<_>>();
    let requirements: Vec<_> = all(3000)
        .chunks(100)
        .map(|values| {
            format!(
                r#"{{"key":"team","operator":"NotIn","values":["{}"]}}"#,
                values.join("\",\"")
            )
        })
        .collect();
    let selector = format!(r#"{{"matchExpressions":[{}]}}"#, requirements.join(","));
    let policy = policy(&format!(
        r#"{{"rules":[{{"metric":"burst_headroom","selector":{selector}}}]}}"#
    ));
    let queried = LabelConstraints::from_query(&format!("team notin ({})", all(5000).join(",")).parse().unwrap());
    table.measure("1 query for other than 5000 values, of a rule with 3000", || {
        query(&policy, "burst_headroom", &queried);
    });
}

fn query(policy: &Policy, metric: &str, labels: &LabelConstraints) {
    let query = AccessRequest {
        namespace: "shop",
        metric,
        user: "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
        groups: &[],
        labels,
    };
    black_box(evaluate([policy], DefaultDecision::Allow, query).denial().is_some());
}

fn policy(spec: &str) -> Policy {
    Policy::parse("shop/many", Some("shop"), spec).unwrap()
}

fn spec() -> String {
    let rule = |number: usize| {
        let metric = format!(r"metric_{number}_(depth|age|[a-f]{{2}}\\d+)");
        format!(r#"{{"metric":"{metric}","selector":{{"matchLabels":{{"team":"web"}}}}}}"#)
    };
    let rules: Vec<_> = (0..RULES).map(rule).collect();
    format!(r#"{{"rules":[{}]}}"#, rules.join(","))
}
