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

/// A rule that may be asked for anything but these.
fn none_of(values: usize, length: usize) -> String {
    let all: Vec<_> = (0..values).map(|value| format!("{value:0length$}")).collect();
    let requirement = |(place, values): (usize, &[String])| {
        let values: Vec<_> = values.iter().map(|value| format!("\"{value}\"")).collect();
        format!(
            r#"{{"key":"k{place}","operator":"NotIn","values":[{}]}}"#,
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
fn a_thousand_ordinary_rules_are_a_policy() {
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
fn what_one_name_can_make_slow_is_refused_at_the_rule_that_is_too_much() {
    let attack = |count| refusal(&spec((0..count).map(|_| deny("(?:.{0,30}){30}x"))));
    let said = attack(1000);
    assert_eq!(said, attack(1), "ten times the cap, or a thousand times");
    assert!(said.starts_with("rules[0]: up to here the policy has "), "{said}");
    assert!(
        said.ends_with(" steps for the most expensive query; 200000 are allowed"),
        "{said}"
    );
    // What a person might write ten of, and a hundred are slow.
    let rules = |count| spec((0..count).map(|number| deny(&format!(".*_(cpu|memory)_.*{number}"))));
    assert!(policy(&rules(10)).is_ok());
    assert!(refusal(&rules(100)).starts_with("rules[1"), "{}", refusal(&rules(100)));
}

#[test]
fn the_documentation_has_the_figures_of_these() {
    let steps = |pattern: &str| Pattern::parse(pattern).unwrap().steps();
    let figures = ["queue_[a-z]{1,20}", "queue_.*", ".*_(cpu|memory)_.*"].map(steps);
    assert_eq!(figures, [744, 3675, 12_973]);
    let most = (1..100).take_while(|count| policy(&spec((0..*count).map(|_| deny(".*_(cpu|memory)_.*")))).is_ok());
    assert_eq!(most.count(), 15);
}

#[test]
fn patterns_count_together_where_one_name_meets_them() {
    let rules = |prefix: fn(usize) -> String| spec((0..100).map(|number| deny(&format!("{}.*a.*b", prefix(number)))));
    assert!(policy(&rules(|number| format!("metric_{number:03}_"))).is_ok());
    assert!(refusal(&rules(|_| "metric_".into())).contains("steps"));
    assert!(refusal(&rules(|number| "m".repeat(number + 1))).contains("steps"));
}

#[test]
fn what_is_looked_up_in_a_query_counts() {
    let policies = |values: usize, count: usize| {
        let one = policy(&spec([none_of(values, 9)])).unwrap();
        let all: Vec<_> = (0..count).map(|_| &one).collect();
        check_set(&all).map_err(|(place, excess)| (place, excess.to_string()))
    };
    assert!(policies(1000, 5).is_ok());
    let (place, said) = policies(2900, 1000).unwrap_err();
    assert_eq!(place, 2, "{said}");
    assert!(said.contains("steps for the most expensive query"), "{said}");
    let subjects: Vec<_> = (0..100)
        .map(|number| format!(r#"{{"kind":"Group","name":"g{number}"}}"#))
        .collect();
    let for_groups = format!(
        r#"{{"subjects":[{}],{}"#,
        subjects.join(","),
        &spec([deny("burst_headroom")])[1..]
    );
    let one = policy(&for_groups).unwrap();
    assert_eq!(check_set(&vec![&one; 1000]).unwrap_err().0, 97, "each is looked up");
}

#[test]
fn what_would_fill_the_memory_is_refused() {
    let large = |number: usize| format!("m{number:03}[a-z0-9_\\-]{{900}}");
    assert!(policy(&spec((0..30).map(|number| deny(&large(number))))).is_ok());
    let said = refusal(&spec((0..430).map(|number| deny(&large(number)))));
    assert!(said.starts_with("rules[3"), "{said}");
    assert!(
        said.ends_with(&format!(" bytes when compiled; {MAX_BYTES} are allowed")),
        "{said}"
    );
    // Texts are kept as well.
    let said = refusal(&spec((0..90).map(|_| none_of(3000, 63))));
    assert!(said.contains("bytes"), "{said}");
}

#[test]
fn a_set_has_its_limits_together_and_names_the_first_that_is_too_much() {
    let one = policy(&spec((0..300).map(|number| deny(&format!("metric_{number}"))))).unwrap();
    assert!(check_set(&[&one; 3]).is_ok());
    let (place, excess) = check_set(&[&one; 30]).unwrap_err();
    assert_eq!((place, excess.to_string()), (3, "1200 rules; 1000 are allowed".into()));
    assert!(check_set(&[]).is_ok());
}

#[test]
fn what_no_name_begins_with_is_never_compiled() {
    let one = policy(&spec((0..1000).map(|number| deny(&format!("metric_{number}_.*"))))).unwrap();
    assert_eq!(
        one.decide("metric_17_depth", &LabelConstraints::default()),
        crate::PolicyDecision::Denied(17)
    );
    let compiled = one.rules().iter().filter(|rule| rule.pattern.is_compiled());
    assert_eq!(compiled.count(), 1);
}

proptest! {
    /// The sum over the patterns that a name meets is never more than was said.
    #[test]
    fn no_name_costs_more_than_the_dearest(
        patterns in proptest::collection::vec(("[ab]{0,4}", 0..9_usize), 0..12), name in "[ab]{0,6}"
    ) {
        let mut patterns: Vec<_> = patterns.iter().map(|(prefix, steps)| (&**prefix, *steps)).collect();
        let met: usize = patterns.iter().filter(|(prefix, _)| name.starts_with(prefix)).map(|(_, steps)| steps).sum();
        let most_expensive = most_expensive(&mut patterns);
        prop_assert!(met <= most_expensive);
        let ends = patterns.iter().map(|(end, _)| {
            patterns.iter().filter(|(prefix, _)| end.starts_with(prefix)).map(|(_, steps)| steps).sum::<usize>()
        });
        prop_assert_eq!(ends.max().unwrap_or_default(), most_expensive, "and some name costs it");
    }
}
