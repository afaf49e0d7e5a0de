//! Policies, and what they decide.

use burst_labels::Selector;
use burst_policy::cost::{self, MOST_BYTES, MOST_STEPS};
use burst_policy::{Default, Labels, Policy, Query, judge, name};

/// The name of a metric, a query's selector and the `spec` of a policy, a line each: what is a policy costs no more than
/// one may, and the engine takes each pattern of it, whatever the name is.
pub(crate) fn policies(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (metric, selector, spec) = (name::canonical(line()), line(), line());
    let Ok(policy) = Policy::parse("shop/p", Some("shop"), spec) else {
        return false;
    };
    let size = cost::of_set(&[&policy]).unwrap_or_else(|(_, excess)| panic!("{excess}"));
    assert!(size <= MOST_BYTES, "{size}");
    let labels = selector.parse::<Selector>().map(|selector| Labels::of_query(&selector));
    let labels = labels.unwrap_or_default();
    // Whatever is made of it, a name has a length.
    let longest: String = metric.chars().cycle().take(name::LONGEST / 4).collect();
    for metric in [metric.as_str(), &longest]
        .into_iter()
        .filter(|metric| metric.len() <= name::LONGEST)
    {
        let met = policy.rules().iter().filter(|rule| rule.pattern.meets(metric));
        let steps: usize = met.map(|rule| rule.pattern.steps()).sum();
        assert!(steps <= MOST_STEPS, "{steps} steps for {metric}");
        for rule in policy.rules() {
            assert!(
                rule.pattern.matches(metric).is_some(),
                "the engine refuses {}",
                rule.pattern
            );
        }
        let query = Query {
            namespace: "shop",
            metric,
            user: "alice",
            groups: &[],
            labels: &labels,
        };
        let first = judge([&policy], Default::Deny, query)
            .refusal()
            .map(|reason| reason.to_string());
        let again = judge([&policy], Default::Deny, query)
            .refusal()
            .map(|reason| reason.to_string());
        assert_eq!(first, again, "what is remembered is what was decided");
    }
    true
}
