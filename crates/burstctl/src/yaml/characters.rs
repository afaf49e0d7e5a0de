//! Characters that Kubernetes' reader refuses or takes for the end of a line, and ours for text. Nobody writes them into
//! a manifest on purpose; a document with one is refused before it is misread.

use super::document::{SyntaxError, error};
use super::lines::position_in_file;

/// The first such character of a chunk.
pub(super) fn check(chunk: &str, lines_above: usize) -> Result<(), SyntaxError> {
    let suspect = |character: &char| !is_printable(*character) || is_break(*character);
    // Few documents leave ASCII, and bytes are quickly looked through.
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

/// As in YAML 1.1.
fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// As in YAML 1.1, but for the byte order mark: one that opens a file is gone by now.
fn is_printable(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}
