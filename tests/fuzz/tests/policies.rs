//! Compares the limit on a pattern's cost with its actual cost. Random bytes rarely produce nested repetitions, so this
//! test generates patterns.

use burst_fuzz::run;
use proptest::prelude::*;

/// Parts of a pattern. Some match nothing, and some match the same text in several ways.
const PARTS: &str = r"([ab.]|\[ab\]|[ab.][*+?]|[ab]\{0,3\}|\(a\|b\|ab\)|\(a\?b\*\)[*+?]|\(\(a\?\)\{0,2\}b\)\{1,4\}|\(\.\{0,3\}\)\{2,\})";

fn pattern() -> impl Strategy<Value = String> {
    let parts = || prop::string::string_regex(&format!("{PARTS}{{1,5}}")).expect("a strategy");
    (parts(), prop::option::of(parts()), 0..3_usize).prop_map(|(one, other, times)| match (other, times) {
        (None, _) => one,
        (Some(other), 0) => format!("{one}|{other}"),
        (Some(other), times) => format!("{one}({other}){{{times},4}}"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn matching_a_name_visits_no_more_states_than_the_limit_counts(pattern in pattern(), name in "[ab]{1,60}") {
        let policy = format!(r#"{{"rules":[{{"metric":"{pattern}","deny":true}}]}}"#);
        // A refused pattern costs too much for any name.
        prop_assume!(run("policies", format!("{name}\n\n{policy}").as_bytes()));
    }
}
