//! Regular expressions for metric names: the subset of the syntax that has the same meaning in this engine, in Go and
//! in `matches` in CEL. So the proxy and an admission policy generated from the same policy agree. All three engines
//! take time proportional to the length of the name.
//!
//! The engine is regex-lite: it adds 72 KB to the Wasm module, and regex without its optional features would add 391
//! KB.
//! <https://github.com/google/re2/wiki/Syntax>

mod automaton;
mod grammar;

use crate::name;
use regex_lite::{Regex, RegexBuilder};
use std::cell::OnceCell;
use std::fmt;

/// The longest pattern, in bytes.
pub const MAX_LENGTH: usize = 256;
/// The largest number of characters in a pattern with its repetitions expanded. A class counts one for every four
/// ranges.
pub const MAX_STATES: usize = 1000;

/// A pattern that must match a whole name. It is compiled when the first name with one of its prefixes is matched: most
/// patterns begin with the name of a metric, and clients read few metrics.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: Box<str>,
    /// The prefix of each branch.
    prefixes: Box<[Prefix]>,
    steps: usize,
    /// The size limit for the compiled pattern.
    bytes: usize,
    /// The inner value is `None` if the engine cannot compile the pattern.
    regex: OnceCell<Option<Regex>>,
}

/// The literal characters at the beginning of a branch.
#[derive(Clone, Debug)]
struct Prefix {
    text: String,
    /// Whether it is the whole branch.
    is_complete: bool,
}

impl Default for Prefix {
    fn default() -> Self {
        let text = String::new();
        Self {
            text,
            is_complete: true,
        }
    }
}

/// Why a pattern is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The pattern is empty.
    #[error("is empty; `.*` matches every metric")]
    Empty,
    /// The pattern has too many bytes.
    #[error("has {0} bytes; {MAX_LENGTH} are allowed")]
    TooLong(usize),
    /// The pattern has too many states.
    #[error("is too large with its repetitions expanded; {MAX_STATES} characters are allowed")]
    TooLarge,
    /// The syntax is invalid, or not supported by all engines.
    #[error("{reason}, at character {at}")]
    Syntax {
        /// The index of the character, counted from 1.
        at: usize,
        /// The error.
        reason: String,
    },
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// See [`PatternError`].
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(PatternError::TooLong(text.len()));
        }
        let grammar::Analysis { automaton, prefixes } = grammar::parse(text)?;
        Ok(Self {
            text: text.into(),
            prefixes: prefixes.into(),
            steps: automaton.steps(name::MAX_LENGTH) + automaton.states() * COMPILE_STEPS,
            bytes: BYTES + automaton.states() * STATE_BYTES + automaton.ranges() * RANGE_BYTES,
            regex: OnceCell::new(),
        })
    }

    /// Returns whether the pattern matches a whole name; `None` if the engine cannot compile the pattern, which the
    /// grammar prevents.
    #[must_use]
    pub fn matches(&self, name: &str) -> Option<bool> {
        let is_whole = |prefix: &Prefix| prefix.is_complete && prefix.text == name;
        if self.prefixes.iter().any(is_whole) {
            return Some(true);
        }
        if !self.may_match(name) {
            return Some(false);
        }
        let regex = self.regex.get_or_init(|| compile(&self.text, self.bytes));
        regex.as_ref().map(|regex| regex.is_match(name))
    }

    /// Returns whether a name has one of the prefixes, so the engine must match it.
    #[must_use]
    pub fn may_match(&self, name: &str) -> bool {
        self.open_prefixes().any(|prefix| name.starts_with(prefix))
    }

    /// Returns the prefixes of the names that the engine must match.
    pub(crate) fn open_prefixes(&self) -> impl Iterator<Item = &str> {
        self.prefixes
            .iter()
            .filter(|prefix| !prefix.is_complete)
            .map(|prefix| &*prefix.text)
    }

    /// Returns the size of all prefixes in bytes, and their number.
    pub(crate) fn prefixes(&self) -> (usize, usize) {
        let bytes = self.prefixes.iter().map(|prefix| prefix.text.len()).sum();
        (bytes, self.prefixes.len())
    }

    /// Returns the largest number of [steps](crate::cost) for a name that the engine must match, including compilation.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Returns the size in bytes after compilation, if the pattern ever needs that.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let (bytes, count) = self.prefixes();
        let compiled = self.open_prefixes().next().map_or(0, |_| self.bytes);
        self.text.len() + bytes + count * PREFIX_BYTES + compiled
    }

    /// Returns whether the engine tried to compile the pattern and could not.
    pub(crate) fn failed_to_compile(&self) -> bool {
        matches!(self.regex.get(), Some(None))
    }

    /// Returns whether the pattern has been compiled.
    #[must_use]
    pub fn is_compiled(&self) -> bool {
        self.regex.get().is_some()
    }

    /// Returns the pattern with anchors, for engines that match anywhere in a text.
    #[must_use]
    pub fn anchored_text(&self) -> String {
        anchored(&self.text)
    }
}

/// The steps to compile a state.
const COMPILE_STEPS: usize = 12;
/// The fixed size of a compiled pattern in bytes, including its text.
const BYTES: usize = 512;
/// The size of a state in bytes: on wasm32 32 in a vector that may be half empty, 24 for a fork, and 16 in each of the
/// two sets of active states, with a margin.
const STATE_BYTES: usize = 96;
/// The size of a prefix without its text, in bytes.
const PREFIX_BYTES: usize = 32;
/// The size of a character range, in bytes.
const RANGE_BYTES: usize = 8;

/// Compiles a pattern. Returns `None` if it exceeds the size limit.
fn compile(text: &str, size_limit: usize) -> Option<Regex> {
    RegexBuilder::new(&anchored(&without_captures(text)))
        .size_limit(size_limit)
        .build()
        .ok()
}

/// Returns the pattern without capture groups, because the engine would store their positions for each state. Only a
/// backslash makes a parenthesis literal.
fn without_captures(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(next) = characters.next() {
        result.push(next);
        match next {
            '\\' => result.extend(characters.next()),
            '(' if characters.peek() != Some(&'?') => result.push_str("?:"),
            _ => {}
        }
    }
    result
}

fn anchored(text: &str) -> String {
    format!("^(?:{text})$")
}

/// The pattern as written.
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
            let found = Pattern::parse(pattern).unwrap().matches(name);
            assert_eq!(found, Some(matches), "{pattern} {name:?}");
        }
    }

    #[test]
    fn syntax_on_which_engines_differ_is_refused_with_its_position() {
        for (pattern, reason) in [
            ("", "is empty; `.*` matches every metric"),
            (
                "^a$",
                "`^` is not needed: a pattern matches the whole name, at character 1",
            ),
            ("a$", "`$` is not needed"),
            (
                "burst|Headroom",
                "`H` matches nothing: names are in lower case, at character 7",
            ),
            ("[A-Z]", "`A` matches nothing"),
            (
                r"burst\|headroom",
                r"`\|` matches nothing: write `/` for a slash in a name, at character 7",
            ),
            ("(a", "`(` is not closed"),
            ("a)", "`)` was not opened"),
            ("[a", "`[` is not closed"),
            ("[]a]", "`[]` is empty"),
            ("[z-a]", "`z-a` is in reverse order"),
            ("[a-]", "`-` must be written `\\-` unless it is between two characters"),
            ("[[:alpha:]]", "`[` must be written `\\[`"),
            ("[a&&b]", "`&` must be written `\\&`"),
            ("*a", "`*` has nothing to repeat"),
            ("a**", "`*` repeats a repetition"),
            ("a+?", "`?` repeats a repetition"),
            ("a{2}{3}", "`{` repeats a repetition"),
            ("a{,2}", "`{` is not followed by a number"),
            ("a{2", "`{` is not closed"),
            ("a{3,2}", "`{3,2}` is in reverse order"),
            ("a{1001}", "`1001` is more than 1000"),
            ("a||b", "`|` has an empty side"),
            ("(|a)", "`|` has an empty side"),
            ("()", "`()` is empty"),
            (r"\pL", r"`\p` is not supported"),
            (r"\bx", r"`\b` is not supported"),
            ("(?i)a", "`(?` is not supported"),
            ("ä", "`ä` is not an ASCII character; `.` matches any character"),
            (r"a\", r"`\` is not followed by a character"),
            ("(a{100}){100}", "is too large"),
            (
                "((((((((((((((((((a))))))))))))))))))",
                "parentheses are nested more than 16 times",
            ),
            (&"a".repeat(257), "has 257 bytes; 256 are allowed"),
        ] {
            let message = refusal(pattern);
            assert!(message.starts_with(reason), "{pattern}: {message}");
        }
    }

    #[test]
    fn punctuation_can_be_escaped_unless_no_name_has_it() {
        let punctuation = (b'!'..=b'~').map(char::from).filter(char::is_ascii_punctuation);
        for character in punctuation.filter(|character| !"<>|".contains(*character)) {
            for pattern in [format!("\\{character}"), format!("[\\{character}]")] {
                let matches = Pattern::parse(&pattern).unwrap().matches(&character.to_string());
                assert_eq!(matches, Some(true), "{pattern}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The engine compiles every valid pattern within the size limit. Neither the comparison of prefixes nor the
        /// removal of capture groups changes what matches.
        #[test]
        fn the_engine_accepts_what_the_grammar_accepts(
            text in r"(ab?){0,2}[a-c.*+?|()\[\]{},0-3\\^$dw_/-]{0,12}",
            name in "[abcdw1_/-]{0,9}",
        ) {
            if let Ok(pattern) = Pattern::parse(&text) {
                let plain = Regex::new(&anchored(&text)).unwrap();
                let begun = pattern.prefixes.iter().flat_map(|prefix| [prefix.text.clone(), format!("{}b", prefix.text)]);
                for name in begun.chain([name]) {
                    prop_assert_eq!(pattern.matches(&name), Some(plain.is_match(&name)), "{} {}", text, name);
                }
            }
        }

        #[test]
        fn any_text_is_a_pattern_or_an_error(text in ".{0,40}", name in ".{0,40}") {
            let _ = Pattern::parse(&text).map(|pattern| pattern.matches(&name));
        }
    }

    #[test]
    fn a_pattern_is_compiled_for_the_first_name_with_its_prefix() {
        let pattern = Pattern::parse(r"queue\.d[0-9]+|topic").unwrap();
        assert_eq!(pattern.matches("burst_headroom"), Some(false));
        assert_eq!(pattern.matches("topic"), Some(true));
        assert!(!pattern.is_compiled());
        assert_eq!(pattern.matches("queue.d17"), Some(true));
        assert!(pattern.is_compiled());
        for (pattern, prefixes) in [
            ("ab|ac", &[][..]),
            ("ab|ac*", &["a"]),
            ("a.|b.", &["a", "b"]),
            ("ab?c", &["a"]),
            ("a(b|d)c", &["a"]),
            (r"a\dc", &["a"]),
            ("a[b]", &["a"]),
        ] {
            let found = Pattern::parse(pattern).unwrap();
            assert_eq!(found.open_prefixes().collect::<Vec<_>>(), prefixes, "{pattern}");
        }
    }

    #[test]
    fn a_literal_name_is_compared_and_never_compiled() {
        let pattern = Pattern::parse(r"burst_requests\.a").unwrap();
        assert_eq!(pattern.matches("burst_requests.a"), Some(true));
        assert_eq!(pattern.matches("burst_requests.ab"), Some(false));
        assert!(!pattern.is_compiled());
        assert_eq!(pattern.bytes(), 17 + 16 + PREFIX_BYTES);
    }

    #[test]
    fn each_range_of_a_class_counts() {
        // No two of them are neighbours.
        let every_other = r"\!\#\%\'\)\+\-\/13579\;\=\?acegikmoqsuwy\{\}";
        let class = |inside: &str, times: usize| format!("[{inside}]{{{times}}}");
        assert_eq!(
            refusal(&class("acegikmoqsuwy02468", 900)),
            PatternError::TooLarge.to_string()
        );
        assert_eq!(refusal(&class(every_other, 900)), PatternError::TooLarge.to_string());
        let ordinary = Pattern::parse(&class("a-z0-9_", 900)).unwrap();
        assert!(ordinary.bytes() < 150 << 10, "{} bytes", ordinary.bytes());
        assert_eq!(ordinary.matches(&"z".repeat(900)), Some(true));
    }
}
