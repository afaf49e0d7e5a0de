use super::*;
use crate::labels::LabelConstraints;
use proptest::prelude::*;

fn spec(rules: impl IntoIterator<Item = String>) -> String {
    let rules: Vec<_> = rules.into_iter().collect();
    format!(r#"{{"rules":[{}]}}"#, rules.join(","))
}

fn deny(pattern: &str) -> String {
    format!(r#"{{"metric":"{}","deny":true}}"#, pattern.replace('\\', r"\\"))
}

fn policy(spec: &str) -> Result<Policy, String> {
    Policy::parse("shop/p", Some("shop"), spec).map_err(|bad| bad.to_string())
}

fn refusal(spec: &str) -> String {
    policy(spec).unwrap_err()
}

/// A rule that allows all values except `values` values of `length` characters.
fn none_of(values: usize, length: usize) -> String {
    let all: Vec<_> = (0..values).map(|value| format!("{value:0length$}")).collect();
    let requirement = |(index, values): (usize, &[String])| {
        let values: Vec<_> = values.iter().map(|value| format!("\"{value}\"")).collect();
        format!(
            r#"{{"key":"k{index}","operator":"NotIn","values":[{}]}}"#,
            values.join(",")
        )
    };
    let requirements: Vec<_> = all.chunks(100).enumerate().map(requirement).collect();
    format!(
        r#"{{"metric":"burst_headroom","selector":{{"matchExpressions":[{}]}}}}"#,
        requirements.join(",")
    )
}

#[test]
fn a_policy_may_have_a_thousand_ordinary_rules() {
    for pattern in [
        "metric_{}",
        "metric_{}_.*",
        r"metric_{}_(depth|age|[a-f]{2}\d+)",
        "metric_{}_[a-z0-9_]+|other_{}",
    ] {
        let rules = (0..1000).map(|number| deny(&pattern.replace("{}", &number.to_string())));
        let found = policy(&spec(rules));
        assert_eq!(found.map(|policy| policy.rules().len()), Ok(1000), "{pattern}");
    }
}

#[test]
fn a_policy_that_is_slow_for_some_name_is_refused_at_the_rule_that_exceeds_the_limit() {
    let attack = |count| refusal(&spec((0..count).map(|_| deny("(?:.{0,30}){30}x"))));
    let message = attack(1000);
    assert_eq!(message, attack(1), "the first rule alone exceeds the limit");
    assert!(message.starts_with("rules[0]: up to here the policy has "), "{message}");
    assert!(
        message.ends_with(" steps for the most expensive query; 200000 are allowed"),
        "{message}"
    );
    // A realistic pattern: ten such rules are fast enough, a hundred are not.
    let rules = |count| spec((0..count).map(|number| deny(&format!(".*_(cpu|memory)_.*{number}"))));
    assert!(policy(&rules(10)).is_ok());
    assert!(refusal(&rules(100)).starts_with("rules[1"), "{}", refusal(&rules(100)));
}

#[test]
fn the_steps_are_those_in_the_documentation() {
    let steps = |pattern: &str| Pattern::parse(pattern).unwrap().steps();
    let figures = ["queue_[a-z]{1,20}", "queue_.*", ".*_(cpu|memory)_.*"].map(steps);
    assert_eq!(figures, [744, 3675, 12_973]);
    let most = (1..100).take_while(|count| policy(&spec((0..*count).map(|_| deny(".*_(cpu|memory)_.*")))).is_ok());
    assert_eq!(most.count(), 15);
}

#[test]
fn the_costs_of_patterns_add_up_if_one_name_has_all_their_prefixes() {
    let rules = |prefix: fn(usize) -> String| spec((0..100).map(|number| deny(&format!("{}.*a.*b", prefix(number)))));
    assert!(policy(&rules(|number| format!("metric_{number:03}_"))).is_ok());
    assert!(refusal(&rules(|_| "metric_".into())).contains("steps"));
    assert!(refusal(&rules(|number| "m".repeat(number + 1))).contains("steps"));
}

#[test]
fn lookups_in_a_query_count() {
    let policies = |values: usize, count: usize| {
        let one = policy(&spec([none_of(values, 9)])).unwrap();
        let all: Vec<_> = (0..count).map(|_| &one).collect();
        check_set(&all).map_err(|(index, excess)| (index, excess.to_string()))
    };
    assert!(policies(1000, 5).is_ok());
    let (index, message) = policies(2900, 1000).unwrap_err();
    assert_eq!(index, 2, "{message}");
    assert!(message.contains("steps for the most expensive query"), "{message}");
    let subjects: Vec<_> = (0..100)
        .map(|number| format!(r#"{{"kind":"Group","name":"g{number}"}}"#))
        .collect();
    let for_groups = format!(
        r#"{{"subjects":[{}],{}"#,
        subjects.join(","),
        &spec([deny("burst_headroom")])[1..]
    );
    let one = policy(&for_groups).unwrap();
    assert_eq!(
        check_set(&vec![&one; 1000]).unwrap_err().0,
        97,
        "each subject is a lookup"
    );
}

#[test]
fn a_policy_that_needs_too_much_memory_is_refused() {
    let large = |number: usize| format!("m{number:03}[a-z0-9_\\-]{{900}}");
    assert!(policy(&spec((0..30).map(|number| deny(&large(number))))).is_ok());
    let message = refusal(&spec((0..430).map(|number| deny(&large(number)))));
    assert!(message.starts_with("rules[3"), "{message}");
    assert!(
        message.ends_with(&format!(" bytes when compiled; {MAX_BYTES} are allowed")),
        "{message}"
    );
    // The texts of selectors count too.
    let message = refusal(&spec((0..90).map(|_| none_of(3000, 63))));
    assert!(message.contains("bytes"), "{message}");
}

#[test]
fn the_policies_of_a_set_share_its_limits_and_the_first_that_exceeds_one_is_named() {
    let one = policy(&spec((0..300).map(|number| deny(&format!("metric_{number}"))))).unwrap();
    assert!(check_set(&[&one; 3]).is_ok());
    let (index, excess) = check_set(&[&one; 30]).unwrap_err();
    assert_eq!((index, excess.to_string()), (3, "1200 rules; 1000 are allowed".into()));
    assert!(check_set(&[]).is_ok());
}

#[test]
fn a_pattern_is_compiled_only_for_names_with_its_prefix() {
    let one = policy(&spec((0..1000).map(|number| deny(&format!("metric_{number}_.*"))))).unwrap();
    assert_eq!(
        one.decide("metric_17_depth", &LabelConstraints::default()),
        crate::PolicyDecision::Denied(17)
    );
    let compiled = one.rules().iter().filter(|rule| rule.pattern.is_compiled());
    assert_eq!(compiled.count(), 1);
}

proptest! {
    #[test]
    fn most_expensive_is_the_largest_cost_of_any_name(
        patterns in proptest::collection::vec(("[ab]{0,4}", 0..9_usize), 0..12), name in "[ab]{0,6}"
    ) {
        let mut patterns: Vec<_> = patterns.iter().map(|(prefix, steps)| (&**prefix, *steps)).collect();
        let cost: usize = patterns.iter().filter(|(prefix, _)| name.starts_with(prefix)).map(|(_, steps)| steps).sum();
        let most_expensive = most_expensive(&mut patterns);
        prop_assert!(cost <= most_expensive);
        let costs = patterns.iter().map(|(name, _)| {
            patterns.iter().filter(|(prefix, _)| name.starts_with(prefix)).map(|(_, steps)| steps).sum::<usize>()
        });
        prop_assert_eq!(costs.max().unwrap_or_default(), most_expensive, "some name has this cost");
    }
}
