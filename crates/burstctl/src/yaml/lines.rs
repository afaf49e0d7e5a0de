//! Lines of a document within its file.

use burst_hpa::node::Mark;

/// Whether a line is empty or a comment.
pub(super) fn is_blank_or_comment(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    text.trim().is_empty() || text.starts_with('#')
}

/// The position in the file of a line, counted from 1, and a column, counted from 0, of a document.
pub(super) fn position_in_file(line: usize, column: usize, lines_above: usize) -> Mark {
    Mark {
        line: line + lines_above,
        column: column + 1,
    }
}
