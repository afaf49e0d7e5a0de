//! Splits a selector into tokens. As in Go, a NUL ends a word, and it ends the text if it is the first byte of a word.

/// The kind of a token.
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

/// Returns the tokens of a text with their spelling. The last one is [`Token::End`].
pub(super) fn tokens(text: &str) -> Vec<(Token, &str)> {
    let mut lexer = Lexer { text, position: 0 };
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
    position: usize,
}

impl<'a> Lexer<'a> {
    /// Returns the next byte; `None` at the end and for a NUL.
    fn peek(&self) -> Option<u8> {
        self.text
            .as_bytes()
            .get(self.position)
            .copied()
            .filter(|byte| *byte != 0)
    }

    fn token(&mut self) -> (Token, &'a str) {
        while self.peek().is_some_and(is_space) {
            self.position += 1;
        }
        match self.peek() {
            None => (Token::End, ""),
            Some(byte) if is_special(byte) => self.special(),
            Some(_) => self.identifier(),
        }
    }

    /// Reads the longest operator, except `in` and `notin`.
    fn special(&mut self) -> (Token, &'a str) {
        let start = self.position;
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
        self.position += length;
        self.skip_nul();
        (token, rest.get(..length).unwrap_or_default())
    }

    fn identifier(&mut self) -> (Token, &'a str) {
        let start = self.position;
        while self.peek().is_some_and(|byte| !is_special(byte) && !is_space(byte)) {
            self.position += 1;
        }
        let text = self.text.get(start..self.position).unwrap_or_default();
        self.skip_nul();
        match text {
            "in" => (Token::In, text),
            "notin" => (Token::NotIn, text),
            _ => (Token::Identifier, text),
        }
    }

    /// Go reads the byte that ends a word, and puts it back unless it is a NUL.
    fn skip_nul(&mut self) {
        if self.text.as_bytes().get(self.position) == Some(&0) {
            self.position += 1;
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<')
}
