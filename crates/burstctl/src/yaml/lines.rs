//! Lines of a document, and their positions in the file.

use burst_hpa::node::Mark;

/// Returns whether a line is blank or a comment.
pub(super) fn is_blank_or_comment(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    text.trim().is_empty() || text.starts_with('#')
}

/// Returns the position in the file of a line (counted from 1) and a column (counted from 0) of a document.
pub(super) fn position_in_file(line: usize, column: usize, lines_above: usize) -> Mark {
    Mark {
        line: line + lines_above,
        column: column + 1,
    }
}
