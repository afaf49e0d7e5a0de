//! The parser of patterns. It refuses syntax that does not mean the same to all engines.

use super::automaton::{Automaton, Repetition};
use super::{MAX_STATES, PatternError, Prefix};
use std::iter::Peekable;
use std::str::Chars;

/// Deeper than any real pattern, and shallow enough for the stack of a Wasm module.
const MAX_DEPTH: usize = 16;
/// The limit of Go's engine.
const MAX_REPETITIONS: usize = 1000;

/// The number of ranges of `\w`: digits, upper case, lower case and the underscore. `\d` counts as many.
const ESCAPED_RANGES: usize = 4;
/// The number of ranges of `.`, which excludes the line feed.
const ANY_RANGES: usize = 2;

type Parsed<T> = Result<T, PatternError>;

/// A parsed pattern.
pub(super) struct Analysis {
    /// A model of the automaton that the engine compiles.
    pub(super) automaton: Automaton,
    /// The prefix of each branch.
    pub(super) prefixes: Vec<Prefix>,
}

/// Parses a pattern.
pub(super) fn parse(text: &str) -> Parsed<Analysis> {
    let mut parser = PatternParser {
        rest: text.chars().peekable(),
        at: 0,
        depth: 0,
        prefixes: vec![Prefix::default()],
    };
    let automaton = parser.alternatives()?;
    match parser.next() {
        None => Ok(Analysis {
            automaton,
            prefixes: parser.prefixes,
        }),
        Some(_) => Err(parser.syntax_error("`)` was not opened")),
    }
}

struct PatternParser<'a> {
    rest: Peekable<Chars<'a>>,
    /// The number of characters read.
    at: usize,
    depth: usize,
    prefixes: Vec<Prefix>,
}

impl PatternParser<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.at += usize::from(next.is_some());
        next
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    /// Adds a literal character to the prefix of the current branch.
    fn extend_prefix(&mut self, character: char) {
        if let Some(prefix) = self.prefixes.last_mut().filter(|prefix| prefix.is_complete) {
            prefix.text.push(character);
        }
    }

    /// Ends the prefix of the current branch.
    fn close_prefix(&mut self) {
        if let Some(prefix) = self.prefixes.last_mut() {
            prefix.is_complete = false;
        }
    }

    /// Returns an error at the character that was read last.
    fn syntax_error(&self, reason: impl Into<String>) -> PatternError {
        PatternError::Syntax {
            at: self.at,
            reason: reason.into(),
        }
    }

    /// Parses branches up to the end or the closing parenthesis.
    fn alternatives(&mut self) -> Parsed<Automaton> {
        let mut branches = vec![self.concatenation()?];
        while self.peek() == Some('|') {
            if self.depth == 0 {
                self.prefixes.push(Prefix::default());
            }
            self.next();
            branches.push(self.concatenation()?);
        }
        self.within_limit(Automaton::any_of(branches))
    }

    fn concatenation(&mut self) -> Parsed<Automaton> {
        let (mut all, mut is_empty) = (Automaton::empty(), true);
        while let Some(next) = self.peek().filter(|next| !matches!(next, '|' | ')')) {
            self.next();
            let once = self.atom(next)?;
            let repeated = self.repeated(once)?;
            all = self.within_limit(all.then(&repeated))?;
            is_empty = false;
        }
        match (is_empty, self.peek()) {
            (true, Some(')')) if self.depth > 0 => Err(self.syntax_error("`()` is empty")),
            (true, Some(')')) => Ok(all),
            (true, None) if self.depth > 0 => Err(self.syntax_error("`(` is not closed")),
            (true, _) => Err(self.syntax_error("`|` has an empty side")),
            _ => Ok(all),
        }
    }

    /// Refuses a part as soon as it is too large, so that its repetitions are never expanded.
    fn within_limit(&self, automaton: Automaton) -> Parsed<Automaton> {
        match automaton.characters() <= MAX_STATES {
            true => Ok(automaton),
            false => Err(PatternError::TooLarge),
        }
    }

    fn atom(&mut self, first: char) -> Parsed<Automaton> {
        match first {
            '(' => {
                self.close_prefix();
                self.group()
            }
            '[' => {
                self.close_prefix();
                self.class()
            }
            '\\' => Ok(match self.escape()? {
                Some(character) => self.character(character),
                None => {
                    self.close_prefix();
                    Automaton::class(ESCAPED_RANGES)
                }
            }),
            '.' => {
                self.close_prefix();
                Ok(Automaton::class(ANY_RANGES))
            }
            '*' | '+' | '?' | '{' => Err(self.syntax_error(format!("`{first}` has nothing to repeat"))),
            '^' | '$' => {
                let reason = format!("`{first}` is not needed: a pattern matches the whole name");
                Err(self.syntax_error(reason))
            }
            ']' | '}' => Err(self.syntax_error(format!("`{first}` must be written `\\{first}`"))),
            other => {
                self.literal(other)?;
                Ok(self.character(other))
            }
        }
    }

    /// Adds one character. It belongs to the prefix unless it is repeated.
    fn character(&mut self, character: char) -> Automaton {
        match self.peek() {
            Some('*' | '+' | '?' | '{') => self.close_prefix(),
            _ => self.extend_prefix(character),
        }
        Automaton::character()
    }

    fn literal(&self, character: char) -> Parsed<()> {
        if character.is_ascii_uppercase() {
            let reason = format!("`{character}` matches nothing: names are in lower case");
            return Err(self.syntax_error(reason));
        }
        if character != ' ' && !character.is_ascii_graphic() {
            return Err(self.syntax_error(format!(
                "`{character}` is not an ASCII character; `.` matches any character"
            )));
        }
        Ok(())
    }

    fn group(&mut self) -> Parsed<Automaton> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.syntax_error(format!("parentheses are nested more than {MAX_DEPTH} times")));
        }
        if self.peek() == Some('?') {
            self.next();
            if self.next() != Some(':') {
                return Err(self.syntax_error("`(?` is not supported unless it is `(?:`"));
            }
        }
        let automaton = self.alternatives()?;
        if self.next() != Some(')') {
            return Err(self.syntax_error("`(` is not closed"));
        }
        self.depth -= 1;
        Ok(automaton.grouped())
    }

    /// Parses an escape. Returns `None` for a class such as `\d`.
    fn escape(&mut self) -> Parsed<Option<char>> {
        match self.next() {
            None => Err(self.syntax_error("`\\` is not followed by a character")),
            Some('d' | 'w') => Ok(None),
            Some('|') => Err(self.syntax_error("`\\|` matches nothing: write `/` for a slash in a name")),
            // Newer engines give a meaning to `\<` and `\>`.
            Some(other) if other.is_ascii_punctuation() && !matches!(other, '<' | '>') => Ok(Some(other)),
            Some(other) => Err(self.syntax_error(format!("`\\{other}` is not supported"))),
        }
    }

    fn class(&mut self) -> Parsed<Automaton> {
        // The complement of n ranges has n + 1 ranges.
        let mut ranges = 0;
        if self.peek() == Some('^') {
            self.next();
            ranges = 1;
        }
        let mut is_empty = true;
        loop {
            let first = match self.next() {
                None => return Err(self.syntax_error("`[` is not closed")),
                Some(']') if is_empty => return Err(self.syntax_error("`[]` is empty")),
                Some(']') => return Ok(Automaton::class(ranges)),
                Some(first) => self.class_member(first)?,
            };
            is_empty = false;
            ranges += first.map_or(ESCAPED_RANGES, |_| 1);
            if let (Some(first), Some('-')) = (first, self.peek()) {
                self.next();
                self.range(first)?;
            }
        }
    }

    fn range(&mut self, first: char) -> Parsed<()> {
        let last = match self.next() {
            None => return Err(self.syntax_error("`[` is not closed")),
            Some(']') => return Err(self.syntax_error("`-` must be written `\\-` unless it is between two characters")),
            Some(last) => self.class_member(last)?,
        };
        match last {
            Some(last) if first <= last => Ok(()),
            Some(last) => Err(self.syntax_error(format!("`{first}-{last}` is in reverse order"))),
            None => Err(self.syntax_error("`-` must be written `\\-` unless it is between two characters")),
        }
    }

    fn class_member(&mut self, character: char) -> Parsed<Option<char>> {
        match character {
            '\\' => self.escape(),
            '-' => Err(self.syntax_error("`-` must be written `\\-` unless it is between two characters")),
            ' ' | '_' | '.' | '/' | ':' | ',' | '=' | '@' => Ok(Some(character)),
            other if other.is_ascii_punctuation() => {
                Err(self.syntax_error(format!("`{other}` must be written `\\{other}`")))
            }
            other => self.literal(other).map(|()| Some(other)),
        }
    }

    fn repeated(&mut self, once: Automaton) -> Parsed<Automaton> {
        let Some(sign) = self.peek().filter(|sign| matches!(sign, '*' | '+' | '?' | '{')) else {
            return Ok(once);
        };
        self.next();
        let repetition = match sign {
            '*' => Repetition { min: 0, max: None },
            '+' => Repetition { min: 1, max: None },
            '?' => Repetition { min: 0, max: Some(1) },
            _ => self.repetition()?,
        };
        if let Some(again @ ('*' | '+' | '?' | '{')) = self.peek() {
            self.next();
            return Err(self.syntax_error(format!("`{again}` repeats a repetition")));
        }
        match once.characters_repeated(repetition) <= MAX_STATES {
            true => Ok(once.repeated(repetition)),
            false => Err(PatternError::TooLarge),
        }
    }

    /// Parses the repetition after an opening brace.
    fn repetition(&mut self) -> Parsed<Repetition> {
        let min = self.number()?;
        let max = match (self.next(), self.peek()) {
            (Some('}'), _) => {
                return Ok(Repetition { min, max: Some(min) });
            }
            (Some(','), Some('}')) => None,
            (Some(','), _) => Some(self.number()?),
            _ => return Err(self.syntax_error("`{` is not closed")),
        };
        if self.next() != Some('}') {
            return Err(self.syntax_error("`{` is not closed"));
        }
        match max {
            Some(max) if max < min => Err(self.syntax_error(format!("`{{{min},{max}}}` is in reverse order"))),
            max => Ok(Repetition { min, max }),
        }
    }

    fn number(&mut self) -> Parsed<usize> {
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            self.next();
            digits.push(digit);
        }
        match digits.parse() {
            Ok(number) if number <= MAX_REPETITIONS => Ok(number),
            _ if digits.is_empty() => Err(self.syntax_error("`{` is not followed by a number")),
            _ => Err(self.syntax_error(format!("`{digits}` is more than {MAX_REPETITIONS}"))),
        }
    }
}
