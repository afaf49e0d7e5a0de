use super::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

const KEYS: [&str; 2] = ["team", "tier"];
/// The values that the generated selectors name.
const NAMED_VALUES: [&str; 9] = ["a", "b", "c", "1", "01", "2", "02", "3", "03"];
/// Values that no generated selector names, with another spelling of each number. Together with [`NAMED`] they are
/// enough to tell any two generated selectors apart.
const OTHER_VALUES: [&str; 8] = ["0", "001", "002", "003", "4", "-1", "9999999999999999999", "other"];

fn query(text: &str) -> Selector {
    text.parse().unwrap()
}

fn is_within(narrow: &str, wide: &str) -> bool {
    LabelConstraints::from_query(&query(narrow)).is_subset_of(&LabelConstraints::from_query(&query(wide)))
}

#[test]
fn a_query_is_within_a_selector_that_selects_all_it_selects() {
    for (narrow, wide, expected) in [
        ("", "", true),
        ("", "team=a", false),
        ("team=a", "", true),
        ("team=a", "team=a", true),
        ("team=a,queue=x", "team=a", true),
        ("queue=x", "team=a", false),
        ("team in (a,b)", "team=a", false),
        ("team in (a,b),team!=b", "team=a", true),
        ("team in (a,b),team in (b,c)", "team=b", true),
        ("team", "team=a", false),
        ("team=a", "team", true),
        ("team!=b", "team", false),
        ("team,team!=b", "team!=b", true),
        ("!team", "team!=b", true),
        ("!team", "!team", true),
        ("team!=a", "!team", false),
        ("team=a", "team notin (b,c)", true),
        ("team notin (a,b,c)", "team notin (b,c)", true),
        ("team notin (b)", "team notin (b,c)", false),
        ("tier>5", "tier", true),
        ("tier>5", "tier!=5", true),
        ("tier>5", "tier!=6", false),
        ("tier>5,tier!=6", "tier!=6", true),
        ("tier>1,tier<3", "tier in (2)", false),
        ("tier in (2,3),tier>2", "tier=3", true),
        ("tier=a,tier=b", "team=a", true),
        ("team,!team", "queue=x", true),
        ("tier>5,tier<6", "queue=x", true),
        ("tier>9223372036854775807", "queue=x", true),
    ] {
        assert_eq!(is_within(narrow, wide), expected, "{narrow:?} within {wide:?}");
    }
}

fn requirement(numbers: bool) -> impl Strategy<Value = String> {
    let values = || vec(select(&NAMED_VALUES[..]), 1..4).prop_map(|values| values.join(","));
    let kinds = if numbers { 6 } else { 4 };
    (select(&KEYS[..]), 0..kinds, values(), 0..4).prop_map(|(key, kind, values, number)| match kind {
        0 => format!("{key} in ({values})"),
        1 => format!("{key} notin ({values})"),
        2 => key.to_owned(),
        3 => format!("!{key}"),
        4 => format!("{key}>{number}"),
        _ => format!("{key}<{number}"),
    })
}

fn selector(numbers: bool) -> impl Strategy<Value = Selector> {
    vec(requirement(numbers), 0..5).prop_map(|all| query(&all.join(",")))
}

/// All combinations of labels that the generated selectors can tell apart.
fn universe() -> impl Iterator<Item = [Option<&'static str>; 2]> {
    let any = || NAMED_VALUES.into_iter().chain(OTHER_VALUES).map(Some).chain([None]);
    any().flat_map(move |team| any().map(move |tier| [team, tier]))
}

fn selects(selector: &Selector, labels: [Option<&'static str>; 2]) -> bool {
    selector.matches(|key| labels[usize::from(key == KEYS[1])])
}

/// The selector of a query and the selector of an object, which cannot compare numbers.
fn pair() -> impl Strategy<Value = (Selector, Selector)> {
    (selector(true), selector(false))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn the_subset_check_agrees_with_a_check_of_all_labels((narrow, wide) in pair()) {
        let is_subset = universe().all(|labels| !selects(&narrow, labels) || selects(&wide, labels));
        prop_assert_eq!(
            LabelConstraints::from_query(&narrow).is_subset_of(&LabelConstraints::from_query(&wide)), is_subset,
            "{} within {}", narrow, wide
        );
    }

    #[test]
    fn a_contradiction_is_found_if_nothing_is_selected((selector, _) in pair()) {
        let labels = LabelConstraints::from_query(&selector);
        prop_assert_eq!(labels.contradiction().is_some(), !universe().any(|labels| selects(&selector, labels)));
    }

    #[test]
    fn a_value_set_has_the_values_that_all_requirements_match(
        (selector, _) in pair(), team in option::of(select([&NAMED_VALUES[..], &OTHER_VALUES[..]].concat()))
    ) {
        let own: Vec<_> = selector.requirements().iter().filter(|one| &*one.key == "team").collect();
        let labels = LabelConstraints::from_query(&selector);
        let values = labels.iter().find(|(key, _)| *key == "team").map(|(_, values)| values.clone());
        let selected = own.iter().all(|one| one.matches(team));
        prop_assert_eq!(values.unwrap_or_default().have(team), selected);
    }
}
