use super::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

const KEYS: [&str; 2] = ["team", "tier"];
/// What the selectors below name.
const NAMED: [&str; 9] = ["a", "b", "c", "1", "01", "2", "02", "3", "03"];
/// And values that none names, of numbers a further spelling of each: enough for any two of those selectors to be told
/// apart.
const OTHERS: [&str; 8] = ["0", "001", "002", "003", "4", "-1", "9999999999999999999", "other"];

fn query(text: &str) -> Selector {
    text.parse().unwrap()
}

fn within(narrow: &str, wide: &str) -> bool {
    LabelConstraints::from_query(&query(narrow)).is_subset_of(&LabelConstraints::from_query(&query(wide)))
}

#[test]
fn a_query_lies_within_a_selector_where_it_asks_for_no_more() {
    for (narrow, wide, lies_within) in [
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
        assert_eq!(within(narrow, wide), lies_within, "{narrow:?} within {wide:?}");
    }
}

fn requirement(numbers: bool) -> impl Strategy<Value = String> {
    let values = || vec(select(&NAMED[..]), 1..4).prop_map(|values| values.join(","));
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

/// All there is, as far as these selectors can tell.
fn universe() -> impl Iterator<Item = [Option<&'static str>; 2]> {
    let any = || NAMED.into_iter().chain(OTHERS).map(Some).chain([None]);
    any().flat_map(move |team| any().map(move |tier| [team, tier]))
}

fn selects(selector: &Selector, labels: [Option<&'static str>; 2]) -> bool {
    selector.matches(|key| labels[usize::from(key == KEYS[1])])
}

/// A query, and the selector of an object, which cannot compare numbers.
fn pair() -> impl Strategy<Value = (Selector, Selector)> {
    (selector(true), selector(false))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn it_is_decided_as_by_looking_at_everything((narrow, wide) in pair()) {
        let looked = universe().all(|labels| !selects(&narrow, labels) || selects(&wide, labels));
        prop_assert_eq!(
            LabelConstraints::from_query(&narrow).is_subset_of(&LabelConstraints::from_query(&wide)), looked,
            "{} within {}", narrow, wide
        );
    }

    #[test]
    fn what_selects_nothing_is_known((selector, _) in pair()) {
        let labels = LabelConstraints::from_query(&selector);
        prop_assert_eq!(labels.contradiction().is_some(), !universe().any(|labels| selects(&selector, labels)));
    }

    #[test]
    fn a_set_has_what_the_selector_selects((selector, _) in pair(), team in option::of(select([&NAMED[..], &OTHERS[..]].concat()))) {
        let own: Vec<_> = selector.requirements().iter().filter(|one| &*one.key == "team").collect();
        let labels = LabelConstraints::from_query(&selector);
        let values = labels.iter().find(|(key, _)| *key == "team").map(|(_, values)| values.clone());
        let selected = own.iter().all(|one| one.matches(team));
        prop_assert_eq!(values.unwrap_or_default().have(team), selected);
    }
}
