//! Finds the end of a JSON value that arrives in chunks.
//!
//! It only counts brackets outside of strings, and `serde_json` parses the value once it is complete. This is our own
//! code because `serde_json` and `struson` wait for a reader that has all bytes, and the parsers that take chunks
//! (`actson`, `json-event-parser`) decode every token, so each object would be parsed twice.

/// How far a value has been scanned.
#[derive(Debug, Default)]
pub(crate) struct ValueScanner {
    /// The bytes of the value that are scanned.
    scanned: usize,
    /// The brackets that are open.
    depth: usize,
    position: ValuePosition,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ValuePosition {
    #[default]
    OutsideString,
    InString,
    /// After a backslash in a string.
    Escape,
}

impl ValueScanner {
    /// Returns the length of the value if it is complete. `bytes` begins with the value. If the value is not complete,
    /// call this again with the same bytes and the ones that follow them; each byte is scanned once.
    ///
    /// A number or a literal ends before a separator, so the separator must be there. The length of a valid value is
    /// right. Check whether the value is valid by parsing it.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        let (mut depth, mut position) = (self.depth, self.position);
        let mut rest = bytes.get(self.scanned..).unwrap_or_default().iter();
        // Most bytes are in strings, so a string is skipped in a loop of its own.
        loop {
            let next = match position {
                ValuePosition::InString => rest.find(|byte| matches!(byte, b'"' | b'\\')),
                ValuePosition::OutsideString | ValuePosition::Escape => rest.next(),
            };
            let Some(byte) = next else { break };
            match (position, byte) {
                (ValuePosition::Escape, _) => position = ValuePosition::InString,
                (ValuePosition::InString, b'\\') => position = ValuePosition::Escape,
                (ValuePosition::InString, _) if depth == 0 => return Some(bytes.len() - rest.len()),
                (ValuePosition::InString, _) => position = ValuePosition::OutsideString,
                (ValuePosition::OutsideString, b'"') => position = ValuePosition::InString,
                (ValuePosition::OutsideString, b'{' | b'[') => depth += 1,
                (ValuePosition::OutsideString, b'}' | b']') if depth > 1 => depth -= 1,
                (ValuePosition::OutsideString, b'}' | b']') if depth == 1 => return Some(bytes.len() - rest.len()),
                (ValuePosition::OutsideString, b'}' | b']' | b',' | b':' | b' ' | b'\t' | b'\r' | b'\n')
                    if depth == 0 =>
                {
                    return Some(bytes.len() - rest.len() - 1);
                }
                (ValuePosition::OutsideString, _) => {}
            }
        }
        *self = Self {
            scanned: bytes.len(),
            depth,
            position,
        };
        None
    }

    /// Continues with bytes that begin after those that were scanned.
    pub(crate) fn discard_scanned(&mut self) {
        self.scanned = 0;
    }
}

/// What a reader found in some bytes.
#[derive(Debug)]
pub(crate) struct Progress<T> {
    /// The number of bytes that are done with. The next call begins with the bytes after them.
    pub(crate) consumed: usize,
    /// An item. If there is none, more bytes are needed.
    pub(crate) item: Option<T>,
}

/// Splits bytes after the value with which they begin. Returns `None` if the value is not complete.
pub(crate) fn split_value(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = ValueScanner::default().scan(bytes)?;
    bytes.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn a_value_ends_where_its_brackets_close_outside_of_strings() {
        for (bytes, value) in [
            (r#"{"a":"}","b":["]"]},"#, r#"{"a":"}","b":["]"]}"#),
            (r#""a\"b\\",1"#, r#""a\"b\\""#),
            ("17,", "17"),
            ("null}", "null"),
            ("-1.5e3 ]", "-1.5e3"),
            ("[]]", "[]"),
        ] {
            let (found, rest) = split_value(bytes.as_bytes()).unwrap();
            assert_eq!([found, rest].concat(), bytes.as_bytes());
            assert_eq!(std::str::from_utf8(found).unwrap(), value);
        }
        for incomplete in ["", "17", "tru", r#""a\""#, r#"{"a":[1,2}"#] {
            assert_eq!(split_value(incomplete.as_bytes()), None, "{incomplete}");
        }
    }

    proptest! {
        #[test]
        fn the_length_is_that_of_any_valid_value_however_it_is_cut(
            text in "\\PC{0,20}", numbers in proptest::collection::vec(any::<f64>(), 0..4), cuts in proptest::collection::vec(0usize..200, 0..4),
        ) {
            let value = serde_json::json!({ &text: [text, numbers, { "a": { &text: null } }], "b": "\\\"" });
            let Value::Object(members) = &value else { unreachable!() };
            for value in members.values().chain([&value]) {
                let json = value.to_string();
                let bytes = format!("{json},1]");
                let mut scanner = ValueScanner::default();
                let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (json.len() + 1)).collect();
                cuts.sort_unstable();
                for cut in cuts {
                    let scanned = scanner.scan(&bytes.as_bytes()[..cut]);
                    prop_assert_eq!(scanned, (cut == json.len()).then_some(cut));
                    if scanned.is_some() {
                        scanner = ValueScanner::default();
                    }
                }
                prop_assert_eq!(scanner.scan(bytes.as_bytes()), Some(json.len()));
            }
        }
    }
}
