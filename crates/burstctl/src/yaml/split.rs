//! A file cut into documents. Each is read for itself, so that one that cannot be read costs no other.

use super::tree::{Document, Mark};
use super::{build, json};

/// Every document of a file that says something; documents of comments alone are counted and left out.
#[must_use]
pub fn documents(text: &str) -> Vec<Document> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    json::documents(text).unwrap_or_else(|| of_yaml(text))
}

fn of_yaml(text: &str) -> Vec<Document> {
    let mut documents = Vec::new();
    let mut number = 0;
    for (first_line, chunk) in chunks(text) {
        build::documents(chunk, first_line, &mut |content| {
            number += 1;
            if let Some(content) = content.transpose() {
                documents.push(Document { number, content });
            }
        });
    }
    documents
}

/// Cut before every `---` that ends a document, each with the number of lines above it.
fn chunks(text: &str) -> Vec<(usize, &str)> {
    let mut chunks = Vec::new();
    let (mut start, mut start_line, mut offset, mut says_something) = (0, 0, 0, false);
    for (line_number, line) in text.split_inclusive('\n').enumerate() {
        let divides = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if divides && says_something {
            chunks.push((start_line, text.get(start..offset).unwrap_or_default()));
            (start, start_line) = (offset, line_number);
        }
        // Directives and comments belong to the document below them.
        says_something |= divides || !(line.trim().is_empty() || line.starts_with(['#', '%']));
        offset += line.len();
    }
    chunks.push((start_line, text.get(start..).unwrap_or_default()));
    chunks
}

/// A place in a chunk as one in its file.
pub(super) fn shifted(line: usize, column: usize, lines_above: usize) -> Mark {
    Mark {
        line: line + lines_above,
        column: column + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Value;

    #[test]
    fn one_broken_document_costs_no_other() {
        let documents = documents("# first\n---\na: 1\n--- # second\na: [\n---\n# only words\n---\nb: 2\n");
        let shown: Vec<_> = documents
            .iter()
            .map(|document| (document.number, document.content.is_ok()))
            .collect();
        assert_eq!(shown, [(1, true), (2, false), (4, true)]);
        let error = documents[1].content.as_ref().unwrap_err();
        assert!(error.at.line >= 5, "{error}");
        let last = documents[2].content.as_ref().unwrap();
        assert_eq!(last.field("b").unwrap().value, Value::Number("2".to_owned()));
        assert_eq!(last.field("b").unwrap().span.start, Mark { line: 9, column: 4 });
    }
}
