//! The syntax: what is not known to mean the same everywhere is refused.

use super::automaton::{Automaton, Times};
use super::{BadPattern, MOST_STATES, Prefix};
use std::iter::Peekable;
use std::str::Chars;

/// Deeper than a person writes, and shallow enough for any stack.
const DEEPEST: usize = 16;
/// What Go's engine takes.
const MOST_TIMES: usize = 1000;

/// Ranges of `\d`, and of `\w`, which has more: digits, two of letters, and the underscore.
const ESCAPED_RANGES: usize = 4;
/// Of `.`, which is all but a line's end.
const ANY_RANGES: usize = 2;

type Parsed<T> = Result<T, BadPattern>;

/// What a text says, if it is a pattern.
pub(super) struct Analysis {
    /// What the engine makes of it.
    pub(super) automaton: Automaton,
    /// How each branch begins.
    pub(super) prefixes: Vec<Prefix>,
}

/// Reads a pattern.
pub(super) fn read(text: &str) -> Parsed<Analysis> {
    let mut parser = Parser {
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
        Some(_) => Err(parser.fault("`)` was not opened")),
    }
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    /// Characters that were taken.
    at: usize,
    depth: usize,
    prefixes: Vec<Prefix>,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.at += usize::from(next.is_some());
        next
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    /// One more character that each name has there.
    fn prefix(&mut self, character: char) {
        if let Some(prefix) = self.prefixes.last_mut().filter(|prefix| prefix.is_all) {
            prefix.text.push(character);
        }
    }

    /// From here on names may differ.
    fn end_prefix(&mut self) {
        if let Some(prefix) = self.prefixes.last_mut() {
            prefix.is_all = false;
        }
    }

    /// About the character that was taken last.
    fn fault(&self, reason: impl Into<String>) -> BadPattern {
        BadPattern::Syntax {
            at: self.at,
            reason: reason.into(),
        }
    }

    /// Up to the end, or to the parenthesis that closes.
    fn alternatives(&mut self) -> Parsed<Automaton> {
        let mut branches = vec![self.sequence()?];
        while self.peek() == Some('|') {
            if self.depth == 0 {
                self.prefixes.push(Prefix::default());
            }
            self.next();
            branches.push(self.sequence()?);
        }
        self.fits(Automaton::any_of(branches))
    }

    fn sequence(&mut self) -> Parsed<Automaton> {
        let (mut all, mut is_empty) = (Automaton::empty(), true);
        while let Some(next) = self.peek().filter(|next| !matches!(next, '|' | ')')) {
            self.next();
            let once = self.one(next)?;
            let repeated = self.repeated(once)?;
            all = self.fits(all.then(&repeated))?;
            is_empty = false;
        }
        match (is_empty, self.peek()) {
            (true, Some(')')) if self.depth > 0 => Err(self.fault("`()` has nothing in it")),
            (true, Some(')')) => Ok(all),
            (true, None) if self.depth > 0 => Err(self.fault("`(` is not closed")),
            (true, _) => Err(self.fault("`|` has nothing on one side")),
            _ => Ok(all),
        }
    }

    /// As soon as a part is too large, so that none is ever written out that is.
    fn fits(&self, automaton: Automaton) -> Parsed<Automaton> {
        match automaton.characters() <= MOST_STATES {
            true => Ok(automaton),
            false => Err(BadPattern::TooLarge),
        }
    }

    fn one(&mut self, first: char) -> Parsed<Automaton> {
        match first {
            '(' => {
                self.end_prefix();
                self.group()
            }
            '[' => {
                self.end_prefix();
                self.class()
            }
            '\\' => Ok(match self.escape()? {
                Some(character) => self.character(character),
                None => {
                    self.end_prefix();
                    Automaton::class(ESCAPED_RANGES)
                }
            }),
            '.' => {
                self.end_prefix();
                Ok(Automaton::class(ANY_RANGES))
            }
            '*' | '+' | '?' | '{' => Err(self.fault(format!("`{first}` has nothing to repeat"))),
            '^' | '$' => {
                let reason = format!("`{first}` need not be written: a pattern matches the whole name");
                Err(self.fault(reason))
            }
            ']' | '}' => Err(self.fault(format!("`{first}` must be written `\\{first}`"))),
            other => {
                self.literal(other)?;
                Ok(self.character(other))
            }
        }
    }

    /// One character, which is of the prefix unless it is repeated.
    fn character(&mut self, character: char) -> Automaton {
        match self.peek() {
            Some('*' | '+' | '?' | '{') => self.end_prefix(),
            _ => self.prefix(character),
        }
        Automaton::character()
    }

    fn literal(&self, character: char) -> Parsed<()> {
        if character.is_ascii_uppercase() {
            let reason = format!("`{character}` matches nothing: names are in lower case here");
            return Err(self.fault(reason));
        }
        if character != ' ' && !character.is_ascii_graphic() {
            return Err(self.fault(format!("`{character}` is no ASCII character; `.` matches any")));
        }
        Ok(())
    }

    fn group(&mut self) -> Parsed<Automaton> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fault(format!("parentheses are nested more than {DEEPEST} times")));
        }
        if self.peek() == Some('?') {
            self.next();
            if self.next() != Some(':') {
                return Err(self.fault("`(?` is not understood unless it is `(?:`"));
            }
        }
        let automaton = self.alternatives()?;
        if self.next() != Some(')') {
            return Err(self.fault("`(` is not closed"));
        }
        self.depth -= 1;
        Ok(automaton.grouped())
    }

    /// What stands for one character; `None` where it stands for several.
    fn escape(&mut self) -> Parsed<Option<char>> {
        match self.next() {
            None => Err(self.fault("`\\` has nothing behind it")),
            Some('d' | 'w') => Ok(None),
            Some('|') => Err(self.fault("`\\|` matches nothing: a slash in a name is `/` here")),
            // Newer engines have a use for the two.
            Some(other) if other.is_ascii_punctuation() && !matches!(other, '<' | '>') => Ok(Some(other)),
            Some(other) => Err(self.fault(format!("`\\{other}` is not understood"))),
        }
    }

    fn class(&mut self) -> Parsed<Automaton> {
        // All but some ranges are one range more than those.
        let mut ranges = 0;
        if self.peek() == Some('^') {
            self.next();
            ranges = 1;
        }
        let mut is_empty = true;
        loop {
            let first = match self.next() {
                None => return Err(self.fault("`[` is not closed")),
                Some(']') if is_empty => return Err(self.fault("`[]` has nothing in it")),
                Some(']') => return Ok(Automaton::class(ranges)),
                Some(first) => self.member(first)?,
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
            None => return Err(self.fault("`[` is not closed")),
            Some(']') => return Err(self.fault("`-` must be written `\\-` unless it is between two")),
            Some(last) => self.member(last)?,
        };
        match last {
            Some(last) if first <= last => Ok(()),
            Some(last) => Err(self.fault(format!("`{first}-{last}` is from the last to the first"))),
            None => Err(self.fault("`-` must be written `\\-` unless it is between two")),
        }
    }

    fn member(&mut self, character: char) -> Parsed<Option<char>> {
        match character {
            '\\' => self.escape(),
            '-' => Err(self.fault("`-` must be written `\\-` unless it is between two")),
            ' ' | '_' | '.' | '/' | ':' | ',' | '=' | '@' => Ok(Some(character)),
            other if other.is_ascii_punctuation() => Err(self.fault(format!("`{other}` must be written `\\{other}`"))),
            other => self.literal(other).map(|()| Some(other)),
        }
    }

    fn repeated(&mut self, once: Automaton) -> Parsed<Automaton> {
        let Some(sign) = self.peek().filter(|sign| matches!(sign, '*' | '+' | '?' | '{')) else {
            return Ok(once);
        };
        self.next();
        let times = match sign {
            '*' => Times { least: 0, most: None },
            '+' => Times { least: 1, most: None },
            '?' => Times {
                least: 0,
                most: Some(1),
            },
            _ => self.times()?,
        };
        if let Some(again @ ('*' | '+' | '?' | '{')) = self.peek() {
            self.next();
            return Err(self.fault(format!("`{again}` repeats a repetition")));
        }
        match once.characters_repeated(times) <= MOST_STATES {
            true => Ok(once.repeated(times)),
            false => Err(BadPattern::TooLarge),
        }
    }

    /// Behind the brace that opens.
    fn times(&mut self) -> Parsed<Times> {
        let least = self.number()?;
        let most = match (self.next(), self.peek()) {
            (Some('}'), _) => {
                return Ok(Times {
                    least,
                    most: Some(least),
                });
            }
            (Some(','), Some('}')) => None,
            (Some(','), _) => Some(self.number()?),
            _ => return Err(self.fault("`{` is not closed")),
        };
        if self.next() != Some('}') {
            return Err(self.fault("`{` is not closed"));
        }
        match most {
            Some(most) if most < least => {
                Err(self.fault(format!("`{{{least},{most}}}` is from the last to the first")))
            }
            most => Ok(Times { least, most }),
        }
    }

    fn number(&mut self) -> Parsed<usize> {
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            self.next();
            digits.push(digit);
        }
        match digits.parse() {
            Ok(number) if number <= MOST_TIMES => Ok(number),
            _ if digits.is_empty() => Err(self.fault("`{` is followed by no number")),
            _ => Err(self.fault(format!("`{digits}` is more than {MOST_TIMES}"))),
        }
    }
}
