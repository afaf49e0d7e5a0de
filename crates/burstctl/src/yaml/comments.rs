//! Finds comments, which the tree of nodes does not contain.

use burst_hpa::node::{Mark, Span};
use libyaml_safer::EventData;

use super::lines::position_in_file;
use super::parser::Source;
use super::split::{self, Chunk};

/// Returns the position of the first comment of a file. It ignores text that cannot be parsed.
#[must_use]
pub fn first_comment(text: &str) -> Option<Mark> {
    if !text.contains('#') {
        return None;
    }
    let (_, yaml, lines_above) = split::json_and_yaml(text);
    let chunks = split::chunks(&yaml, lines_above).into_iter().flatten();
    let texts: Vec<Span> = chunks.flat_map(|chunk| texts(&chunk)).collect();
    let is_text = |at: &Mark| {
        let begun = texts.partition_point(|text| text.start <= *at);
        let last = begun.checked_sub(1).and_then(|last| texts.get(last));
        last.is_some_and(|text| *at < text.end)
    };
    let mut signs = yaml
        .lines()
        .enumerate()
        .flat_map(|(line, text)| signs(text).map(move |column| position_in_file(line + 1, column, lines_above)));
    signs.find(|sign| !is_text(sign))
}

/// Returns the spans of all text, including keys. Everything after the first error counts as text.
fn texts(chunk: &Chunk<'_>) -> Vec<Span> {
    let mut texts = Vec::new();
    for event in Source::new(chunk.text, chunk.lines_above).events() {
        match event {
            Ok((EventData::Scalar { .. }, span)) => texts.push(span),
            Ok(_) => {}
            Err(error) => {
                let last = chunk.text.lines().count() + 1;
                texts.push(Span {
                    start: error.at,
                    end: position_in_file(last, 0, chunk.lines_above),
                });
                break;
            }
        }
    }
    texts
}

/// Returns the columns, counted from 0, at which a comment may begin.
fn signs(line: &str) -> impl Iterator<Item = usize> {
    let before = std::iter::once(' ').chain(line.chars());
    let pairs = before.zip(line.chars()).enumerate();
    pairs.filter_map(|(column, (before, sign))| (sign == '#' && before.is_whitespace()).then_some(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_distinguished_from_text() {
        let table = [
            ("a: 1\n", None),
            ("# a\na: 1\n", Some((1, 1))),
            ("a: 1 # b\n", Some((1, 6))),
            ("a: 1#b\nc: \"x # y\"\nd: 'x # y\n  # z'\ne: x\n  y\n", None),
            ("\"a # b\": 1\n'c # d': &x 2\ne: *x # f\n", Some((3, 7))),
            ("a: |\n  # text\n  x # text\nb: >-\n  # text\n\n", None),
            ("a: |\n  # text\n# b\nc: 1\n", Some((3, 1))),
            ("a: 1\n--- # b\nc: 1\n", Some((2, 5))),
            ("a: 1\n---\n  # b\n", Some((3, 3))),
            ("é: é # b\n", Some((1, 6))),
            ("{\"a\": \"# b\"}\n", None),
            ("{\"a\": \"# b\"} # c\n", Some((1, 14))),
            ("a: [\n# b\n---\nc: ' # d'\n# e\n", Some((2, 1))),
            ("a: }\n# b\n---\nc: ' # d'\n# e\n", Some((5, 1))),
        ];
        for (text, at) in table {
            let at = at.map(|(line, column)| Mark { line, column });
            assert_eq!(first_comment(text), at, "{text}");
        }
    }
}
