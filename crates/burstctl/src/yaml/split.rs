//! Splits a file into documents as kubectl does:
//! <https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/util/yaml/decoder.go>. Each document is parsed by
//! itself, so one broken document does not affect the others.

use burst_hpa::node::NodeValue;
use std::borrow::Cow;

use super::document::{Document, SyntaxError, error};
use super::lines::{is_blank_or_comment, position_in_file};
use super::{build, json};

/// Returns every document of a file that has a value. Documents of comments only are omitted. They still count in the
/// numbering, except at the start of the file.
#[must_use]
pub fn documents(text: &str) -> Vec<Document> {
    let (mut documents, yaml, lines_above) = json_and_yaml(text);
    of_yaml(&yaml, lines_above, &mut documents);
    documents.retain(|document| {
        !document
            .content
            .as_ref()
            .is_ok_and(|tree| tree.value == NodeValue::Null)
    });
    documents
}

/// Returns the JSON documents at the start of a file, the YAML after them, and the number of lines above the YAML.
pub(super) fn json_and_yaml(text: &str) -> (Vec<Document>, Cow<'_, str>, usize) {
    let text = without_mark(text);
    let (documents, read) = json::documents(text);
    let after_json = text.get(read..).unwrap_or_default();
    let (above, yaml) = text.split_at_checked(read + blank(after_json)).unwrap_or((text, ""));
    let line = above.rsplit('\n').next().unwrap_or_default();
    // Pad the YAML if it starts on the last line of the JSON, so that it keeps its column.
    let yaml = match line.is_empty() || yaml.starts_with("---") {
        true => with_line_breaks(yaml),
        false => (" ".repeat(line.chars().count()) + &with_line_breaks(yaml)).into(),
    };
    (documents, yaml, above.matches('\n').count())
}

/// Returns the length of the white space that kubectl skips after JSON, up to the end of the line.
fn blank(text: &str) -> usize {
    let begin = text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len());
    text.find('\n').map_or(begin, |line_break| begin.min(line_break + 1))
}

/// Ends every line with `\n`, including the last one, as kubectl does.
fn with_line_breaks(text: &str) -> Cow<'_, str> {
    let mut text = match text.contains("\r\n") {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Borrowed(text),
    };
    if !text.ends_with('\n') {
        text.to_mut().push('\n');
    }
    text
}

/// Removes a byte order mark. A document in the middle has one if its file was appended to another.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn of_yaml(text: &str, lines_above: usize, documents: &mut Vec<Document>) {
    let mut number = documents.len() + 1;
    for (index, chunk) in chunks(text, lines_above).into_iter().enumerate() {
        let is_head = index == 0
            && chunk
                .as_ref()
                .is_ok_and(|chunk| chunk.text.lines().all(is_blank_or_comment));
        let mut take =
            |content: build::Content| documents.extend(content.transpose().map(|content| Document { number, content }));
        match chunk {
            Ok(chunk) => build::documents(without_mark(chunk.text), chunk.lines_above, &mut take),
            Err(error) => take(Err(error)),
        }
        number += usize::from(!is_head);
    }
}

/// The text between two `---` lines.
pub(super) struct Chunk<'a> {
    pub(super) text: &'a str,
    pub(super) lines_above: usize,
}

pub(super) fn chunks(text: &str, first_lines: usize) -> Vec<Result<Chunk<'_>, SyntaxError>> {
    let mut chunks = Vec::new();
    let (mut rest, mut lines_above, mut length) = (text, first_lines, 0);
    for (line_number, line) in (first_lines..).zip(text.split_inclusive('\n')) {
        length += line.len();
        let Some(after_dashes) = line.strip_prefix("---").map(str::trim) else {
            continue;
        };
        let (chunk, below) = rest.split_at(length);
        let above = chunk.strip_suffix(line).unwrap_or_default();
        let is_separator = after_dashes.is_empty() || after_dashes.starts_with('#');
        match above.is_empty() {
            // A `---` at the start of a chunk begins the document below it.
            true if is_separator => continue,
            true => {}
            false => chunks.push(Ok(Chunk {
                text: above,
                lines_above,
            })),
        }
        if !is_separator {
            let message = format!("{after_dashes:?} behind `---`, where kubectl takes only a comment");
            chunks.push(Err(error(position_in_file(line_number + 1, 3, 0), message)));
        }
        (rest, lines_above, length) = (below, line_number + 1, 0);
    }
    chunks.push(Ok(Chunk {
        text: rest,
        lines_above,
    }));
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use burst_hpa::node::Mark;

    fn shown(text: &str) -> Vec<(usize, Result<String, SyntaxError>)> {
        let document = |document: Document| {
            let content = document.content.map(|tree| tree.to_json().to_string());
            (document.number, content)
        };
        documents(text).into_iter().map(document).collect()
    }

    fn refused(line: usize, column: usize, message: &str) -> Result<String, SyntaxError> {
        Err(error(Mark { line, column }, message))
    }

    #[test]
    fn a_broken_document_does_not_affect_the_others() {
        let documents = documents("# first\n---\na: 1\n--- # second\na: [\n---\n# only words\n---\nb: 2\n");
        let shown: Vec<_> = documents
            .iter()
            .map(|document| (document.number, document.content.is_ok()))
            .collect();
        assert_eq!(shown, [(1, true), (2, false), (4, true)]);
        let error = documents[1].content.as_ref().unwrap_err();
        assert!(error.at.line >= 5, "{error}");
        let last = documents[2].content.as_ref().unwrap();
        assert_eq!(last.field("b").unwrap().value, NodeValue::Number("2".to_owned()));
        assert_eq!(last.field("b").unwrap().span().start, Mark { line: 9, column: 4 });
    }

    #[test]
    fn only_a_comment_may_follow_a_separator() {
        let text = "a: 1\n--- # c\nb: 2\n--- c: 3\nd: 4\n---# e\ne: 5\n";
        let message = "\"c: 3\" behind `---`, where kubectl takes only a comment";
        let expected = [
            (1, Ok("{\"a\":1}".to_owned())),
            (2, Ok("{\"b\":2}".to_owned())),
            (3, refused(4, 4, message)),
            (4, Ok("{\"d\":4}".to_owned())),
            (5, Ok("{\"e\":5}".to_owned())),
        ];
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn a_directive_is_refused_at_its_position() {
        let message =
            "kubectl splits a file at each `---`, also at the one below a directive, so a directive is not allowed";
        let expected = [(1, refused(2, 1, message)), (2, Ok("{\"a\":1}".to_owned()))];
        assert_eq!(shown("# c\n%YAML 1.1\n---\na: 1\n"), expected);
    }

    #[test]
    fn leading_comments_are_not_a_document_and_windows_line_ends_are_read() {
        let text = "\u{feff}# c\r\n  # d\r\n---\r\na: |\r\n  x\r\n---\r\n\u{feff}b: 2";
        let expected = [(1, Ok("{\"a\":\"x\\n\"}".to_owned())), (2, Ok("{\"b\":2}".to_owned()))];
        assert_eq!(shown(text), expected);
    }
}
