//! What a policy of a thousand rules costs: `make bench` prints the table. Native code; as Wasm it takes about twice as
//! long.
#![allow(missing_docs, reason = "a program")]

#[path = "../../../bench/table.rs"]
mod table;

use std::hint::black_box;

use burst_policy::{Default, Labels, Policy, Query, judge};
use table::Table;

/// As many as a namespace may have.
const RULES: usize = 1000;

/// Queries of a slice: those of a second.
const QUERIES: usize = 1000;

fn main() {
    let mut table = Table::new("policy");
    let spec = spec();
    table.row(format!("{RULES} rules: read"), || drop(black_box(policy(&spec))));
    let labels = Labels::of_query(&"team=web,queue in (a,b),tier!=x".parse().unwrap());
    for (what, first) in [
        ("names that were asked for", "metric_998_depth"),
        ("a name that the first rule matches", "metric_0_depth"),
    ] {
        let policy = policy(&spec);
        table.row(format!("{QUERIES} queries, {what}"), || {
            (0..QUERIES).for_each(|_| ask(&policy, first, &labels));
        });
    }
    let (fresh, mut asked) = (policy(&spec), 0);
    table.row(format!("{QUERIES} queries, each for another name"), || {
        for _ in 0..QUERIES {
            asked += 1;
            ask(&fresh, &format!("metric_none_{asked}"), &labels);
        }
    });
    let longest = "a".repeat(burst_policy::name::LONGEST);
    let worst = vec![r#"{"metric":"(?:a|aa|[a-c]{1,50})*b","deny":true}"#; RULES].join(",");
    let (worst, mut asked) = (policy(&format!(r#"{{"rules":[{worst}]}}"#)), 0);
    table.row("1 query, the longest name, patterns that never give up", || {
        asked += 1;
        ask(&worst, &format!("{}{asked}", &longest[8..]), &labels);
    });
    table.keep(env!("CARGO_TARGET_TMPDIR"));
}

fn ask(policy: &Policy, metric: &str, labels: &Labels) {
    let query = Query {
        namespace: "shop",
        metric,
        user: "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
        groups: &[],
        labels,
    };
    black_box(judge([policy], Default::Allow, query).refusal().is_some());
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
