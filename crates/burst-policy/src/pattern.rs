//! Regular expressions for names: the part of the syntax that this engine, Go's and CEL's `matches` understand alike,
//! so that a policy means the same to the proxy and to an admission policy made of it. All three take time in
//! proportion to the name's length.
//! <https://github.com/google/re2/wiki/Syntax>

mod grammar;

use regex_lite::Regex;
use std::fmt;

/// Bytes of a pattern.
pub const LONGEST: usize = 256;
/// Characters that a pattern stands for with its repetitions written out: what a match may cost for each character of
/// a name, on any machine.
pub const MOST_STATES: usize = 1000;

/// A pattern that a whole name is compared with.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: Box<str>,
    regex: Regex,
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// Nothing.
    #[error("is empty; `.*` matches every metric")]
    Empty,
    /// Too many bytes.
    #[error("has {0} bytes; {LONGEST} are allowed")]
    TooLong(usize),
    /// Too many states.
    #[error("is too large with its repetitions written out; {MOST_STATES} characters are allowed")]
    TooLarge,
    /// Something that is not understood, or not by all.
    #[error("{reason}, at character {at}")]
    Syntax {
        /// Counts from 1.
        at: usize,
        /// What is wrong there.
        reason: String,
    },
    /// What the engine says.
    #[error("{0}")]
    Engine(String),
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// See [`BadPattern`].
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        if text.is_empty() {
            return Err(BadPattern::Empty);
        }
        if text.len() > LONGEST {
            return Err(BadPattern::TooLong(text.len()));
        }
        if grammar::states(text)? > MOST_STATES {
            return Err(BadPattern::TooLarge);
        }
        let regex = Regex::new(&whole(text)).map_err(|error| BadPattern::Engine(error.to_string()))?;
        let text = text.into();
        Ok(Self { text, regex })
    }

    /// Whether it matches the whole of a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }

    /// The same as a text for other engines, which match anywhere in a text.
    #[must_use]
    pub fn anchored(&self) -> String {
        whole(&self.text)
    }
}

fn whole(text: &str) -> String {
    format!("^(?:{text})$")
}

/// As it was written.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal(text: &str) -> String {
        Pattern::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_name_is_matched_as_a_whole() {
        for (pattern, name, matches) in [
            ("burst_.*", "burst_headroom", true),
            ("burst_.*", "a_burst_headroom", false),
            ("queue|topic", "queue", true),
            ("queue|topic", "queues", false),
            ("queue|topic", "a topic", false),
            (r"v\d{2,3}/[a-c_.\-]+", "v12/a_b.c-", true),
            (r"v\d{2,3}/[a-c_.\-]+", "v1/a", false),
            ("[^/]+", "a\nb", true),
            (".+", "a\nb", false),
            ("(a|b)?", "", true),
            (r"\w*", "größe", false),
            (".{5}", "größe", true),
        ] {
            assert_eq!(
                Pattern::parse(pattern).unwrap().matches(name),
                matches,
                "{pattern} {name:?}"
            );
        }
    }

    #[test]
    fn what_engines_differ_in_is_refused_with_its_place() {
        for (pattern, reason) in [
            ("", "is empty; `.*` matches every metric"),
            (
                "^a$",
                "`^` need not be written: a pattern matches the whole name, at character 1",
            ),
            ("a$", "`$` need not be written"),
            (
                "burst|Headroom",
                "`H` matches nothing: names are in lower case here, at character 7",
            ),
            ("[A-Z]", "`A` matches nothing"),
            (
                r"burst\|headroom",
                r"`\|` matches nothing: a slash in a name is `/` here, at character 7",
            ),
            ("(a", "`(` is not closed"),
            ("a)", "`)` was not opened"),
            ("[a", "`[` is not closed"),
            ("[]a]", "`[]` has nothing in it"),
            ("[z-a]", "`z-a` is from the last to the first"),
            ("[a-]", "`-` must be written `\\-` unless it is between two"),
            ("[[:alpha:]]", "`[` must be written `\\[`"),
            ("[a&&b]", "`&` must be written `\\&`"),
            ("*a", "`*` has nothing to repeat"),
            ("a**", "`*` repeats a repetition"),
            ("a+?", "`?` repeats a repetition"),
            ("a{2}{3}", "`{` repeats a repetition"),
            ("a{,2}", "`{` is followed by no number"),
            ("a{2", "`{` is not closed"),
            ("a{3,2}", "`{3,2}` is from the last to the first"),
            ("a{1001}", "`1001` is more than 1000"),
            ("a||b", "`|` has nothing on one side"),
            ("(|a)", "`|` has nothing on one side"),
            ("()", "`()` has nothing in it"),
            (r"\pL", r"`\p` is not understood"),
            (r"\bx", r"`\b` is not understood"),
            ("(?i)a", "`(?` is not understood"),
            ("ä", "`ä` is no ASCII character; `.` matches any"),
            (r"a\", r"`\` has nothing behind it"),
            ("(a{100}){100}", "is too large"),
            (
                "((((((((((((((((((a))))))))))))))))))",
                "parentheses are nested more than 16 times",
            ),
            (&"a".repeat(257), "has 257 bytes; 256 are allowed"),
        ] {
            let said = refusal(pattern);
            assert!(said.starts_with(reason), "{pattern}: {said}");
        }
    }

    #[test]
    fn any_punctuation_can_be_escaped_but_what_no_name_has() {
        let punctuation = (b'!'..=b'~').map(char::from).filter(char::is_ascii_punctuation);
        for character in punctuation.filter(|character| !"<>|".contains(*character)) {
            for pattern in [format!("\\{character}"), format!("[\\{character}]")] {
                let matches = Pattern::parse(&pattern).unwrap().matches(&character.to_string());
                assert!(matches, "{pattern}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The engine is asked only for what it understands.
        #[test]
        fn any_text_is_a_pattern_or_refused_before_the_engine(text in r"[a-c.*+?|()\[\]{},0-3\\^$dw_/-]{0,12}") {
            prop_assert!(!matches!(Pattern::parse(&text), Err(BadPattern::Engine(_))), "{}", text);
        }

        #[test]
        fn any_bytes_are_survived(text in ".{0,40}", name in ".{0,40}") {
            let _ = Pattern::parse(&text).map(|pattern| pattern.matches(&name));
        }
    }
}
