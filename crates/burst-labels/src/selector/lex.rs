//! From text to tokens. A NUL ends a word, and the text where a word would begin, as it does in Go.

/// What a stretch of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Close,
    Comma,
    DoubleEquals,
    End,
    Equals,
    GreaterThan,
    Identifier,
    In,
    LessThan,
    Not,
    NotEquals,
    NotIn,
    Open,
}

/// The tokens of a text with what they were written as; the last one is [`Token::End`].
pub(super) fn tokens(text: &str) -> Vec<(Token, &str)> {
    let mut lexer = Lexer { text, place: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.token();
        tokens.push(token);
        if token.0 == Token::End {
            return tokens;
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    place: usize,
}

impl<'a> Lexer<'a> {
    /// The byte at the place; `None` at the end, and for a NUL.
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.place).copied().filter(|byte| *byte != 0)
    }

    fn token(&mut self) -> (Token, &'a str) {
        while self.peek().is_some_and(is_space) {
            self.place += 1;
        }
        match self.peek() {
            None => (Token::End, ""),
            Some(byte) if is_special(byte) => self.special(),
            Some(_) => self.word(),
        }
    }

    /// All operators but `in` and `notin`: the longest there is.
    fn special(&mut self) -> (Token, &'a str) {
        let start = self.place;
        let rest = self.text.get(start..).unwrap_or_default();
        let two = rest.get(..2).unwrap_or_default();
        let (token, length) = match (two, rest.bytes().next()) {
            ("==", _) => (Token::DoubleEquals, 2),
            ("!=", _) => (Token::NotEquals, 2),
            (_, Some(b'=')) => (Token::Equals, 1),
            (_, Some(b'!')) => (Token::Not, 1),
            (_, Some(b'(')) => (Token::Open, 1),
            (_, Some(b')')) => (Token::Close, 1),
            (_, Some(b',')) => (Token::Comma, 1),
            (_, Some(b'>')) => (Token::GreaterThan, 1),
            _ => (Token::LessThan, 1),
        };
        self.place += length;
        self.skip_nul();
        (token, rest.get(..length).unwrap_or_default())
    }

    fn word(&mut self) -> (Token, &'a str) {
        let start = self.place;
        while self.peek().is_some_and(|byte| !is_special(byte) && !is_space(byte)) {
            self.place += 1;
        }
        let word = self.text.get(start..self.place).unwrap_or_default();
        self.skip_nul();
        match word {
            "in" => (Token::In, word),
            "notin" => (Token::NotIn, word),
            _ => (Token::Identifier, word),
        }
    }

    /// Go reads the byte that ends a word, and gives it back unless it is a NUL.
    fn skip_nul(&mut self) {
        if self.text.as_bytes().get(self.place) == Some(&0) {
            self.place += 1;
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<')
}
