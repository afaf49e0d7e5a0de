//! The syntax: what is not known to mean the same everywhere is refused.

use super::BadPattern;
use std::iter::Peekable;
use std::str::Chars;

/// Deeper than a person writes, and shallow enough for any stack.
const DEEPEST: usize = 16;
/// What Go's engine takes.
const MOST_TIMES: usize = 1000;

type Parsed<T> = Result<T, BadPattern>;

/// The number of characters that a pattern stands for, with its repetitions written out.
pub(super) fn states(text: &str) -> Parsed<usize> {
    let mut parser = Parser {
        rest: text.chars().peekable(),
        at: 0,
        depth: 0,
    };
    let states = parser.alternatives()?;
    match parser.next() {
        None => Ok(states),
        Some(_) => Err(parser.fault("`)` was not opened")),
    }
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    /// Characters that were taken.
    at: usize,
    depth: usize,
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

    /// About the character that was taken last.
    fn fault(&self, reason: impl Into<String>) -> BadPattern {
        BadPattern::Syntax {
            at: self.at,
            reason: reason.into(),
        }
    }

    /// Up to the end, or to the parenthesis that closes.
    fn alternatives(&mut self) -> Parsed<usize> {
        let mut states = self.sequence()?;
        while self.peek() == Some('|') {
            self.next();
            states = self.sequence()?.saturating_add(states).saturating_add(1);
        }
        Ok(states)
    }

    fn sequence(&mut self) -> Parsed<usize> {
        let mut states = 0;
        while let Some(next) = self.peek().filter(|next| !matches!(next, '|' | ')')) {
            self.next();
            let once = self.one(next)?;
            states = self.repeated(once)?.saturating_add(states);
        }
        match (states, self.peek()) {
            (0, Some(')')) if self.depth > 0 => Err(self.fault("`()` has nothing in it")),
            (0, Some(')')) => Ok(0),
            (0, None) if self.depth > 0 => Err(self.fault("`(` is not closed")),
            (0, _) => Err(self.fault("`|` has nothing on one side")),
            _ => Ok(states),
        }
    }

    fn one(&mut self, first: char) -> Parsed<usize> {
        match first {
            '(' => self.group(),
            '[' => self.class(),
            '\\' => self.escape().map(|_| 1),
            '.' => Ok(1),
            '*' | '+' | '?' | '{' => Err(self.fault(format!("`{first}` has nothing to repeat"))),
            '^' | '$' => {
                let reason = format!("`{first}` need not be written: a pattern matches the whole name");
                Err(self.fault(reason))
            }
            ']' | '}' => Err(self.fault(format!("`{first}` must be written `\\{first}`"))),
            other => self.literal(other).map(|()| 1),
        }
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

    fn group(&mut self) -> Parsed<usize> {
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
        let states = self.alternatives()?;
        if self.next() != Some(')') {
            return Err(self.fault("`(` is not closed"));
        }
        self.depth -= 1;
        Ok(states.saturating_add(1))
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

    fn class(&mut self) -> Parsed<usize> {
        if self.peek() == Some('^') {
            self.next();
        }
        let mut is_empty = true;
        loop {
            let first = match self.next() {
                None => return Err(self.fault("`[` is not closed")),
                Some(']') if is_empty => return Err(self.fault("`[]` has nothing in it")),
                Some(']') => return Ok(1),
                Some(first) => self.member(first)?,
            };
            is_empty = false;
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

    fn repeated(&mut self, once: usize) -> Parsed<usize> {
        let Some(sign) = self.peek().filter(|sign| matches!(sign, '*' | '+' | '?' | '{')) else {
            return Ok(once);
        };
        self.next();
        let times = if sign == '{' { self.times()? } else { 1 };
        match self.peek() {
            Some(again @ ('*' | '+' | '?' | '{')) => {
                self.next();
                Err(self.fault(format!("`{again}` repeats a repetition")))
            }
            _ => Ok(once.saturating_mul(times).saturating_add(1)),
        }
    }

    /// Behind the brace that opens: how often at most.
    fn times(&mut self) -> Parsed<usize> {
        let least = self.number()?;
        let most = match (self.next(), self.peek()) {
            (Some('}'), _) => return Ok(least.max(1)),
            (Some(','), Some('}')) => least,
            (Some(','), _) => self.number()?,
            _ => return Err(self.fault("`{` is not closed")),
        };
        if self.next() != Some('}') {
            return Err(self.fault("`{` is not closed"));
        }
        if most < least {
            return Err(self.fault(format!("`{{{least},{most}}}` is from the last to the first")));
        }
        Ok(most.max(1))
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
