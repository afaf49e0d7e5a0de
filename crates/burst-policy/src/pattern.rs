//! Regular expressions for names: the part of the syntax that this engine, Go's and CEL's `matches` understand alike,
//! so that a policy means the same to the proxy and to an admission policy made of it. All three take time in
//! proportion to the name's length.
//!
//! The engine is regex-lite: in a Wasm module it takes 72 KB, and regex without its optional parts 391 KB.
//! <https://github.com/google/re2/wiki/Syntax>

mod automaton;
mod grammar;

use crate::name;
use regex_lite::{Regex, RegexBuilder};
use std::cell::OnceCell;
use std::fmt;

/// Bytes of a pattern.
pub const MAX_LENGTH: usize = 256;
/// Characters that a pattern stands for with its repetitions written out; a class counts one for each four ranges.
pub const MAX_STATES: usize = 1000;

/// A pattern that a whole name is compared with. It is compiled when a name that begins as it must is compared for the
/// first time: most patterns begin with the name of a metric, and most metrics nobody asks for.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: Box<str>,
    /// Of each branch.
    prefixes: Box<[Prefix]>,
    steps: usize,
    /// What the engine may take for it.
    bytes: usize,
    /// `None` inside where the engine refuses it.
    regex: OnceCell<Option<Regex>>,
}

/// The characters that a branch begins with, up to the first thing that is more than one character.
#[derive(Clone, Debug)]
struct Prefix {
    text: String,
    /// It is the whole branch.
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

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Nothing.
    #[error("is empty; `.*` matches every metric")]
    Empty,
    /// Too many bytes.
    #[error("has {0} bytes; {MAX_LENGTH} are allowed")]
    TooLong(usize),
    /// Too many states.
    #[error("is too large with its repetitions written out; {MAX_STATES} characters are allowed")]
    TooLarge,
    /// Something that is not understood, or not by all.
    #[error("{reason}, at character {at}")]
    Syntax {
        /// Counts from 1.
        at: usize,
        /// What is wrong there.
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

    /// Whether it matches the whole of a name; `None` where the engine does not know, which the grammar lets no pattern
    /// come to.
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

    /// Whether the engine is asked about a name: it begins as a branch does.
    #[must_use]
    pub fn may_match(&self, name: &str) -> bool {
        self.open_prefixes().any(|prefix| name.starts_with(prefix))
    }

    /// How a name must begin for the engine to be asked; each of them is one of the ways to begin.
    pub(crate) fn open_prefixes(&self) -> impl Iterator<Item = &str> {
        self.prefixes
            .iter()
            .filter(|prefix| !prefix.is_complete)
            .map(|prefix| &*prefix.text)
    }

    /// The bytes of all prefixes, and how many those are.
    pub(crate) fn prefixes(&self) -> (usize, usize) {
        let bytes = self.prefixes.iter().map(|prefix| prefix.text.len()).sum();
        (bytes, self.prefixes.len())
    }

    /// The most [steps](crate::cost) that a name costs of which the engine is asked: to compile it, and to compare.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// What it occupies, compiled if it ever is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let (bytes, count) = self.prefixes();
        let compiled = self.open_prefixes().next().map_or(0, |_| self.bytes);
        self.text.len() + bytes + count * PREFIX_BYTES + compiled
    }

    /// Whether the engine was asked to compile it, and could not.
    pub(crate) fn failed_to_compile(&self) -> bool {
        matches!(self.regex.get(), Some(None))
    }

    /// Whether it was needed so far.
    #[must_use]
    pub fn is_compiled(&self) -> bool {
        self.regex.get().is_some()
    }

    /// The same as a text for other engines, which match anywhere in a text.
    #[must_use]
    pub fn anchored_text(&self) -> String {
        anchored(&self.text)
    }
}

/// To make a state, in steps.
const COMPILE_STEPS: usize = 12;
/// What the engine keeps of any pattern, its own text among it.
const BYTES: usize = 512;
/// A state: on wasm32 32 bytes in a vector that may be half empty, 24 where it forks, and 16 in the set of active states
/// for this character and for the next one. With a margin.
const STATE_BYTES: usize = 96;
/// A prefix beside its text.
const PREFIX_BYTES: usize = 32;
/// A pair of characters.
const RANGE_BYTES: usize = 8;

/// `bytes` is what the engine may take for it.
fn compile(text: &str, size_limit: usize) -> Option<Regex> {
    RegexBuilder::new(&anchored(&without_captures(text)))
        .size_limit(size_limit)
        .build()
        .ok()
}

/// The same without captures: the engine would keep the places of each for each state. A parenthesis stands for itself
/// behind a backslash only.
fn without_captures(text: &str) -> String {
    let mut without_captures = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        without_captures.push(next);
        match next {
            '\\' => without_captures.extend(rest.next()),
            '(' if rest.peek() != Some(&'?') => without_captures.push_str("?:"),
            _ => {}
        }
    }
    without_captures
}

fn anchored(text: &str) -> String {
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
            let found = Pattern::parse(pattern).unwrap().matches(name);
            assert_eq!(found, Some(matches), "{pattern} {name:?}");
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
                assert_eq!(matches, Some(true), "{pattern}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The engine is asked only for what it understands, and for no more memory than was said. Neither a prefix that
        /// is compared first nor groups that capture nothing change what matches.
        #[test]
        fn what_the_grammar_takes_the_engine_takes_and_means_the_same(
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
        fn any_bytes_are_survived(text in ".{0,40}", name in ".{0,40}") {
            let _ = Pattern::parse(&text).map(|pattern| pattern.matches(&name));
        }
    }

    #[test]
    fn a_pattern_is_compiled_when_a_name_begins_as_it_must() {
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
    fn a_name_written_out_is_compared_and_never_compiled() {
        let pattern = Pattern::parse(r"burst_requests\.a").unwrap();
        assert_eq!(pattern.matches("burst_requests.a"), Some(true));
        assert_eq!(pattern.matches("burst_requests.ab"), Some(false));
        assert!(!pattern.is_compiled());
        assert_eq!(pattern.bytes(), 17 + 16 + PREFIX_BYTES);
    }

    #[test]
    fn each_range_of_a_class_counts() {
        // No two stand beside each other.
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
