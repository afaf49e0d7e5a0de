//! Characters that the reader of Kubernetes rejects or treats as a line break, and that our parser treats as text. They
//! have no use in a manifest, so a document that contains one is refused.

use super::document::{SyntaxError, error};
use super::lines::position_in_file;

/// Returns an error for the first such character of a chunk.
pub(super) fn check(chunk: &str, lines_above: usize) -> Result<(), SyntaxError> {
    let suspect = |character: &char| !is_printable(*character) || is_break(*character);
    // Most documents are ASCII, and checking bytes is fast.
    if chunk.bytes().all(|byte| matches!(byte, b'\t' | b'\n' | b' '..=b'~')) {
        return Ok(());
    }
    for (index, line) in chunk.split_inclusive('\n').enumerate() {
        if let Some((column, character)) = line.chars().enumerate().find(|(_, character)| suspect(character)) {
            let code = u32::from(character);
            let message = if is_break(character) {
                format!("U+{code:04X}, which Kubernetes takes for the end of a line")
            } else {
                format!("U+{code:04X}, a control character")
            };
            return Err(error(position_in_file(index + 1, column, lines_above), message));
        }
    }
    Ok(())
}

/// Returns whether YAML 1.1 treats a character as a line break.
fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns whether YAML 1.1 allows a character, except the byte order mark. The one at the start of a file is already
/// removed.
fn is_printable(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}
