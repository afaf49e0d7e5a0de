//! Hostile text, and the check that output contains none of it unescaped.

use proptest::prelude::*;

/// A colour that only hostile text uses.
const COLOUR: &str = "35;5;7";

/// Text that begins a line if its line break is not escaped.
const FORGED: &str = "FORGED";

const PARTS: [&str; 27] = [
    "shop",
    "web-1",
    " ",
    "\u{1b}[35;5;7m",
    "\u{1b}[2J",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]8;;http://a\u{1b}\\",
    "\u{1b}P$q\u{1b}\\",
    "\u{9b}31m",
    "\u{7}",
    "\u{8}",
    "\u{7f}",
    "\t",
    "\r",
    "\nFORGED",
    "\r\nFORGED",
    "\u{b}FORGED",
    "\u{85}FORGED",
    "\u{2028}FORGED",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{61c}",
    "\u{feff}",
    "\n::error file=a::FORGED",
    "::error::",
    "##[add-mask]",
];

/// Generates a sequence of hostile parts.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PARTS[..]), 0..6).prop_map(|parts| parts.concat())
}

/// Returns all hostile parts as one text.
#[cfg(feature = "live")]
pub(crate) fn all_parts() -> String {
    PARTS.concat()
}

/// The kind of printed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    /// Lines for people, in a pipe or a file.
    Lines,
    /// Lines for people, with the colours of `burstctl`.
    Coloured,
    /// The output of an encoder. Its strings may contain any text that a terminal does not interpret.
    Data,
}

/// Returns the first violation in printed text, if there is one.
pub(crate) fn violation(printed: &str, kind: Printed) -> Option<String> {
    let text = match kind {
        Printed::Coloured => strip_colours(printed),
        Printed::Lines | Printed::Data => printed.to_owned(),
    };
    if let Some(character) = text.chars().find(|character| is_control_or_bidi(*character)) {
        return Some(format!("{character:?} in {printed:?}"));
    }
    let is_ours = |line: &str| line.starts_with("::error file=") || line.starts_with("::warning file=");
    let is_command = |line: &str| {
        let command = line.trim_start().starts_with("::") || line.contains("##[") && kind == Printed::Lines;
        // A CI runner never reads coloured output.
        command && kind != Printed::Coloured && !is_ours(line)
    };
    let is_forged = |line: &&str| {
        // YAML block scalars keep line breaks, but indent the lines below their key.
        let text = if kind == Printed::Data { line } else { line.trim_start() };
        text.starts_with(FORGED) || is_command(line)
    };
    let forged = text.lines().find(is_forged);
    forged.map(|line| format!("the line {line:?} in {printed:?}"))
}

fn is_control_or_bidi(character: char) -> bool {
    let turns_or_hides = matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    character != '\n' && (character.is_control() || turns_or_hides)
}

/// Removes the colours that `burstctl` uses. [`COLOUR`] is not one of them.
fn strip_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once('m') {
        Some((code, rest)) if code.bytes().all(|byte| b"0123456789;".contains(&byte)) && code != COLOUR => text + rest,
        _ => text + "\u{1b}[" + part,
    })
}
